"""Computes the placement at one time: nodes, their workers with tasks and reservations, and bundles."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from rayscope.cluster.placement.reservations import Group, Reservation, Resources, reservation, total_of

#: Maximum number of nodes in one answer.
MAX_NODES = 2000
MAX_WORKERS = 10_000
MAX_BUNDLES = 2000
#: Number of digits at the start of a worker's ID that identify the worker within a session.
KEY_DIGITS = 16
_TEXT = 80
#: Maximum number of different reservations in the cache.
_MAX_CACHED = 20_000
#: Reservations with more characters than this are not cached, because users control how long they are.
_MAX_KEPT_CHARS = 4096


class NodeRow(msgspec.Struct, frozen=True):
    """A recorded node. Times are in ns. ``resources_total`` and ``labels`` are JSON."""

    id: str
    name: str | None = None
    node_ip: str | None = None
    is_head: bool | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    resources_total: str | None = None
    labels: str | None = None


class WorkerRow(msgspec.Struct, frozen=True):
    """A worker and its activity.

    ``tasks``: the requirements (JSON) of each normal task that it runs, and whether the task is blocked.
    ``running``: the number of matching attempts. ``function``: the most frequent function of these (of
    equally frequent ones, the oldest). ``functions``: the number of different functions. ``blocked`` is 1 for
    a waiting driver. ``is_internal``: whether it is one of Ray's own processes.
    """

    id: str
    node_id: str
    kind: str = "WORKER"
    pid: int | None = None
    job_id: str | None = None
    start_ns: int | None = None
    is_internal: bool = False
    actor_id: str | None = None
    actor_class: str | None = None
    actor_name: str | None = None
    actor_state: str | None = None
    actor_resources: str | None = None
    tasks: tuple[tuple[str | None, bool], ...] = ()
    running: int = 0
    blocked: int = 0
    functions: int = 0
    function: str | None = None
    bytes: int | None = None
    annotation: str | None = None


class Bundle(msgspec.Struct):
    """A bundle of a placement group on a node. ``node``: the node's index."""

    group: str
    name: str | None
    index: int
    node: int
    resources: Resources | None


class Node(msgspec.Struct):
    """A node with the sums of everything on it. ``used``: reservations of workers outside of placement
    groups, and of bundles.

    ``workers`` and the following fields exclude Ray's own processes, which ``internal`` counts.
    """

    node_id: str
    name: str
    node_ip: str | None
    is_head: bool
    is_known: bool
    start_ns: int | None
    total: Resources | None
    used: Resources
    internal: int = 0
    workers: int = 0
    actors: int = 0
    running: int = 0
    blocked: int = 0
    bytes: int = 0
    left_out: int = 0


class Workers(msgspec.Struct):
    """Workers as columns, including Ray's own processes. Numbers, except ``pid``, ``running``, ``blocked``
    and ``bytes``, are indexes into the lists of :class:`Placement`; -1 means none.
    """

    key: list[str] = msgspec.field(default_factory=list)
    node: list[int] = msgspec.field(default_factory=list)
    kind: list[int] = msgspec.field(default_factory=list)
    is_internal: list[bool] = msgspec.field(default_factory=list)
    pid: list[int] = msgspec.field(default_factory=list)
    job: list[int] = msgspec.field(default_factory=list)
    actor_class: list[int] = msgspec.field(default_factory=list)
    actor_state: list[int] = msgspec.field(default_factory=list)
    function: list[int] = msgspec.field(default_factory=list)
    running: list[int] = msgspec.field(default_factory=list)
    blocked: list[int] = msgspec.field(default_factory=list)
    reserved: list[int] = msgspec.field(default_factory=list)
    bundle: list[int] = msgspec.field(default_factory=list)
    bytes: list[int] = msgspec.field(default_factory=list)
    annotation: list[int] = msgspec.field(default_factory=list)


class _Names:
    """Distinct values and their indexes."""

    def __init__(self) -> None:
        self.places: dict[Any, int] = {}

    def place(self, value: Any) -> int:
        """The index of a value, or -1 for None."""
        return -1 if value is None else self.places.setdefault(value, len(self.places))

    @property
    def texts(self) -> list[str]:
        return [str(value)[:_TEXT] for value in self.places]


class Placement(msgspec.Struct):
    """Nodes (the head first, then by name), their workers and bundles, and the total numbers of each."""

    nodes: list[Node]
    workers: Workers
    bundles: list[Bundle]
    kinds: list[str]
    jobs: list[str]
    classes: list[str]
    states: list[str]
    functions: list[str]
    reserved: list[Resources]
    values: list[str]
    nodes_total: int
    workers_total: int
    bundles_total: int


def held(worker: WorkerRow) -> Reservation:
    """The reservation of a worker: for its actor, and for the normal tasks that it runs.

    The result is cached and must not be modified.

    Ray releases the CPUs of a normal task that is blocked in ray.get or ray.wait. An actor keeps its CPUs.
    """
    parts = worker.actor_resources, worker.tasks
    length = len(parts[0] or "") + sum(len(text or "") for text, _ in parts[1])
    return _held(*parts) if length <= _MAX_KEPT_CHARS else _held.__wrapped__(*parts)


@lru_cache(maxsize=_MAX_CACHED)
def _held(actor: str | None, tasks: tuple[tuple[str | None, bool], ...]) -> Reservation:
    """Cached, because among thousands of workers, most hold the same resources."""
    resources: Resources = {}
    group: str | None = None
    index: int | None = None
    for text, is_blocked in ((actor, False), *tasks):
        one = reservation(text)
        if one.group is not None:
            group, index = one.group, one.bundle
        for name, amount in one.resources.items():
            if not (is_blocked and name == "CPU"):
                resources[name] = round(resources.get(name, 0.0) + amount, 4)
    return Reservation(resources, group, index)


def build_placement(
    nodes: Iterable[NodeRow],
    workers: Iterable[WorkerRow],
    groups: Iterable[Group],
    *,
    ended_nodes: Container[str] = (),
    max_nodes: int = MAX_NODES,
    max_workers: int = MAX_WORKERS,
) -> Placement:
    """The placement of workers and reservations. The order of nodes, workers and groups does not matter.

    ``ended_nodes``: IDs of nodes whose bundles no longer exist. The sums of a node include everything on it,
    even what is left out. If there are too many nodes, those that run least are left out. If a node has more
    workers than its share of ``max_workers``, those that run and hold least are left out.
    """
    known = {node.id: node for node in nodes}
    on: dict[str, list[tuple[WorkerRow, Reservation]]] = {identity: [] for identity in known}
    for worker in workers:
        on.setdefault(worker.node_id, []).append((worker, held(worker)))
    placed: dict[str, list[tuple[Group, int, Resources | None]]] = {}
    for group in groups:
        for index, node_id, resources in group.bundles:
            if node_id in ended_nodes:
                continue
            placed.setdefault(node_id, []).append((group, index, resources))
            on.setdefault(node_id, [])
    summed = {identity: _node(identity, known.get(identity), on[identity], placed) for identity in on}
    chosen = sorted(
        summed.values(), key=lambda node: (not node.is_head, -node.running, node.name, node.node_id)
    )
    chosen = sorted(
        chosen[:max_nodes], key=lambda node: (not node.is_head, _natural(node.name), node.node_id)
    )
    place = {node.node_id: at for at, node in enumerate(chosen)}
    bundles = [
        Bundle(group.id, group.name, index, place[node_id], resources)
        for node_id, members in placed.items()
        if node_id in place
        for group, index, resources in members
    ]
    bundles.sort(key=lambda bundle: (bundle.node, bundle.name or "", bundle.group, bundle.index))
    bundles_total = sum(map(len, placed.values()))
    del bundles[MAX_BUNDLES:]
    shown, tables = _columns(chosen, on, bundles, max_workers)
    kinds, jobs, classes, states, functions, values = (table.texts for table in tables[:6])
    return Placement(
        nodes=chosen,
        workers=shown,
        bundles=bundles,
        kinds=kinds,
        jobs=jobs,
        classes=classes,
        states=states,
        functions=functions,
        reserved=[dict(items) for items in tables[6].places],
        values=values,
        nodes_total=len(summed),
        workers_total=sum(map(len, on.values())),
        bundles_total=bundles_total,
    )


def _natural(name: str) -> list[tuple[int, str]]:
    """A sort key that puts 10.0.0.9 before 10.0.0.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name[:200])]


def _node(
    identity: str,
    row: NodeRow | None,
    workers: Sequence[tuple[WorkerRow, Reservation]],
    placed: Mapping[str, Sequence[tuple[Group, int, Resources | None]]],
) -> Node:
    used: Resources = {}
    # If the size of a bundle is unknown, count what its workers use: at least that much is reserved.
    known_groups = {group.id for group, _, resources in placed.get(identity, ()) if resources is not None}
    parts = [resources or {} for _, _, resources in placed.get(identity, ())]
    parts += [one.resources for _, one in workers if one.group not in known_groups]
    for part in parts:
        for name, amount in part.items():
            used[name] = round(used.get(name, 0.0) + amount, 4)
    about = row or NodeRow(identity)
    node = Node(
        node_id=identity,
        name=about.name or about.node_ip or identity[:12],
        node_ip=about.node_ip,
        is_head=bool(about.is_head),
        is_known=row is not None,
        start_ns=about.start_ns,
        total=total_of(about.resources_total),
        used=used,
    )
    for worker, _ in workers:
        if worker.is_internal:
            node.internal += 1
            continue
        node.workers += 1
        node.actors += worker.actor_id is not None
        node.running += worker.running
        node.blocked += worker.blocked if worker.kind != "DRIVER" else 0
        node.bytes += worker.bytes or 0
    return node


def _columns(
    nodes: Sequence[Node],
    on: Mapping[str, list[tuple[WorkerRow, Reservation]]],
    bundles: Sequence[Bundle],
    max_workers: int,
) -> tuple[Workers, list[_Names]]:
    """The workers of some nodes as columns, and the tables to which the columns refer."""
    names = [_Names() for _ in range(7)]
    kinds, jobs, classes, states, functions, values, reserved = names
    bundle_at = {(bundle.group, bundle.index, bundle.node): at for at, bundle in enumerate(bundles)}
    any_at: dict[tuple[str, int], int] = {}
    for at, bundle in enumerate(bundles):
        any_at.setdefault((bundle.group, bundle.node), at)
    share = _share([len(on[node.node_id]) for node in nodes], max_workers)
    columns = Workers()
    amounts: dict[int, int] = {}  # keyed by id(), because equal amounts are mostly the same object
    for number, node in enumerate(nodes):
        rows = on[node.node_id]
        if len(rows) > share:
            node.left_out = len(rows) - share
            rows = sorted(rows, key=lambda one: (-one[0].running, -sum(one[1].resources.values()), one[0].id))
            rows = rows[:share]
        for worker, reserves in sorted(rows, key=_order):
            # An attempt that requested no specific bundle is shown in the first bundle of its group on the
            # node.
            inside = -1
            if reserves.group is not None and reserves.bundle is not None:
                inside = bundle_at.get((reserves.group, reserves.bundle, number), -1)
            elif reserves.group is not None:
                inside = any_at.get((reserves.group, number), -1)
            columns.key.append(worker.id[:KEY_DIGITS])
            columns.node.append(number)
            columns.kind.append(kinds.place(worker.kind))
            columns.is_internal.append(worker.is_internal)
            columns.pid.append(-1 if worker.pid is None else worker.pid)
            columns.job.append(jobs.place(worker.job_id))
            columns.actor_class.append(classes.place(worker.actor_class))
            columns.actor_state.append(states.place(worker.actor_state))
            columns.function.append(functions.place(worker.function))
            columns.running.append(worker.running)
            columns.blocked.append(worker.blocked)
            if id(reserves) not in amounts:
                amounts[id(reserves)] = reserved.place(tuple(sorted(reserves.resources.items())))
            columns.reserved.append(amounts[id(reserves)])
            columns.bundle.append(inside)
            if worker.bytes is not None:
                columns.bytes.append(worker.bytes)
            columns.annotation.append(values.place(worker.annotation))
    return columns, names


def _order(item: tuple[WorkerRow, Reservation]) -> tuple[bool, bool, str, int, int, str]:
    """A sort key: drivers first, then workers without a placement group, then by group and bundle. Within
    each of these, the oldest come first.
    """
    worker, reserves = item
    index = -1 if reserves.bundle is None else reserves.bundle
    return (
        worker.kind != "DRIVER",
        reserves.group is not None,
        reserves.group or "",
        index,
        worker.start_ns or 0,
        worker.id,
    )


def _share(counts: Sequence[int], total: int) -> int:
    """The largest limit per node, at least 1, for which the sum over all nodes stays within ``total``."""
    low, high = 1, max([1, *counts])
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(count, middle) for count in counts) <= total:
            low = middle
        else:
            high = middle - 1
    return low
