"""The mean number of open intervals over time."""

from __future__ import annotations

import duckdb
from hypothesis import given
from hypothesis import strategies as st

from rayscope.storage.sql.open_intervals import mean_open

#: Intervals as (begin, end), some of which lie before or after the buckets.
INTERVALS = st.lists(st.tuples(st.integers(-20, 80), st.integers(0, 30)), min_size=1, max_size=60)


@given(INTERVALS, st.integers(-10, 10), st.integers(1, 20), st.integers(1, 8))
def test_means_are_exact(lengths: list[tuple[int, int]], begin: int, width: int, buckets: int) -> None:
    intervals = [(since, since + length) for since, length in lengths]
    values = [value for interval in intervals for value in interval]
    rows = f"SELECT * FROM (VALUES {', '.join(['(?, ?)'] * len(intervals))}) AS i(began, ended)"
    with duckdb.connect() as db:
        means = mean_open(db, rows, values, begin=begin, width=width, buckets=buckets)
    assert len(means) == buckets
    for bucket, mean in enumerate(means):
        low, high = begin + bucket * width, begin + (bucket + 1) * width
        assert mean == sum(max(0, min(end, high) - max(since, low)) for since, end in intervals) / width


def test_nothing_is_open_without_intervals() -> None:
    with duckdb.connect() as db:
        none = "SELECT 1 AS began, 2 AS ended WHERE false"
        assert mean_open(db, none, [], begin=0, width=10, buckets=3) == [0, 0, 0]
