"""The route for a session's cluster: counts and resources."""

from __future__ import annotations

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.cluster.sessions import schemas
from rayscope.cluster.sessions.topics import glance
from rayscope.ingest.clusters import CurrentClusters
from rayscope.storage.sql import sessions as sql

router = Router()


@router.get("/api/v1/cluster")
def cluster(
    catalog: CurrentCatalog, records: CurrentRecords, clusters: CurrentClusters, session: Session = None
) -> Json[schemas.ClusterAnswer]:
    """Counts of everything by state, and the resources of the live nodes."""
    name = records.resolve(session)
    tasks = records.read_cached(name, "counts", sql.counts)["tasks"]
    return answer({"session": name, "tasks": tasks, **glance(catalog, records, clusters, name)})
