"""Tasks and actors that no node can take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding


class Unschedulable:
    """Tasks and actors that never start since no node has what they ask for.

    Limits: any task or actor that asks for more of a resource than the largest node has; those in placement
    groups are left out.

    Needs: what tasks ask for, and what the nodes have.
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
        """Functions whose demand is larger than any node."""
        a, recorded = facts.attempts, facts.recorded
        stuck: dict[tuple[str, str, float, float], list[int]] = defaultdict(list)
        for row in range(len(a.task)):
            if a.start[row] >= 0 or a.given[row] >= 0 or a.demand[row] < 0 or a.group[row] >= 0:
                continue
            for name, needed in recorded.demands[a.demand[row]].items():
                largest = max((node.resources.get(name, 0.0) for node in recorded.nodes), default=0.0)
                if needed > largest and recorded.nodes:
                    stuck[facts.name(row), name, needed, largest].append(row)
                    break
        for (function, name, needed, largest), rows in stuck.items():
            first = min(a.created[row] for row in rows)
            yield Finding(
                max(0, recorded.driver[1] - first),
                function=function,
                numbers={"tasks": len(rows), "needed": needed, "resource": name, "largest": largest},
                filters={"func_name": function, "state": "PENDING_NODE_ASSIGNMENT"},
            )
