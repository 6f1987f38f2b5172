"""Compares two sides, each of one or more runs of a program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np

from rayscope.compare import schemas
from rayscope.compare.difference import (
    Difference,
    Part,
    differences,
    renamed,
    representative,
    same_beginning,
    waterfall,
)
from rayscope.compare.run import Run
from rayscope.compare.statistics import Floats, FunctionChanges, compare_durations, compare_functions
from rayscope.runs.sql import FunctionFigures
from rayscope.storage.errors import BadQuery

#: The functions whose total changed the most are part of the answer.
_MAX_FUNCTIONS = 200
#: Maximum length of a fact.
_MAX_CHARS = 1_000
#: Facts that decide whether two sides can be compared at all. They are warnings instead of differences.
_DECISIVE = ("nodes",)


class _Function(NamedTuple):
    """A function with its figures in each run of both sides, None in a run without it."""

    name: str
    renamed_from: str | None
    a: list[FunctionFigures | None]
    b: list[FunctionFigures | None]


def compare(a: Sequence[Run], b: Sequence[Run], margin: float, skip_first: int = 0) -> schemas.CompareAnswer:
    """Compare two sides.

    ``margin``: the change of the duration that matters, as a share. ``skip_first``: the number of warm-up
    runs of each side. Raises BadQuery if a side has no others.
    """
    (left_out_a, a), (left_out_b, b) = (without_warm_up(side, skip_first) for side in (a, b))
    shown_a, shown_b = representative(a), representative(b)
    durations_a, durations_b = ([max(run.duration_ns, 1) for run in side] for side in (a, b))
    change = compare_durations(durations_a, durations_b, margin)
    common, functions = _functions(a, b, margin)
    facts = [[run.facts for run in side] for side in (a, b)]
    quality = [[run.quality for run in side] for side in (a, b)]
    differing = [_difference(one) for one in differences(*facts)]
    return {
        "a": _side(a, left_out_a, shown_a),
        "b": _side(b, left_out_b, shown_b),
        "duration": {
            "verdict": change.verdict,
            "a_ns": round(geometric_mean(durations_a)),
            "b_ns": round(geometric_mean(durations_b)),
            "ratio": change.ratio,
            "low": change.low,
            "high": change.high,
            "p": change.p,
            "spread": change.spread,
            "more_runs": change.more_runs,
            "margin": margin,
        },
        "waterfall": [_part(part) for part in waterfall(shown_a.parts, shown_b.parts)],
        "common": common,
        "functions": functions[:_MAX_FUNCTIONS],
        "functions_left_out": max(0, len(functions) - _MAX_FUNCTIONS),
        "warnings": _warnings(*quality)
        + [_warned(one["what"], one["a"], one["b"]) for one in differing if one["what"] in _DECISIVE],
        "differences": [one for one in differing if one["what"] not in _DECISIVE],
    }


def _part(part: Part) -> schemas.WaterfallPart:
    return {
        "phase": part.cause.phase,
        "function": part.cause.function,
        "is_driver": part.cause.is_driver,
        "a_ns": part.a_ns,
        "b_ns": part.b_ns,
        "change_ns": part.change_ns,
    }


def _difference(difference: Difference) -> schemas.DifferenceItem:
    a, b = difference.a, difference.b
    same = same_beginning([*a, *b]) if a and b else 0
    skipped = same if same > _MAX_CHARS // 2 else 0

    def cut(side: list[str] | None) -> list[str] | None:
        if side is None or not skipped:
            return side and [text[:_MAX_CHARS] for text in side]
        return [f"…{text[skipped : skipped + _MAX_CHARS]}" for text in side]

    return {
        "what": difference.what[:_MAX_CHARS],
        "a": cut(a),
        "b": cut(b),
        "same_chars": same - skipped,
    }


def without_warm_up(runs: Sequence[Run], skip_first: int) -> tuple[Sequence[Run], Sequence[Run]]:
    """Return the runs of a side that began first, and the others in their order. Raises BadQuery."""
    left_out = sorted(runs, key=lambda run: run.begin_ns)[:skip_first]
    if len(left_out) == len(runs):
        raise BadQuery(
            f"No run of a side is left without its first {skip_first}.",
            "Leave out fewer runs, or add some.",
            what="skip_first",
            skipped=skip_first,
        )
    return left_out, [run for run in runs if run not in left_out]


def _side(runs: Sequence[Run], left_out: Sequence[Run], shown: Run) -> schemas.Side:
    return {
        "runs": [_run(run) for run in runs],
        "left_out": [_run(run) for run in left_out],
        "shown": _run(shown),
    }


def _run(run: Run) -> schemas.ComparedRun:
    return {
        "session": run.session,
        "job_id": run.job_id,
        "name": run.name,
        "begin_ns": run.begin_ns,
        "duration_ns": run.duration_ns,
    }


#: Properties of a record without doubts. Other values are reported even if both sides have them.
_GOOD = {"tracer": "on", "state": "ended", "path": "whole", "dropped": "0", "outcome": "SUCCEEDED"}


def _warnings(a: Sequence[Mapping[str, str]], b: Sequence[Mapping[str, str]]) -> list[schemas.Warned]:
    """Properties of the records that differ, or that make a comparison doubtful on both sides."""
    found = []
    for code in sorted({key for quality in (*a, *b) for key in quality}):
        first, second = (sorted({quality.get(code, "") for quality in side}) for side in (a, b))
        good = _GOOD.get(code)
        if first != second or (good is not None and first != [good]):
            found.append(_warned(code, first, second))
    return found


def _warned(code: str, a: list[str] | None, b: list[str] | None) -> schemas.Warned:
    return {"code": code, "a": a or [], "b": b or []}


def _functions(
    a: Sequence[Run], b: Sequence[Run], margin: float
) -> tuple[float, list[schemas.FunctionChange]]:
    """The factor common to all functions, and the functions, those whose total changed the most first."""
    found = _matched(a, b)
    whole = [one for one in found if all(_is_measured(figures) for figures in (*one.a, *one.b))]
    changes = _changes(whole, margin)
    numbers = {one.name: number for number, one in enumerate(whole)}
    items = [_item(one, changes, numbers.get(one.name)) for one in found]
    items.sort(key=lambda item: (item["verdict"] not in ("slower", "faster"), -abs(item["change_ns"])))
    return changes.common, items


def _is_measured(figures: FunctionFigures | None) -> bool:
    return figures is not None and bool(figures.mean_ns)


def _matched(a: Sequence[Run], b: Sequence[Run]) -> list[_Function]:
    """The functions of both sides. One that is gone is matched with the new one that it seems to be."""
    any_a, any_b = _any_figures(a), _any_figures(b)
    pairs = [(any_a[name].mean_ns, any_b[name].mean_ns) for name in any_a.keys() & any_b.keys()]
    changes = [after / before for before, after in pairs if before and after]
    gone = {name: figures for name, figures in any_a.items() if name not in any_b}
    new = {name: figures for name, figures in any_b.items() if name not in any_a}
    renames = renamed(gone, new, median(changes) if changes else 1.0)
    before = {after: name for name, after in renames}
    names = sorted(any_b) + sorted(gone.keys() - before.values())
    return [
        _Function(
            name,
            before.get(name),
            [run.functions.get(before.get(name, name)) for run in a],
            [run.functions.get(name) for run in b],
        )
        for name in names
    ]


def _any_figures(runs: Sequence[Run]) -> dict[str, FunctionFigures]:
    """The figures of each function in one of the runs."""
    return {name: figures for run in runs for name, figures in run.functions.items()}


def _changes(functions: Sequence[_Function], margin: float) -> FunctionChanges:
    if not functions:
        return FunctionChanges(1.0, np.empty(0), np.empty(0), [])
    totals = np.array([_total_ns(one.a) for one in functions], dtype=float)
    return compare_functions(
        _means([one.a for one in functions]),
        _means([one.b for one in functions]),
        totals / max(1.0, totals.sum()),
        margin,
    )


def _total_ns(side: Sequence[FunctionFigures | None]) -> int:
    return sum(figures.total_ns for figures in side if figures is not None)


def _means(sides: Sequence[Sequence[FunctionFigures | None]]) -> Floats:
    """The mean times of functions, one row for each run."""
    rows = [[figures.mean_ns or math.nan for figures in side if figures is not None] for side in sides]
    found: Floats = np.array(rows, dtype=np.float64).T
    return found


def _item(function: _Function, changes: FunctionChanges, number: int | None) -> schemas.FunctionChange:
    a, b = _function_side(function.a), _function_side(function.b)
    ratio = None
    if a and b and a["mean_ns"] and b["mean_ns"]:
        ratio = b["mean_ns"] / a["mean_ns"]
    verdict: Any = "gone" if b is None else "new" if a is None else "cannot_tell"
    p = None if number is None else float(changes.p[number])
    known = next(figures for figures in (*function.b, *function.a) if figures is not None)
    return {
        "name": function.name,
        "module": known.module,
        "renamed_from": function.renamed_from,
        "verdict": verdict if number is None else changes.verdicts[number],
        "ratio": ratio,
        "own_ratio": None if number is None else float(changes.ratios[number]),
        "p": None if p is None or math.isnan(p) else p,
        "change_ns": (b["total_ns"] if b else 0) - (a["total_ns"] if a else 0),
        "a": a,
        "b": b,
    }


def _function_side(side: Sequence[FunctionFigures | None]) -> schemas.FunctionSide | None:
    runs = [figures for figures in side if figures is not None]
    if not runs:
        return None
    attempts = sum(run.attempts for run in runs)
    cpu_ns = _sum([run.cpu_ns for run in runs])
    return {
        "runs": len(runs),
        # A run without the function has no attempts of it, and spent no time in it.
        "attempts": attempts / len(side),
        "failed": sum(run.failed for run in runs),
        "mean_ns": _mean([run.mean_ns for run in runs]),
        "p50_ns": _mean([run.p50_ns for run in runs]),
        "p95_ns": _mean([run.p95_ns for run in runs]),
        "total_ns": round(sum(run.total_ns for run in runs) / len(side)),
        "cpu_ns": None if cpu_ns is None else round(cpu_ns / len(side)),
        "peak_memory": max((run.peak_memory for run in runs if run.peak_memory is not None), default=None),
        "input_bytes": _per_attempt([run.input_bytes for run in runs], attempts),
        "output_bytes": _per_attempt([run.output_bytes for run in runs], attempts),
    }


def _sum(values: Sequence[float | None]) -> float | None:
    """The sum of values that are all known, otherwise None."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _mean(values: Sequence[float | None]) -> int | None:
    total = _sum(values)
    return None if total is None else round(total / len(values))


def _per_attempt(values: Sequence[int | None], attempts: int) -> float | None:
    total = _sum(values)
    return None if total is None or not attempts else total / attempts
