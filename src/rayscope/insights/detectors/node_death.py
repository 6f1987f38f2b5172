"""Nodes that died while the job ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.spans import union_ns

#: An attempt that ended longer before its node, ns, did not end with it. Ray notices a death within some
#: seconds.
_NOTICED_NS = 60_000_000_000
#: Ray's reason for a node that was stopped on purpose.
_EXPECTED_REASON = "EXPECTED_TERMINATION"


class NodeDeath:
    """A node died, and what ran on it was lost and run again elsewhere.

    Limits: a node died between the job's begin and its end without being stopped on purpose, and attempts of
    the job failed on it.

    Needs: the deaths of nodes, which Ray always records.
    """

    kind = "node_death"
    title = "A node died"
    advice = (
        "The node {node} died ({death}). {lost} attempts that ran on it were lost, with {lost_ns} of work, "
        "most of {name}; {again} were tried again. Look at that machine: was it preempted, or out of "
        "memory? Checkpoint long work, and keep the driver and what must not be lost on nodes that stay."
    )
    sketch = (
        "# Ray retries tasks, but restarts no actor by itself.\n"
        "@ray.remote(max_restarts=3, max_task_retries=3)\nclass Keeper: ..."
    )
    doc = "fault tolerance: nodes"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Nodes that died, with the attempts that failed then. No replay can predict how long Ray takes to
        notice a death.
        """
        a, (since, until) = facts.attempts, facts.recorded.driver
        dead = {
            place: node
            for place, node in enumerate(facts.recorded.nodes)
            if node.death not in ("", _EXPECTED_REASON) and since <= node.end <= until
        }
        if not dead:
            return
        has_failed = a.state.equals("FAILED") & ~a.error.equals("TASK_EXECUTION_EXCEPTION")
        for place, node in dead.items():
            was_there = (a.start <= node.end) & (a.ended >= node.end - _NOTICED_NS)
            rows = np.flatnonzero((a.node == place) & has_failed & was_there)
            if not len(rows):
                continue
            begin, end = (column[rows] for column in facts.held)
            again = rows[rows != facts.last_rows[a.task[rows]]]
            [(name, _)] = Counter(facts.name(row) for row in rows.tolist()).most_common(1)
            yield Finding(
                union_ns(map(facts.held_until_next, rows.tolist())),
                function=name,
                numbers={
                    "node": node.name or node.node_id[:8],
                    "node_id": node.node_id,
                    "death": node.death[:200],
                    "name": name,
                    "lost": len(rows),
                    "again": len(again),
                    "lost_ns": int((end - begin).sum()),
                },
                filters={"node_id": node.node_id, "state": "FAILED"},
            )
