"""Routes for logging in, attaching to a cluster, and SQL queries."""

from __future__ import annotations

from typing import Annotated

from fastapi.responses import Response
from pydantic import Field

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, CurrentSettings
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer, error
from rayscope.api.routes import Router
from rayscope.api.schemas import Body, ErrorAnswer
from rayscope.api.security import COOKIE, cookie_value, matches
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.ingest.clusters import CurrentClusters
from rayscope.ray.auth import RayToken
from rayscope.server import schemas
from rayscope.storage.catalog import RECORD
from rayscope.user_sql import run as user_sql_run
from rayscope.user_sql.run import SqlRunner


class Login(Body):
    """The server's token. The browser gets a cookie for it."""

    token: str = Field(max_length=500)


class Cluster(Body):
    """A cluster to attach to: the GCS address ``host:port``, and Ray's token if it requires one."""

    address: str = Field(max_length=300)
    ray_token: str | None = Field(None, max_length=4000)


class SqlQuestion(Body):
    """A single SELECT on the documented views."""

    sql: str = Field(max_length=user_sql_run.MAX_SQL_CHARS)
    session: str | None = Field(None, max_length=200)
    limit: int = Field(user_sql_run.DEFAULT_LIMIT, ge=1, le=user_sql_run.MAX_LIMIT)


router = Router()


@router.post("/api/v1/login", status_code=204)
def login(settings: CurrentSettings, credentials: Login) -> Response:
    """Sign in: sets a cookie."""
    token = settings.token
    if token is not None and not matches(credentials.token, token):
        return error(401, "unauthorized", "Wrong token.", "The server printed its token when it started.")
    response = Response(status_code=204)
    if token is not None:
        value = cookie_value(token)
        path = settings.root_path or "/"
        response.set_cookie(COOKIE, value, max_age=30 * 86400, path=path, httponly=True, samesite="strict")
    return response


@router.post(
    "/api/v1/clusters",
    dependencies=OPERATOR_ONLY,
    responses={502: {"model": ErrorAnswer}},
)
def attach(clusters: CurrentClusters, cluster: Cluster) -> Json[schemas.Attached]:
    """Start recording snapshots of a running cluster."""
    token = None if cluster.ray_token is None else RayToken.of(cluster.ray_token)
    return answer({"session": clusters.attach(cluster.address, token)})


@router.post("/api/v1/sql")
def run_sql(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    runner: Annotated[SqlRunner, provide(SqlRunner)],
    question: SqlQuestion,
) -> Json[schemas.SqlAnswer]:
    """Run one SELECT over a session's views."""
    chosen = records.resolve(question.session)
    version = records.read(chosen, lambda file: file.written)
    body = runner.query(
        catalog.local_file(chosen, RECORD), question.sql, version=version, limit=question.limit
    )
    return Json(body)
