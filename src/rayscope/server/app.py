"""The application: routes, errors, the guard, and the UI."""

from __future__ import annotations

import logging
import threading

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response

from rayscope.alerts import api as alerts_api
from rayscope.alerts import edit_api as alerts_edit_api
from rayscope.alerts import prometheus_api as prometheus_alerts_api
from rayscope.api import write_access as operator_api
from rayscope.api.responses import answer, error
from rayscope.api.security import Guard, error_headers
from rayscope.archive import api as archive_api
from rayscope.cluster.crashes import api as crashes_api
from rayscope.cluster.deaths import api as deaths_api
from rayscope.cluster.debugger import api as debugger_api
from rayscope.cluster.entities import api as entities_api
from rayscope.cluster.events import api as events_api
from rayscope.cluster.find import api as find_api
from rayscope.cluster.jobs import api as jobs_api
from rayscope.cluster.logs import api as logs_api
from rayscope.cluster.logs import program_output
from rayscope.cluster.nodes import api as nodes_api
from rayscope.cluster.objects import api as memory_api
from rayscope.cluster.recording import api as recording_api
from rayscope.cluster.sessions import api as sessions_api
from rayscope.cluster.sessions import cluster_api
from rayscope.cluster.tasks import api as tasks_api
from rayscope.compare import api as compare_api
from rayscope.errors import RayscopeError
from rayscope.ingest import api as ingest_api
from rayscope.insights import api as insights_api
from rayscope.libraries.data import api as data_api
from rayscope.libraries.serve import api as serve_api
from rayscope.libraries.train import api as train_api
from rayscope.libraries.tune import api as tune_api
from rayscope.metrics import api as metrics_api
from rayscope.metrics import query_api as metrics_query_api
from rayscope.metrics.prometheus import api as prometheus_api
from rayscope.ray_api import api as ray_api
from rayscope.ray_api import dashboard as ray_dashboard_api
from rayscope.report import api as report_api
from rayscope.runs import api as runs_api
from rayscope.server import control as control_api
from rayscope.server import deletion, docs, health, ray_dashboard, ui
from rayscope.server.abandoned_requests import NOBODY_WAITS, AbandonedRequests
from rayscope.server.plugins import add_plugin_routes
from rayscope.server.push import api as realtime_api
from rayscope.server.root_path import RootPath
from rayscope.server.services import Services
from rayscope.server.unexpected_errors import UnexpectedErrors
from rayscope.storage.errors import no_memory
from rayscope.storage.interruption import Abandoned
from rayscope.version import __version__
from rayscope.views.critical_path import api as critical_path_api
from rayscope.views.export import api as export_api
from rayscope.views.flame import api as flame_api
from rayscope.views.gantt import api as gantt_api
from rayscope.views.lines import api as lines_api
from rayscope.views.logical import api as logical_api
from rayscope.views.physical import api as physical_api
from rayscope.views.profiles import api as profiles_api
from rayscope.views.range import api as range_api
from rayscope.views.stack import api as stack_api
from rayscope.views.stack import frames_api

log = logging.getLogger("rayscope.server")

_APIS = (
    ingest_api,
    program_output,
    health,
    sessions_api,
    deletion,
    recording_api,
    cluster_api,
    tasks_api,
    logical_api,
    logs_api,
    physical_api,
    gantt_api,
    critical_path_api,
    insights_api,
    compare_api,
    runs_api,
    range_api,
    flame_api,
    lines_api,
    profiles_api,
    stack_api,
    frames_api,
    jobs_api,
    crashes_api,
    deaths_api,
    debugger_api,
    memory_api,
    nodes_api,
    entities_api,
    data_api,
    serve_api,
    train_api,
    tune_api,
    find_api,
    metrics_api,
    metrics_query_api,
    prometheus_api,
    events_api,
    export_api,
    report_api,
    archive_api,
    realtime_api,
    alerts_api,
    alerts_edit_api,
    prometheus_alerts_api,
    control_api,
    operator_api,
    docs,
    # The last one has a route for every other path of Ray's API.
    ray_dashboard,
    ray_dashboard_api,
    ray_api,
)
_ROLLUPS = flame_api.ROLLUPS | gantt_api.ROLLUPS | logical_api.ROLLUPS


def _answer_error(_: Request, problem: Exception) -> Response:
    """Return the error response that docs/reference/api.md describes."""
    if not isinstance(problem, RayscopeError):
        raise problem
    headers = error_headers(problem)
    return error(
        problem.status or 500, problem.code, problem.message, problem.remedy, headers, problem.params
    )


def _answer_no_memory(request: Request, problem: Exception) -> Response:
    log.warning("%s %s: %r", request.method, request.url.path, problem)
    return _answer_error(request, no_memory("This request cannot be answered"))


def _abandoned(_: Request, problem: Exception) -> Response:
    return Response(status_code=NOBODY_WAITS)


def _said(place: tuple[str | int, ...], message: str) -> str:
    message = message.removeprefix("Value error, ")  # pydantic adds this prefix to validators' errors
    return f"{'.'.join(map(str, place))}: {message}" if place else message


def _invalid(_: Request, problem: Exception) -> Response:
    problems = problem.errors() if isinstance(problem, RequestValidationError) else []
    said = "; ".join(_said(p["loc"][1:], p["msg"]) for p in problems)[:500]
    said = said or "Invalid parameter."
    return error(422, "invalid_parameter", said, "See /openapi.json.", params={"reason": said})


def add_errors(app: FastAPI) -> None:
    """Register the handlers for errors that routes raise."""
    app.add_exception_handler(RayscopeError, _answer_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(Abandoned, _abandoned)
    app.add_exception_handler(MemoryError, _answer_no_memory)


def _add_description(app: FastAPI) -> None:
    building = threading.Lock()

    @app.get("/openapi.json", include_in_schema=False)
    def description() -> Response:
        # FastAPI's own route would block the event loop for about a second of CPU time.
        with building:
            return answer(app.openapi())


def create_app(services: Services) -> FastAPI:
    """Return the application for services that have started."""
    settings = services.settings
    app = FastAPI(
        title="Rayscope",
        version=__version__,
        description="See what an unmodified Ray cluster is doing, why it is slow, and what it did.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        servers=[{"url": settings.root_path}] if settings.root_path else None,
    )
    add_errors(app)
    # `provide` looks up services here.
    app.state.services = {type(service): service for service in vars(services).values()}
    # `include_router` would recreate each route, which would take most of the server's startup time.
    app.router.routes.extend(route for api in _APIS for route in api.router.routes)
    for name, make in _ROLLUPS.items():
        services.rollups.add(name, make)
    _add_description(app)
    add_plugin_routes(app)
    ui.add_ui(app, settings.root_path)
    app.add_middleware(UnexpectedErrors)
    app.add_middleware(AbandonedRequests)
    app.add_middleware(
        Guard,
        token=settings.token,
        allowed_hosts=settings.allowed_hosts,
        max_batch_bytes=settings.max_batch_bytes,
        refused=services.refused_bodies,
    )
    app.add_middleware(RootPath, settings.root_path)
    return app
