"""Functions of instant vectors: element-wise arithmetic, labels, and quantiles of histograms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rayscope.metrics import regex
from rayscope.metrics.promql.values import (
    NAME,
    Bools,
    Floats,
    Times,
    Vector,
    anywhere,
    empty,
    merged,
    nameless,
    without,
)
from rayscope.model.metric import Labels
from rayscope.storage.errors import BadQuery

#: A valid name of a label.
LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")

#: Functions that convert each value separately.
PLAIN: dict[str, Callable[[Floats], Floats]] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "floor": np.floor,
    "exp": np.exp,
    "ln": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "sqrt": np.sqrt,
    "sgn": np.sign,
    **{
        name: getattr(np, {"a": "arc"}.get(name[0], "") + name.removeprefix("a"))
        for root in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
        for name in (root, f"a{root}")
    },
    "deg": lambda values: values * 180 / np.pi,
    "rad": lambda values: values * np.pi / 180,
}

_DAY_S = 86400
#: Times from here on have no date. Every integer below is exact.
_LAST_DATE_S = 2**53
#: Parts of a date in UTC, from whole seconds since 1970 and the same time as a date.
DATES: dict[str, Callable[[Times, NDArray[np.datetime64]], NDArray[Any]]] = {
    "minute": lambda seconds, _: seconds % 3600 // 60,
    "hour": lambda seconds, _: seconds % _DAY_S // 3600,
    # 1 January 1970 was a Thursday, which is day 4.
    "day_of_week": lambda seconds, _: (seconds // _DAY_S + 4) % 7,
    "day_of_month": lambda _, date: date.astype("M8[D]") - date.astype("M8[M]") + 1,
    "day_of_year": lambda _, date: date.astype("M8[D]") - date.astype("M8[Y]") + 1,
    "days_in_month": lambda _, date: (date.astype("M8[M]") + 1).astype("M8[D]") - date.astype("M8[M]"),
    "month": lambda _, date: date.astype("M8[M]").astype(np.int64) % 12 + 1,
    "year": lambda _, date: date.astype("M8[Y]").astype(np.int64) + 1970,
}


def plain(name: str, vector: Vector) -> Vector:
    """Apply a function to each value."""
    return nameless(Vector(vector.labels, PLAIN[name](vector.values), vector.there))


def date_part(name: str, vector: Vector) -> Vector:
    """A part of the date (see ``DATES``) of each value, a time in s. NaN for values that are no time."""
    is_time = np.abs(vector.values) < _LAST_DATE_S
    seconds = np.where(is_time, vector.values, 0).astype(np.int64)
    found = DATES[name](seconds, seconds.astype("M8[s]")).astype(np.float64)
    return nameless(Vector(vector.labels, np.where(is_time, found, np.nan), vector.there))


def rounded(vector: Vector, to: Floats) -> Vector:
    """Round to the nearest multiple of ``to``, halves up."""
    inverse = 1 / to
    return nameless(Vector(vector.labels, np.floor(vector.values * inverse + 0.5) / inverse, vector.there))


def clamped(vector: Vector, low: Floats, high: Floats) -> Vector:
    """Limit values to bounds. Empty where the lower bound exceeds the upper one."""
    values = np.maximum(low, np.minimum(high, vector.values))
    return nameless(Vector(vector.labels, values, vector.there & ~(high < low)))


def in_order(vector: Vector, *, descending: bool) -> Vector:
    """Sort by value at the only step, NaN last. Ranges are not sorted."""
    if vector.values.shape[1] != 1:
        return vector
    values = vector.values[:, 0]
    order = np.lexsort((-values if descending else values, np.isnan(values)))
    return Vector([vector.labels[i] for i in order], vector.values[order], vector.there[order])


def absent(labels: Labels, there: Bools) -> Vector:
    """A series with the given labels that is 1 at the steps without a value."""
    missing = ~anywhere(there)[None, :]
    return Vector([labels], np.ones(missing.shape), missing)


def scalar(vector: Vector) -> Floats:
    """The value of the only series, or NaN if there are none or several."""
    found: Floats = np.where(vector.there, vector.values, 0.0).sum(axis=0)
    return np.where(vector.there.sum(axis=0) == 1, found, np.nan)


def label_replace(vector: Vector, target: str, replacement: str, source: str, pattern: str) -> Vector:
    """Set the label ``target`` to the replacement if the whole label ``source`` matches the pattern (RE2)."""
    check_label(target)
    texts = sorted({dict(labels).get(source, "") for labels in vector.labels})
    anchored = f"^(?s:{pattern})$"
    hits = regex.matches(anchored, texts)
    made = regex.replaced(anchored, replacement, texts)
    new = {text: value for text, hit, value in zip(texts, hits, made, strict=True) if hit}
    labels = []
    for each in vector.labels:
        text = dict(each).get(source, "")
        labels.append(with_label(each, target, new[text]) if text in new else each)
    return merged(Vector(labels, vector.values, vector.there))


def label_join(vector: Vector, target: str, separator: str, sources: list[str]) -> Vector:
    """Set the label ``target`` to the values of other labels, joined by a separator."""
    for name in (target, *sources):
        check_label(name)
    labels = [
        with_label(each, target, separator.join(dict(each).get(source, "") for source in sources))
        for each in vector.labels
    ]
    return merged(Vector(labels, vector.values, vector.there))


def check_label(name: str) -> None:
    """Raise BadQuery if a name cannot be that of a label."""
    if not LABEL.fullmatch(name):
        raise BadQuery(
            f"{name[:100]!r} is not a valid label name.",
            "Use letters, digits, and underscores.",
            what="label_name",
            name=name[:100],
        )


def with_label(labels: Labels, name: str, value: str) -> Labels:
    """Labels in which one is set. An empty value removes it."""
    rest = without(labels, (name,))
    return tuple(sorted((*rest, (name, value)))) if value else rest


def histogram_quantile(q: Floats, vector: Vector) -> Vector:
    """The quantile of each histogram, assuming an even distribution within each bucket."""
    histograms: dict[Labels, list[tuple[float, int]]] = {}
    for row, labels in enumerate(vector.labels):
        try:
            bound = float(dict(labels).get("le", ""))
        except ValueError:
            continue
        histograms.setdefault(without(labels, ("le", NAME)), []).append((bound, row))
    steps = vector.values.shape[1]
    made = empty(steps)
    values, theres = [made.values], [made.there]
    for buckets in histograms.values():
        buckets.sort()
        rows = [row for _, row in buckets]
        there = vector.there[rows]
        found = np.full(steps, np.nan)
        patterns, which = np.unique(there, axis=1, return_inverse=True)
        for number in range(patterns.shape[1]):
            at = np.flatnonzero(which.ravel() == number)
            present = np.flatnonzero(patterns[:, number])
            if len(present):
                bounds = np.array([buckets[i][0] for i in present])
                counts = vector.values[[rows[i] for i in present]][:, at]
                found[at] = _of_buckets(q[at], bounds, counts)
        values.append(found[None])
        theres.append(anywhere(there)[None])
    return Vector(list(histograms), np.concatenate(values), np.concatenate(theres))


def _of_buckets(q: Floats, bounds: Floats, counts: Floats) -> Floats:
    """The quantile at each step. ``bounds`` (buckets,) ascend; ``counts`` (buckets, steps) are cumulative."""
    outside = np.where(q < 0, -np.inf, np.where(q > 1, np.inf, np.nan))
    bounds, first = np.unique(bounds, return_index=True)
    if not np.isposinf(bounds[-1]) or len(bounds) < 2:
        return np.where((q < 0) | (q > 1), outside, np.nan)
    counts = np.fmax.accumulate(np.add.reduceat(counts, first, axis=0), axis=0)
    total = counts[-1]
    rank = q * total
    reached = counts[:-1] >= rank
    at = np.where(reached.any(axis=0), reached.argmax(axis=0), len(bounds) - 1)
    steps = np.arange(counts.shape[1])
    below = np.maximum(at - 1, 0)
    start = np.where(at > 0, bounds[below], 0.0)
    before = np.where(at > 0, counts[below, steps], 0.0)
    found = start + (bounds[at] - start) * ((rank - before) / (counts[at, steps] - before))
    found = np.where((at == 0) & (bounds[0] <= 0), bounds[0], found)
    found = np.where(at == len(bounds) - 1, bounds[-2], found)
    found = np.where(total == 0, np.nan, found)
    return np.where((q >= 0) & (q <= 1), found, outside)
