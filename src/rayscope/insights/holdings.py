"""Tasks, actors and placement groups that hold or await resources. Times are ns since the job began."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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


class HeldResources:
    """The resources that were held at any time (see :func:`holdings`), as if all nodes were one."""

    def __init__(self, facts: Facts) -> None:
        self._held = list(holdings(facts))
        self._begin = np.array([holding.begin for holding in self._held], dtype=np.int64)
        self._end = np.array([holding.end for holding in self._held], dtype=np.int64)
        self._totals = totals(facts)
        self._amounts: dict[str, npt.NDArray[np.float64]] = {}

    def fitting(self, demand: Mapping[str, float], at: int) -> float:
        """How many tasks with a demand fitted beside what was held at a time. Infinite without a demand."""
        is_held = (self._begin <= at) & (at < self._end)
        fitting = [
            int((self._totals.get(name, 0.0) - self._amounts_of(name)[is_held].sum()) / amount + 1e-9)
            for name, amount in demand.items()
            if amount > 0
        ]
        return min(fitting, default=math.inf)

    def _amounts_of(self, resource: str) -> npt.NDArray[np.float64]:
        if resource not in self._amounts:
            self._amounts[resource] = np.array([held.resources.get(resource, 0.0) for held in self._held])
        return self._amounts[resource]


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
