"""Tasks and actors that use more CPUs than they reserve."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from rayscope.insights.cpu_use import Use, cpu_percent, cpu_use
from rayscope.insights.finding import Facts, Finding, NotEnoughData
from rayscope.insights.spans import Span, most_at_once, union_ns

#: Who uses so many times what it reserves runs several threads...
_TIMES = 1.5
#: ... and this many cores more than it reserves.
_CORES = 0.4
#: A node whose tasks use this share of its CPUs, or whose CPUs are so busy, %, is overcommitted.
_FULL, _FULL_PERCENT = 0.7, 90.0
_LEAST = 2


class UnderAskedCpus:
    """Tasks or actors use more CPUs than they reserve, on a node whose CPUs are all busy.

    Limits: 2 calls use 1.5 times what they reserve and 0.4 cores more, at least 2 tasks run at once on the
    node, and its tasks use 70 % of its CPUs meanwhile or these are 90 % busy.

    Needs: the tracer in the workers, for their CPU time.
    """

    kind = "under_asked_cpus"
    title = "More CPUs used than reserved"
    advice = (
        "{name} reserves {reserved:g} CPUs and uses {used:.2f} cores, so Ray puts more on a node than its "
        "CPUs can run, and all of it gets slower. Ask for num_cpus={needed:g}, or limit the threads of the "
        "libraries that it calls (OMP_NUM_THREADS)."
    )
    sketch = "{name}.options(num_cpus={needed:g})"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions and classes of actors that run more threads than they said, on full nodes."""
        uses = [(use, most) for use in cpu_use(facts) if _is_too_much(use, most := use.most_cores(facts))]
        if not uses:
            return
        a, nodes = facts.attempts, facts.recorded.nodes
        try:
            percents = cpu_percent(facts)
        except NotEnoughData:
            percents = {}
        for use, most in uses:
            full = _full_nodes(facts, use, percents)
            rows = [row for row in use.rows if a.node[row] in full]
            if len(rows) < _LEAST:
                continue
            cpus = sum(nodes[node].resources.get("CPU", 1.0) for node in {a.node[row] for row in rows})
            used = sum(a.cpu_ns[row] for row in rows)
            excess = round(used * (1 - use.cpus / most))
            yield Finding(
                # Others lost no more than what was taken beyond the reservation, shared by all CPUs.
                min(union_ns(facts.held(row) for row in rows), round(excess / max(1.0, cpus))),
                function=use.function,
                actor_class=use.actor_class,
                confidence="medium",
                numbers={
                    "name": use.name,
                    "calls": len(rows),
                    "reserved": use.cpus,
                    "used": most,
                    "needed": math.ceil(most - 0.2),
                },
                filters=use.filters,
            )


def _is_too_much(use: Use, most: float) -> bool:
    return most >= max(_TIMES * use.cpus, use.cpus + _CORES)


def _full_nodes(facts: Facts, use: Use, percents: Mapping[int, float]) -> set[int]:
    """The nodes that had more to compute than CPUs while they ran some of the calls."""
    a = facts.attempts
    since: dict[int, int] = {}
    until: dict[int, int] = {}
    for row in use.rows:
        begin, end = facts.held(row)
        since[a.node[row]] = min(begin, since.get(a.node[row], begin))
        until[a.node[row]] = max(end, until.get(a.node[row], end))
    spans: dict[int, list[Span]] = defaultdict(list)
    used: dict[int, int] = defaultdict(int)
    for row, node in enumerate(a.node):
        if node in since and a.start[row] >= 0:
            begin, end = facts.held(row)
            if begin < until[node] and since[node] < end:
                spans[node].append((begin, end))
                used[node] += max(0, a.cpu_ns[row])
    return {
        node
        for node, its in spans.items()
        if most_at_once(its) > 1
        and (
            used[node] >= _FULL * union_ns(its) * facts.recorded.nodes[node].resources.get("CPU", 1.0)
            or percents.get(node, 0.0) >= _FULL_PERCENT
        )
    }
