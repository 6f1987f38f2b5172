"""Tasks, actors and placement groups that hold or await resources. Times are ns since the job began."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from rayscope.insights.finding import Facts
from rayscope.insights.replay.program import CALL, CREATION, NORMAL
from rayscope.insights.replay.recorded import Bools, Group, Ints

_CUT_OFF = "CUT_OFF"


class Holding(NamedTuple):
    """Resources that a task, an actor or a placement group held.

    ``kind`` is ``task``, ``actor`` or ``placement_group``. ``row``: the attempt of a task, the creation of an
    actor, or -1 for a placement group.
    """

    kind: str
    name: str
    resources: Mapping[str, float]
    begin: int
    end: int
    row: int


class Waiter(NamedTuple):
    """A task, an actor or a placement group that waited until it got its resources or gave up.

    ``row``: as in :class:`Holding`. ``rows``: the attempts that waited. ``groups``: the ID of a placement
    group.
    """

    kind: str
    name: str
    resources: Mapping[str, float]
    begin: int
    end: int
    row: int
    rows: Ints
    groups: tuple[str, ...] = ()


def is_open(facts: Facts) -> Bools:
    """For each attempt, whether it did not end on its own: it has no end, or was cut off."""
    return (facts.attempts.ended < 0) | facts.attempts.state.equals(_CUT_OFF)


def granted(facts: Facts) -> Ints:
    """When each attempt got its resources, before a worker was started for it; -1 if it did not get them."""
    a = facts.attempts
    return np.where(a.starting >= 0, a.starting, np.where(a.given >= 0, a.given, a.start))


def ready_times(facts: Facts) -> Ints:
    """When each attempt had its arguments and began to wait for resources."""
    return np.maximum(facts.attempts.created, facts.attempts.pending)


def demand_of(facts: Facts, row: int) -> Mapping[str, float]:
    """The resources that a task or the creation of an actor requests. Method calls and tasks in placement
    groups request none.
    """
    a, recorded = facts.attempts, facts.recorded
    if a.group[row] >= 0 or a.kind[row] == CALL:
        return {}
    if a.kind[row] == CREATION and a.actor[row] >= 0 and recorded.actors[a.actor[row]].class_name:
        resources: Mapping[str, float] = recorded.actors[a.actor[row]].resources
        return resources
    return recorded.demands[a.demand[row]] if a.demand[row] >= 0 else {}


def holdings(facts: Facts) -> Iterable[Holding]:
    """All held resources, except the CPUs of tasks, which Ray lends to others while a task is blocked."""
    a, recorded = facts.attempts, facts.recorded
    without_cpu = [
        {name: amount for name, amount in demand.items() if name != "CPU"} for demand in recorded.demands
    ]
    begin = granted(facts)
    end = np.where(is_open(facts), recorded.last, np.maximum(a.returned, a.ended))
    has_place = (begin >= 0) & (a.group < 0)
    holds = np.array([*map(bool, without_cpu), False])[a.demand]
    for row in np.flatnonzero(has_place & (a.kind == NORMAL) & holds).tolist():
        held = without_cpu[a.demand[row]]
        yield Holding("task", facts.name(row), held, int(begin[row]), int(end[row]), row)
    for row in np.flatnonzero(has_place & facts.is_creation & (a.actor >= 0)).tolist():
        actor = recorded.actors[a.actor[row]]
        if actor.resources:
            _, until = facts.lifetime(actor)
            yield Holding("actor", actor.class_name, actor.resources, int(begin[row]), until, row)
    for group in [*recorded.groups, *recorded.empty_groups]:
        if group.ready >= 0:
            name, until = group_name(group), facts.removal(group)
            yield Holding("placement_group", name, group_resources(group), group.ready, until, -1)


def waiters(facts: Facts, min_ns: int) -> Iterable[Waiter]:
    """The tasks, actors and placement groups that waited for resources for at least ``min_ns``."""
    a, recorded = facts.attempts, facts.recorded
    begin, end = ready_times(facts), granted(facts)
    end = np.where(end >= 0, end, np.where(is_open(facts), recorded.last, a.ended))
    for row in np.flatnonzero((a.kind != CALL) & (a.group < 0) & (end - begin >= min_ns)).tolist():
        is_actor = facts.is_creation[row] and a.actor[row] >= 0
        kind = "actor" if is_actor else "task"
        name = recorded.actors[a.actor[row]].class_name if is_actor else facts.name(row)
        rows = np.array([row])
        yield Waiter(kind, name, demand_of(facts, row), int(begin[row]), int(end[row]), row, rows)
    for place, group in enumerate([*recorded.groups, *recorded.empty_groups]):
        until = group.ready if group.ready >= 0 else facts.removal(group)
        if until - group.created >= min_ns:
            name = group_name(group)
            rows = np.flatnonzero(a.group == place)
            yield Waiter(
                "placement_group",
                name,
                group_resources(group),
                group.created,
                until,
                -1,
                rows,
                (group.group_id,),
            )


def most_at_once(facts: Facts, row: int) -> float:
    """How many tasks with an attempt's demand fit beside the resources that were held when it was submitted.

    All nodes count as one. At most the number of CPUs.
    """
    at = int(facts.attempts.created[row])
    demand, free = demand_of(facts, row), totals(facts)
    if demand:
        for holding in holdings(facts):
            if holding.begin <= at < holding.end:
                for name in demand:
                    free[name] = free.get(name, 0.0) - holding.resources.get(name, 0.0)
    fitting = (free.get(name, 0.0) // amount for name, amount in demand.items() if amount > 0)
    return max(1.0, min([facts.cpus, *fitting]))


def group_name(group: Group) -> str:
    """The name of a placement group in findings."""
    return f"placement group {group.name}".strip()


def group_resources(group: Group) -> dict[str, float]:
    """The sum of the resources of all bundles of a placement group."""
    found: dict[str, float] = {}
    for bundle in group.bundles:
        for name, amount in bundle.items():
            found[name] = found.get(name, 0.0) + amount
    return found


def totals(facts: Facts) -> dict[str, float]:
    """The sum of the resources of all nodes."""
    found: dict[str, float] = {}
    for node in facts.recorded.nodes:
        for name, amount in node.resources.items():
            found[name] = found.get(name, 0.0) + amount
    return found
