"""The tables at the end of a run."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from rayscope.cli.summary import show
from rayscope.units import duration, duration_range

SUMMARY: dict[str, Any] = {
    "session": "session_1",
    "tasks": 3,
    "attempts": 4,
    "states": {"FINISHED": 2, "FAILED": 2},
    "first_ns": 0,
    "last_ns": 5_000_000_000,
    "functions": [
        {
            "func_name": "quick",
            "attempts": 1,
            "failed": 0,
            "p50_ns": 1000,
            "p95_ns": 1000,
            "duration_ns": 1000,
        },
        {
            "func_name": "pkg.slow[x]",
            "attempts": 3,
            "failed": 2,
            "p50_ns": 2_000_000,
            "p95_ns": None,
            "duration_ns": 9_000_000,
        },
    ],
    "failures": {"items": [], "total": 0},
    "dropped": {"total": 0, "by": [], "unresolved_attempts": 0},
    "ingest": {"rejected_batches": 0},
}


def _shown(summary: dict[str, Any]) -> str:
    console = Console(file=io.StringIO(), width=120)
    show(console, summary, "http://127.0.0.1:8700")
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_everything_that_matters_is_there() -> None:
    text = _shown(SUMMARY)
    assert "4 attempts of 3 tasks: 2 FINISHED, 2 FAILED" in text
    assert text.index("pkg.slow[x]") < text.index("quick")  # by total time
    assert "Failures" not in text
    assert "Nothing dropped." in text
    assert "http://127.0.0.1:8700/s/session_1" in text


def _group(name: str, outcome: str, **more: Any) -> dict[str, Any]:
    counts = {"attempts": 1234, "final": 0, "retrying": 0, "recovered": 0}
    place = {"file": "etl.py", "line": 12}
    error = {"error_type": "TASK_EXECUTION_EXCEPTION", "message": "ValueError: [red]row #"}
    return {"func_name": name, "outcome": outcome, "causes": [], **counts, **place, **error, **more}


def test_failures_are_listed_by_group_with_their_outcome() -> None:
    groups = [
        _group("load", "final", final=3, recovered=7),
        _group("gone", "final", final=1, attempts=1, file=None, line=None, message=None, error_type=None),
        _group("slow", "retrying", retrying=2, recovered=1),
        _group("fetch", "recovered", recovered=9),
        *(_group(f"more_{number}", "recovered") for number in range(2)),
    ]
    text = _shown({**SUMMARY, "failures": {"items": groups, "total": 8}})
    lines = [" ".join(line.strip("│ ").split()) for line in text.splitlines()]
    error = "TASK_EXECUTION_EXCEPTION: ValueError: [red]row # (etl.py:12)"  # user texts are no markup
    start = lines.index("name attempts outcome error")
    assert lines[start - 1 : start + 7] == [
        "Failures",
        "name attempts outcome error",
        f"load 1,234 3 failed, 7 recovered by retry {error}",
        "gone 1 failed unknown error",
        f"slow 1,234 retrying {error}",
        f"fetch 1,234 recovered by retry {error}",
        f"more_0 1,234 recovered by retry {error}",
        "3 more: rayscope failures",
    ]


def test_the_critical_path_is_told_by_share() -> None:
    path = {
        "duration_ns": 20_000_000_000,
        "so_far": True,
        "functions": [
            {"name": "driver", "is_driver": True, "share": 0.75, "by_phase": {"blocked": 1, "executing": 9}},
            {"name": "load", "is_driver": False, "share": 0.25, "by_phase": {"starting_worker": 5}},
        ],
    }
    console = Console(file=io.StringIO(), width=120)
    show(console, SUMMARY, "http://127.0.0.1:8700", path)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    assert "Critical path 20.0 s so far: driver 75% (executing), load 25% (starting worker)" in text


def test_losses_are_told() -> None:
    dropped = {
        "total": 7,
        "by": [{"source": "node abc", "reason": "buffer full", "count": 7}],
        "unresolved_attempts": 2,
        "starts_lost": 3,
    }
    text = " ".join(_shown({**SUMMARY, "dropped": dropped, "ingest": {"rejected_batches": 1}}).split())
    assert "7 by node abc (buffer full)" in text
    assert "the definition of 2 attempts never arrived" in text
    assert "the start of 3 attempts" in text
    assert "1 batch could not be read" in text
    one = {
        "unresolved_attempts": 1,
        "starts_lost": 1,
        "by": [{"reason": "profile_events_dropped", "count": 1}],
    }
    text = " ".join(_shown({**SUMMARY, "tasks": 1, "attempts": 1, "dropped": one}).replace("│", "").split())
    assert "1 task: " in text
    assert "1 profile span beyond" in text
    assert "definition of 1 attempt never" in text
    assert "start of 1 attempt (the" in text
    assert "Nothing dropped" not in text


def test_tasks_whose_events_are_switched_off_are_told() -> None:
    tracing = {
        "tasks_without_events": 1200,
        "without_events": [{"class_name": "Replica", "tasks": 1100}, {"class_name": None, "tasks": 100}],
    }
    text = " ".join(_shown({**SUMMARY, "tracing": tracing}).replace("│", "").split())
    assert "at least 1,200 tasks (methods of Replica) without events" in text
    assert "enable_task_events=False" in text
    assert "Nothing dropped" not in text


def test_an_empty_session() -> None:
    text = _shown(
        {
            "session": "s",
            "tasks": 0,
            "attempts": 0,
            "states": {},
            "functions": [],
            "failures": {"items": [], "total": 0},
        }
    )
    assert "0 tasks" in text
    assert "Slowest" not in text


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (999, "999 ns"),
        (1_500, "1.50 µs"),
        (12_345_678, "12.3 ms"),
        (999_400_000, "999 ms"),
        (999_600_000, "1.00 s"),
        (5_130_000_000, "5.13 s"),
        (59_960_000_000, "1m 00s"),
        (150_000_000_000, "2m 30s"),
        (7_620_000_000_000, "2h 07m"),
        (180_000_000_000_000, "2d 02h"),
        (-1_500_000_000, "−1.50 s"),
    ],
)
def test_durations(ns: int | None, text: str) -> None:
    assert duration(ns) == text


@pytest.mark.parametrize(
    ("low_s", "high_s", "text"),
    [
        (20, 35, "20.0 to 35.0 s"),
        (0.45, 1.2, "450 ms to 1.20 s"),
        (0, 1.2, "up to 1.20 s"),
        (50, 70, "50.0 s to 1m 10s"),
        (65, 125, "1m 05s to 2m 05s"),
        (3600, 3660, "1h 00m to 1h 01m"),
        (2, 2.001, "2.00 s"),
    ],
)
def test_ranges_of_durations(low_s: float, high_s: float, text: str) -> None:
    assert duration_range(low_s * 1e9, high_s * 1e9) == text
