"""Sums over time spans. A span is (begin, end); many spans are two columns of begins and ends."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.replay.recorded import Ints

Span = tuple[int, int]


def union_ns(spans: Iterable[Span]) -> int:
    """The time covered by at least one of the spans, in ns."""
    total, reached = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def union_of(begins: Ints, ends: Ints) -> int:
    """Like :func:`union_ns`, for spans as columns."""
    if not len(begins):
        return 0
    order = np.argsort(begins)
    reached = np.maximum.accumulate(ends[order])
    before = np.concatenate([[0], reached[:-1]])
    return int(np.maximum(ends[order] - np.maximum(begins[order], before), 0).sum())


def most_at_once(begins: Ints, ends: Ints) -> int:
    """The maximum number of spans that overlap at any time."""
    if not len(begins):
        return 0
    times = np.concatenate([begins, ends])
    changes = np.concatenate([np.ones(len(begins), dtype=np.int64), np.full(len(ends), -1)])
    # At equal times, ends (-1) sort before begins (+1), so that adjacent spans do not overlap.
    return int(np.cumsum(changes[np.lexsort((changes, times))]).max())
