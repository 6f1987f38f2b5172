"""Compares the lines of a function on two sides, by samples of its stacks."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rayscope.compare import schemas
from rayscope.compare.statistics import MIN_CHANGE, below_false_rate
from rayscope.views.lines.compute import MIN_SAMPLES, Place, margin

#: Maximum number of lines in a response: those whose share changed the most.
_MAX_LINES = 50


class LineSamples(NamedTuple):
    """How often each line was innermost, and the number of all samples."""

    lines: Counter[Place]
    samples: int


def compare_lines(a: Sequence[LineSamples], b: Sequence[LineSamples]) -> schemas.ComparedLines:
    """Compare the samples of the runs of two sides.

    The samples of a side are added up. Among the lines that are called more or less, the share of false ones
    is at most :data:`~rayscope.compare.statistics.FALSE_ROWS`.
    """
    first, second = (sum((run.lines for run in side), Counter[Place]()) for side in (a, b))
    of_a, of_b = (sum(run.samples for run in side) for side in (a, b))
    items: list[schemas.ComparedLine] = []
    if min(of_a, of_b) >= MIN_SAMPLES:
        items = [
            _item(place, first[place], of_a, second[place], of_b)
            for place in sorted(first.keys() | second.keys())
            if max(first[place] / of_a, second[place] / of_b) >= MIN_CHANGE
        ]
    is_certain = below_false_rate(np.array([_p(item) for item in items]))
    for item, certain in zip(items, is_certain, strict=True):
        if certain:
            item["verdict"] = "more" if item["b_share"] > item["a_share"] else "less"
    items.sort(key=lambda item: -abs(item["b_share"] - item["a_share"]))
    return {"a_samples": of_a, "b_samples": of_b, "min_samples": MIN_SAMPLES, "items": items[:_MAX_LINES]}


def _item(place: Place, a: int, of_a: int, b: int, of_b: int) -> schemas.ComparedLine:
    return {
        "file": place.file,
        "line": place.line,
        "function": place.function,
        "a_share": a / of_a,
        "b_share": b / of_b,
        "points": math.hypot(margin(a, of_a), margin(b, of_b)),
        "verdict": "cannot_tell",
    }


def _p(item: schemas.ComparedLine) -> float:
    """Probability of a difference at least as large between equal sides."""
    deviations = 1.96 * 100 * abs(item["b_share"] - item["a_share"]) / item["points"]
    return math.erfc(deviations / math.sqrt(2))
