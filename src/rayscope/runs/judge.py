"""Judges runs against the usual ones of their group, and describes the trend of a group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rayscope.runs import schemas
from rayscope.runs.changes import ALPHA, Step, find_steps
from rayscope.runs.summary import FunctionSummary, Run
from rayscope.runs.usual import Usual, usual_of

#: Maximum number of functions of a trend: those with the most time.
MAX_FUNCTIONS = 50


class Judgment(NamedTuple):
    """The verdict on a run. ``reason``: why it is unknown. ``ratio``: its duration by the usual one."""

    verdict: schemas.RunVerdict
    reason: schemas.UnknownReason | None
    ratio: float | None
    usual: Usual | None
    comparable: int


def groups(runs: Iterable[Run]) -> dict[tuple[str, str], list[Run]]:
    """The runs of each group, the oldest first."""
    found: dict[tuple[str, str], list[Run]] = defaultdict(list)
    for run in sorted(runs, key=lambda run: (run.begin_ns, run.key)):
        found[run.group].append(run)
    return found


def is_comparable(run: Run) -> bool:
    """Whether a run counts for what is usual: it succeeded, and no operator left it out."""
    return run.has_succeeded and not run.marks.is_left_out and run.summary.duration_ns is not None


def judge(runs: Iterable[Run]) -> dict[tuple[str, str], Judgment]:
    """The verdict on each run, by its key."""
    found: dict[tuple[str, str], Judgment] = {}
    for (script, _), group in groups(runs).items():
        #: The durations of earlier comparable runs, by whether they were traced.
        earlier: dict[bool, list[int]] = {True: [], False: []}
        for run in group:
            values = earlier[run.summary.is_traced]
            found[run.key] = _judge(run, values if script else [])
            if is_comparable(run):
                values.append(run.summary.duration_ns or 0)
    return found


def _judge(run: Run, earlier: Sequence[int]) -> Judgment:
    duration_ns, usual = run.summary.duration_ns, usual_of(earlier)
    comparable = len(earlier)
    reason: schemas.UnknownReason | None = None
    if not run.summary.script:
        reason = "no_script"
    elif duration_ns is None:
        reason = "no_duration"
    elif run.marks.is_left_out:
        reason = "left_out"
    elif not run.has_succeeded:
        reason = "outcome"
    elif usual is None:
        reason = "few_runs"
    if reason is not None or usual is None or duration_ns is None:
        return Judgment("unknown", reason or "few_runs", None, usual, comparable)
    verdict: schemas.RunVerdict = "as_usual"
    if not usual.low_ns <= duration_ns <= usual.high_ns:
        verdict = "slower" if duration_ns > usual.high_ns else "faster"
    return Judgment(verdict, None, duration_ns / max(1, usual.mid_ns), usual, comparable)


class Change(NamedTuple):
    """A step in a series, and the first run after it."""

    run: Run
    step: Step


class Series(NamedTuple):
    """A value of each run of a group in ns, the oldest first. None: the run has no such value.

    ``changes``: where its level changes. Only ``counted`` runs decide.
    """

    values: list[int | None]
    changes: list[Change]
    usual: Usual | None


def series_of(
    runs: Sequence[Run], values: Sequence[int | None], counted: Sequence[bool], alpha: float = ALPHA
) -> Series:
    """Find the steps of a series, and what is usual for the next run: the range by which it is judged."""
    places = [
        number
        for number, (value, counts) in enumerate(zip(values, counted, strict=True))
        if counts and value is not None
    ]
    known = [values[place] or 0 for place in places]
    changes = [Change(runs[places[step.at]], step) for step in find_steps(known, alpha)]
    return Series(list(values), changes, usual_of(known))


def counted(runs: Sequence[Run]) -> list[bool]:
    """Which runs of a group decide its trend: the comparable ones with the tracer setting of the newest."""
    comparable = [run for run in runs if is_comparable(run)]
    is_traced = comparable[-1].summary.is_traced if comparable else None
    return [is_comparable(run) and run.summary.is_traced == is_traced for run in runs]


def function_series(
    runs: Sequence[Run], functions: Sequence[Sequence[FunctionSummary]], is_counted: Sequence[bool]
) -> list[tuple[str, int, Series]]:
    """The name, total time and mean times of the functions with the most time.

    Fewer steps are believed the more functions there are, so that a trend without changes has a wrong one
    with the probability :data:`ALPHA` in all.
    """
    by_run = [{one.name: one for one in of_run} for of_run in functions]
    totals: dict[str, int] = defaultdict(int)
    for of_run in by_run:
        for name, figures in of_run.items():
            totals[name] += figures.total_ns
    names = sorted(totals, key=lambda name: (-totals[name], name))[:MAX_FUNCTIONS]
    found = [
        (name, totals[name], series_of(runs, _means(by_run, name), is_counted, ALPHA / len(names)))
        for name in names
    ]
    return sorted(found, key=lambda one: (not one[2].changes, -one[1]))


def _means(by_run: Sequence[Mapping[str, FunctionSummary]], name: str) -> list[int | None]:
    return [of_run[name].mean_ns if name in of_run else None for of_run in by_run]
