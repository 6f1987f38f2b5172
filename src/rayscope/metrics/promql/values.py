"""The values of an evaluation: numbers and vectors of series, each for all steps at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from rayscope.model.metric import Labels
from rayscope.storage.errors import BadQuery

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Times = NDArray[np.int64]

NAME = "__name__"
DOCS = "See docs/reference/promql.md for what is supported."
#: Maximum length of a range, a step, or an offset.
LONGEST = timedelta(days=20 * 365)
#: The latest time in an expression, s. It must stay valid if an offset and a range are added.
LAST_S = (2**63 - 1) / 1e9 - LONGEST.total_seconds()
#: Maximum number of values in all series of an expression together.
MAX_CELLS = 8_000_000
#: Maximum number of samples in all windows of a range together.
MAX_SAMPLES = 300_000_000


@dataclass(slots=True)
class Vector:
    """Series by steps. ``values`` and ``there`` (whether a value exists) have the shape (series, steps)."""

    labels: list[Labels]
    values: Floats
    there: Bools


#: A number at each step, shape (steps,).
Scalar = Floats
Value = Vector | Scalar | str


def empty(steps: int) -> Vector:
    """A vector without series."""
    return Vector([], np.empty((0, steps)), np.empty((0, steps), np.bool_))


def take(vector: Vector, rows: Sequence[int] | NDArray[np.intp]) -> Vector:
    """Select series, in the given order."""
    index = np.asarray(rows, np.intp)
    return Vector([vector.labels[i] for i in index], vector.values[index], vector.there[index])


def anywhere(there: Bools) -> Bools:
    """The steps at which any of the series has a value."""
    found: Bools = np.logical_or.reduce(there, axis=0)
    return found


def without(labels: Labels, names: Iterable[str]) -> Labels:
    """Labels without the given names."""
    left_out = set(names)
    return tuple(pair for pair in labels if pair[0] not in left_out)


def only(labels: Labels, names: Iterable[str]) -> Labels:
    """Labels with only the given names."""
    kept = set(names)
    return tuple(pair for pair in labels if pair[0] in kept)


def nameless(vector: Vector) -> Vector:
    """Remove the metric's name, because the result of a computation is a different metric."""
    labels = [
        labels if not labels or labels[0][0] > NAME else without(labels, (NAME,)) for labels in vector.labels
    ]
    return merged(Vector(labels, vector.values, vector.there))


def merged(vector: Vector) -> Vector:
    """Join series with the same labels. Raises BadQuery if two of them have values at the same step."""
    if len(set(vector.labels)) == len(vector.labels):
        return vector
    rows: dict[Labels, list[int]] = {}
    for row, labels in enumerate(vector.labels):
        rows.setdefault(labels, []).append(row)
    values = vector.values[[same[0] for same in rows.values()]]
    there = vector.there[[same[0] for same in rows.values()]]
    for at, (labels, same) in enumerate(rows.items()):
        for row in same[1:]:
            if (there[at] & vector.there[row]).any():
                raise BadQuery(
                    f"The result would have two series with the labels {shown(labels)}.",
                    "Aggregate by more labels, or match on only one metric name.",
                    what="same_labels",
                    labels=shown(labels),
                )
            values[at] = np.where(vector.there[row], vector.values[row], values[at])
            there[at] |= vector.there[row]
    return Vector(list(rows), values, there)


def shown(labels: Labels) -> str:
    """Format labels as in PromQL."""
    return "{" + ", ".join(f'{name}="{value}"' for name, value in labels) + "}"


def in_seconds(times_ns: Times) -> Floats:
    """Times in s, to the millisecond, like Prometheus' own."""
    found: Floats = times_ns // 10**6 / 1e3
    return found


def number_text(value: float, *, exponents: bool = True) -> str:
    """Format a number as Prometheus does: the shortest digits that mean it.

    ``exponents``: use one for very large and very small numbers, as in Prometheus' JSON.
    """
    text = repr(value)
    if text.endswith(".0"):
        return text[:-2]
    if text[-1] in "nf":
        return {"nan": "NaN", "inf": "+Inf", "-inf": "-Inf"}[text]
    if "e" in text and not (exponents and not 1e-6 <= abs(value) < 1e21):
        return format(Decimal(text), "f")
    return text


def bounded(series: int, steps: int) -> None:
    """Raise BadQuery if a result would have too many values."""
    if series * steps > MAX_CELLS:
        raise BadQuery(
            f"{series} series at {steps} steps exceed the limit of {MAX_CELLS} values.",
            "Select fewer series with matchers, or use a longer step or a shorter range.",
            what="cells",
            number=series,
            steps=steps,
            limit=MAX_CELLS,
        )


def bad_at_time() -> BadQuery:
    """The error for a time after ``@`` that is out of range."""
    return BadQuery(
        "The time after @ is not between 1970 and 2242.", "Give seconds since 1970.", what="at_time"
    )


def unsupported(feature: str, name: str) -> BadQuery:
    """The error for a feature of Prometheus that is not supported. ``name``: what it is called in PromQL."""
    return BadQuery(f"{feature} is not supported here.", DOCS, what="unsupported", name=name)
