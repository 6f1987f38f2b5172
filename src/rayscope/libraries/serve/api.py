"""Routes for Ray Serve: applications, proxies and controllers, and a single application with its replicas."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from rayscope.api.parameters import CurrentRecords, Limit, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.ingest.clusters import CurrentClusters
from rayscope.libraries.serve import schemas, sql
from rayscope.libraries.serve.compute import edge, requests
from rayscope.libraries.used import problem
from rayscope.storage.session_file import SessionFile

router = Router()
_MAX_REPLICAS = 2_000


@router.get("/api/v1/serve")
def serve(
    records: CurrentRecords, clusters: CurrentClusters, session: Session = None, limit: Limit = 100
) -> Json[schemas.ServePage]:
    """Serve's applications with their deployments, its proxies and its controllers."""
    name = records.resolve(session)
    items, total, proxies, controllers = records.read_cached(
        name, f"Serve applications {limit}", lambda file: _all(file, limit)
    )
    return answer(
        {
            "session": name,
            "items": items,
            "total": total,
            "proxies": proxies,
            "controllers": controllers,
            "problem": problem(records, clusters, name, "serve"),
        }
    )


# This is not a sub-path of the application's route, because a name may contain slashes and have any ending.
@router.get("/api/v1/serve-requests/{application:path}")
def serve_requests(
    records: CurrentRecords,
    application: str,
    session: Session = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
    order: Annotated[
        sql.Order,
        Query(description="Which requests: the slowest, the newest, or the newest that failed."),
    ] = "slowest",
) -> Json[schemas.ServeRequestPage]:
    """Slow and failed requests of an application, and where each spent its time, according to the tracer."""
    name = records.resolve(session)

    def read(file: SessionFile) -> schemas.ServeRequestPage:
        sql.application(file, application)
        hops, total = sql.requests(file, application, limit, order)
        left_out = sql.left_out(file, application)
        return {"session": name, "items": requests(hops), "total": total, "left_out": left_out}

    return answer(records.read_cached(name, f"Serve requests {limit} {order} {application}", read))


@router.get("/api/v1/serve/{application:path}")
def serve_application(
    records: CurrentRecords, application: str, session: Session = None
) -> Json[schemas.ServeApplicationAnswer]:
    """An application: its deployments with their configuration, and its replicas, including dead ones."""
    name = records.resolve(session)
    return answer(
        records.read_cached(
            name, f"Serve application {application}", lambda file: _application(file, name, application)
        )
    )


def _all(
    file: SessionFile, limit: int
) -> tuple[list[schemas.ServeApplicationItem], int, list[schemas.ServeProxy], list[schemas.ServeController]]:
    return *sql.applications(file, limit), sql.proxies(file), sql.controllers(file)


def _application(file: SessionFile, session: str, application: str) -> schemas.ServeApplicationAnswer:
    found = sql.application(file, application)
    replicas, total = sql.replicas(file, application, _MAX_REPLICAS)
    edges = [edge(row) for row in sql.calls(file, application)]
    return {"session": session, **found, "replicas": replicas, "replicas_total": total, "edges": edges}
