"""Objects: who holds how much of a cluster's object stores, now or when it was read last."""

from __future__ import annotations

import time
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from rayscope.cluster.objects import schemas
from rayscope.cluster.objects.compute import GROUPINGS, summarize
from rayscope.cluster.objects.references import FIRST_ANSWER_TIMEOUT_S
from rayscope.model.reference import NodeObjects
from rayscope.server.parameters import ERRORS, CurrentServices, Session, Text, answer, answer_from_record
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id

_NS = 10**9


router = APIRouter()


@router.get("/api/memory", responses={**ERRORS, 200: {"model": schemas.MemoryAnswer}})
def memory(
    services: CurrentServices,
    request: Request,
    session: Session = None,
    by: Annotated[str, Query(max_length=20, description=" | ".join(GROUPINGS))] = "function",
    type: Text = None,
    node_id: Text = None,
    job_id: Text = None,
    older_than_s: Annotated[float, Query(ge=0, le=10**7)] = 600,
) -> Response:
    """What holds how much memory, by function, reference type, call site, process, node, or job."""
    if by not in GROUPINGS:
        raise BadQuery(f"Objects cannot be grouped by {by!r}.", f"Use one of: {', '.join(GROUPINGS)}.")
    chosen = services.records.resolve(session)
    if node_id:
        node_id = services.records.read(chosen, partial(find_id, kind="node", text=node_id))
    if job_id:
        job_id = services.records.read(chosen, partial(find_id, kind="job", text=job_id))
    if services.objects.read(chosen, node_id, FIRST_ANSWER_TIMEOUT_S) is None:
        return answer(_gone(chosen, by))

    def look(_: SessionFile) -> dict[str, Any]:
        account = services.objects.read(chosen, node_id)
        if account is None:
            return _gone(chosen, by)
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
        makers = services.objects.makers(chosen, account)
        return {
            "session": chosen,
            "live": services.clusters.gcs_of(chosen) is not None,
            "time_ns": account.time_ns,
            "state": "being_read" if account.waiting or account.time_ns is None else "whole",
            "nodes_waiting": len(account.waiting),
            "nodes": [*map(_node, account.nodes), *map(_waiting, account.waiting)],
            "references_read": sum(len(node.references) for node in account.nodes),
            "references_total": sum(node.references_total for node in account.nodes),
            "call_sites": any(ref.call_site for node in account.nodes for ref in node.references),
            "by": by,
            **summarize(references, makers, by, now_ns=now_ns, older_than_ns=older_ns),
        }

    return answer_from_record(services, chosen, request, look)


def _gone(session: str, by: str) -> dict[str, Any]:
    """The answer about a cluster that is over and of which no reading was kept."""
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


def _node(node: NodeObjects) -> dict[str, Any]:
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
        "waiting": False,
    }


def _waiting(node_id: str) -> dict[str, Any]:
    """A node that has not answered yet."""
    return {**_node(NodeObjects(node_id, "")), "waiting": True}
