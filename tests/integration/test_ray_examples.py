"""Ray's own examples have the same outcome while the stacks of their processes are sampled."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest
from tests.cluster import run_in_turn
from tests.lab import new_lab

pytestmark = [pytest.mark.ray, pytest.mark.long]

#: Examples of Ray Tune in Ray's own package that need no further packages.
EXAMPLES = (
    "async_hyperband_example",
    "custom_checkpointing_with_callback",
    "custom_func_checkpointing",
    "hyperband_function_example",
    "logging_example",
    "pbt_example",
    "pbt_function",
    "tune_basic_example",
)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_ray_behaves_as_before(name: str, tmp_path: Path) -> None:
    spec = importlib.util.find_spec("ray.tune.examples")
    assert spec is not None
    assert spec.origin is not None
    program = [str(Path(spec.origin).with_name(f"{name}.py")), "--smoke-test"]
    with new_lab(tmp_path) as lab:
        lab.env["HOME"] = str(tmp_path)  # Tune's results
        plain = run_in_turn([sys.executable, *program], lab.ray_dir, cwd=tmp_path, env=lab.env)
        sampled = lab.rayscope("run", "--exit", "--samples", "20", *program)
        trials = lab.sql("SELECT state, count(*) AS trials FROM tune_trials GROUP BY ALL")
        samples = lab.sql("SELECT count(*) AS stacks FROM samples")
    assert (plain.returncode, sampled.returncode) == (0, 0), plain.stderr[-3000:] + sampled.stderr[-3000:]
    assert [trial["state"] for trial in trials] == ["TERMINATED"]
    ended = _ended(plain.stdout)
    assert ended == _ended(sampled.stdout)
    assert ended in (None, int(trials[0]["trials"]))
    assert int(samples[0]["stacks"]) > 0


def _ended(printed: str) -> int | None:
    """The number of trials that had ended when Tune reported for the last time, or None if it did not."""
    numbers = re.findall(r"(\d+) TERMINATED", printed)
    return int(numbers[-1]) if numbers else None
