"""The application: routes, errors, the guard and the UI, put together."""

from __future__ import annotations

import threading

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from rayscope import __version__
from rayscope.server import ui
from rayscope.server.hub import Hub
from rayscope.server.operator import add_operator
from rayscope.server.routes.alerts import add_alerts
from rayscope.server.routes.cluster import add_cluster
from rayscope.server.routes.common import answer, error
from rayscope.server.routes.control import add_control
from rayscope.server.routes.entities import add_entities
from rayscope.server.routes.events import add_events
from rayscope.server.routes.export import add_export
from rayscope.server.routes.flame import add_flame
from rayscope.server.routes.frames import add_frames
from rayscope.server.routes.gantt import add_gantt
from rayscope.server.routes.ingest import add_ingest
from rayscope.server.routes.jobs import add_jobs
from rayscope.server.routes.logical import add_logical
from rayscope.server.routes.logs import add_logs
from rayscope.server.routes.memory import add_memory
from rayscope.server.routes.metrics import add_metrics
from rayscope.server.routes.metrics_query import add_metrics_query
from rayscope.server.routes.nodes import add_nodes
from rayscope.server.routes.physical import add_physical
from rayscope.server.routes.range import add_range
from rayscope.server.routes.realtime import add_realtime
from rayscope.server.routes.recording import add_recording
from rayscope.server.routes.sessions import add_sessions
from rayscope.server.routes.stack import add_stack
from rayscope.server.routes.tasks import add_tasks
from rayscope.server.security import BodyRefused, Guard
from rayscope.sources.gcs import GcsError
from rayscope.sources.jobs import JobApiError
from rayscope.store.errors import BadQuery, NotFound, StoreError


def _store_error(_: Request, problem: Exception) -> Response:
    if isinstance(problem, NotFound):
        return error(404, problem.code, problem.message, problem.remedy, params=problem.params)
    if isinstance(problem, BadQuery):
        return error(400, problem.code, problem.message, problem.remedy)
    if isinstance(problem, JobApiError):
        return error(409 if problem.code == "refused" else 502, problem.code, problem.message, problem.remedy)
    if isinstance(problem, (StoreError, GcsError)):
        status = 503 if isinstance(problem, StoreError) else 502
        return error(
            status, problem.code, problem.message, problem.remedy, {"Retry-After": "2"}, problem.params
        )
    raise problem


def _body_refused(_: Request, problem: Exception) -> Response:
    if not isinstance(problem, BodyRefused):
        raise problem
    headers = dict(problem.headers or {})
    return error(problem.status_code, problem.code, problem.detail, problem.remedy, headers)


def _invalid(_: Request, problem: Exception) -> Response:
    problems = problem.errors() if isinstance(problem, RequestValidationError) else []
    said = "; ".join(f"{'.'.join(map(str, p['loc'][1:]))}: {p['msg']}" for p in problems)[:500]
    return error(422, "invalid_parameter", said or "A parameter is invalid.", "See /openapi.json.")


def _add_description(app: FastAPI) -> None:
    building = threading.Lock()

    @app.get("/openapi.json", include_in_schema=False)
    def description() -> Response:
        # FastAPI's own route builds this on the event loop: a second of CPU in which nobody is answered.
        with building:
            return answer(app.openapi())


def create_app(hub: Hub) -> FastAPI:
    """The application over a started hub."""
    app = FastAPI(
        title="Rayscope",
        version=__version__,
        description="What an unmodified Ray cluster is doing, why it is slow, and what it did.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    for kind in (StoreError, GcsError, JobApiError):
        app.add_exception_handler(kind, _store_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(BodyRefused, _body_refused)
    for add in (
        add_ingest,
        add_sessions,
        add_recording,
        add_cluster,
        add_tasks,
        add_logical,
        add_logs,
        add_physical,
        add_gantt,
        add_range,
        add_flame,
        add_stack,
        add_frames,
        add_jobs,
        add_memory,
        add_nodes,
        add_entities,
        add_metrics,
        add_metrics_query,
        add_events,
        add_export,
        add_realtime,
        add_alerts,
        add_control,
        add_operator,
    ):
        add(app, hub)
    _add_description(app)
    ui.add_ui(app)
    app.add_middleware(
        Guard,
        token=hub.settings.token,
        allowed_hosts=hub.settings.allowed_hosts,
        max_batch_bytes=hub.settings.max_batch_bytes,
        refused=hub.refused_bodies,
    )
    return app
