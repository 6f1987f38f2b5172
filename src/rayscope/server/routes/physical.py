"""What is on which node at one time, one node in full, and what went from node to node."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import Response

from rayscope.flow.physical import KEY_DIGITS
from rayscope.server import schemas_physical
from rayscope.server.hub import Hub
from rayscope.server.measured import measured_columns, resources_of
from rayscope.server.pictures import in_columns, picture_on, seen, seen_now
from rayscope.server.routes.common import ERRORS, Nanoseconds, Session, TaskFilters, answered
from rayscope.store import query
from rayscope.store.errors import BadQuery, NotFound
from rayscope.store.session_file import SessionFile

#: Workers that the answer about one node tells.
MAX_OF_NODE = 500
Span = Annotated[int | None, Query(ge=1, le=2**63 - 1, description="How long before until_ns (ns).")]
#: Fields of a row about a worker that it tells as they are.
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
Key = Annotated[str | None, Query(max_length=500, description="The name of an annotation.")]


def add_physical(app: FastAPI, hub: Hub) -> None:
    """Nodes with their workers at one time, and objects between nodes."""

    @app.get("/api/flow/physical", responses={**ERRORS, 200: {"model": schemas_physical.PhysicalAnswer}})
    def physical(
        request: Request,
        filters: TaskFilters,
        session: Session = None,
        at_ns: Nanoseconds = None,
        annotation_name: Key = None,
        with_bytes: bool = False,
    ) -> Response:
        """What ran and was reserved on which worker of which node at a time."""
        chosen = hub.resolve(session)
        is_plain = not (at_ns is not None or annotation_name or with_bytes or any(filters.values()))

        def look(file: SessionFile) -> dict[str, Any]:
            live = hub.is_live(chosen)
            found = (
                seen_now(hub, chosen, file)
                if is_plain
                else seen(
                    query.housed(
                        file,
                        filters,
                        at_ns=at_ns,
                        last_ns=hub.last_ns(chosen),
                        live=live,
                        annotation=annotation_name,
                        with_bytes=with_bytes,
                    )
                )
            )
            told = found.picture
            figures = None
            if live and at_ns is None:
                figures = measured_columns(told, hub.usage(chosen), resources_of(hub, chosen)[0])
            return {
                "session": chosen,
                "at_ns": found.at_ns,
                "live": live,
                **in_columns(told),
                "workers_left_out": told.workers_total - len(told.workers.key),
                "annotations": found.keys,
                "measured": figures,
            }

        return answered(hub, chosen, request, look)

    @app.get("/api/flow/physical/node", responses={**ERRORS, 200: {"model": schemas_physical.NodeAnswer}})
    def physical_node(
        request: Request,
        filters: TaskFilters,
        session: Session = None,
        at_ns: Nanoseconds = None,
        on_node: Annotated[str, Query(max_length=100)] = "",
    ) -> Response:
        """One node at a time in full: its workers, what runs on each, and its bundles."""
        if not on_node:
            raise BadQuery("Which node?", "Give on_node: an id from /api/flow/physical or /api/nodes.")
        chosen = hub.resolve(session)
        live = hub.is_live(chosen)

        def look(file: SessionFile) -> dict[str, Any]:
            found = query.housed(
                file,
                filters,
                at_ns=at_ns,
                last_ns=hub.last_ns(chosen),
                live=live,
                node_id=on_node,
                with_bytes=True,
            )
            return {"session": chosen, "at_ns": found.at_ns, "live": live, **node_of(found, on_node)}

        return answered(hub, chosen, request, look)

    @app.get("/api/flow/transfers", responses={**ERRORS, 200: {"model": schemas_physical.TransfersAnswer}})
    def transfers(
        request: Request,
        session: Session = None,
        until_ns: Nanoseconds = None,
        span_ns: Span = None,
    ) -> Response:
        """Which objects were taken on another node than they were made on, by pairs of nodes."""
        chosen = hub.resolve(session)

        def find(file: SessionFile) -> dict[str, Any]:
            until = hub.last_ns(chosen) if until_ns is None else until_ns
            since = None if span_ns is None else max(0, until - span_ns)
            return {
                "session": chosen,
                "since_ns": since,
                "until_ns": until,
                **query.transfers(file, since or 0, until)._asdict(),
            }

        return answered(hub, chosen, request, find)


def node_of(found: query.Housed, node_id: str) -> dict[str, Any]:
    """The node with that id and what is on it. Raises NotFound."""
    told = picture_on(found, node_id)
    if [node.id for node in told.nodes] != [node_id]:
        raise NotFound(
            f"No node {node_id[:80]!r} at this time.", "GET /api/flow/physical lists the nodes of a time."
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
