"""The present placement of a session's nodes and workers, shared by several answers."""

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
    """The rows as of ``at_ns``, and the placement built from them. ``labels``: JSON by node ID."""

    at_ns: int | None
    workers: tuple[WorkerRow, ...]
    groups: tuple[Group, ...]
    labels: dict[str, str | None]
    keys: list[str]
    placement: Placement


def current_snapshot(records: SessionReader, session: str, file: SessionFile) -> ClusterSnapshot:
    """The placement at present, or the last one of an ended session. Requests about a live session share it.

    The result includes its time. It must not be modified.
    """

    def look(record: SessionFile) -> ClusterSnapshot:
        live = records.is_live(session)
        return make_snapshot(
            sql.read_placement(record, TaskFilters(), at_ns=None, last_ns=records.last_ns(session), live=live)
        )

    if not records.is_live(session):
        return look(file)
    snapshot: ClusterSnapshot = records.read_cached(session, look)
    return snapshot


def make_snapshot(rows: sql.PlacementRows) -> ClusterSnapshot:
    """A snapshot built from the rows of a query."""
    workers = tuple(WorkerRow(**row) for row in rows.workers)
    groups = tuple(groups_of(rows))
    made = build_placement((NodeRow(**row) for row in rows.nodes), workers, groups, ended_nodes=rows.gone)
    labels = {row["id"]: row["labels"] for row in rows.nodes}
    return ClusterSnapshot(rows.at_ns, workers, groups, labels, rows.keys, made)


def groups_of(rows: sql.PlacementRows) -> Iterable[Group]:
    """The placement groups that existed."""
    groups = (group_at(identity, doc, rows.at_ns or 0, end_ns) for identity, doc, end_ns in rows.groups)
    return (group for group in groups if group is not None)


def placement_on(rows: sql.PlacementRows, node_id: str) -> Placement:
    """The placement of a single node."""
    return build_placement(
        (NodeRow(**row) for row in rows.nodes),
        (WorkerRow(**row) for row in rows.workers),
        (group.on(node_id) for group in groups_of(rows)),
        ended_nodes=rows.gone,
    )


def in_columns(placement: Placement) -> dict[str, Any]:
    """A placement as columns. ``amounts``: the distinct resources of nodes, reservations and bundles;
    ``groups``: the placement groups of bundles; -1 means none. ``annotation`` is empty if no worker has one.
    """
    amounts: dict[tuple[tuple[str, float], ...], int] = {}
    groups: dict[tuple[str, str | None], int] = {}

    def place(resources: Mapping[str, float] | None) -> int:
        return -1 if resources is None else amounts.setdefault(tuple(resources.items()), len(amounts))

    columns: dict[str, Any] = {name: getattr(placement, name) for name in placement.__struct_fields__}
    nodes = placement.nodes
    columns["nodes"] = {
        **{name: [getattr(node, name) for node in nodes] for name in _NODE},
        "total": [place(node.total) for node in nodes],
        "used": [place(node.used) for node in nodes],
    }
    workers = {name: getattr(placement.workers, name) for name in placement.workers.__struct_fields__}
    if not placement.values:
        workers["annotation"] = []
    columns["workers"] = workers
    bundles = placement.bundles
    columns["bundles"] = {
        "group": [groups.setdefault((one.group, one.name), len(groups)) for one in bundles],
        "index": [one.index for one in bundles],
        "node": [one.node for one in bundles],
        "resources": [place(one.resources) for one in bundles],
    }
    columns["groups"] = [{"id": identity, "name": name} for identity, name in groups]
    columns["amounts"] = [dict(items) for items in amounts]
    return columns


#: Fields of a node that become columns unchanged.
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


#: Maximum number of workers in the answer about one node.
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


def node_of(rows: sql.PlacementRows, node_id: str) -> dict[str, Any]:
    """The node with that ID and its content. Raises NotFound."""
    placement = placement_on(rows, node_id)
    if [node.id for node in placement.nodes] != [node_id]:
        raise NotFound(
            f"Node {node_id[:80]!r} not rows at this time.",
            "GET /api/flow/physical lists the nodes of a time.",
        )
    row = next(iter(rows.nodes), {})
    running: dict[str, list[dict[str, Any]]] = {}
    for attempt in rows.attempts:
        running.setdefault(attempt.pop("worker_id")[:KEY_DIGITS], []).append(attempt)
    by_key = {worker["id"][:KEY_DIGITS]: worker for worker in rows.workers}
    shown = placement.workers
    workers = [
        {
            "key": key,
            **{name: by_key[key][name] for name in _OF_WORKER},
            "reserved": placement.reserved[reserved],
            "bundle": bundle,
            "attempts": running.get(key, []),
            "gpus": rows.gpus.get(by_key[key]["id"], []),
        }
        for key, reserved, bundle in zip(shown.key, shown.reserved, shown.bundle, strict=True)
    ]
    return {
        "node": placement.nodes[0],
        "labels": row.get("labels"),
        "end_ns": row.get("end_ns"),
        "workers": workers[:MAX_OF_NODE],
        "workers_total": placement.workers_total,
        "bundles": placement.bundles,
    }
