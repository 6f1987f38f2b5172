"""Who holds which resources of the cluster, and who waits for them. Times are ns since the job's begin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rayscope.insights.finding import Facts
from rayscope.insights.replay.program import CALL, CREATION, NORMAL
from rayscope.insights.replay.recorded import Group

_CUT_OFF = "CUT_OFF"


class Holding(NamedTuple):
    """What a task, an actor or a placement group held. ``kind`` is ``task``, ``actor`` or
    ``placement_group``; ``row``: its attempt, of an actor the one that made it, -1 of a placement group.
    """

    kind: str
    name: str
    resources: Mapping[str, float]
    begin: int
    end: int
    row: int


class Waiter(NamedTuple):
    """What asked for resources and waited until it got them, or gave up. ``row`` as of :class:`Holding`."""

    kind: str
    name: str
    resources: Mapping[str, float]
    begin: int
    end: int
    row: int


def is_open(facts: Facts, row: int) -> bool:
    """Whether an attempt never came to an end of its own."""
    return facts.attempts.ended[row] < 0 or facts.attempts.state[row] == _CUT_OFF


def granted(facts: Facts, row: int) -> int:
    """When an attempt got its resources: before a worker started for it. -1 if it did not."""
    a = facts.attempts
    if a.starting[row] >= 0:
        return a.starting[row]
    return a.given[row] if a.given[row] >= 0 else a.start[row]


def demand_of(facts: Facts, row: int) -> Mapping[str, float]:
    """What a task or the actor that it makes asks for, outside placement groups; calls ask for nothing."""
    a, recorded = facts.attempts, facts.recorded
    if a.group[row] >= 0 or a.kind[row] == CALL:
        return {}
    if a.kind[row] == CREATION and a.actor[row] >= 0 and recorded.actors[a.actor[row]].class_name:
        return recorded.actors[a.actor[row]].resources
    return recorded.demands[a.demand[row]] if a.demand[row] >= 0 else {}


def holdings(facts: Facts) -> Iterable[Holding]:
    """All that was held. CPUs of tasks are left out: Ray lends them to others while a task is blocked."""
    a, recorded = facts.attempts, facts.recorded
    without_cpu = [
        {name: amount for name, amount in demand.items() if name != "CPU"} for demand in recorded.demands
    ]
    for row, kind in enumerate(a.kind):
        begin = granted(facts, row)
        if begin < 0 or a.group[row] >= 0:
            continue
        if kind == NORMAL and a.demand[row] >= 0 and without_cpu[a.demand[row]]:
            end = recorded.last if is_open(facts, row) else max(a.returned[row], a.ended[row])
            yield Holding("task", facts.name(row), without_cpu[a.demand[row]], begin, end, row)
        elif kind == CREATION and a.actor[row] >= 0:
            actor = recorded.actors[a.actor[row]]
            if actor.resources:
                _, end = facts.lifetime(actor)
                yield Holding("actor", actor.class_name, actor.resources, begin, end, row)
    for group in [*recorded.groups, *recorded.empty_groups]:
        if group.ready >= 0:
            name, end = group_name(group), facts.removal(group)
            yield Holding("placement_group", name, group_resources(group), group.ready, end, -1)


def waiters(facts: Facts, least_ns: int) -> Iterable[Waiter]:
    """What waited for resources at least so long."""
    a, recorded = facts.attempts, facts.recorded
    for row, kind in enumerate(a.kind):
        if kind == CALL or a.group[row] >= 0:
            continue
        begin, end = max(a.created[row], a.pending[row]), granted(facts, row)
        if end < 0:
            end = recorded.last if is_open(facts, row) else a.ended[row]
        if end - begin >= least_ns:
            is_actor = kind == CREATION and a.actor[row] >= 0
            name = recorded.actors[a.actor[row]].class_name if is_actor else facts.name(row)
            yield Waiter("actor" if is_actor else "task", name, demand_of(facts, row), begin, end, row)
    for group in [*recorded.groups, *recorded.empty_groups]:
        end = group.ready if group.ready >= 0 else facts.removal(group)
        if end - group.created >= least_ns:
            yield Waiter("placement_group", group_name(group), group_resources(group), group.created, end, -1)


def group_name(group: Group) -> str:
    """A placement group as a finding names it."""
    return f"placement group {group.name}".strip()


def group_resources(group: Group) -> dict[str, float]:
    """What all bundles of a placement group ask for."""
    found: dict[str, float] = {}
    for bundle in group.bundles:
        for name, amount in bundle.items():
            found[name] = found.get(name, 0.0) + amount
    return found


def totals(facts: Facts) -> dict[str, float]:
    """What all nodes have."""
    found: dict[str, float] = {}
    for node in facts.recorded.nodes:
        for name, amount in node.resources.items():
            found[name] = found.get(name, 0.0) + amount
    return found
