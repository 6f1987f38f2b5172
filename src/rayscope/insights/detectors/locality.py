"""Tasks that run away from their data."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.delays import Reserved
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Recorded
from rayscope.insights.spans import union_ns

#: Smaller arguments travel in no time.
_BYTES = 10 << 20
_LEAST = 3
#: More than this share of the calls ran elsewhere.
_SHARE = 0.2


class Locality:
    """Tasks fetch large arguments from another node although that one had room for them.

    Limits: 3 calls or more and a fifth of the function's, each with 10 MiB or more from a node that had its
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
        """Functions of tasks by the bytes that came from other nodes."""
        a, recorded = facts.attempts, facts.recorded
        if len(recorded.nodes) < 2:
            return
        candidates = _candidates(facts)
        if not candidates:
            return
        away: dict[str, list[tuple[int, int]]] = defaultdict(list)
        reserved = Reserved(recorded)
        for home, found in candidates.items():
            times = [max(a.pending[row], a.created[row]) for row, _ in found]
            for (row, size), free in zip(found, reserved.free_at(home, times), strict=True):
                if _fits(recorded, recorded.nodes[home].resources, a.demand[row], free):
                    away[facts.name(row)].append((row, size))
        for function, found in away.items():
            calls = facts.rows_of_function[function]
            if len(found) < max(_LEAST, _SHARE * len(calls)):
                continue
            gone = {row for row, _ in found}
            usual = [_lead_ns(facts, row) for row in calls if row not in gone and a.start[row] >= 0]
            spans = [(a.start[row] - _lead_ns(facts, row), a.start[row]) for row in gone]
            usually = round(statistics.median(usual)) if usual else 0
            yield Finding(
                max(0, union_ns((begin + min(end - begin, usually), end) for begin, end in spans)),
                function=function,
                confidence="medium",
                numbers={
                    "away": len(found),
                    "calls": len(calls),
                    "moved_bytes": sum(size for _, size in found),
                },
                filters={"func_name": function},
            )


def _candidates(facts: Facts) -> dict[int, list[tuple[int, int]]]:
    """By node the tasks of which it had most arguments and that ran elsewhere: (attempt, bytes)."""
    a = facts.attempts
    from_node: dict[tuple[int, int], int] = defaultdict(int)
    for passed in facts.recorded.passed:
        if passed.kind == "argument" and not passed.nested and passed.maker >= 0 and passed.taker >= 0:
            from_node[passed.taker, a.node[facts.rows_of_task[passed.maker][-1]]] += max(0, passed.bytes)
    most: dict[int, tuple[int, int]] = {}
    for (task, node), size in from_node.items():
        most[task] = max(most.get(task, (0, -1)), (size, node))
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for task, (size, home) in most.items():
        row = facts.rows_of_task[task][-1]
        is_away = home >= 0 and a.node[row] >= 0 and home != a.node[row] and size >= _BYTES
        if is_away and a.kind[row] == NORMAL and a.group[row] < 0 and a.start[row] >= 0:
            found[home].append((row, size))
    return found


def _fits(recorded: Recorded, resources: dict[str, float], demand: int, free: float) -> bool:
    """Whether a node has what is asked for, and so many CPUs free."""
    asked = recorded.demands[demand] if demand >= 0 else {}
    return free >= asked.get("CPU", 0.0) and all(
        resources.get(name, 0.0) >= needed for name, needed in asked.items()
    )


def _lead_ns(facts: Facts, row: int) -> int:
    """From when its arguments were made until an attempt began."""
    a = facts.attempts
    return max(0, a.start[row] - max(a.pending[row], a.created[row]))
