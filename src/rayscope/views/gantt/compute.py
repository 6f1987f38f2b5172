"""Bars in rows without overlap, and how many attempts ran at a time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple

#: Bars share a row if they overlap by less than this (ns) and by less than this share of the shorter one.
#: Events are no more exact.
TOLERANCE_NS = 5_000_000
TOLERANCE_SHARE = 0.01


class Packed(NamedTuple):
    """``row[i]``: the row of bar ``i``, or -1 for one that found no room; ``rows``: how many are used."""

    row: list[int]
    rows: int
    folded: int


def pack(begins: Sequence[int], ends: Sequence[int], most: int) -> Packed:
    """Put bars ``[begin, end)`` into the lowest row that is free; at most ``most`` rows.

    No two bars of a row overlap by more than :data:`TOLERANCE_NS` and :data:`TOLERANCE_SHARE` allow. Bars
    that would need one row more get -1 (``folded`` counts them). An empty bar takes no room but needs a free
    row. There are at most as many rows as bars overlap at a time.
    """
    row = [-1] * len(begins)
    free: list[int] = []
    #: (end, row, length) of the last bar of each row.
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
        elif rows < most:
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
    """The first row whose last bar overlaps a bar of that begin and length by less than is tolerated."""
    overlapping = ((last, last[0] - begin) for last in busy)
    return min(
        (
            last
            for last, overlap in overlapping
            if overlap < min(TOLERANCE_NS, TOLERANCE_SHARE * min(length, last[2]))
        ),
        default=None,
    )


#: (bucket, how many times fall into it, the sum of these times)
Events = Iterable[tuple[int, int, int]]


def mean_running(begins: Events, ends: Events, buckets: int, width: int) -> list[float]:
    """How many intervals were open on average in each of ``buckets`` stretches of ``width`` ns.

    Times count from the first bucket's begin; ``begins`` and ``ends`` tell those of the intervals.
    Exact: the time lived until ``t`` is the sum of ``t - begin`` over the begins before ``t``, less the same
    of the ends.
    """
    counts, sums = [0] * buckets, [0] * buckets
    for events, sign in ((begins, 1), (ends, -1)):
        for bucket, count, total in events:
            at = min(max(bucket, 0), buckets - 1)
            counts[at] += sign * count
            sums[at] += sign * total
    means = []
    count = total = lived = 0
    for bucket in range(buckets):
        count += counts[bucket]
        total += sums[bucket]
        until = count * (bucket + 1) * width - total
        means.append((until - lived) / width)
        lived = until
    return means
