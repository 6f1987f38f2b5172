"""Tasks, actors and placement groups that wait for a resource that others hold for a long time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from rayscope.cluster.nodes.demand import EPSILON, amount_of
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import Holding, Waiter, holdings, totals, waiters
from rayscope.insights.standstill import deadlocked, find_quiet_period

#: A wait below this share of the job's time is an ordinary queue.
_MIN_WAIT_SHARE = 0.5
#: Holders below this share of the wait are treated as taking turns.
_MIN_HELD_SHARE = 0.8


class PendingResources:
    """Tasks, actors or placement groups wait for a resource that others hold for most of the job.

    Limits: they wait for at least half of the job's time, and others hold the resource for at least 80 % of
    that wait, so that what is left does not suffice. CPUs count only if actors or placement groups hold them.
    Tasks of one function that take turns do not count.

    Needs: the requests of the job's tasks, actors and placement groups, and when they were granted. Resources
    held by other jobs are not visible.
    """

    kind = "pending_resources"
    title = "Waiting for a resource that others hold"
    advice = (
        "{waiting} of {waiter} waited for {needed} {resource}, up to {waited_ns}. Meanwhile others held "
        "{held} of the cluster's {total}, most of it {holder} ({holders}). End {holder} when it is done, let "
        "it hold less, or add {resource}."
    )
    sketch = "ray.kill(actor)  # or del actor: gives back what it holds"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """The longest wait for each name and demand, if the same holders keep the resource throughout."""
        waits: dict[tuple[str, str], list[Waiter]] = defaultdict(list)
        for one in waiters(facts, max(1, round(_MIN_WAIT_SHARE * facts.duration_ns))):
            waits[one.kind, one.name].append(one)
        if not waits:
            return
        quiet = find_quiet_period(facts, 0)
        reported = {stuck.row for stuck in deadlocked(facts, quiet)} if quiet else set()
        least = _MIN_HELD_SHARE * _MIN_WAIT_SHARE * facts.duration_ns
        held = [one for one in holdings(facts) if one.end - one.begin >= least]
        has = totals(facts)
        for found in waits.values():
            longest = max(found, key=lambda one: one.end - one.begin)
            if longest.row in reported and longest.row >= 0:
                continue
            for resource, needed in longest.resources.items():
                holders = _throughout(held, longest, resource)
                total = has.get(resource, 0.0)
                amount = sum(one.resources[resource] for one in holders)
                if total - amount < needed - EPSILON <= total:
                    yield _finding(longest, found, resource, total, holders)
                    break


def _throughout(held: Sequence[Holding], waiter: Waiter, resource: str) -> list[Holding]:
    """The holders that keep some of a resource for nearly all of a wait."""
    least = _MIN_HELD_SHARE * (waiter.end - waiter.begin)
    return [
        one
        for one in held
        if resource in one.resources
        and min(one.end, waiter.end) - max(one.begin, waiter.begin) >= least
        and not (one.kind == "task" and one.name == waiter.name)
    ]


def _finding(
    waiter: Waiter, like: Sequence[Waiter], resource: str, total: float, holders: Sequence[Holding]
) -> Finding:
    by_name: dict[str, float] = defaultdict(float)
    for one in holders:
        by_name[one.name] += one.resources[resource]
    holder = max(by_name, key=by_name.__getitem__)
    waited = waiter.end - waiter.begin
    return Finding(
        waited,
        function=waiter.name if waiter.kind == "task" else None,
        actor_class=waiter.name if waiter.kind == "actor" else None,
        rows=np.concatenate([one.rows for one in like]),
        groups=tuple(group for one in like for group in one.groups),
        is_risk=True,  # it may never run, or not for long
        numbers={
            "waiter": waiter.name,
            "waiting": len(like),
            "waited_ns": waited,
            "needed": amount_of(waiter.resources[resource], resource),
            "resource": resource,
            "total": amount_of(total, resource),
            "held": amount_of(sum(by_name.values()), resource),
            "holder": holder,
            "holders": sum(one.name == holder for one in holders),
        },
        filters={"func_name": waiter.name} if waiter.kind == "task" else {},
    )
