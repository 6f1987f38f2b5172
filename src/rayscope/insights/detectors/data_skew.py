"""Calls that take longer because they get more data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.outliers import are_few
from rayscope.insights.replay.recorded import Ints

#: Few calls have at least so many times the median of the data, and take so many times the median of the
#: time.
_TIMES = 2.0
#: Some part is always larger: what costs less of the job's time is noise.
_SHARE = 0.05
#: The duration goes with the bytes: Pearson's correlation of both.
_CORRELATION = 0.8


class DataSkew:
    """Few calls of a function get much more data than the others, and take longer in proportion.

    Limits: 8 calls or more with large arguments; at most a fifth of them have twice the median of the bytes
    and take twice the median of the time, longer by 1 % of the job's time; the longest is longer than the
    average by 5 % of it; bytes and durations correlate by 0.8. Of 4 to 7 calls one counts that is on the
    critical path and takes five times the median.

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
        a = facts.attempts
        if not a.fetched_bytes.any():
            return
        for function, calls in facts.calls_of_function.items():
            skewed = skewed_calls(facts, calls)
            if not len(skewed) or facts.may_be_several(calls):
                continue
            own, sizes = facts.own_ns[calls], a.fetched_bytes[calls]
            longest = int(facts.own_ns[skewed].max())
            # Shared evenly, each call would take what they take on average.
            cost_ns = max(0, longest - round(float(own.mean())))
            if cost_ns < _SHARE * facts.duration_ns:
                continue
            yield Finding(
                cost_ns,
                function=function,
                rows=skewed,
                numbers={
                    "skewed": len(skewed),
                    "calls": len(calls),
                    "largest_bytes": int(sizes.max()),
                    "median_bytes": round(float(np.median(sizes))),
                    "longest_ns": longest,
                    "median_ns": round(float(np.median(own))),
                    "correlation": _correlation(sizes, own),
                },
                filters={"func_name": function},
            )


def skewed_calls(facts: Facts, calls: Ints) -> Ints:
    """Of the calls of a function the few that get more data and take longer; none without that reason."""
    own, sizes = facts.own_ns[calls], facts.attempts.fetched_bytes[calls]
    if not len(calls) or not sizes.any():
        return calls[:0]
    is_long = (own > _TIMES * np.median(own)) & (own - np.median(own) > facts.duration_ns / 100)
    is_large = is_long & (sizes > _TIMES * np.median(sizes))
    large = calls[is_large]
    if len(large) < 0.8 * is_long.sum() or not are_few(facts, calls, is_large):
        return calls[:0]
    return large if _correlation(sizes, own) >= _CORRELATION else calls[:0]


def _correlation(some: Ints, others: Ints) -> float:
    return float(np.corrcoef(some, others)[0, 1])
