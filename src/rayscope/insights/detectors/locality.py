"""Tasks that run on other nodes than their data."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.holdings import ready_times
from rayscope.insights.replay.delays import Reserved
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import ARGUMENT, Ints, Recorded
from rayscope.insights.spans import union_of

#: Smaller arguments are transferred quickly enough.
_MIN_BYTES = 10 << 20
#: Minimum number of calls that counts as a pattern.
_MIN_CALLS = 3
#: More than this share of the calls must run on a different node from their data.
_MIN_SHARE = 0.2


class Locality:
    """Tasks fetch large arguments from another node although that node had room for them.

    Limits: at least 3 calls and a fifth of the function's, each with 10 MiB or more from a node that had its
    CPUs free.

    Needs: two nodes or more, and the tracer, for the bytes of the arguments.
    """

    kind = "locality"
    title = "Tasks run away from their data"
    advice = (
        "{away} of {calls} calls of {function} fetched {moved_bytes} from other nodes which had room for "
        "them. Ray prefers the node that has most of a task's arguments: leave out scheduling_strategy "
        "(SPREAD, node affinity) and pass the references as arguments, not inside of lists."
    )
    sketch = '{function}.options(scheduling_strategy="DEFAULT").remote(ref)'
    doc = "scheduling: locality-aware scheduling"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose tasks fetched large arguments from other nodes."""
        a, recorded = facts.attempts, facts.recorded
        if len(recorded.nodes) < 2:
            return
        candidates = list(_candidates(facts))
        if not candidates:
            return
        away: dict[str, list[tuple[int, int]]] = defaultdict(list)
        came, reserved = ready_times(facts), Reserved(recorded)
        for home, rows, sizes in candidates:
            free = reserved.free_at(home, came[rows].tolist())
            for row, size, cpus in zip(rows.tolist(), sizes.tolist(), free, strict=True):
                if _fits(recorded, recorded.nodes[home].resources, int(a.demand[row]), cpus):
                    away[facts.name(row)].append((row, size))
        lead = np.maximum(a.start - came, 0)
        for function, found in away.items():
            calls = facts.rows_of_function[function]
            if len(found) < max(_MIN_CALLS, _MIN_SHARE * len(calls)):
                continue
            gone = np.array([row for row, _ in found])
            usual = calls[(a.start[calls] >= 0) & ~np.isin(calls, gone)]
            usually = round(float(np.median(lead[usual]))) if len(usual) else 0
            begin = a.start[gone] - np.maximum(lead[gone] - usually, 0)
            yield Finding(
                union_of(begin, a.start[gone]),
                function=function,
                confidence="medium",
                numbers={
                    "away": len(found),
                    "calls": len(calls),
                    "moved_bytes": sum(size for _, size in found),
                },
                filters={"func_name": function},
            )


def _candidates(facts: Facts) -> Iterable[tuple[int, Ints, Ints]]:
    """For each node, the attempts that ran elsewhere although it had most of their arguments."""
    a, passed, last_rows = facts.attempts, facts.recorded.passed, facts.last_rows
    is_known = (passed.kind == ARGUMENT) & ~passed.nested & (passed.maker >= 0) & (passed.taker >= 0)
    # One number for each pair of task and node. The unknown node, -1, is one of the nodes.
    nodes = len(facts.recorded.nodes) + 1
    numbers = passed.taker[is_known] * nodes + a.node[last_rows[passed.maker[is_known]]] + 1
    numbers, places = np.unique(numbers, return_inverse=True)
    sizes = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sizes, places, np.maximum(passed.bytes[is_known], 0))
    tasks, homes = numbers // nodes, numbers % nodes - 1
    order = np.lexsort((homes, sizes, tasks))
    most = order[np.diff(tasks[order], append=-1) != 0]
    rows, homes, sizes = last_rows[tasks[most]], homes[most], sizes[most]
    is_away = (homes >= 0) & (a.node[rows] >= 0) & (homes != a.node[rows]) & (sizes >= _MIN_BYTES)
    is_away &= (a.kind[rows] == NORMAL) & (a.group[rows] < 0) & (a.start[rows] >= 0)
    for home, places in groups(homes[is_away]):
        yield home, rows[is_away][places], sizes[is_away][places]


def _fits(recorded: Recorded, resources: dict[str, float], demand: int, free: float) -> bool:
    """Whether a node has the demanded resources in total, and ``free`` CPUs are enough."""
    asked = recorded.demands[demand] if demand >= 0 else {}
    return free >= asked.get("CPU", 0.0) and all(
        resources.get(name, 0.0) >= needed for name, needed in asked.items()
    )
