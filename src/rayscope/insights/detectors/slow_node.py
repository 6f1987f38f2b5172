"""A node on which the same work takes longer."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.replay.recorded import Ints
from rayscope.insights.spans import union_of

#: A node is slow if its calls take at least this many times as long as elsewhere. Spark's speculation uses
#: 1.5 times the median, too.
_MIN_RATIO = 1.5
#: Minimum number of calls of a function for a median, both on the node and on the others.
_MIN_CALLS = 5
#: Calls on the node may have at most this many times the data of the others. More data would explain the
#: delay.
_MAX_DATA_RATIO = 1.25
#: The slower functions must take this share of the node's time.
_MIN_NODE_SHARE = 0.5


class SlowNode:
    """Calls of the same functions take at least 1.5 times as long on one node as on the others.

    Limits: medians of at least 5 calls on the node and on the others, with about the same bytes of arguments.
    The slower functions take half of the time on that node.

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
                if compared[0] >= _MIN_RATIO:
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
    """For each node, how many times longer calls take than on the other nodes, and the medians of both."""
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
