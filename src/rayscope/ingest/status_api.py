"""How a session is recorded: the lane of each node, what was lost and read again, the snapshots beside."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.responses import Response

from rayscope.cluster.sessions import sql as sessions_sql
from rayscope.cluster.tasks import flow_sql
from rayscope.ingest import transport
from rayscope.server import schemas
from rayscope.server.parameters import ERRORS, Session, answer
from rayscope.server.services import Hub
from rayscope.storage.session_file import SessionFile

_MAX_NODES = 1000


def lane_summary(hub: Hub, session: str) -> dict[str, Any]:
    """How many nodes take each lane, for pages that many look at."""
    found: dict[str, Any] = hub.records.cached(
        session,
        "lanes",
        lambda file: transport.summary(transport.lanes(sessions_sql.nodes(file), hub.catalog.about(session))),
    )
    return found


def _figures(file: SessionFile) -> dict[str, Any]:
    """What the record says: looked up together, so that all of it is at hand or none."""
    return {
        "nodes": sessions_sql.nodes(file),
        "spans": sessions_sql.span_count(file),
        "tracing": flow_sql.tracing(file),
    }


def add_recording(app: FastAPI, hub: Hub) -> None:
    """One path: everything about the recording itself."""

    @app.get("/api/recording", responses={**ERRORS, 200: {"model": schemas.RecordingAnswer}})
    def recording(session: Session = None) -> Response:
        """How this session's events come, node by node, and what of them was lost and read again."""
        name = hub.records.resolve(session)
        about = hub.catalog.about(name)
        figures = hub.records.cached(name, "recording", _figures)
        items = transport.lanes(figures["nodes"], about)
        return answer(
            {
                "session": name,
                "recording": hub.recording(name),
                "events": about.events,
                "batches": about.batches,
                "spans": figures["spans"],
                "lanes": transport.summary(items),
                "nodes": items[:_MAX_NODES],
                "nodes_total": len(items),
                "tracing": figures["tracing"],
                "dropped": hub.dropped(name),
                "snapshots": hub.clusters.snapshots(name),
                "cannot_see": hub.cannot_see(name),
            }
        )
