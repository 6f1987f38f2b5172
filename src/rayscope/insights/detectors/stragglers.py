"""A few calls of a function that take much longer than the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.detectors.data_skew import skewed_calls
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change

#: Spark's rule for speculation is 1.5 times the median; below three times it is seldom worth a look.
_TIMES = 3.0
_LEAST = 8
#: On a busy machine some call always takes longer: all in all below this share of the job's time it is noise.
_SHARE = 0.05
#: More than this share of the calls are no exception.
_FEW = 0.2


class Stragglers:
    """Few calls take at least three times the median of their function.

    Limits: at least 8 calls; the long ones are at most a fifth of them, take more than three times the
    median, and are longer than it by 1 % of the job's time, all together by 5 %. The first call on each
    worker is compared with other first ones: it may import modules.

    Needs: when calls began and ended.
    """

    kind = "straggler"
    title = "Stragglers"
    advice = (
        "{stragglers} of {calls} calls of {function} took up to {longest_ns}; the median is {median_ns}. "
        "Compare their arguments and nodes with those of the others: split large inputs, or look at the node."
    )
    sketch = (
        "# What takes longest goes first.\n"
        "refs = [{function}.remote(item) for item in sorted(items, key=size, reverse=True)]"
    )
    doc = ""

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with a few long calls."""
        for function, of_function in facts.calls_of_function.items():
            calls = of_function[facts.is_executing_known[of_function]]
            if len(calls) < _LEAST or facts.may_be_several(calls):
                continue
            own, is_warm = facts.own_ns[calls], facts.is_warm[calls]
            median = float(np.median(own))
            # On each worker the first call may import modules.
            usual_cold = median if is_warm.all() else max(median, float(np.median(own[~is_warm])))
            usual = np.where(is_warm, median, usual_cold)
            is_long = (own > _TIMES * usual) & (own - median > facts.duration_ns / 100)
            long = own[is_long]
            lost = int(long.sum()) - len(long) * median
            few = len(long) <= _FEW * len(own)
            if lost < _SHARE * facts.duration_ns or not few or len(skewed_calls(facts, calls)):
                continue
            longest = int(long.max())
            yield Finding(
                longest - round(median),
                function=function,
                changes=(Change("no_stragglers", function, _TIMES),),
                rows=calls[is_long],
                numbers={
                    "stragglers": len(long),
                    "calls": len(own),
                    "longest_ns": longest,
                    "median_ns": round(median),
                },
                filters={"func_name": function},
            )
