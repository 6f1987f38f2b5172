"""Routes for objects: who holds how much of the object stores, at present or at the last reading."""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated

from fastapi import Path, Query, Request

from rayscope.api.parameters import CurrentRecords, Session, Text
from rayscope.api.responses import Json, answer, answer_from_record
from rayscope.api.routes import Router
from rayscope.cluster.nodes.usage import CurrentNodeUsage
from rayscope.cluster.objects import schemas
from rayscope.cluster.objects.compute import GROUPINGS, summarize
from rayscope.cluster.objects.references import FIRST_ANSWER_TIMEOUT_S, CurrentReferences
from rayscope.cluster.objects.sql import owner_of
from rayscope.ingest.clusters import CurrentClusters
from rayscope.model.reference import NodeObjects
from rayscope.model.usage import NodeStats, percent
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id

_NS = 10**9
ObjectId = Annotated[str, Path(pattern="^[0-9a-f]{56}$", description="The whole ID of an object.")]


router = Router()


@router.get("/api/v1/memory")
def memory(
    records: CurrentRecords,
    clusters: CurrentClusters,
    objects: CurrentReferences,
    usages: CurrentNodeUsage,
    request: Request,
    session: Session = None,
    by: Annotated[str, Query(max_length=20, description=" | ".join(GROUPINGS))] = "function",
    type: Text = None,
    node_id: Text = None,
    job_id: Text = None,
    older_than_s: Annotated[float, Query(ge=0, le=10**7)] = 600,
) -> Json[schemas.MemoryAnswer]:
    """The memory held by objects, grouped by function, reference type, call site, process, node, or job."""
    grouping = next((one for one in GROUPINGS if one == by), None)
    if grouping is None:
        raise BadQuery(f"Objects cannot be grouped by {by!r}.", f"Use one of: {', '.join(GROUPINGS)}.")
    chosen = records.resolve(session)
    if node_id:
        node_id = records.read(chosen, partial(find_id, kind="node", text=node_id))
    if job_id:
        job_id = records.read(chosen, partial(find_id, kind="job", text=job_id))
    if objects.read(chosen, node_id, FIRST_ANSWER_TIMEOUT_S) is None:
        return answer(_ended_cluster(chosen, grouping))

    def look(_: SessionFile) -> schemas.MemoryAnswer:
        account = objects.read(chosen, node_id)
        if account is None:
            return _ended_cluster(chosen, grouping)
        references = [
            ref
            for node in account.nodes
            for ref in node.references
            if (type is None or ref.type == type)
            and (node_id is None or ref.node_id == node_id)
            and (job_id is None or ref.job_id == job_id)
        ]
        now_ns = account.time_ns or time.time_ns()
        older_ns = int(older_than_s * _NS)
        makers = objects.makers(chosen, account)
        usage = usages.usage(chosen)
        waiting = [NodeObjects(one, "") for one in account.waiting]
        return {
            "session": chosen,
            "live": clusters.gcs_of(chosen) is not None,
            "time_ns": account.time_ns,
            "state": "being_read" if account.waiting or account.time_ns is None else "whole",
            "nodes_waiting": len(account.waiting),
            "nodes": [
                *(_node(one, usage.nodes.get(one.node_id)) for one in account.nodes),
                *(_node(one, usage.nodes.get(one.node_id), is_waiting=True) for one in waiting),
            ],
            "references_read": sum(len(node.references) for node in account.nodes),
            "references_total": sum(node.references_total for node in account.nodes),
            "call_sites": any(ref.call_site for node in account.nodes for ref in node.references),
            "by": grouping,
            **summarize(references, makers, grouping, now_ns=now_ns, older_than_ns=older_ns),
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/memory/objects/{object_id}")
def copies(
    records: CurrentRecords, objects: CurrentReferences, object_id: ObjectId, session: Session = None
) -> Json[schemas.ObjectCopies]:
    """The nodes that hold a copy of an object at present, according to its owner."""
    chosen = records.resolve(session)
    owner_id = records.read(chosen, lambda file: owner_of(file, object_id))
    found = objects.copies(chosen, owner_id, object_id)
    return answer(
        {
            "session": chosen,
            "object_id": object_id,
            "owner_id": owner_id,
            "bytes": found.size,
            "nodes": list(found.nodes),
            "is_pending": found.is_pending,
            "is_spilled": found.is_spilled,
            "spilled_node_id": found.spilled_node_id,
            "problem": found.problem,
        }
    )


def _ended_cluster(session: str, by: schemas.ObjectGrouping) -> schemas.MemoryAnswer:
    """The answer for an ended cluster without a stored reading."""
    return {
        "session": session,
        "live": False,
        "time_ns": None,
        "state": "whole",
        "nodes_waiting": 0,
        "nodes": [],
        "references_read": 0,
        "references_total": 0,
        "call_sites": False,
        "by": by,
        "totals": None,
        "groups": [],
        "groups_total": 0,
        "objects": [],
        "objects_total": 0,
        "suspects": [],
    }


def _node(node: NodeObjects, stats: NodeStats | None, *, is_waiting: bool = False) -> schemas.StoreOfNode:
    """A node's object store and memory. ``is_waiting``: whether the node has not answered yet."""
    return {
        "node_id": node.node_id,
        "used_bytes": node.used,
        "available_bytes": node.available,
        "primary_bytes": node.primary,
        "fallback_bytes": node.fallback,
        "objects": node.objects,
        "spilled_bytes_total": node.spilled_total,
        "restored_bytes_total": node.restored_total,
        "references": node.references_total,
        "error": node.error,
        "waiting": is_waiting,
        "object_store": _amount(node.available, node.used),  # Ray reports the whole store as available
        "memory": _machine_memory(stats),
    }


def _machine_memory(stats: NodeStats | None) -> schemas.MemoryAmount:
    if stats is None:
        return _amount(None, None)
    return _amount(stats.mem_total_bytes, stats.mem_used_bytes, stats.mem_available_bytes)


def _amount(total: int | None, used: int | None, available: int | None = None) -> schemas.MemoryAmount:
    if total is not None and used is not None and available is None:
        available = max(0, total - used)
    return {
        "total_bytes": total,
        "used_bytes": used,
        "available_bytes": available,
        "percent": percent(used, total),
    }
