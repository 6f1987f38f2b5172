"""SQL for quantiles of durations, estimated from counts per bucket, which is much cheaper than sorting.

Exact quantiles per call path took as long as all other sums
(docs/explanation/decisions/0008-views-in-sql.md).
"""

from __future__ import annotations


def bucket(duration: str) -> str:
    """SQL for the bucket of a duration (ns, not negative). There are eight per power of two."""
    return f"(log2(1 + {duration}) * 8)::INTEGER"


def quantile(share: float, where: str = "true") -> str:
    """SQL for a quantile of durations, from rows with a count per :func:`bucket`. NULL if there are no rows.

    Columns of the rows: the bucket has ``took_n`` durations from ``min_took`` to ``max_took``, which are
    assumed to be spread evenly. ``below`` durations are in lower buckets, and there are ``took_of`` in total.
    The result is exact if a bucket has at most two durations.
    """
    rank = f"({share} * (took_of - 1))"

    def value(at: str) -> str:
        within = f"least(1, ({at} - below) / greatest(1, took_n - 1))"
        return (
            f"max(CASE WHEN {where} AND took_n > 0 AND below <= {at} THEN "
            f"min_took + ((max_took - min_took) * {within})::BIGINT END)"
        )

    low, high = value(f"floor({rank})"), value(f"ceil({rank})")
    part = f"max(CASE WHEN {where} THEN {rank} - floor({rank}) END)"
    return f"({low} + (({high} - {low}) * {part})::BIGINT)::BIGINT"


def ranked(rows: str, by: str) -> str:
    """SQL that adds the columns ``below`` and ``took_of``, which :func:`quantile` reads, to ``rows`` of
    counts per bucket.

    ``by``: columns that identify a group of durations.
    """
    return (
        f"SELECT *, sum(took_n) OVER (PARTITION BY {by} ORDER BY bucket NULLS LAST) - took_n AS below, "
        f"sum(took_n) OVER (PARTITION BY {by}) AS took_of FROM {rows}"
    )
