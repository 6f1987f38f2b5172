"""Routes for the recording of a session: the transport of each node, dropped and recovered events, and
snapshots.
"""

from __future__ import annotations

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.recording import schemas, transport
from rayscope.cluster.recording.recording import cannot_see
from rayscope.cluster.recording.recording import recording as how_recorded
from rayscope.cluster.tasks import flow_sql
from rayscope.ingest.clusters import CurrentClusters
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import sessions as sessions_sql
from rayscope.storage.sql.pages import Row

_MAX_NODES = 1000


def lane_summary(catalog: Catalog, records: SessionReader, session: str) -> schemas.Lanes:
    """The number of nodes by transport, shared by several pages."""
    about = catalog.about(session)
    return records.read_cached(
        session,
        "transport of nodes",
        lambda file: transport.summary(transport.lanes(sessions_sql.nodes(file), about), about.ray_version),
    )


def _figures(file: SessionFile) -> tuple[list[Row], int, schemas.Tracing]:
    """Nodes, the number of spans, and tracing, computed together so that they are cached together."""
    return sessions_sql.nodes(file), sessions_sql.span_count(file), flow_sql.tracing(file)


router = Router()


@router.get("/api/v1/recording")
def recording(
    catalog: CurrentCatalog, records: CurrentRecords, clusters: CurrentClusters, session: Session = None
) -> Json[schemas.RecordingAnswer]:
    """How each node of the session sends its events, and which events were dropped and recovered."""
    name = records.resolve(session)
    about = catalog.about(name)
    nodes, spans, tracing = records.read_cached(name, "figures of the recording", _figures)
    items = transport.lanes(nodes, about)
    return answer(
        {
            "session": name,
            "recording": how_recorded(catalog, name),
            "events": about.events,
            "batches": about.batches,
            "spans": spans,
            "lanes": transport.summary(items, about.ray_version),
            "nodes": items[:_MAX_NODES],
            "nodes_total": len(items),
            "tracing": tracing,
            "dropped": records.dropped(name),
            "snapshots": clusters.snapshots(name),
            "cannot_see": cannot_see(catalog, clusters, name),
        }
    )
