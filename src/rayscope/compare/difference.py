"""The difference between two sides: where the additional time went, and what else differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from rayscope.compare.run import Cause, Run
from rayscope.runs.sql import FunctionFigures

#: Parts of a waterfall. The others are summed.
MAX_PARTS = 20
#: The phase of the sum of the other parts.
OTHERS = "others"
#: Minimum similarity of a removed and an added function to suggest that one was renamed, from 0 to 1.
_MIN_SIMILARITY = 0.4
#: Minimum similarity in attempts and in time if the names have little in common.
_NEARLY_SAME = 0.8
#: Number of removed and of added functions that are compared with each other.
_MAX_RENAMED = 50


class Part(NamedTuple):
    """A part of the difference of two durations, in ns."""

    cause: Cause
    a_ns: int
    b_ns: int

    @property
    def change_ns(self) -> int:
        """How much longer B was in it."""
        return self.b_ns - self.a_ns


def waterfall(a: Mapping[Cause, int], b: Mapping[Cause, int]) -> list[Part]:
    """The parts of the difference between two paths, the largest first. They sum to it exactly."""
    parts = [Part(cause, a.get(cause, 0), b.get(cause, 0)) for cause in {**a, **b}]
    parts.sort(key=lambda part: (-abs(part.change_ns), -part.a_ns, part.cause))
    rest = parts[MAX_PARTS:]
    if rest:
        others = Part(Cause(OTHERS), sum(part.a_ns for part in rest), sum(part.b_ns for part in rest))
        parts = [*parts[:MAX_PARTS], others]
    return parts


def representative(runs: Sequence[Run]) -> Run:
    """The run with the median duration; of two in the middle, the shorter one."""
    return sorted(runs, key=lambda run: (run.duration_ns, run.begin_ns))[(len(runs) - 1) // 2]


def renamed(
    removed: Mapping[str, FunctionFigures], added: Mapping[str, FunctionFigures], factor: float = 1.0
) -> list[tuple[str, str]]:
    """Pairs of a removed and an added function that are probably the same one, the most similar first.

    ``factor``: by which the time of other functions changed. Only the functions with the most time are tried.
    """
    candidates = sorted(
        (
            (score, before, after)
            for before, figures in _largest(removed)
            for after, others in _largest(added)
            if (score := _similarity(before, figures, after, others, factor)) is not None
        ),
        reverse=True,
    )
    taken: set[str] = set()
    found = []
    for _, before, after in candidates:
        if before not in taken and after not in taken:
            taken |= {before, after}
            found.append((before, after))
    return found


def _largest(functions: Mapping[str, FunctionFigures]) -> list[tuple[str, FunctionFigures]]:
    return sorted(functions.items(), key=lambda item: -item[1].total_ns)[:_MAX_RENAMED]


def _similarity(
    before: str, figures: FunctionFigures, after: str, others: FunctionFigures, factor: float
) -> float | None:
    """The similarity of two functions, or None if they differ.

    Similar functions resemble each other in attempts, time and name. The name does not matter for two
    functions, or two methods of a class, whose attempts and time are nearly the same.
    """
    name = SequenceMatcher(None, before, after).ratio()
    attempts = _closeness(figures.attempts, others.attempts)
    time = _closeness(figures.mean_ns and factor * figures.mean_ns, others.mean_ns)
    has_same_class = before.rpartition(".")[0] == after.rpartition(".")[0]
    is_measured = figures.mean_ns is not None and min(figures.attempts, others.attempts) > 1
    is_nearly_same = is_measured and has_same_class and min(attempts, time) >= _NEARLY_SAME
    if min(attempts, time, 1.0 if is_nearly_same else name) < _MIN_SIMILARITY:
        return None
    return attempts + time + name


def _closeness(some: float | None, other: float | None) -> float:
    if some is None or other is None:
        return float(some is other)
    return min(some, other) / max(some, other, 1)


class Difference(NamedTuple):
    """Something that has other values on one side than on the other. None: not recorded there."""

    what: str
    a: list[str] | None
    b: list[str] | None


def differences(a: Sequence[Mapping[str, str]], b: Sequence[Mapping[str, str]]) -> list[Difference]:
    """The facts whose values differ between two sides. The order of the runs does not matter."""
    found = []
    for what in sorted({key for facts in (*a, *b) for key in facts}):
        first, second = (sorted({facts[what] for facts in side if what in facts}) for side in (a, b))
        if first != second:
            found.append(Difference(what, first or None, second or None))
    return found


def same_beginning(texts: Sequence[str]) -> int:
    """Return how many characters all texts begin with, without a word that only begins alike."""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    same = next((number for number, (one, other) in pairs if one != other), len(first))
    while same and (first[same - 1].isalnum() or first[same - 1] == "_"):
        same -= 1
    return same
