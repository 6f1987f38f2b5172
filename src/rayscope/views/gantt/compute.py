"""Packs bars into rows without overlap."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Bars share a row if they overlap by less than this, in ns. The times of events are not more precise.
TOLERANCE_NS = 5_000_000
#: Bars share a row only if they overlap by less than this fraction of the shorter bar.
TOLERANCE_SHARE = 0.01


class Packed(NamedTuple):
    """Result of :func:`pack`. ``row[i]`` is the row of bar ``i``, or -1 if it did not fit."""

    row: list[int]
    rows: int
    folded: int


def pack(begins: Sequence[int], ends: Sequence[int], max_rows: int) -> Packed:
    """Put each bar ``[begin, end)`` into the lowest free row, using at most ``max_rows`` rows.

    No two bars of a row overlap by more than :data:`TOLERANCE_NS` and :data:`TOLERANCE_SHARE` allow. Bars
    that do not fit get row -1, and ``folded`` counts them. An empty bar also needs a free row, but does not
    occupy it. There are never more rows than bars that overlap at any one time.
    """
    row = [-1] * len(begins)
    free: list[int] = []
    #: The last bar of each row, as (end, row, length).
    busy: list[tuple[int, int, int]] = []
    rows = folded = 0
    for bar in sorted(range(len(begins)), key=lambda at: (begins[at], ends[at])):
        while busy and busy[0][0] <= begins[bar]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        length = ends[bar] - begins[bar]
        if free:
            row[bar] = heapq.heappop(free)
        elif (nearly := _nearly_free(busy, begins[bar], length)) is not None:
            busy.remove(nearly)
            heapq.heapify(busy)
            row[bar] = nearly[1]
        elif rows < max_rows:
            row[bar] = rows
            rows += 1
        else:
            folded += 1
            continue
        heapq.heappush(busy, (ends[bar], row[bar], length))
    return Packed(row, rows, folded)


def _nearly_free(
    busy: Iterable[tuple[int, int, int]], begin: int, length: int
) -> tuple[int, int, int] | None:
    """Return the first row whose last bar overlaps the given bar within the tolerance."""
    overlapping = ((last, last[0] - begin) for last in busy)
    return min(
        (
            last
            for last, overlap in overlapping
            if overlap < min(TOLERANCE_NS, TOLERANCE_SHARE * min(length, last[2]))
        ),
        default=None,
    )
