"""Who is where: the placement of a session's nodes and workers now, which several answers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rayscope.cluster.placement import sql
from rayscope.cluster.placement.compute import KEY_DIGITS, NodeRow, Placement, WorkerRow, build_placement
from rayscope.cluster.placement.reservations import Group, group_at
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.filters import TaskFilters


class ClusterSnapshot(NamedTuple):
    """What was found at ``at_ns``, and the placement made of it. ``labels``: node id -> JSON."""

    at_ns: int | None
    workers: tuple[WorkerRow, ...]
    groups: tuple[Group, ...]
    labels: dict[str, str | None]
    keys: list[str]
    placement: Placement


def current_snapshot(records: SessionReader, session: str, file: SessionFile) -> ClusterSnapshot:
    """All that is there now, or was last in a session that is over: of a live one shared by all who ask.

    It tells its time. Nothing of it may be changed.
    """

    def look(record: SessionFile) -> ClusterSnapshot:
        live = records.is_live(session)
        return make_snapshot(
            sql.read_placement(record, TaskFilters(), at_ns=None, last_ns=records.last_ns(session), live=live)
        )

    if not records.is_live(session):
        return look(file)
    told: ClusterSnapshot = records.read_cached(session, look)
    return told


def make_snapshot(found: sql.PlacementRows) -> ClusterSnapshot:
    """What the store found, as rows and as a placement."""
    workers = tuple(WorkerRow(**row) for row in found.workers)
    groups = tuple(groups_of(found))
    made = build_placement((NodeRow(**row) for row in found.nodes), workers, groups, gone=found.gone)
    labels = {row["id"]: row["labels"] for row in found.nodes}
    return ClusterSnapshot(found.at_ns, workers, groups, labels, found.keys, made)


def groups_of(found: sql.PlacementRows) -> Iterable[Group]:
    """The placement groups that were there."""
    told = (group_at(identity, doc, found.at_ns or 0, end_ns) for identity, doc, end_ns in found.groups)
    return (group for group in told if group is not None)


def placement_on(found: sql.PlacementRows, node_id: str) -> Placement:
    """The placement of one node alone."""
    return build_placement(
        (NodeRow(**row) for row in found.nodes),
        (WorkerRow(**row) for row in found.workers),
        (group.on(node_id) for group in groups_of(found)),
        gone=found.gone,
    )


def in_columns(told: Placement) -> dict[str, Any]:
    """A placement by columns: ``amounts`` are all that nodes have and reserve and bundles hold, each once,
    ``groups`` the placement groups of bundles; -1 is none. ``annotation`` is empty if no worker has one.
    """
    amounts: dict[tuple[tuple[str, float], ...], int] = {}
    groups: dict[tuple[str, str | None], int] = {}

    def place(resources: Mapping[str, float] | None) -> int:
        return -1 if resources is None else amounts.setdefault(tuple(resources.items()), len(amounts))

    found: dict[str, Any] = {name: getattr(told, name) for name in told.__struct_fields__}
    nodes = told.nodes
    found["nodes"] = {
        **{name: [getattr(node, name) for node in nodes] for name in _NODE},
        "total": [place(node.total) for node in nodes],
        "used": [place(node.used) for node in nodes],
    }
    workers = {name: getattr(told.workers, name) for name in told.workers.__struct_fields__}
    if not told.values:
        workers["annotation"] = []
    found["workers"] = workers
    bundles = told.bundles
    found["bundles"] = {
        "group": [groups.setdefault((one.group, one.name), len(groups)) for one in bundles],
        "index": [one.index for one in bundles],
        "node": [one.node for one in bundles],
        "resources": [place(one.resources) for one in bundles],
    }
    found["groups"] = [{"id": identity, "name": name} for identity, name in groups]
    found["amounts"] = [dict(items) for items in amounts]
    return found


#: Fields of a node that are columns as they are.
_NODE = (
    "id",
    "name",
    "node_ip",
    "is_head",
    "is_known",
    "start_ns",
    "internal",
    "workers",
    "actors",
    "running",
    "blocked",
    "bytes",
    "left_out",
)


#: Fields of a row about a worker that it tells as they are.
#: Workers that the answer about one node tells.
MAX_OF_NODE = 500
_OF_WORKER = (
    "id",
    "kind",
    "pid",
    "job_id",
    "start_ns",
    "is_internal",
    "actor_id",
    "actor_class",
    "actor_name",
    "actor_state",
    "running",
    "blocked",
    "functions",
    "bytes",
)


def node_of(found: sql.PlacementRows, node_id: str) -> dict[str, Any]:
    """The node with that id and what is on it. Raises NotFound."""
    told = placement_on(found, node_id)
    if [node.id for node in told.nodes] != [node_id]:
        raise NotFound(
            f"Node {node_id[:80]!r} not found at this time.",
            "GET /api/flow/physical lists the nodes of a time.",
        )
    row = next(iter(found.nodes), {})
    running: dict[str, list[dict[str, Any]]] = {}
    for attempt in found.attempts:
        running.setdefault(attempt.pop("worker_id")[:KEY_DIGITS], []).append(attempt)
    by_key = {worker["id"][:KEY_DIGITS]: worker for worker in found.workers}
    shown = told.workers
    workers = [
        {
            "key": key,
            **{name: by_key[key][name] for name in _OF_WORKER},
            "reserved": told.reserved[reserved],
            "bundle": bundle,
            "attempts": running.get(key, []),
            "gpus": found.gpus.get(by_key[key]["id"], []),
        }
        for key, reserved, bundle in zip(shown.key, shown.reserved, shown.bundle, strict=True)
    ]
    return {
        "node": told.nodes[0],
        "labels": row.get("labels"),
        "end_ns": row.get("end_ns"),
        "workers": workers[:MAX_OF_NODE],
        "workers_total": told.workers_total,
        "bundles": told.bundles,
    }
