"""Tasks and actors that use more CPUs than they reserve."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from rayscope.insights.cpu_use import Use, cpu_percent, cpu_use
from rayscope.insights.finding import Facts, Finding, NotEnoughData
from rayscope.insights.spans import most_at_once, union_of

#: Calls that use this many times their reservation run several threads, ...
_MIN_RATIO = 1.5
#: ... if they also use this many cores more than they reserve.
_MIN_EXTRA_CORES = 0.4
#: A node is overcommitted if its tasks use this share of its CPUs, ...
_FULL_SHARE = 0.7
#: ... or if its CPUs are this busy, %.
_FULL_PERCENT = 90.0
#: Minimum number of calls that counts as a pattern.
_MIN_CALLS = 2


class UnderAskedCpus:
    """Tasks or actors use more CPUs than they reserve, on a node whose CPUs are all busy.

    Limits: 2 calls of a task, or of an actor that requests CPUs, use 1.5 times what they reserve and 0.4
    cores more. At least 2 tasks run at once on the node, and meanwhile its tasks use 70 % of its CPUs, or
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
        """Functions and classes of actors that run more threads than they reserve CPUs, on full nodes."""
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
            if len(rows) < _MIN_CALLS:
                continue
            cpus = sum(nodes[node].resources.get("CPU", 1.0) for node in set(a.node[rows].tolist()))
            used = int(a.cpu_ns[rows].sum())
            excess = round(used * (1 - use.cpus / most))
            yield Finding(
                # At most, other tasks lost the CPU time beyond the reservation, spread over all CPUs.
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


def _is_too_much(use: Use, used_cores: float) -> bool:
    if use.is_actor and not use.cpus:
        return False  # the default reservation of an actor
    return used_cores >= max(_MIN_RATIO * use.cpus, use.cpus + _MIN_EXTRA_CORES)


def _full_nodes(facts: Facts, use: Use, percents: Mapping[int, float]) -> set[int]:
    """The nodes that were overcommitted while they ran some of the calls."""
    a, (begin, end) = facts.attempts, facts.held
    full = set()
    for node in np.unique(a.node[use.rows]).tolist():
        its = use.rows[a.node[use.rows] == node]
        meanwhile = (a.node == node) & (a.start >= 0) & (begin < end[its].max()) & (begin[its].min() < end)
        if most_at_once(begin[meanwhile], end[meanwhile]) < 2:
            continue
        used = int(np.maximum(a.cpu_ns[meanwhile], 0).sum())
        cpus = facts.recorded.nodes[node].resources.get("CPU", 1.0) if node >= 0 else 1.0
        is_full = used >= _FULL_SHARE * union_of(begin[meanwhile], end[meanwhile]) * cpus
        if is_full or percents.get(node, 0.0) >= _FULL_PERCENT:
            full.add(node)
    return full
