"""A few calls of a function that take much longer than the others."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

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
        for function, rows in facts.rows_of_function.items():
            calls = [
                row
                for row in rows
                if not facts.is_creation(row) and facts.own_ns(row) >= 0 and facts.is_executing_known(row)
            ]
            own = [facts.own_ns(row) for row in calls]
            if len(own) < _LEAST:
                continue
            median = statistics.median(own)
            # On each worker the first call may import modules.
            cold = [ns for row, ns in zip(calls, own, strict=True) if not facts.is_warm(row)]
            usual_cold = max(median, statistics.median(cold)) if cold else median
            usual = (median if facts.is_warm(row) else usual_cold for row in calls)
            long = [
                ns
                for ns, than in zip(own, usual, strict=True)
                if ns > _TIMES * than and ns - median > facts.duration_ns / 100
            ]
            lost = sum(long) - len(long) * median
            few = len(long) <= _FEW * len(own)
            if lost < _SHARE * facts.duration_ns or not few or skewed_calls(facts, calls):
                continue
            yield Finding(
                max(long) - round(median),
                function=function,
                changes=(Change("no_stragglers", function, _TIMES),),
                numbers={
                    "stragglers": len(long),
                    "calls": len(own),
                    "longest_ns": max(long),
                    "median_ns": round(median),
                },
                filters={"func_name": function},
            )
