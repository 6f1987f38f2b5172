"""The usual duration of a run, and where the level of a series changes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from rayscope.runs.changes import find_steps
from rayscope.runs.usual import MAX_RUNS, MIN_RUNS, usual_of

S = 1_000_000_000


def test_few_runs_do_not_say_what_is_usual() -> None:
    assert usual_of([S] * (MIN_RUNS - 1)) is None
    usual = usual_of([S] * MIN_RUNS)
    assert usual is not None
    # Equal times prove nothing about the next percent.
    assert (usual.runs, usual.mid_ns) == (MIN_RUNS, S)
    assert usual.low_ns <= 0.991 * S
    assert usual.high_ns >= 1.01 * S


def test_the_range_holds_an_equal_run_with_99_percent() -> None:
    random = np.random.default_rng(1)
    outside = 0
    for _ in range(2_000):
        *earlier, now = (100 * S * np.exp(random.normal(0, 0.05, 11))).astype(int).tolist()
        usual = usual_of(earlier)
        assert usual is not None
        outside += not usual.low_ns <= now <= usual.high_ns
    assert 8 <= outside <= 35  # 20 are expected


def test_only_the_newest_runs_count() -> None:
    usual = usual_of([9 * S] * 50 + [S] * MAX_RUNS)
    assert usual is not None
    assert (usual.runs, usual.mid_ns) == (MAX_RUNS, S)


def test_only_runs_after_a_step_count_once_there_are_enough() -> None:
    before = usual_of([S] * 10 + [2 * S] * (MIN_RUNS - 1))
    after = usual_of([S] * 10 + [2 * S] * MIN_RUNS)
    assert before is not None
    assert after is not None
    assert (before.runs, after.runs, after.mid_ns) == (9 + MIN_RUNS, MIN_RUNS, 2 * S)


def test_a_step_is_found_in_its_place() -> None:
    (step,) = find_steps([100 * S] * 10 + [110 * S] * 10)
    assert step.at == 10
    assert step.after / step.before == pytest.approx(1.1)
    assert step.p < 0.001


def test_several_steps_are_found_in_their_order() -> None:
    random = np.random.default_rng(2)
    levels = np.repeat([100.0, 130.0, 90.0], 15)
    steps = find_steps((levels * np.exp(random.normal(0, 0.02, 45)) * S).tolist())
    assert [step.at for step in steps] == [15, 30]
    assert steps[0].after == steps[1].before


@pytest.mark.parametrize("values", [[], [S], [S] * 5, [S] * 60, [0] * 10, [S] * 29 + [3 * S] + [S] * 30])
def test_a_flat_series_has_no_step(values: list[float]) -> None:
    assert find_steps(values) == []


def test_flat_series_stay_flat() -> None:
    false = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        false += len(find_steps((S * np.exp(random.normal(0, 0.02, 60))).tolist()))
    assert false <= 10


def test_few_runs_are_judged_without_scipy() -> None:
    script = (
        "import sys, rayscope.server.app\n"
        "from rayscope.runs.usual import usual_of\n"
        "assert usual_of([1, 2, 3]) is None and 'scipy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
