"""Bars in rows without overlap, and how many attempts ran at a time."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Packed(NamedTuple):
    """``row[i]``: the row of bar ``i``, or -1 for one that found no room; ``rows``: how many are used."""

    row: list[int]
    rows: int
    folded: int


def pack(begins: Sequence[int], ends: Sequence[int], most: int) -> Packed:
    """Put bars ``[begin, end)`` into the lowest row that is free; at most ``most`` rows.

    No two bars of a row overlap; bars that would need one row more get -1 (``folded`` counts them). An
    empty bar takes no room but needs a free row. Fewest rows possible: as many as bars overlap at a time.
    """
    row = [-1] * len(begins)
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    rows = folded = 0
    for bar in sorted(range(len(begins)), key=lambda at: (begins[at], ends[at])):
        while busy and busy[0][0] <= begins[bar]:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            row[bar] = heapq.heappop(free)
        elif rows < most:
            row[bar] = rows
            rows += 1
        else:
            folded += 1
            continue
        heapq.heappush(busy, (ends[bar], row[bar]))
    return Packed(row, rows, folded)


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
