"""Aggregations: they combine the series of each group of labels, or select the largest or smallest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import promql_parser as parser
from numpy.typing import NDArray

from rayscope.metrics.promql.functions import check_label, with_label
from rayscope.metrics.promql.range_functions import quantile
from rayscope.metrics.promql.values import (
    NAME,
    Bools,
    Floats,
    Vector,
    bounded,
    empty,
    number_text,
    only,
    unsupported,
    without,
)
from rayscope.model.metric import Labels
from rayscope.storage.errors import BadQuery

SUPPORTED = (
    "sum", "avg", "min", "max", "count", "group", "stddev", "stdvar", "topk", "bottomk", "quantile",
)  # fmt: skip


def aggregated(
    name: str,
    vector: Vector,
    modifier: parser.AggModifier | None,
    parameter: Floats,
    check: Callable[[], None],
) -> Vector:
    """Apply an aggregation by its name in PromQL.

    ``parameter``: k or the quantile at each step, if any. ``check`` is called between groups.
    """
    if name not in SUPPORTED:
        raise unsupported(f"The aggregation {name}", name)
    steps = vector.values.shape[1]
    if not vector.labels:
        return empty(steps)
    labels, groups = _groups(vector.labels, modifier)
    if name in ("topk", "bottomk"):
        return _select_k(vector, groups, parameter, check, largest=name == "topk")
    if name == "quantile":
        values, there = np.empty((len(labels), steps)), np.empty((len(labels), steps), np.bool_)
        for each in range(len(labels)):
            check()
            rows = groups == each
            values[each] = quantile(parameter, vector.values[rows], vector.there[rows])
            there[each] = vector.there[rows].any(axis=0)
        return Vector(labels, values, there)
    order = np.argsort(groups, kind="stable")
    first = np.searchsorted(groups[order], np.arange(len(labels)))
    values, there = vector.values[order], vector.there[order]
    count = np.add.reduceat(there, first, axis=0, dtype=np.int64)
    return Vector(labels, _of_groups(name, values, there, first, groups[order], count), count > 0)


def count_values(
    vector: Vector, modifier: parser.AggModifier | None, label: str, check: Callable[[], None]
) -> Vector:
    """For each group and each of its values, the number of series that have it. ``label`` has the value.

    ``check`` is called between series.
    """
    check_label(label)
    steps = vector.values.shape[1]
    labels: list[Labels] = []
    there: list[Bools] = []
    for each, values, present in zip(vector.labels, vector.values, vector.there, strict=True):
        check()
        bits = values.view(np.uint64)  # 0 and -0 are different values, as in Prometheus
        different = np.unique(bits[present])
        bounded(len(labels) + len(different), steps)
        for value, number in zip(different, different.view(np.float64).tolist(), strict=True):
            labels.append(with_label(each, label, number_text(number, exponents=False)))
            there.append(present & (bits == value))
    if not labels:
        return empty(steps)
    keys, groups = _groups(labels, modifier, label)
    count = np.zeros((len(keys), steps))
    np.add.at(count, groups, np.stack(there))
    return Vector(keys, count, count > 0)


def _of_groups(
    name: str,
    values: Floats,
    there: Bools,
    first: NDArray[np.intp],
    groups: NDArray[np.intp],
    count: NDArray[np.int64],
) -> Floats:
    """Aggregate the rows of each group. ``first``: index of each group's first row."""
    if name == "count":
        return count.astype(np.float64)
    if name == "group":
        return np.ones(count.shape)
    if name in ("min", "max"):
        ufunc = np.fmin if name == "min" else np.fmax
        least: Floats = ufunc.reduceat(np.where(there, values, np.nan), first, axis=0)
        return least
    total: Floats = np.add.reduceat(np.where(there, values, 0.0), first, axis=0)
    if name == "sum":
        return total
    mean = total / count
    if name == "avg":
        return mean
    squares = np.where(there, (values - mean[groups]) ** 2, 0.0)
    spread: Floats = np.add.reduceat(squares, first, axis=0) / count
    return np.sqrt(spread) if name == "stddev" else spread


def _groups(
    labels: list[Labels], modifier: parser.AggModifier | None, *also: str
) -> tuple[list[Labels], NDArray[np.intp]]:
    """The labels of each group, and for each series the number of its group.

    ``also``: labels that belong to a group besides those of the modifier.
    """
    number: dict[Labels, int] = {}
    groups = np.empty(len(labels), np.intp)
    for row, each in enumerate(labels):
        if modifier is None:
            key: Labels = only(each, also)
        elif modifier.type == parser.AggModifierType.By:
            key = only(each, (*modifier.labels, *also))
        else:
            key = without(each, (NAME, *modifier.labels))
        groups[row] = number.setdefault(key, len(number))
    return list(number), groups


def _select_k(
    vector: Vector, groups: NDArray[np.intp], k: Floats, check: Callable[[], None], *, largest: bool
) -> Vector:
    """The k largest or smallest series of each group at each step, with their own labels."""
    if np.isnan(k).any():
        raise BadQuery(
            "The number of series to keep is not a number.", "Give topk and bottomk a number.", what="topk"
        )
    there = np.zeros_like(vector.there)
    for group in range(int(groups.max()) + 1):
        check()
        rows = np.flatnonzero(groups == group)
        values, present = vector.values[rows], vector.there[rows]
        key = np.where(np.isnan(values), 0.0, -values if largest else values)
        worst = np.where(present, np.isnan(values), 2)
        order = np.lexsort((key, worst), axis=0)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(len(rows))[:, None], axis=0)
        there[rows] = present & (rank < np.floor(k))
    return Vector(vector.labels, vector.values, there)
