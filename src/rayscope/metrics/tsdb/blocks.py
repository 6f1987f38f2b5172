"""Combines samples of many series into matrices. Series with the same times share a matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rayscope.metrics.tsdb.ring import Bools, Indices, Times, Values
from rayscope.model.metric import Labels

#: Maximum number of cells of a matrix while samples are combined.
_CELLS = 4_000_000


class Block(NamedTuple):
    """Series with the same times: ``times_ns`` (samples,), ``values`` (series, samples)."""

    labels: list[Labels]
    times_ns: Times
    values: Values


class Part(NamedTuple):
    """Samples. For each: the number of its series in ``rows`` (ascending), its time, and its value."""

    rows: Indices
    times_ns: Times
    values: Values


class Grid(NamedTuple):
    """The values of some series at some times: ``rows`` has the series' numbers. Both are ascending.

    ``there``: whether a value exists.
    """

    rows: Indices
    times_ns: Times
    values: Values
    there: Bools


def joined(
    labels: Sequence[Labels], grid: Grid, parts: Sequence[Part], limit: int
) -> tuple[list[Block], int]:
    """The first ``limit`` series that have a value, and the number of other series that have one.

    NaN is a sample but not a value. If a part and the grid have a value for the same time, the part wins.
    """
    blocks: list[Block] = []
    count = 0
    for named, times_ns, values, there in _slabs(labels, grid, parts):
        rows = np.flatnonzero((there & ~np.isnan(values)).any(axis=1))
        kept = rows[: max(0, limit - count)]
        count += len(rows)
        blocks += _by_times(named, times_ns, values, there, kept)
    return blocks, max(0, count - limit)


def _slabs(
    labels: Sequence[Labels], grid: Grid, parts: Sequence[Part]
) -> Iterator[tuple[Sequence[Labels], Times, Values, Bools]]:
    """Matrices of limited size, one after the other, for successive groups of series."""
    parts = [part for part in parts if len(part.rows)]
    if not parts:
        if len(grid.rows):
            yield [labels[row] for row in grid.rows], grid.times_ns, grid.values, grid.there
        return
    times_ns = np.unique(np.concatenate([grid.times_ns, *(part.times_ns for part in parts)]))
    columns = np.searchsorted(times_ns, grid.times_ns)
    high = max(1, _CELLS // len(times_ns))
    for begin in range(0, len(labels), high):
        end = min(len(labels), begin + high)
        values = np.zeros((end - begin, len(times_ns)))
        there = np.zeros(values.shape, np.bool_)
        low, top = np.searchsorted(grid.rows, (begin, end))
        if low < top:
            at = np.ix_(grid.rows[low:top] - begin, columns)
            values[at], there[at] = grid.values[low:top], grid.there[low:top]
        for part in parts:
            low, top = np.searchsorted(part.rows, (begin, end))
            cells = part.rows[low:top] - begin, np.searchsorted(times_ns, part.times_ns[low:top])
            values[cells], there[cells] = part.values[low:top], True
        yield labels[begin:end], times_ns, values, there


def _by_times(
    labels: Sequence[Labels], times_ns: Times, values: Values, there: Bools, rows: Indices
) -> list[Block]:
    """Rows of a matrix, grouped by equal times, in order of each group's first row."""
    if not len(rows):
        return []
    if there[rows].all():
        return [Block([labels[row] for row in rows], times_ns, values[rows])]
    same: dict[bytes, list[int]] = {}
    packed = np.packbits(there, axis=1)
    for row in rows.tolist():
        same.setdefault(packed[row].tobytes(), []).append(row)
    return [
        Block([labels[row] for row in alike], times_ns[there[alike[0]]], values[alike][:, there[alike[0]]])
        for alike in same.values()
    ]
