"""Long calls that share an actor or a node."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.detectors.stragglers import is_long, median_ns
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.outliers import MIN_CALLS, shared_place
from rayscope.insights.replay.changes import Change

#: Below this share of the job's time the delay is noise.
_MIN_SHARE = 0.05


class SlowPlace:
    """Calls that take at least three times the median of their function share an actor, or a node.

    Limits: at least 8 calls. At least 2 take more than three times the median, and exceed it by 1 % of the
    job's time, and by 5 % in total. 75 % of these ran on one actor or node, where at least half of the calls
    are long. A node with 5 calls or more is compared with the others as a slow node instead.

    Needs: when calls began and ended, and where.
    """

    kind = "slow_place"
    title = "Slow calls on one actor or node"
    advice = (
        "{shared} of the {stragglers} slow calls of {function} ran on {ran_on} and took up to {longest_ns}; "
        "the median of all {calls} calls is {median_ns}. Look at what sets {ran_on} apart before you look at "
        "the inputs: the state that an actor keeps, its share of the work, or what else runs on its machine."
    )
    sketch = (
        "# Of several actors the next free one takes a call, so that a slow one gets fewer.\n"
        "pool = ray.util.ActorPool(actors)\n"
        "results = list(pool.map_unordered(lambda actor, item: actor.call.remote(item), items))"
    )
    doc = ""

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose long calls share an actor or a node."""
        for function, of_function in facts.calls_of_function.items():
            calls = of_function[facts.is_executing_known[of_function]]
            if len(calls) < MIN_CALLS or facts.may_be_several(calls):
                continue
            long = is_long(facts, calls)
            place = shared_place(facts, calls, long)
            if place is None:
                continue
            own, median = facts.own_ns[place.rows], median_ns(facts, calls)
            lost = int(own.sum()) - len(own) * round(median)
            if lost < _MIN_SHARE * facts.duration_ns:
                continue
            yield Finding(
                lost,
                function=function,
                changes=(Change("no_stragglers", function),),
                rows=place.rows,
                numbers={
                    "ran_on": place.name,
                    "shared": len(place.rows),
                    "stragglers": int(long.sum()),
                    "calls": len(calls),
                    "longest_ns": int(own.max()),
                    "median_ns": round(median),
                },
                filters={"func_name": function, **place.filters},
            )
