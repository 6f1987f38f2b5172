"""SQL of quantiles of durations that are estimated from counts: much cheaper than sorting all of them.

Exact ones of each call path took as long as all its sums (docs/explanation/decisions/0008-views-in-sql.md).
"""

from __future__ import annotations


def bucket(duration: str) -> str:
    """SQL of the bucket of a duration (ns, not negative): eight for each power of two."""
    return f"(log2(1 + {duration}) * 8)::INTEGER"


def quantile(share: float, where: str = "true") -> str:
    """SQL of a quantile of durations, from rows of counts by :func:`bucket`, NULL of none.

    Columns: ``took_n`` durations from ``min_took`` to ``max_took`` (taken as evenly spread), ``below`` of
    them in lower buckets, ``took_of`` in all. Exact for up to two in a bucket.
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
    """SQL of the rows of counts in ``rows`` with the columns ``below`` and ``took_of`` that :func:`quantile`
    reads. ``by``: the columns that tell apart whose durations they are.
    """
    return (
        f"SELECT *, sum(took_n) OVER (PARTITION BY {by} ORDER BY bucket NULLS LAST) - took_n AS below, "
        f"sum(took_n) OVER (PARTITION BY {by}) AS took_of FROM {rows}"
    )
