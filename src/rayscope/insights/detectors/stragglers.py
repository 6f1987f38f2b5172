"""A few calls of a function that take much longer than the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.detectors.data_skew import skewed_calls
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.outliers import are_few, shared_place
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.recorded import Bools, Ints

#: Spark's rule for speculation is 1.5 times the median. Below three times, a straggler is seldom worth a
#: look.
_MIN_RATIO = 3.0
#: On a busy machine some call always takes longer. If all of them cost less than this share of the job's
#: time, it is noise.
_MIN_SHARE = 0.05


class Stragglers:
    """A few calls take at least three times the median of their function.

    Limits: at least 8 calls. The long ones are at most a fifth of them, take more than three times the
    median, and exceed it by 1 % of the job's time, and by 5 % in total. Of 4 to 7 calls, one counts if it is
    on the critical path and takes five times the median. The first call on each worker is compared with other
    first calls, because it may import modules. Long calls that share an actor or a node are another finding.

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
            if not len(calls) or facts.may_be_several(calls):
                continue
            own, median, longs = facts.own_ns[calls], median_ns(facts, calls), is_long(facts, calls)
            long = own[longs]
            lost = int(long.sum()) - len(long) * median
            if lost < _MIN_SHARE * facts.duration_ns or not are_few(facts, calls, longs):
                continue
            if len(skewed_calls(facts, calls)) or shared_place(facts, calls, longs):
                continue
            longest = int(long.max())
            yield Finding(
                longest - round(median),
                function=function,
                changes=(Change("no_stragglers", function, _MIN_RATIO),),
                rows=calls[longs],
                numbers={
                    "stragglers": len(long),
                    "calls": len(own),
                    "longest_ns": longest,
                    "median_ns": round(median),
                },
                filters={"func_name": function},
            )


def median_ns(facts: Facts, calls: Ints) -> float:
    """The median execution time of calls, ns."""
    return float(np.median(facts.own_ns[calls]))


def is_long(facts: Facts, calls: Ints) -> Bools:
    """Whether each call takes much longer than usual for its function."""
    own, is_warm, median = facts.own_ns[calls], facts.is_warm[calls], median_ns(facts, calls)
    # The first call on each worker may import modules.
    usual_cold = median if is_warm.all() else max(median, float(np.median(own[~is_warm])))
    usual = np.where(is_warm, median, usual_cold)
    found: Bools = (own > _MIN_RATIO * usual) & (own - median > facts.duration_ns / 100)
    return found
