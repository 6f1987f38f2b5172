"""The HTTP API. See docs/api.md for what the answers mean; this module only routes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from fastapi import FastAPI, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rayscope import __version__
from rayscope.model import Kind
from rayscope.server import schemas, ui
from rayscope.server.hub import Hub
from rayscope.server.security import COOKIE, Guard, error_body, matches
from rayscope.sources.gcs import GcsError
from rayscope.sources.ray_events import MalformedBatch
from rayscope.store import query
from rayscope.store import sql as sql_queries
from rayscope.store.catalog import LIVE_NS
from rayscope.store.errors import BadQuery, NotFound, SpoolFull, StoreError

Session = Annotated[str | None, Query(description="Session name; the newest without it.")]
Text = Annotated[str | None, Query(max_length=500)]
Nanoseconds = Annotated[int | None, Query(ge=0, le=2**63 - 1)]
Limit = Annotated[int, Query(ge=1, le=query.MAX_LIMIT)]
Cursor = Annotated[str | None, Query(max_length=4000)]
Sort = Annotated[str, Query(max_length=60)]

_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": schemas.ErrorAnswer} for status in (400, 401, 403, 404, 422, 503)
}


def answer(value: Any, status: int = 200) -> Response:
    """JSON, encoded once."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")


def _error(
    status: int, code: str, message: str, remedy: str, headers: dict[str, str] | None = None
) -> Response:
    return Response(error_body(code, message, remedy), status, headers, "application/json")


def _store_error(_: Request, error: Exception) -> Response:
    if isinstance(error, NotFound):
        return _error(404, error.code, error.message, error.remedy)
    if isinstance(error, BadQuery):
        return _error(400, error.code, error.message, error.remedy)
    if isinstance(error, (StoreError, GcsError)):
        status = 503 if isinstance(error, StoreError) else 502
        return _error(status, error.code, error.message, error.remedy, {"Retry-After": "2"})
    raise error


def _invalid(_: Request, error: Exception) -> Response:
    problems = error.errors() if isinstance(error, RequestValidationError) else []
    said = "; ".join(f"{'.'.join(map(str, p['loc'][1:]))}: {p['msg']}" for p in problems)[:500]
    return _error(422, "invalid_parameter", said or "A parameter is invalid.", "See /openapi.json.")


class Login(BaseModel):
    """The server's token, to be kept as a cookie."""

    token: str = Field(max_length=500)


class Cluster(BaseModel):
    """A cluster to attach to: the GCS address, ``host:port``."""

    address: str = Field(max_length=300)


class Drain(BaseModel):
    """Which session is about to end."""

    session: str = Field(max_length=200)
    timeout_s: float = Field(5.0, ge=0, le=60)


class SqlQuestion(BaseModel):
    """A single SELECT on the documented views."""

    sql: str = Field(max_length=sql_queries.MAX_SQL_CHARS)
    session: str | None = Field(None, max_length=200)
    limit: int = Field(sql_queries.DEFAULT_LIMIT, ge=1, le=sql_queries.MAX_LIMIT)


def create_app(hub: Hub) -> FastAPI:
    """The application over a started hub."""
    app = FastAPI(
        title="Rayscope",
        version=__version__,
        description="What an unmodified Ray cluster is doing, why it is slow, and what it did.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for kind in (StoreError, GcsError):
        app.add_exception_handler(kind, _store_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    _add_ingest(app, hub)
    _add_sessions(app, hub)
    _add_tasks(app, hub)
    _add_entities(app, hub)
    _add_control(app, hub)
    ui.add_ui(app)
    app.add_middleware(Guard, token=hub.settings.token, allowed_hosts=hub.settings.allowed_hosts)
    return app


def _with_dropped(hub: Hub, session: str, page: query.Page) -> Response:
    return answer(
        {
            "items": page.items,
            "next": page.next,
            "total": page.total,
            "dropped": hub.cached(session, "dropped", query.dropped),
        }
    )


def _add_ingest(app: FastAPI, hub: Hub) -> None:
    @app.post("/api/ingest/{key}/ray-events", status_code=204, include_in_schema=False)
    async def ingest(key: str, request: Request) -> Response:
        if not matches(key, hub.key):
            return _error(
                404, "bad_key", "This is not the ingest key.", "`rayscope env` prints the right URL."
            )
        limit = hub.settings.max_batch_bytes
        too_large = _error(
            413,
            "too_large",
            f"A batch may have {limit} bytes.",
            "Lower Ray's send batch size, or raise the limit.",
        )
        if int(request.headers.get("content-length") or 0) > limit:
            return too_large
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size > limit:
                return too_large
            chunks.append(chunk)
        try:
            await asyncio.to_thread(hub.recorder.submit, b"".join(chunks))
        except MalformedBatch as error:
            return _error(400, "malformed", str(error), "The batch is set aside in the folder `rejected`.")
        except SpoolFull as error:
            return _error(503, error.code, error.message, error.remedy, {"Retry-After": "2"})
        return Response(status_code=204)

    @app.post("/api/drain/{key}", include_in_schema=False)
    def drain(key: str, what: Drain) -> Response:
        if not matches(key, hub.key):
            return _error(
                404, "bad_key", "This is not the ingest key.", "`rayscope env` prints the right URL."
            )
        return answer({"drained": hub.drain(what.session, what.timeout_s)})


def _session_row(hub: Hub, name: str) -> dict[str, Any]:
    about = hub.catalog.about(name)
    state, error = ("live" if time.time_ns() - about.last_ns < LIVE_NS else "ended"), about.note
    problem = hub.unreadable(name)
    if problem is not None:
        state, error = "unreadable", f"{problem.message} {problem.remedy}"
    return {
        "session": name,
        "recording": hub.recording(name),
        "state": state,
        "error": error,
        "first_ns": about.first_ns,
        "last_ns": about.last_ns,
        "tasks": about.tasks,
        "attempts": about.attempts,
        "states": about.states,
        "actors": about.actors,
        "nodes": about.nodes,
        "jobs": about.jobs,
        "disk_bytes": hub.catalog.disk_bytes(name),
        "ray_version": about.ray_version,
        "gcs_address": about.gcs_address,
        "dropped_total": about.dropped_total,
    }


def _add_sessions(app: FastAPI, hub: Hub) -> None:
    @app.get("/api/health")
    def health() -> Response:
        """Whether the server lives, and how much waits to be merged."""
        error = hub.recorder.error
        return answer(
            {
                "status": "ok" if error is None else "degraded",
                "version": __version__,
                "sessions": len(hub.catalog.names()),
                "pending_batches": hub.recorder.pending_batches,
                "error": None if error is None else {"message": error.message, "remedy": error.remedy},
            }
        )

    @app.get("/api/sessions", responses={**_ERRORS, 200: {"model": schemas.SessionPage}})
    def sessions(limit: Limit = 100, cursor: Cursor = None) -> Response:
        """The Ray sessions on record, newest sign of life first."""
        names = hub.catalog.names()
        start = 0
        if cursor is not None:
            if cursor not in names:
                raise BadQuery("This cursor belongs to a session that is gone.", "Begin with the first page.")
            start = names.index(cursor) + 1
        page = names[start : start + limit]
        following = page[-1] if len(names) > start + limit else None
        return answer(
            {
                "items": [_session_row(hub, name) for name in page],
                "next": following,
                "total": len(names),
                "dropped": {"total": 0, "spans": 0, "by": [], "unresolved_attempts": 0},
            }
        )

    @app.get("/api/summary", responses={**_ERRORS, 200: {"model": schemas.Summary}})
    def summary(session: Session = None) -> Response:
        """One session at a glance: attempts by state, slowest functions, failures, what is missing."""
        name = hub.resolve(session)
        about = hub.catalog.about(name)
        first_ns, last_ns = hub.cached(name, "time_range", query.time_range)
        error = hub.recorder.error
        return answer(
            {
                "session": name,
                "recording": hub.recording(name),
                "tasks": about.tasks,
                "attempts": about.attempts,
                "states": about.states,
                "first_ns": first_ns,
                "last_ns": last_ns,
                "functions": hub.cached(name, "functions", query.functions),
                "failures": hub.cached(name, "failures", query.failures),
                "dropped": hub.cached(name, "dropped", query.dropped),
                "ingest": {
                    "events": about.events,
                    "batches": about.batches,
                    "pending_batches": hub.recorder.pending_batches,
                    "rejected_batches": hub.recorder.rejected,
                    "unknown": about.unknown,
                    "last_batch_ns": hub.recorder.last_batch_ns or None,
                    "behind_ns": hub.recorder.behind_ns(),
                    "error": None if error is None else {"message": error.message, "remedy": error.remedy},
                },
                "cannot_see": hub.cannot_see(name),
            }
        )

    @app.get("/api/cluster", responses={**_ERRORS, 200: {"model": schemas.ClusterAnswer}})
    def cluster(session: Session = None) -> Response:
        """How many of everything, by state, and the resources of the nodes that are alive."""
        name = hub.resolve(session)
        counts = hub.cached(name, "counts", query.counts)
        return answer(
            {
                "session": name,
                "recording": hub.recording(name),
                "nodes": {
                    "alive": counts["nodes"].get("ALIVE", 0),
                    "dead": counts["nodes"].get("DEAD", 0),
                },
                "resources_total": hub.cached(name, "resources", query.resources_total),
                "tasks": counts["tasks"],
                "actors": counts["actors"],
                "jobs": counts["jobs"],
                "workers": counts["workers"],
                "placement_groups": counts["placement_groups"],
            }
        )

    @app.get("/api/memory", responses=_ERRORS)
    def memory(session: Session = None) -> Response:
        """What is known of the object store: its size on the nodes that are alive."""
        name = hub.resolve(session)
        resources = hub.cached(name, "resources", query.resources_total)
        return answer(
            {
                "session": name,
                "object_store_bytes_total": int(resources.get("object_store_memory", 0)) or None,
                "memory_bytes_total": int(resources.get("memory", 0)) or None,
                "not_available": ["objects", "references", "used_bytes", "spilled_bytes"],
            }
        )

    @app.get("/api/metrics", responses=_ERRORS)
    def metrics(session: Session = None) -> Response:
        """The newest figures that the record itself gives; node and process series are not collected yet."""
        name = hub.resolve(session)
        counts = hub.cached(name, "counts", query.counts)
        return answer(
            {
                "session": name,
                "time_ns": time.time_ns(),
                "metrics": [
                    {"name": f"rayscope_{what}", "labels": {"state": state}, "value": count}
                    for what, states in counts.items()
                    for state, count in states.items()
                ],
                "not_available": ["node", "process", "gpu", "network", "object_store"],
            }
        )


def _add_tasks(app: FastAPI, hub: Hub) -> None:
    @app.get("/api/tasks", responses={**_ERRORS, 200: {"model": schemas.TaskPage}})
    def tasks(
        session: Session = None,
        job_id: Text = None,
        name: Text = None,
        func_name: Text = None,
        state: Text = None,
        type: Text = None,
        node_id: Text = None,
        worker_id: Text = None,
        actor_id: Text = None,
        parent_task_id: Text = None,
        placement_group_id: Text = None,
        error_type: Text = None,
        q: Text = None,
        since_ns: Nanoseconds = None,
        until_ns: Nanoseconds = None,
        sort: Sort = "-created_ns",
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Response:
        """Task attempts: filters, then the total, then a page in the order asked for."""
        filters = {
            "job_id": job_id,
            "name": name,
            "func_name": func_name,
            "state": state,
            "type": type,
            "node_id": node_id,
            "worker_id": worker_id,
            "actor_id": actor_id,
            "parent_task_id": parent_task_id,
            "placement_group_id": placement_group_id,
            "error_type": error_type,
            "q": q,
            "since_ns": since_ns,
            "until_ns": until_ns,
        }
        chosen = hub.resolve(session)
        page = hub.read(
            chosen,
            lambda file: query.list_attempts(
                file, filters, sort=sort, limit=limit, cursor=cursor, last_ns=hub.last_ns(chosen)
            ),
        )
        return _with_dropped(hub, chosen, page)

    @app.get("/api/tasks/{task_id}", responses={**_ERRORS, 200: {"model": schemas.TaskDetail}})
    def task(task_id: str, session: Session = None) -> Response:
        """One task: all attempts with state times, phases and errors; parent, call path, children, spans."""
        chosen = hub.resolve(session)
        last_ns = hub.last_ns(chosen)
        return answer(hub.read(chosen, lambda file: query.get_task(file, task_id, last_ns=last_ns)))


def _add_entities(app: FastAPI, hub: Hub) -> None:
    for kind, path in (
        ("actor", "actors"),
        ("node", "nodes"),
        ("worker", "workers"),
        ("job", "jobs"),
        ("placement_group", "placement_groups"),
    ):
        _add_entity(app, hub, kind, path)  # type: ignore[arg-type]


def _add_entity(app: FastAPI, hub: Hub, kind: Kind, path: str) -> None:
    what = path.replace("_", " ")

    def many(
        session: Session = None,
        state: Text = None,
        job_id: Text = None,
        node_id: Text = None,
        worker_id: Text = None,
        actor_id: Text = None,
        name: Text = None,
        class_name: Text = None,
        type: Text = None,
        q: Text = None,
        sort: Annotated[str | None, Query(max_length=60)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> Response:
        filters = {
            "state": state,
            "job_id": job_id,
            "node_id": node_id,
            "worker_id": worker_id,
            "actor_id": actor_id,
            "name": name,
            "class_name": class_name,
            "type": type,
            "q": q,
        }
        chosen = hub.resolve(session)
        page = hub.read(
            chosen,
            lambda file: query.list_entities(file, kind, filters, sort=sort, limit=limit, cursor=cursor),
        )
        return _with_dropped(hub, chosen, page)

    def one(entity_id: str, session: Session = None) -> Response:
        chosen = hub.resolve(session)
        return answer(hub.read(chosen, lambda file: query.get_entity(file, kind, entity_id)))

    routes: tuple[tuple[str, Callable[..., Response], str], ...] = (
        (f"/api/{path}", many, f"A page of {what}."),
        (f"/api/{path}/{{entity_id}}", one, f"One of the {what}."),
    )
    for route, function, description in routes:
        app.add_api_route(
            route,
            function,
            methods=["GET"],
            description=description,
            operation_id=f"{kind}_{function.__name__}",
            responses=_ERRORS,
        )


def _add_control(app: FastAPI, hub: Hub) -> None:
    @app.post("/api/login", status_code=204)
    def login(given: Login) -> Response:
        """Keep the token as a cookie of this browser."""
        token = hub.settings.token
        if token is not None and not matches(given.token, token):
            time.sleep(0.3)
            return _error(
                401, "unauthorized", "That is not this server's token.", "It was printed at its start."
            )
        response = Response(status_code=204)
        if token is not None:
            response.set_cookie(COOKIE, token, max_age=30 * 86400, httponly=True, samesite="strict")
        return response

    @app.post("/api/clusters", responses={**_ERRORS, 502: {"model": schemas.ErrorAnswer}})
    def attach(cluster: Cluster) -> Response:
        """Begin to read snapshots of a running cluster."""
        return answer({"session": hub.attach(cluster.address)})

    @app.post("/api/sql", responses={**_ERRORS, 200: {"model": schemas.SqlAnswer}})
    def run_sql(question: SqlQuestion) -> Response:
        """Run one SELECT over a session's views."""
        chosen = hub.resolve(question.session)
        timeout_s = hub.settings.sql_timeout_s
        return answer(
            hub.read(
                chosen,
                lambda file: sql_queries.query(file, question.sql, limit=question.limit, timeout_s=timeout_s),
            )
        )
