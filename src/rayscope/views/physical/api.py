"""The physical view: all nodes at one time, one node in detail, and transfers between nodes."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Filters, Nanoseconds, Session
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.cluster.nodes.usage import CurrentNodeUsage, usage_columns
from rayscope.cluster.placement import sql as placement_sql
from rayscope.cluster.placement.snapshot import current_snapshot, in_columns, make_snapshot, node_of
from rayscope.ingest.clusters import CurrentClusters
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id
from rayscope.storage.sql.worker_names import job_scripts
from rayscope.views.physical import schemas, transfers_sql

Span = Annotated[int | None, Query(ge=1, le=2**63 - 1, description="How long before until_ns (ns).")]
Key = Annotated[str | None, Query(max_length=500, description="The name of an annotation.")]


router = Router()


@router.get("/api/v1/flow/physical")
def physical(
    records: CurrentRecords,
    clusters: CurrentClusters,
    usages: CurrentNodeUsage,
    request: Request,
    filters: Filters,
    session: Session = None,
    at_ns: Nanoseconds = None,
    annotation_name: Key = None,
    with_bytes: bool = False,
) -> Json[schemas.PhysicalAnswer]:
    """Return the tasks and reservations on each worker of each node at a given time."""
    chosen = records.resolve(session)
    is_plain = not (at_ns is not None or annotation_name or with_bytes or filters.active())

    def look(file: SessionFile) -> schemas.PhysicalAnswer:
        live = records.is_live(chosen)
        contents = (
            current_snapshot(records, chosen, file)
            if is_plain
            else make_snapshot(
                placement_sql.read_placement(
                    file,
                    filters,
                    at_ns=at_ns,
                    last_ns=records.last_ns(chosen),
                    live=live,
                    annotation=annotation_name,
                    with_bytes=with_bytes,
                )
            )
        )
        placement = contents.placement
        figures = None
        if live and at_ns is None:
            figures = usage_columns(placement, clusters.usage(chosen), usages.resources(chosen)[0])
        return {
            "session": chosen,
            "at_ns": contents.at_ns,
            "live": live,
            **in_columns(placement),
            "scripts": _scripts(file),
            "workers_left_out": placement.workers_total - len(placement.workers.key),
            "annotations": contents.keys,
            "measured": figures,
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/flow/physical/node")
def physical_node(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    at_ns: Nanoseconds = None,
    on_node: Annotated[str, Query(max_length=100)] = "",
) -> Json[schemas.NodeAnswer]:
    """Return one node at a given time: its workers with their tasks, and its bundles."""
    if not on_node:
        raise BadQuery("No node given.", "Set on_node to an ID from /api/v1/flow/physical or /api/v1/nodes.")
    chosen = records.resolve(session)
    live = records.is_live(chosen)

    def look(file: SessionFile) -> schemas.NodeAnswer:
        node_id = find_id(file, "node", on_node)
        found = placement_sql.read_placement(
            file,
            filters,
            at_ns=at_ns,
            last_ns=records.last_ns(chosen),
            live=live,
            node_id=node_id,
            with_bytes=True,
        )
        return {
            "session": chosen,
            "at_ns": found.at_ns,
            "live": live,
            **node_of(found, node_id),
            "scripts": _scripts(file),
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/flow/transfers")
def transfers(
    records: CurrentRecords,
    request: Request,
    session: Session = None,
    until_ns: Nanoseconds = None,
    span_ns: Span = None,
) -> Json[schemas.TransfersAnswer]:
    """Return objects that were consumed on a different node than they were produced on, by pairs of nodes."""
    chosen = records.resolve(session)

    def find(file: SessionFile) -> schemas.TransfersAnswer:
        until = records.last_ns(chosen) if until_ns is None else until_ns
        since = None if span_ns is None else max(0, until - span_ns)
        moved = transfers_sql.transfers(file, since or 0, until)
        return {
            "session": chosen,
            "since_ns": since,
            "until_ns": until,
            "pairs": moved.pairs,
            "pairs_total": moved.pairs_total,
            "objects": moved.objects,
            "bytes": moved.bytes,
            "sampled": moved.sampled,
        }

    return answer_from_record(records, chosen, request, find)


def _scripts(file: SessionFile) -> dict[str, str]:
    with file.reader() as reader:
        return job_scripts(reader)
