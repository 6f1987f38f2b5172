"""The present placement of a session's nodes and workers, shared by several answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from msgspec.structs import asdict

from rayscope.cluster.placement import schemas, sql
from rayscope.cluster.placement.compute import (
    KEY_DIGITS,
    Node,
    NodeRow,
    Placement,
    WorkerRow,
    build_placement,
)
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
    snapshot: ClusterSnapshot = records.read_cached(session, "placement now", look)
    return snapshot


def make_snapshot(rows: sql.PlacementRows) -> ClusterSnapshot:
    """A snapshot built from the rows of a query."""
    workers = tuple(rows.workers)
    groups = tuple(groups_of(rows))
    made = build_placement(rows.nodes, workers, groups, ended_nodes=rows.gone)
    labels = {row.id: row.labels for row in rows.nodes}
    return ClusterSnapshot(rows.at_ns, workers, groups, labels, rows.keys, made)


def groups_of(rows: sql.PlacementRows) -> Iterable[Group]:
    """The placement groups that existed at ``rows.at_ns``."""
    groups = (group_at(identity, doc, rows.at_ns or 0, end_ns) for identity, doc, end_ns in rows.groups)
    return (group for group in groups if group is not None)


def placement_on(rows: sql.PlacementRows, node_id: str) -> Placement:
    """The placement of a single node."""
    return build_placement(
        rows.nodes,
        rows.workers,
        (group.on(node_id) for group in groups_of(rows)),
        ended_nodes=rows.gone,
    )


def in_columns(placement: Placement) -> schemas.PlacementColumns:
    """A placement as columns. ``amounts``: the distinct resources of nodes, reservations and bundles.
    ``groups``: the placement groups of bundles. Columns have indexes into these lists; -1 means none.
    ``annotation`` is empty if no worker has one.
    """
    amounts: dict[tuple[tuple[str, float], ...], int] = {}
    groups: dict[tuple[str, str | None], int] = {}

    def place(resources: Mapping[str, float] | None) -> int:
        return -1 if resources is None else amounts.setdefault(tuple(resources.items()), len(amounts))

    nodes, workers, bundles = placement.nodes, placement.workers, placement.bundles
    columns = {
        **asdict(placement),
        "nodes": {
            **{name: [getattr(node, name) for node in nodes] for name in Node.__struct_fields__},
            "total": [place(node.total) for node in nodes],
            "used": [place(node.used) for node in nodes],
        },
        "workers": {**asdict(workers), "annotation": workers.annotation if placement.values else []},
        "bundles": {
            "group": [groups.setdefault((one.group, one.name), len(groups)) for one in bundles],
            "index": [one.index for one in bundles],
            "node": [one.node for one in bundles],
            "resources": [place(one.resources) for one in bundles],
        },
        "groups": [{"placement_group_id": identity, "name": name} for identity, name in groups],
        "amounts": [dict(items) for items in amounts],
    }
    return cast(schemas.PlacementColumns, columns)


#: Maximum number of workers in the answer about one node.
MAX_OF_NODE = 500


def node_of(rows: sql.PlacementRows, node_id: str) -> schemas.NodeContent:
    """The node with that ID and its content. Raises NotFound."""
    placement = placement_on(rows, node_id)
    if [node.node_id for node in placement.nodes] != [node_id]:
        raise NotFound(
            f"Node {node_id[:80]!r} not found at this time.",
            "GET /api/v1/flow/physical lists the nodes of a time.",
            what="node_then",
            id=node_id[:80],
        )
    row = next(iter(rows.nodes), NodeRow(node_id))
    by_key = {worker.id[:KEY_DIGITS]: worker for worker in rows.workers}
    shown = list(
        zip(placement.workers.key, placement.workers.reserved, placement.workers.bundle, strict=True)
    )
    return {
        "node": cast(schemas.PhysicalNode, asdict(placement.nodes[0])),  # has the same fields
        "labels": row.labels,
        "end_ns": row.end_ns,
        "workers": [
            _worker(rows, by_key[key], placement.reserved[reserved], bundle)
            for key, reserved, bundle in shown[:MAX_OF_NODE]
        ],
        "workers_total": placement.workers_total,
        "bundles": cast(list[schemas.PhysicalBundle], placement.bundles),  # likewise
    }


def _worker(
    rows: sql.PlacementRows, worker: WorkerRow, reserved: dict[str, float], bundle: int
) -> schemas.NodeWorker:
    return {
        "key": worker.id[:KEY_DIGITS],
        "worker_id": worker.id,
        "kind": worker.kind,
        "pid": worker.pid,
        "job_id": worker.job_id,
        "start_ns": worker.start_ns,
        "is_internal": worker.is_internal,
        "actor_id": worker.actor_id,
        "actor_class": worker.actor_class,
        "actor_name": worker.actor_name,
        "actor_state": worker.actor_state,
        "running": worker.running,
        "blocked": worker.blocked,
        "functions": worker.functions,
        "bytes": worker.bytes or 0,
        "reserved": reserved,
        "bundle": bundle,
        "attempts": rows.attempts.get(worker.id, []),
        "gpus": rows.gpus.get(worker.id, []),
    }
