"""Tasks and actors that no node can run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.replay.recorded import Ints


class Unschedulable:
    """Tasks and actors that never start because no node has the resources that they request.

    Limits: any task or actor that requests more of a resource than the largest node has; those in placement
    groups are left out.

    Needs: what tasks request, and what the nodes have.
    """

    kind = "unschedulable"
    title = "Can't be scheduled"
    advice = (
        "{tasks} tasks of {function} never started: each needs {needed} {resource}, and the largest node has "
        "{largest}. Ask for less, or add a node that has it."
    )
    sketch = "{function}.options(resources={{...}})  # what the nodes have: ray status"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose demand exceeds every node."""
        a, recorded = facts.attempts, facts.recorded
        never_began = (a.start < 0) & (a.given < 0) & (a.group < 0)
        stuck: dict[tuple[str, str, float, float], list[Ints]] = defaultdict(list)
        for number, demand in enumerate(recorded.demands):
            for name, needed, largest in too_large(facts, demand):
                rows = np.flatnonzero(never_began & (a.demand == number))
                for _, places in groups(a.function[rows]):
                    its = rows[places]
                    stuck[facts.name(its[0]), name, needed, largest].append(its)
                break
        for (function, name, needed, largest), parts in stuck.items():
            rows = np.concatenate(parts)
            yield Finding(
                max(0, recorded.driver[1] - int(a.created[rows].min())),
                function=function,
                rows=rows,
                is_risk=True,
                numbers={"tasks": len(rows), "needed": needed, "resource": name, "largest": largest},
                filters={"func_name": function, "state": "PENDING_NODE_ASSIGNMENT"},
            )


def too_large(facts: Facts, demand: Mapping[str, float]) -> Iterable[tuple[str, float, float]]:
    """The resources that exceed every node: the name, the needed amount, and the largest node's amount."""
    nodes = facts.recorded.nodes
    for name, needed in demand.items():
        largest = max((node.resources.get(name, 0.0) for node in nodes), default=0.0)
        if needed > largest and nodes:
            yield name, needed, largest
