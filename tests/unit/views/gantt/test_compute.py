"""Packing bars into rows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rayscope.views.gantt.compute import TOLERANCE_NS, TOLERANCE_SHARE, pack

INTERVALS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 30)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    max_size=60,
)


@given(INTERVALS, st.integers(1, 8))
def test_no_two_bars_of_a_row_overlap(intervals: list[tuple[int, int]], max_rows: int) -> None:
    packed = pack([begin for begin, _ in intervals], [end for _, end in intervals], max_rows)
    depth = max((sum(b <= at < e for b, e in intervals) for at in range(91)), default=0)
    assert packed.rows == min(depth, max_rows)
    assert packed.folded == packed.row.count(-1)
    assert (packed.folded > 0) == (depth > max_rows)
    for row in range(packed.rows):
        mine = sorted(bar for bar, at in zip(intervals, packed.row, strict=True) if at == row)
        assert mine
        assert all(first[1] <= second[0] for first, second in pairwise(mine))


MS = 1_000_000


@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=40),
    st.lists(st.integers(-30, 30), min_size=40, max_size=40),
)
def test_only_bars_that_overlap_by_hardly_anything_share_a_row(lengths: list[int], gaps: list[int]) -> None:
    """Calls one after another whose times are off by some ms, or that really ran at once."""
    intervals, end = [], 0
    for length, gap in zip(lengths, gaps, strict=False):
        begin = max(0, end + gap * MS // 4)
        intervals.append((begin, begin + length * MS))
        end = begin + length * MS
    packed = pack([begin for begin, _ in intervals], [end for _, end in intervals], 100)
    for at, (begin, end) in enumerate(intervals):
        for other in range(at):
            overlap = min(end, intervals[other][1]) - max(begin, intervals[other][0])
            shorter = min(end - begin, intervals[other][1] - intervals[other][0])
            if overlap >= min(TOLERANCE_NS, TOLERANCE_SHARE * shorter) and overlap > 0:
                assert packed.row[at] != packed.row[other]
    # Each overlaps hardly more than nothing with the one before it.
    if all(
        gap * MS // 4 > -min(TOLERANCE_NS, TOLERANCE_SHARE * MS * min(pair))
        for gap, pair in zip(gaps[1:], pairwise(lengths), strict=False)
    ):
        assert packed.rows == 1
