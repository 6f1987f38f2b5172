"""The application: routes, errors, the guard and the UI, put together."""

from __future__ import annotations

import threading

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from rayscope.alerts.api import add_alerts
from rayscope.cluster.entities.api import add_entities
from rayscope.cluster.events.api import add_events
from rayscope.cluster.jobs.api import add_jobs
from rayscope.cluster.logs.api import add_logs
from rayscope.cluster.nodes.api import add_nodes
from rayscope.cluster.objects.api import add_memory
from rayscope.cluster.sessions.api import add_sessions
from rayscope.cluster.sessions.cluster_api import add_cluster
from rayscope.cluster.tasks.api import add_tasks
from rayscope.errors import RayscopeError
from rayscope.ingest.api import add_ingest
from rayscope.ingest.status_api import add_recording
from rayscope.metrics.api import add_metrics
from rayscope.metrics.query_api import add_metrics_query
from rayscope.server import ui
from rayscope.server.abandoned_requests import NOBODY_WAITS, AbandonedRequests
from rayscope.server.control import add_control
from rayscope.server.parameters import answer, error
from rayscope.server.push.api import add_realtime
from rayscope.server.security import BodyRefused, Guard
from rayscope.server.services import Services
from rayscope.server.write_access import add_operator
from rayscope.storage.interruption import Abandoned
from rayscope.version import __version__
from rayscope.views.critical_path.api import add_critical_path
from rayscope.views.export.api import add_export
from rayscope.views.flame.api import add_flame
from rayscope.views.gantt.api import add_gantt
from rayscope.views.logical.api import add_logical
from rayscope.views.physical.api import add_physical
from rayscope.views.range.api import add_range
from rayscope.views.stack.api import add_stack
from rayscope.views.stack.frames_api import add_frames


def _answer_error(_: Request, problem: Exception) -> Response:
    """What cannot be done, as docs/reference/api.md describes it."""
    if not isinstance(problem, RayscopeError):
        raise problem
    headers = {"Retry-After": str(problem.retry_after_s)} if problem.retry_after_s else {}
    if isinstance(problem, BodyRefused):
        headers["Connection"] = "close"  # the rest of the body may never come
    return error(
        problem.status or 500, problem.code, problem.message, problem.remedy, headers, problem.params
    )


def _abandoned(_: Request, problem: Exception) -> Response:
    return Response(status_code=NOBODY_WAITS)


def _invalid(_: Request, problem: Exception) -> Response:
    problems = problem.errors() if isinstance(problem, RequestValidationError) else []
    said = "; ".join(f"{'.'.join(map(str, p['loc'][1:]))}: {p['msg']}" for p in problems)[:500]
    return error(422, "invalid_parameter", said or "Invalid parameter.", "See /openapi.json.")


def add_errors(app: FastAPI) -> None:
    """Answer what routes raise."""
    app.add_exception_handler(RayscopeError, _answer_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Abandoned, _abandoned)


def _add_description(app: FastAPI) -> None:
    building = threading.Lock()

    @app.get("/openapi.json", include_in_schema=False)
    def description() -> Response:
        # FastAPI's own route builds this on the event loop: a second of CPU in which nobody is answered.
        with building:
            return answer(app.openapi())


def create_app(services: Services) -> FastAPI:
    """The application over services that have started."""
    app = FastAPI(
        title="Rayscope",
        version=__version__,
        description="See what an unmodified Ray cluster is doing, why it is slow, and what it did.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    add_errors(app)
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
        add_critical_path,
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
        add(app, services)
    _add_description(app)
    ui.add_ui(app)
    app.add_middleware(AbandonedRequests)
    app.add_middleware(
        Guard,
        token=services.settings.token,
        allowed_hosts=services.settings.allowed_hosts,
        max_batch_bytes=services.settings.max_batch_bytes,
        refused=services.refused_bodies,
    )
    return app
