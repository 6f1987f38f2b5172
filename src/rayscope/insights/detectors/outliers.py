"""Calls that take longer than other calls of the same function."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.outliers import MIN_CALLS, are_few, shared_place
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.recorded import Bools, Ints
from rayscope.insights.spans import union_of

#: Skewed calls have at least this many times the median bytes and the median time.
_SKEW_MIN_RATIO = 2.0
#: Some part of the data is always larger than the others. If it costs less than this share of the job's time,
#: it is treated as noise.
_SKEW_MIN_SHARE = 0.05
#: Minimum share of calls with much data in the time by which long calls exceed the median.
_SKEW_MIN_EXCESS = 0.8
#: Minimum Pearson correlation of durations and bytes.
_MIN_CORRELATION = 0.8


class DataSkew:
    """A few calls of a function get much more data than the others, and take longer in proportion.

    Limits: at least 8 calls with large arguments. At most a fifth of them get more than twice the median
    bytes, take more than twice the median time, and exceed the median by more than 1 % of the job's time. The
    longest exceeds the average by at least 5 % of the job's time. The correlation of bytes and durations is
    at least 0.8. Long calls with little data are ignored if they account for at most 20 % of the time that
    long calls take beyond the median. If there are only 4 to 7 calls, a single one counts if it is on the
    critical path and takes more than five times the median.

    Needs: the tracer in the workers, for the sizes of arguments that come through the object store (over 100
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
        """Functions with a few calls that get much more data than the others."""
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
            if cost_ns < _SKEW_MIN_SHARE * facts.duration_ns:
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
    excess_ns = own - np.median(own)
    is_long = (own > _SKEW_MIN_RATIO * np.median(own)) & (excess_ns > facts.duration_ns / 100)
    is_large = is_long & (sizes > _SKEW_MIN_RATIO * np.median(sizes))
    large = calls[is_large]
    # By time, not by number: on a busy machine, some small call always takes a little longer.
    is_theirs = excess_ns[is_large].sum() >= _SKEW_MIN_EXCESS * excess_ns[is_long].sum()
    if not is_theirs or not are_few(facts, calls, is_large):
        return calls[:0]
    return large if _correlation(sizes, own) >= _MIN_CORRELATION else calls[:0]


def _correlation(some: Ints, others: Ints) -> float:
    return float(np.corrcoef(some, others)[0, 1])


#: Calls that take more than this many times the median are stragglers. Spark's rule for speculation is 1.5
#: times, but below three times a straggler is seldom worth a look.
_STRAGGLER_MIN_RATIO = 3.0
#: On a busy machine, some call always takes longer. If all such calls together cost less than this share of
#: the job's time, they are treated as noise.
_STRAGGLER_MIN_SHARE = 0.05


class Stragglers:
    """A few calls take at least three times the median of their function.

    Limits: at least 8 calls. The long ones are at most a fifth of them. Each takes more than three times the
    median and exceeds it by more than 1 % of the job's time. Together they exceed it by at least 5 %. If
    there are only 4 to 7 calls, a single one counts if it is on the critical path and takes more than five
    times the median. The first call on each worker is compared with other first calls, because it may import
    modules. Long calls that share an actor or a node are a separate finding. Calls of actors that take long
    for most of their calls are left out.

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
            if lost < _STRAGGLER_MIN_SHARE * facts.duration_ns or not are_few(facts, calls, longs):
                continue
            if len(skewed_calls(facts, calls)) or shared_place(facts, calls, longs):
                continue
            if _are_of_slow_actors(facts, calls, longs):
                continue
            longest = int(long.max())
            yield Finding(
                longest - round(median),
                function=function,
                changes=(Change("no_stragglers", function, _STRAGGLER_MIN_RATIO),),
                rows=calls[longs],
                numbers={
                    "stragglers": len(long),
                    "calls": len(own),
                    "longest_ns": longest,
                    "median_ns": round(median),
                },
                filters={"func_name": function},
            )


def _are_of_slow_actors(facts: Facts, calls: Ints, longs: Bools) -> bool:
    """Whether most of the long calls ran on actors that take long for at least half of several calls. Then
    the actors differ, not single calls.
    """
    actor = facts.attempts.actor[calls]
    shared = 0
    for place, at in groups(actor[longs]):
        of_actor = int((actor == place).sum()) if place >= 0 else 0
        if of_actor > 1 and len(at) >= of_actor / 2:
            shared += len(at)
    return shared > int(longs.sum()) / 2


def median_ns(facts: Facts, calls: Ints) -> float:
    """The median execution time of calls, ns."""
    return float(np.median(facts.own_ns[calls]))


def is_long(facts: Facts, calls: Ints) -> Bools:
    """Whether each call takes much longer than usual for its function."""
    own, is_warm, median = facts.own_ns[calls], facts.is_warm[calls], median_ns(facts, calls)
    # The first call on each worker may import modules.
    usual_cold = median if is_warm.all() else max(median, float(np.median(own[~is_warm])))
    usual = np.where(is_warm, median, usual_cold)
    found: Bools = (own > _STRAGGLER_MIN_RATIO * usual) & (own - median > facts.duration_ns / 100)
    return found


#: A delay below this share of the job's time is treated as noise.
_PLACE_MIN_SHARE = 0.05


class SlowPlace:
    """Calls that take at least three times the median of their function share an actor, or a node.

    Limits: at least 8 calls. At least 2 of them are long: each takes more than three times the median and
    exceeds it by more than 1 % of the job's time. At least 75 % of the long calls ran on one actor or node,
    where at least half of the calls are long, and together they exceed the median by at least 5 % of the
    job's time. If that node and the others have at least 5 calls each, they are compared by the detector of
    slow nodes instead.

    Needs: when and where calls began and ended.
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
            if lost < _PLACE_MIN_SHARE * facts.duration_ns:
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


#: A node is slow if its calls take at least this many times as long as elsewhere. Spark's speculation uses
#: 1.5 times the median, too.
_NODE_MIN_RATIO = 1.5
#: Minimum number of calls of a function, both on the node and on each other node, for their medians to be
#: compared.
_MIN_CALLS = 5
#: Calls on the node may have at most this many times the data of the others. More data would explain the
#: delay.
_MAX_DATA_RATIO = 1.25
#: The slower functions must take at least this share of the execution time on the node.
_MIN_NODE_SHARE = 0.5


class SlowNode:
    """Calls of the same functions take at least 1.5 times as long on one node as on the others.

    Limits: the medians of at least 5 calls on the node and on each other node are compared. The arguments
    have about the same size. The slower functions take at least half of the execution time on that node.

    Needs: two nodes or more that ran the same functions.
    """

    kind = "slow_node"
    title = "A slow node"
    advice = (
        "On the node {node}, calls of {function} take {median_ns}; on the others they take {others_ns}, "
        "{times:.1f} times less, with about the same data. Look at what else runs on that machine, at its "
        "clock and memory; or take it out of the cluster."
    )
    sketch = "ray drain-node --node-id {node_id} --reason DRAIN_NODE_REASON_PREEMPTION --reason-message slow"
    doc = ""

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Nodes on which functions take longer."""
        if len(facts.recorded.nodes) < 2:
            return
        times: dict[int, dict[str, tuple[float, int, int]]] = defaultdict(dict)
        rows_of: dict[int, list[Ints]] = defaultdict(list)
        spent: dict[int, int] = defaultdict(int)
        a, own = facts.attempts, facts.own_ns
        begin, end = facts.held
        for function, calls in facts.calls_of_function.items():
            ran = calls[a.node[calls] >= 0]
            of_node = {node: ran[places] for node, places in groups(a.node[ran])}
            for node, compared in _compare(facts, of_node).items():
                spent[node] += int(own[of_node[node]].sum())
                if compared[0] >= _NODE_MIN_RATIO:
                    times[node][function] = compared
                    rows_of[node].append(of_node[node])
        for node, found in times.items():
            rows = np.concatenate(rows_of[node])
            if own[rows].sum() < _MIN_NODE_SHARE * spent[node]:
                continue
            function = max(found, key=lambda one: found[one][0])
            ratio, here_ns, there_ns = found[function]
            its = facts.recorded.nodes[node]
            yield Finding(
                round(union_of(begin[rows], end[rows]) * (1 - 1 / ratio)),
                function=function,
                numbers={
                    "node": its.name or its.node_id[:8],
                    "node_id": its.node_id,
                    "times": ratio,
                    "calls": len(rows),
                    "functions": len(found),
                    "median_ns": here_ns,
                    "others_ns": there_ns,
                },
                filters={"func_name": function, "node_id": its.node_id},
            )


def _compare(facts: Facts, of_node: dict[int, Ints]) -> dict[int, tuple[float, int, int]]:
    """For each node: how many times as long calls take as on the other nodes, their median duration on this
    node, and their median duration on the others, both in ns.
    """
    known = [node for node, rows in of_node.items() if len(rows) >= _MIN_CALLS]
    if len(known) < 2:
        return {}
    own, sizes = facts.own_ns, facts.attempts.fetched_bytes
    ns = {node: round(float(np.median(own[of_node[node]]))) for node in known}
    data = {node: round(float(np.median(sizes[of_node[node]]))) for node in known}
    ns_of_all, data_of_all = sorted(ns.values()), sorted(data.values())
    found = {}
    for node in known:
        others = _median_without(ns_of_all, ns[node])
        if data[node] <= _MAX_DATA_RATIO * _median_without(data_of_all, data[node]):
            found[node] = ns[node] / max(1, others), ns[node], others
    return found


def _median_without(values: list[int], excluded: int) -> int:
    """The lower median of sorted values, leaving out one that equals ``excluded``."""
    place, middle = bisect.bisect_left(values, excluded), (len(values) - 2) // 2
    return values[middle if middle < place else middle + 1]
