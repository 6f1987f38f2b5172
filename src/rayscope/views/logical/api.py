"""The logical graph's routes."""

from __future__ import annotations

from typing import Annotated, cast

import msgspec
from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Filters, Session
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.records.rollups import Make, Rollups
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import data_edges
from rayscope.storage.sql.filters import TaskFilters
from rayscope.storage.sql.origins import operators
from rayscope.storage.sql.worker_names import job_scripts
from rayscope.views.logical import sql
from rayscope.views.logical.compute import MAX_ELEMENTS, logical_graph
from rayscope.views.logical.schemas import LogicalAnswer, LogicalCall, LogicalData, LogicalNode

Expand = Annotated[
    list[Annotated[str, Query(max_length=500)]] | None,
    Query(description="Actor class to expand into its instances, or function to expand into its calls."),
]
Fold = Annotated[
    list[Annotated[str, Query(max_length=500)]] | None,
    Query(description="Actor class to keep as one box although it calls itself."),
]
Unfold = Annotated[
    list[Annotated[str, Query(max_length=500)]] | None,
    Query(description="Library's operator to show by function although `only=mine` folds it."),
]

router = Router()
_ROLLUP = msgspec.json.Decoder(sql.LogicalRows)
ROLLUPS: dict[str, Make] = {
    "logical": lambda file, last_ns: sql.logical_rows(
        file, TaskFilters(), last_ns=last_ns, unasked=sql.ROLLUP_UNASKED
    )
}


@router.get("/api/v1/flow/logical")
def flow_logical(
    records: CurrentRecords,
    rollups: Annotated[Rollups, provide(Rollups)],
    request: Request,
    filters: Filters,
    session: Session = None,
    expand: Expand = None,
    fold: Fold = None,
    unfold: Unfold = None,
) -> Json[LogicalAnswer]:
    """Return functions and actor classes, their calls, and the data that moved between them.

    A class with up to 30 instances that call each other is expanded into them, unless ``fold`` names it. With
    ``only=mine``, the functions of each operator of a library are one node, and so are the library's
    internals.
    """
    chosen = records.resolve(session)
    is_folded, filters = filters.only is not None, filters.with_libraries()

    def find(file: SessionFile) -> LogicalAnswer:
        rows = None
        if not filters.active() and not expand and not fold:
            rows = rollups.read(file, chosen, "logical", _ROLLUP)
        if rows is None:
            last_ns = records.last_ns(chosen)
            rows = sql.logical_rows(file, filters, last_ns=last_ns, expand=expand or (), fold=fold or ())
        with file.reader() as reader:
            libraries = operators(reader) if is_folded else {}
            scripts = job_scripts(reader)
        graph = logical_graph(
            rows.functions,
            rows.calls,
            rows.data,
            rows.methods,
            rows.instances,
            rows.names,
            libraries,
            unfolded=unfold or (),
        )
        for node in graph.nodes:
            if node.kind == "driver":
                node.name = scripts.get(node.job_id or "")
        return {
            "session": chosen,
            "attempts": graph.attempts,
            # Structs are encoded like dicts, so a copy, which would take time and memory, is not needed.
            "nodes": cast(list[LogicalNode], graph.nodes),
            "calls": cast(list[LogicalCall], graph.calls),
            "data": cast(list[LogicalData], graph.data),
            "folded": graph.folded,
            "libraries": graph.libraries,
            "limit": MAX_ELEMENTS,
            "is_estimated": rows.is_estimated,
            "data_sampled": rows.sampled,
            "data_unnamed": data_edges.unnamed_objects(file, sql.attempts_where(filters)),
        }

    return answer_from_record(records, chosen, request, find)
