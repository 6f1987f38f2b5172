"""Comparing two commits: how figures are read, and how ratios are taken."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module", autouse=True)
def _benchmarks_on_the_path() -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "benchmarks")
        yield


OUTPUT = """
# A benchmark

| Workload | Variant | tasks/s | latency p50 / p95 | size |
|---|---|---|---|---|
| no-op tasks | plain | 1,966 | 32 / 162 ms | **1.5** MB |
| no-op tasks | fast | 0.95 (0.93 to 0.97) | - | 2 MB |

| attempts | read |
|---|---|
| 102,402 | 0.71 s |

| attempts | read |
|---|---|
| 102,402 | 0.72 s |
"""


def test_a_figure_is_a_number_in_a_table() -> None:
    from ab import figures

    assert {", ".join(filter(None, figure)): value for figure, value in figures(OUTPUT).items()} == {
        "no-op tasks, plain, tasks/s": 1966,
        "no-op tasks, plain, latency p50 / p95 (1), ms": 32,
        "no-op tasks, plain, latency p50 / p95 (2), ms": 162,
        "no-op tasks, plain, size, MB": 1.5,
        "no-op tasks, fast, tasks/s": 0.95,
        "no-op tasks, fast, size, MB": 2,
        "102,402, read, s": 0.71,
        "102,402 (2), read, s": 0.72,
    }


def test_figures_of_older_benchmarks_have_the_names_of_today() -> None:
    from ab import Figure, figures

    output = "| Step | JSON |\n|---|---|\n| parse | 5 |\n"
    assert figures(output, {"parse": "check"}) == {Figure("check", "JSON", ""): 5}


def test_ratios_are_taken_within_a_round() -> None:
    from ab import Figure, ratios

    time, new_one, zero = (
        Figure("read", "time", "s"),
        Figure("write", "time", "s"),
        Figure("lost", "rows", ""),
    )
    rounds = [
        ({time: 1.0, zero: 0.0}, {time: 2.0, new_one: 1.0, zero: 0.0}),
        ({time: 10.0, zero: 0.0}, {time: 5.0, new_one: 1.0, zero: 0.0}),
        ({time: 4.0, zero: 0.0}, {time: 4.0, new_one: 1.0, zero: 0.0}),
    ]
    assert ratios(rounds) == [["read", "time [s]", "4", "4", "1.00", "0.50", "2.00"]]


class _Checkout:
    """A commit whose benchmarks note their turn, and whose shared ones may fail."""

    def __init__(self, title: str, turns: list[str], fails: bool = False) -> None:
        self.title = title
        self._turns, self._fails = turns, fails

    def run(self, benchmark: list[str], folder: str) -> dict[object, float]:
        from ab import SHARED, Failed

        if self._fails and folder == SHARED:
            raise Failed("ImportError: no module named rayscope.storage")
        self._turns.append(f"{self.title} {folder}")
        return {}


def test_the_commits_alternate() -> None:
    from ab import measure

    turns: list[str] = []
    results, _, loads = measure(_Checkout("A", turns), _Checkout("B", turns), ["decode"], 3)
    assert [turn[0] for turn in turns] == list("ABBAAB")
    assert (len(results), len(loads)) == (3, 6)


def test_each_commit_runs_its_own_script_where_this_one_fails() -> None:
    from ab import measure

    turns: list[str] = []
    _, remark, _ = measure(_Checkout("A", turns, fails=True), _Checkout("B", turns), ["decode"], 1)
    assert turns == ["A own_benchmarks", "B own_benchmarks"]
    assert "no module named rayscope.storage" in remark


def test_an_unknown_benchmark_is_refused_before_anything_is_installed() -> None:
    command = [sys.executable, "benchmarks/ab.py", "HEAD", "HEAD", "no_such_benchmark"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "There is no benchmarks/no_such_benchmark.py" in done.stderr
