"""Actors and tasks that use one core of several."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.cpu_use import busiest_percent, cpu_percent, cpu_use
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change

#: About one core while busy. Python's global lock lets one thread compute at a time.
_ONE_CORE_RANGE = (0.7, 1.2)
#: On nodes that are busier than this, %, other processes may have kept it from using more cores.
_MAX_BUSY_PERCENT = 75.0
#: Below this share of the job's time the work is too short to matter.
_MIN_SHARE = 0.1


class SingleCoreActor:
    """An actor or task with several CPUs or threads computes on about one core.

    Limits: it uses 0.7 to 1.2 cores while it is busy, for a tenth of the job or longer, and reserves at least
    2 CPUs or runs 2 calls at once; its node's CPUs are less than 75 % busy.

    Needs: the tracer in the workers, for their CPU time, and the CPU metric of the nodes from the job's time.
    """

    kind = "single_core_actor"
    title = "Several CPUs, one core used"
    advice = (
        "{name} reserves {reserved:g} CPUs and runs {threads} calls at once, and uses {used:.2f} cores "
        "while it is busy: Python's global lock lets one thread compute at a time. Use several actors or "
        "tasks with one CPU each, or a library that computes outside of the lock."
    )
    sketch = "workers = [{name}.options(num_cpus=1).remote() for _ in range({parts})]"
    doc = "actors: multithreading, and the global interpreter lock"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions and classes of actors that use about one core."""
        least, most = _ONE_CORE_RANGE
        uses = [
            use
            for use in cpu_use(facts)
            if least <= use.cores <= most
            and (use.cpus >= 2 or use.threads >= 2)
            and use.busy_ns >= _MIN_SHARE * facts.duration_ns
        ]
        if not uses:
            return
        percents = cpu_percent(facts)
        for use in uses:
            if busiest_percent(facts, use, percents) >= _MAX_BUSY_PERCENT:
                continue
            parts = max(round(use.cpus), use.threads)
            yield Finding(
                min(facts.duration_ns, round(use.busy_ns * (1 - 1 / parts))),
                function=use.function,
                actor_class=use.actor_class,
                # With one CPU each, more of them can run at once.
                changes=(Change("num_cpus", use.name, 1.0),) if use.cpus >= 2 and not use.is_actor else (),
                confidence="medium",
                numbers={
                    "name": use.name,
                    "calls": len(use.rows),
                    "reserved": use.cpus,
                    "threads": use.threads,
                    "used": use.cores,
                    "parts": parts,
                    "busy_ns": use.busy_ns,
                },
                filters=use.filters,
            )
