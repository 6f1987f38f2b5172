"""Tasks and actors that use more CPUs than they reserve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from rayscope.insights.cpu_use import Use, cpu_percent, cpu_use
from rayscope.insights.finding import Facts, Finding, NotEnoughData
from rayscope.insights.spans import most_at_once, union_of

#: Who uses so many times what it reserves runs several threads...
_TIMES = 1.5
#: ... and this many cores more than it reserves.
_CORES = 0.4
#: A node whose tasks use this share of its CPUs, or whose CPUs are so busy, %, is overcommitted.
_FULL, _FULL_PERCENT = 0.7, 90.0
_LEAST = 2


class UnderAskedCpus:
    """Tasks or actors use more CPUs than they reserve, on a node whose CPUs are all busy.

    Limits: 2 calls of a task, or of an actor that asks for CPUs, use 1.5 times what they reserve and 0.4
    cores more, at least 2 tasks run at once on the node, and its tasks use 70 % of its CPUs meanwhile or
    these are 90 % busy.

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
        begin, end = facts.held
        try:
            percents = cpu_percent(facts)
        except NotEnoughData:
            percents = {}
        for use, most in uses:
            full = _full_nodes(facts, use, percents)
            rows = use.rows[np.isin(a.node[use.rows], list(full))]
            if len(rows) < _LEAST:
                continue
            cpus = sum(nodes[node].resources.get("CPU", 1.0) for node in set(a.node[rows].tolist()))
            used = int(a.cpu_ns[rows].sum())
            excess = round(used * (1 - use.cpus / most))
            yield Finding(
                # Others lost no more than what was taken beyond the reservation, shared by all CPUs.
                min(union_of(begin[rows], end[rows]), round(excess / max(1.0, cpus))),
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
    if use.is_actor and not use.cpus:
        return False  # nobody asked: that is what Ray reserves for an actor
    return most >= max(_TIMES * use.cpus, use.cpus + _CORES)


def _full_nodes(facts: Facts, use: Use, percents: Mapping[int, float]) -> set[int]:
    """The nodes that had more to compute than CPUs while they ran some of the calls."""
    a, (begin, end) = facts.attempts, facts.held
    full = set()
    for node in np.unique(a.node[use.rows]).tolist():
        its = use.rows[a.node[use.rows] == node]
        meanwhile = (a.node == node) & (a.start >= 0) & (begin < end[its].max()) & (begin[its].min() < end)
        if most_at_once(begin[meanwhile], end[meanwhile]) < 2:
            continue
        used = int(np.maximum(a.cpu_ns[meanwhile], 0).sum())
        cpus = facts.recorded.nodes[node].resources.get("CPU", 1.0) if node >= 0 else 1.0
        is_full = used >= _FULL * union_of(begin[meanwhile], end[meanwhile]) * cpus
        if is_full or percents.get(node, 0.0) >= _FULL_PERCENT:
            full.add(node)
    return full
