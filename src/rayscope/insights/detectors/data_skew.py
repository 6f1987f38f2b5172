"""Calls that take longer because they get more data."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from rayscope.insights.finding import Facts, Finding

#: Few calls have at least so many times the median of the data, and take so many times the median of the
#: time.
_TIMES = 2.0
#: More than this share of the calls are no exception.
_FEW = 0.2
_LEAST = 8
#: The duration goes with the bytes: Pearson's correlation of both.
_CORRELATION = 0.8


class DataSkew:
    """Few calls of a function get much more data than the others, and take longer in proportion.

    Limits: 8 calls or more with large arguments; at most a fifth of them have twice the median of the bytes
    and take twice the median of the time; bytes and durations correlate by 0.8.

    Needs: the tracer in the workers, for the bytes of arguments that come through the object store (over
    100 KB).
    """

    kind = "data_skew"
    title = "Uneven data"
    advice = (
        "{skewed} of {calls} calls of {function} got up to {largest_bytes} of arguments and took up to "
        "{longest_ns}; the medians are {median_bytes} and {median_ns}. Their duration goes with the data "
        "(correlation {correlation:.2f}). Split the data into even parts: more partitions, or another key."
    )
    sketch = "parts = numpy.array_split(rows, len(refs))  # even parts, not one for each key"
    doc = ""

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with a few calls that have more to do."""
        if not any(facts.attempts.fetched_bytes):
            return
        for function, rows in facts.rows_of_function.items():
            calls = [row for row in rows if not facts.is_creation(row) and facts.own_ns(row) >= 0]
            skewed = skewed_calls(facts, calls)
            if not skewed:
                continue
            own = [facts.own_ns(row) for row in calls]
            sizes = [facts.attempts.fetched_bytes[row] for row in calls]
            longest = max(facts.own_ns(row) for row in skewed)
            yield Finding(
                # Shared evenly, each call would take what they take on average.
                max(0, longest - round(statistics.mean(own))),
                function=function,
                numbers={
                    "skewed": len(skewed),
                    "calls": len(calls),
                    "largest_bytes": max(sizes),
                    "median_bytes": round(statistics.median(sizes)),
                    "longest_ns": longest,
                    "median_ns": round(statistics.median(own)),
                    "correlation": statistics.correlation(sizes, own),
                },
                filters={"func_name": function},
            )


def skewed_calls(facts: Facts, calls: Sequence[int]) -> list[int]:
    """Of the calls of a function the few that get more data and take longer; none without that reason."""
    sizes = [facts.attempts.fetched_bytes[row] for row in calls]
    if len(calls) < _LEAST or not any(sizes):
        return []
    own = [facts.own_ns(row) for row in calls]
    usual, usually = statistics.median(own), statistics.median(sizes)
    long = [at for at, ns in enumerate(own) if ns > _TIMES * usual]
    large = [at for at in long if sizes[at] > _TIMES * usually]
    if not large or len(large) < 0.8 * len(long) or len(large) > _FEW * len(calls):
        return []
    return [calls[at] for at in large] if statistics.correlation(sizes, own) >= _CORRELATION else []
