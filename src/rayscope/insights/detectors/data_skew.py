"""Calls that take longer because they get more data."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.outliers import are_few
from rayscope.insights.replay.recorded import Ints

#: Skewed calls have at least this many times the median bytes and the median time.
_MIN_RATIO = 2.0
#: Some part is always larger than the others. Below this share of the job's time, the cost is noise.
_MIN_SHARE = 0.05
#: Pearson's correlation of durations and bytes must reach this.
_MIN_CORRELATION = 0.8


class DataSkew:
    """A few calls of a function get much more data than the others, and take longer in proportion.

    Limits: at least 8 calls with large arguments. At most a fifth of them have twice the median bytes, take
    twice the median time, and are longer by 1 % of the job's time. The longest exceeds the average by 5 % of
    the job's time. Bytes and durations correlate by 0.8. Of 4 to 7 calls, one counts if it is on the critical
    path and takes five times the median.

    Needs: the tracer in the workers, for the bytes of arguments that come through the object store (over 100
    KB).
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
        """Functions with a few calls that get more data."""
        a = facts.attempts
        if not a.fetched_bytes.any():
            return
        for function, calls in facts.calls_of_function.items():
            skewed = skewed_calls(facts, calls)
            if not len(skewed) or facts.may_be_several(calls):
                continue
            own, sizes = facts.own_ns[calls], a.fetched_bytes[calls]
            longest = int(facts.own_ns[skewed].max())
            # If the data were shared evenly, each call would take the average time.
            cost_ns = max(0, longest - round(float(own.mean())))
            if cost_ns < _MIN_SHARE * facts.duration_ns:
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
    """The few calls of a function that get more data and take longer in proportion."""
    own, sizes = facts.own_ns[calls], facts.attempts.fetched_bytes[calls]
    if not len(calls) or not sizes.any():
        return calls[:0]
    is_long = (own > _MIN_RATIO * np.median(own)) & (own - np.median(own) > facts.duration_ns / 100)
    is_large = is_long & (sizes > _MIN_RATIO * np.median(sizes))
    large = calls[is_large]
    if len(large) < 0.8 * is_long.sum() or not are_few(facts, calls, is_large):
        return calls[:0]
    return large if _correlation(sizes, own) >= _MIN_CORRELATION else calls[:0]


def _correlation(some: Ints, others: Ints) -> float:
    return float(np.corrcoef(some, others)[0, 1])
