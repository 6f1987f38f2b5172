"""How many intervals were open over time, such as attempts in flight or attempts on workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb


def mean_open(
    reader: duckdb.DuckDBPyConnection,
    intervals: str,
    values: Sequence[Any],
    *,
    begin: int,
    width: int,
    buckets: int,
) -> list[float]:
    """Return the mean number of open intervals in each of ``buckets`` buckets, which begin at ``begin`` (ns).

    ``intervals`` is SQL for rows with ``began`` and ``ended`` (ns), and ``values`` are its parameters. A
    bucket is ``width`` ns wide. Times outside the buckets count as the nearest time inside.

    The result is exact: the total length of the intervals up to ``t`` is the sum of ``t - began`` over those
    that began before ``t``, minus the sum of ``t - ended`` over those that ended before ``t``.
    """
    begin, width = int(begin), int(width)
    end = begin + width * buckets
    began, ended = (f"least(greatest({at}, {begin}), {end}) - {begin}" for at in ("began", "ended"))
    found = reader.execute(
        f"WITH cells AS MATERIALIZED (SELECT began // {width} AS began_in, "
        f"ended // {width} AS ended_in, count(*) AS n, sum(began) AS begins, sum(ended) AS ends "
        f"FROM (SELECT {began} AS began, {ended} AS ended FROM ({intervals})) GROUP BY ALL) "
        "SELECT 1, began_in, sum(n)::BIGINT, sum(begins) FROM cells GROUP BY began_in "
        "UNION ALL SELECT -1, ended_in, sum(n)::BIGINT, sum(ends) FROM cells GROUP BY ended_in",
        list(values),
    ).fetchall()
    counts, sums = [0] * buckets, [0] * buckets
    for sign, bucket, count, total in found:
        at = min(bucket, buckets - 1)
        counts[at] += sign * count
        sums[at] += sign * int(total)
    means = []
    count = total = lived = 0
    for bucket in range(buckets):
        count += counts[bucket]
        total += sums[bucket]
        until = count * (bucket + 1) * width - total
        means.append((until - lived) / width)
        lived = until
    return means
