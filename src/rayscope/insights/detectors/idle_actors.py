"""Idle actors that hold resources while tasks wait for these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from rayscope.cluster.nodes.demand import amount_of
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import Holding, demand_of, granted, holdings, ready_times, totals
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL
from rayscope.insights.spans import union_ns, union_of

#: Actors that live for less than this share of the job's time are ignored.
_MIN_LIFE_SHARE = 0.5
#: Maximum number of actors that are busy for more than this share of their life are not idle.
_MAX_BUSY_SHARE = 0.1
#: The sketch for actors that hold GPUs: they need them, so asking for fewer is no remedy.
_END_WHEN_DONE = (
    "actor = {actor_class}.remote()\nresult = ray.get(actor.work.remote())\n"
    "ray.kill(actor)  # it gives back what it holds"
)


class IdleActors:
    """Actors hold CPUs, GPUs or other resources and are idle most of the time, while tasks wait for these.

    Limits: they live for at least half of the job's time, execute for less than 10 % of their life, and tasks
    or other actors wait for the same resource meanwhile. Actors in placement groups are left out.

    Needs: what actors hold, and when their calls began and ended.
    """

    kind = "idle_actors"
    title = "Idle actors hold resources"
    advice = (
        "{actors} of {actor_class} held {held} of the cluster's {total} {resource} and executed for "
        "{busy:.1%} of their life, while tasks waited for {resource} for {waited_ns}. Let them ask for less "
        "(num_cpus=0 for actors that mostly wait), make fewer of them, or end them when they are done."
    )
    sketch = "{actor_class}.options(num_cpus=0).remote()"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Classes whose idle actors hold a resource that others wait for."""
        idle: dict[str, list[tuple[Holding, int]]] = defaultdict(list)
        for one in holdings(facts):
            life = min(one.end, facts.recorded.last) - one.begin
            if one.kind == "actor" and life >= _MIN_LIFE_SHARE * facts.duration_ns:
                busy = _executed_ns(facts, one)
                if busy < _MAX_BUSY_SHARE * life:
                    idle[one.name].append((one, busy))
        if not idle:
            return
        waited, has = _waited(facts), totals(facts)
        for name, found in idle.items():
            yield from _findings(facts, name, found, waited, has)


def _findings(
    facts: Facts,
    name: str,
    idle: Sequence[tuple[Holding, int]],
    waited: dict[str, list[tuple[int, int]]],
    has: dict[str, float],
) -> Iterable[Finding]:
    """A finding about the resource of a class that costs most."""
    begin, end = min(one.begin for one, _ in idle), max(one.end for one, _ in idle)
    found = []
    for resource in {resource for one, _ in idle for resource in one.resources}:
        held = sum(one.resources.get(resource, 0.0) for one, _ in idle)
        waits = [(max(since, begin), min(until, end)) for since, until in waited.get(resource, ())]
        blocked = union_ns([(since, until) for since, until in waits if until > since])
        # At best, a larger supply of the resource shortens the wait in proportion.
        cost = round(blocked * min(1.0, held / max(held, has.get(resource, 0.0))))
        found.append((cost, blocked, resource, held))
    cost, blocked, resource, held = max(found, default=(0, 0, "", 0.0))
    if cost > 0:
        lived = sum(one.end - one.begin for one, _ in idle)
        yield Finding(
            cost,
            actor_class=name,
            changes=(Change("num_cpus", name, 0.0),) if resource == "CPU" else (),
            confidence="medium",  # threads of the actor leave no trace
            sketch=None if resource == "CPU" else _END_WHEN_DONE,
            numbers={
                "actors": len(idle),
                "resource": resource,
                "held": amount_of(held, resource),
                "total": amount_of(has.get(resource, 0.0), resource),
                "busy": sum(busy for _, busy in idle) / max(1, lived),
                "waited_ns": blocked,
            },
        )


def _executed_ns(facts: Facts, holding: Holding) -> int:
    """How long at least one call of an actor executed, ns."""
    a = facts.attempts
    rows = facts.calls_of_actor.get(int(a.actor[holding.row]))
    if rows is None:
        return 0
    rows = rows[a.ran[rows] > 0]
    return union_of(a.start[rows], np.where(a.returned[rows] >= 0, a.returned[rows], facts.recorded.last))


def _waited(facts: Facts) -> dict[str, list[tuple[int, int]]]:
    """When tasks and actors waited for each resource."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    begin, end = ready_times(facts), granted(facts)
    for row in np.flatnonzero((facts.attempts.kind != CALL) & (end > begin)).tolist():
        for resource in demand_of(facts, row):
            found[resource].append((int(begin[row]), int(end[row])))
    return found
