"""Verdicts on runs that chance made, with known effects."""

from __future__ import annotations

import numpy as np
import pytest

from rayscope.compare.statistics import compare_durations, compare_functions, moderate


def _durations(seed: int, runs: int, spread: float, factor: float = 1.0) -> list[float]:
    return list(20e9 * factor * np.exp(np.random.default_rng(seed).normal(0, spread, runs)))


def _verdicts(spread: float, factor: float, runs: int = 5, seeds: int = 200) -> dict[str, float]:
    """The share of each verdict, with a margin of 5 %."""
    found = [
        compare_durations(
            _durations(seed, runs, spread), _durations(seed + seeds, runs, spread, factor), 0.05
        ).verdict
        for seed in range(seeds)
    ]
    return {name: found.count(name) / seeds for name in ("slower", "faster", "no_change", "cannot_tell")}  # type: ignore[arg-type]


def test_equal_runs_are_seldom_called_different() -> None:
    verdicts = _verdicts(0.02, 1)
    assert verdicts["slower"] + verdicts["faster"] <= 0.02
    assert _verdicts(0.005, 1)["no_change"] == 1


def test_a_large_change_is_found_in_both_directions() -> None:
    assert _verdicts(0.02, 1.2)["slower"] >= 0.99
    assert _verdicts(0.02, 1 / 1.2)["faster"] >= 0.99


def test_noise_is_no_verdict_but_says_how_many_runs_are_needed() -> None:
    few = compare_durations(_durations(1, 3, 0.04), _durations(2, 3, 0.04), 0.05)
    assert few.verdict == "cannot_tell"
    assert few.more_runs is not None
    enough = 3 + few.more_runs
    assert _verdicts(few.spread or 0, 1.05, enough)["slower"] >= 0.8


def test_one_run_on_each_side_has_no_probability() -> None:
    change = compare_durations([20e9], [30e9], 0.05)
    assert change == ("cannot_tell", pytest.approx(1.5), None, None, None, None, None)


def test_a_run_is_judged_by_the_spread_of_the_other_side() -> None:
    assert compare_durations(_durations(1, 8, 0.01), [26e9], 0.05).verdict == "slower"
    assert compare_durations(_durations(1, 8, 0.01), [20e9], 0.05).verdict == "no_change"


def test_equal_times_prove_no_tiny_change() -> None:
    assert compare_durations([20e9] * 5, [20.001e9] * 5, 0.05).verdict == "no_change"


def _functions(seed: int, runs: int, count: int, own: float = 0.02, common: float = 0.03) -> np.ndarray:
    random = np.random.default_rng(seed)
    return 1e9 * np.exp(random.normal(0, own, (runs, count)) + random.normal(0, common, (runs, 1)))


def test_the_function_that_changed_is_found_beside_the_noise_of_whole_runs() -> None:
    weights = np.full(20, 1 / 20)
    found = false = 0
    for seed in range(50):
        b = _functions(seed + 50, 5, 20)
        b[:, 7] *= 1.1
        changes = compare_functions(_functions(seed, 5, 20), b, weights, 0.05)
        named = [number for number, verdict in enumerate(changes.verdicts) if verdict in ("slower", "faster")]
        found += 7 in named
        false += len(set(named) - {7})
    assert found >= 45
    assert false <= 15


def test_equal_functions_are_seldom_called_different() -> None:
    weights = np.full(200, 1 / 200)
    rows = [
        compare_functions(_functions(seed, 5, 200), _functions(seed + 20, 5, 200), weights, 0.05).verdicts
        for seed in range(20)
    ]
    assert sum(verdict in ("slower", "faster") for verdicts in rows for verdict in verdicts) <= 1


def test_what_slows_everything_is_the_common_factor() -> None:
    b = _functions(1, 5, 20, common=0) * 1.3
    changes = compare_functions(_functions(2, 5, 20, common=0), b, np.full(20, 0.05), 0.05)
    assert changes.common == pytest.approx(1.3, rel=0.02)
    assert not {"slower", "faster"} & set(changes.verdicts)


def test_few_functions_have_no_common_factor() -> None:
    a, b = np.full((5, 2), 1e9), np.full((5, 2), 1.3e9)
    changes = compare_functions(a, b, np.full(2, 0.5), 0.05)
    assert (changes.common, changes.verdicts) == (1, ["slower", "slower"])


def test_one_run_says_nothing_about_functions() -> None:
    changes = compare_functions(_functions(1, 1, 3), _functions(2, 1, 3) * 2, np.full(3, 1 / 3), 0.05)
    assert changes.verdicts == ["cannot_tell"] * 3
    assert np.isnan(changes.p).all()


def test_a_function_that_is_no_part_of_the_whole_gets_no_verdict() -> None:
    b = _functions(1, 5, 3, common=0)
    b[:, 0] *= 2
    changes = compare_functions(_functions(2, 5, 3, common=0), b, np.array([0.0005, 0.5, 0.4995]), 0.05)
    assert changes.verdicts[0] == "cannot_tell"


def test_equal_variances_are_pooled_and_unequal_ones_are_not() -> None:
    random = np.random.default_rng(5)
    equal = random.chisquare(4, 200) / 4
    drawn, freedom = moderate(equal, 4)
    assert drawn.std() < equal.std() / 5
    assert freedom > 40
    unequal = equal * np.exp(random.normal(0, 2, 200))
    kept, freedom = moderate(unequal, 4)
    assert np.corrcoef(np.log(kept), np.log(unequal))[0, 1] > 0.9
    assert 4 < freedom < 8


@pytest.mark.parametrize(("count", "changed", "factor"), [(8, 2, 2), (8, 4, 2), (10, 3, 2), (20, 6, 1.1)])
def test_several_changed_functions_are_no_common_factor(count: int, changed: int, factor: float) -> None:
    weights = np.full(count, 1 / count)
    found = false = 0
    for seed in range(20):
        b = _functions(seed + 20, 5, count)
        b[:, :changed] *= factor
        verdicts = compare_functions(_functions(seed, 5, count), b, weights, 0.05).verdicts
        found += verdicts[:changed].count("slower")
        false += sum(verdict in ("slower", "faster") for verdict in verdicts[changed:])
    assert found >= 0.9 * 20 * changed
    assert false <= 0.1 * found


def test_a_crashed_run_has_no_limits() -> None:
    change = compare_durations([1e9], [1e9, 3600e9], 0.05)
    assert (change.verdict, change.low, change.high) == ("cannot_tell", None, None)


def test_the_recommended_number_of_runs_is_possible() -> None:
    change = compare_durations(_durations(1, 5, 0.05), _durations(2, 5, 0.05), 0.02)
    assert (change.verdict, change.more_runs) == ("cannot_tell", None)
