"""Tasks and actors that reserve more CPUs than they use, while others wait for CPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from rayscope.insights.cpu_use import Use, busiest_percent, cpu_percent, cpu_use
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CREATION
from rayscope.insights.replay.recorded import Ints
from rayscope.insights.spans import union_of

#: A reservation is about right if more than this share of it is used.
_MAX_USED_SHARE = 0.5
#: On nodes that are busier than this, %, more tasks at once would only take CPU from each other.
_MAX_BUSY_PERCENT = 75.0
#: Shorter waits, ns, are for a worker rather than for free CPUs.
_MIN_WAIT_NS = 20_000_000
#: Minimum number of calls that counts as a pattern.
_MIN_CALLS = 4
_NEVER = 1 << 62
#: The proposed request, as a multiple of the CPUs actually used.
_SPARE_FACTOR = 1.25


class OverAskedCpus:
    """Tasks or actors reserve more CPUs than they use, while others wait for CPUs.

    Limits: they reserve more than one CPU each (one is Ray's default for tasks), and use less than half of
    the reserved CPU time in at least 4 calls. Tasks wait for CPUs for 5 % of the job, and the CPUs of the
    nodes are at most 75 % busy.

    Needs: the tracer in the workers, for their CPU time, and the CPU metric of the nodes from the job's time.
    """

    kind = "over_asked_cpus"
    title = "More CPUs reserved than used"
    advice = (
        "{name} reserves {reserved:g} CPUs and uses {used:.2f} of them, while other tasks waited for CPUs "
        "for {waited_ns} and the machines' CPUs were {busy:.0%} busy. Ask for num_cpus={needed:g}, so that "
        "more run at once."
    )
    sketch = "{name}.options(num_cpus={needed:g})"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions and classes of actors with reservations that keep others waiting."""
        waited = union_of(*_waits(facts))
        uses = [use for use in cpu_use(facts) if _is_idle(use)]
        if not uses or waited < facts.duration_ns / 20:
            return
        percents = cpu_percent(facts)
        for use in uses:
            busy = busiest_percent(facts, use, percents)
            cores = use.used_ns / max(1, use.held_ns)
            needed = max(0.1, math.ceil(10 * cores * _SPARE_FACTOR) / 10)
            if busy <= _MAX_BUSY_PERCENT and needed < use.cpus:
                yield Finding(
                    waited,
                    function=use.function,
                    actor_class=use.actor_class,
                    changes=(Change("num_cpus", use.name, needed),),
                    numbers={
                        "name": use.name,
                        "calls": len(use.rows),
                        "reserved": use.cpus,
                        "used": cores,
                        "needed": needed,
                        "waited_ns": waited,
                        "busy": busy / 100,
                    },
                    filters=use.filters,
                )


def _is_idle(use: Use) -> bool:
    if use.cpus <= 1 or (use.cpus >= 2 and 0.7 <= use.cores <= 1.2):
        return False  # the default of one CPU, or one busy core, which another detector reports
    return len(use.rows) >= _MIN_CALLS and 0 < use.used_ns + 1 < _MAX_USED_SHARE * use.cpus * use.held_ns


def _waits(facts: Facts) -> tuple[Ints, Ints]:
    """When attempts waited for resources on a node."""
    a = facts.attempts
    until = np.full(len(a), _NEVER)
    for times in (a.starting, a.given, a.start):
        until = np.where(times >= 0, np.minimum(until, times), until)
    until[until == _NEVER] = facts.recorded.driver[1]
    waited = (a.kind <= CREATION) & (a.pending >= 0) & (until - a.pending > _MIN_WAIT_NS)
    return a.pending[waited], until[waited]
