"""Sums over spans of time. A span is (begin, end)."""

from __future__ import annotations

from collections.abc import Iterable

Span = tuple[int, int]


def union_ns(spans: Iterable[Span]) -> int:
    """How long at least one of the spans lasted."""
    total, reached = 0, 0
    for begin, end in sorted(spans):
        total += max(0, end - max(begin, reached))
        reached = max(reached, end)
    return total


def most_at_once(spans: Iterable[Span]) -> int:
    """How many of the spans lasted at the same time, at most."""
    changes = sorted(change for begin, end in spans for change in ((begin, 1), (end, -1)))
    count = most = 0
    for _, change in changes:
        count += change
        most = max(most, count)
    return most
