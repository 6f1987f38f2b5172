"""The route for a session's cluster: counts and resources."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import Response

from rayscope.api.parameters import ERRORS, CurrentCatalog, CurrentRecords, Session, answer
from rayscope.cluster.sessions import schemas
from rayscope.cluster.sessions.topics import glance
from rayscope.ingest.clusters import CurrentClusters
from rayscope.storage.sql import sessions as sql

router = APIRouter()


@router.get("/api/cluster", responses={**ERRORS, 200: {"model": schemas.ClusterAnswer}})
def cluster(
    catalog: CurrentCatalog, records: CurrentRecords, clusters: CurrentClusters, session: Session = None
) -> Response:
    """Counts of everything by state, and the resources of the live nodes."""
    name = records.resolve(session)
    tasks = records.read_cached(name, sql.counts)["tasks"]
    return answer({"session": name, "tasks": tasks, **glance(catalog, records, clusters, name)})
