"""Tasks that run away from their data."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.delays import Reserved
from rayscope.insights.replay.program import NORMAL
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
        from_node: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for passed in recorded.passed:
            if passed.kind == "argument" and not passed.nested and passed.maker >= 0 and passed.taker >= 0:
                maker = facts.rows_of_task[passed.maker][-1]
                from_node[passed.taker][a.node[maker]] += max(0, passed.bytes)
        reserved = None
        away: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for task, sizes in from_node.items():
            row = facts.rows_of_task[task][-1]
            home, size = max(sizes.items(), key=lambda one: one[1])
            is_away = home >= 0 and a.node[row] >= 0 and home != a.node[row] and size >= _BYTES
            if not is_away or a.kind[row] != NORMAL or a.group[row] >= 0 or a.start[row] < 0:
                continue
            reserved = reserved or Reserved(recorded)
            when = max(a.pending[row], a.created[row])
            needs = recorded.demands[a.demand[row]].get("CPU", 0.0) if a.demand[row] >= 0 else 0.0
            if _has_all(recorded.nodes[home].resources, recorded.demands, a.demand[row]) and (
                reserved.free_at(home, when) >= needs
            ):
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


def _has_all(resources: dict[str, float], demands: list[dict[str, float]], demand: int) -> bool:
    return demand < 0 or all(resources.get(name, 0.0) >= needed for name, needed in demands[demand].items())


def _lead_ns(facts: Facts, row: int) -> int:
    """From when its arguments were made until an attempt began."""
    a = facts.attempts
    return max(0, a.start[row] - max(a.pending[row], a.created[row]))
