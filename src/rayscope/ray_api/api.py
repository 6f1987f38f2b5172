"""Ray's HTTP API, answered from the record: the state API and the job API.

Ray's own commands and clients work with the address ``/ray/SESSION``, even after the cluster has ended. At
the root, the answers are about the live session, or else the newest one.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from typing import Annotated, Any

import duckdb
import msgspec
import pyarrow as pa
from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute
from starlette.datastructures import QueryParams

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, CurrentSettings
from rayscope.api.responses import Json, Stream, answer, answer_from_record
from rayscope.api.security import error_headers
from rayscope.cluster.logs.files import CurrentLogs
from rayscope.cluster.objects.references import OF_ALL, CurrentReferences, ObjectReferences
from rayscope.errors import RayscopeError
from rayscope.ingest.clusters import CurrentClusters
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.versions import NEWEST_TESTED, numbers
from rayscope.ray_api import lists
from rayscope.ray_api.fields import RESOURCES
from rayscope.ray_api.lists import Warnings, parse_list
from rayscope.ray_api.logs import list_logs, read_job_log, read_log
from rayscope.ray_api.objects import read_references
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.slots import Slots

#: The version of the job API in all versions of Ray that are supported.
_API_VERSION = "4"
#: Maximum number of sessions that an error names.
_MAX_NAMED = 20
_LISTS = Slots(8, "8 lists are already being sent.", waiting=8, wait_s=10.0)
_LONG_LISTS = Slots(2, "2 long lists are already being sent.", waiting=4, wait_s=10.0)
_SUMMING = Slots(2, "2 summaries are already being computed.", waiting=8, wait_s=10.0)
_LOGS = Slots(8, "8 log files are already being sent.", waiting=8, wait_s=10.0)
_SUMMARIES = {
    "tasks": lists.summarize_tasks,
    "actors": lists.summarize_actors,
    "objects": lists.summarize_objects,
}


class SeveralLive(RayscopeError):
    """A request at the root while several clusters are live."""

    code = "several_live"
    status = 400


class ReadOnly(RayscopeError):
    """A request that would change a cluster."""

    code = "read_only"
    status = 405


class RayRoute(APIRoute):
    """A route whose errors have the form that Ray's clients expect."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()

        async def answer_or_explain(request: Request) -> Response:
            try:
                return await handle(request)
            except RayscopeError as error:
                text, status = str(error), error.status or 500
                headers = error_headers(error)
            if "/api/v0/" in request.url.path:
                body = msgspec.json.encode({"result": False, "msg": text, "data": {"result": None}})
                return Json(body, status, headers)
            return PlainTextResponse(text, status, headers)

        return answer_or_explain


router = APIRouter(route_class=RayRoute, include_in_schema=False)


def _any_session(request: Request, records: CurrentRecords) -> str:
    """The session in a path. At the root, it is a live one, or else the newest."""
    return records.resolve(request.path_params.get("session") or next(iter(records.live_here()), None))


def _session(request: Request, records: CurrentRecords, settings: CurrentSettings) -> str:
    """Like :func:`_any_session`, but raises SeveralLive if there are several live ones to choose from."""
    live = records.live_here()
    if "session" not in request.path_params and len(live) > 1:
        url = f"{str(request.base_url).rstrip('/')}{settings.root_path}/ray/"
        addresses = ", ".join(url + name for name in live[:_MAX_NAMED])
        raise SeveralLive(f"{len(live)} clusters are live.", f"Use one of these addresses: {addresses}.")
    return _any_session(request, records)


Session = Annotated[str, Depends(_session)]


def _get(path: str) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    """Add a route below the path of a session, and at the root."""

    def add(function: Callable[..., Response]) -> Callable[..., Response]:
        for prefix in ("/ray/{session}", ""):
            router.add_api_route(prefix + path, function, methods=["GET"])
        return function

    return add


@_get("/api/version")
def version(catalog: CurrentCatalog, session: Annotated[str, Depends(_any_session)]) -> Response:
    """The version of the session's Ray. Clients ask for it first, and do not show an error's text."""
    return answer(
        {
            "version": _API_VERSION,
            # Clients compare it with the lowest version that they support.
            "ray_version": catalog.about(session).ray_version or NEWEST_TESTED,
            "ray_commit": "unknown",
            "session_name": session,
        }
    )


@_get("/api/jobs/")
def jobs(catalog: CurrentCatalog, records: CurrentRecords, session: Session) -> Response:
    """All jobs."""
    return Json(b"[%b]" % b",".join(_jobs(catalog, records, session)))


@_get("/api/jobs/{job_id}")
def job(catalog: CurrentCatalog, records: CurrentRecords, session: Session, job_id: str) -> Response:
    """A job, by its ID or submission ID."""
    return answer(_job(catalog, records, session, job_id))


@_get("/api/jobs/{job_id}/logs")
def job_logs(
    catalog: CurrentCatalog, records: CurrentRecords, logs: CurrentLogs, session: Session, job_id: str
) -> Response:
    """The output of a submitted job."""
    job = _job(catalog, records, session, job_id)
    if job["type"] != "SUBMISSION":
        raise BadQuery("Can only get logs of submission type jobs", "")

    def read() -> Iterator[bytes]:
        try:
            pieces = read_job_log(records, logs, session, job_id)
        except NotFound:
            if job["driver_node_id"] is not None:
                raise
            pieces = iter(())  # The driver has not started.
        yield b'{"logs":"'
        for text in codecs.iterdecode(pieces, "utf-8", "replace"):
            yield msgspec.json.encode(text)[1:-1]
        yield b'"}'

    return _send(_LOGS, read, "application/json")


def _send(slots: Slots, read: Callable[[], Iterator[bytes]], media_type: str) -> Response:
    """Send what ``read`` returns while holding a slot. Raises its errors up to the first piece."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(slots.take())
        pieces = read()
        first = next(pieces, b"")
        return Stream(itertools.chain([first], pieces), stack.pop_all(), media_type=media_type)
    raise AssertionError  # unreachable: no context above suppresses an exception


def _jobs(catalog: Catalog, records: SessionReader, session: str, **filters: str) -> list[bytes]:
    query = [("detail", "true"), ("limit", str(lists.MAX_ROWS))]
    for key, value in filters.items():
        query += [("filter_keys", key), ("filter_predicates", "="), ("filter_values", value)]
    request = parse_list(QueryParams(query), "jobs", _version(catalog, session))

    def look(file: SessionFile) -> list[bytes]:
        with file.reader() as reader:
            return list(lists.read_rows(reader, request))

    return records.read(session, look)


def _job(catalog: Catalog, records: SessionReader, session: str, job_id: str) -> dict[str, Any]:
    for name in ("submission_id", "job_id"):
        rows = b",".join(_jobs(catalog, records, session, **{name: job_id}))
        for row in msgspec.json.decode(b"[%b]" % rows):
            if row[name] == job_id:  # Filters ignore case.
                job: dict[str, Any] = row
                return job
    raise NotFound(f"Job {job_id[:80]} does not exist", "")


def _version(catalog: Catalog, session: str) -> tuple[int, ...]:
    return numbers(catalog.about(session).ray_version)


def _prepare(
    name: str, records: SessionReader, objects: ObjectReferences, session: str
) -> tuple[pa.Table | None, Warnings]:
    """The table that a resource needs besides the record, if any, and what to warn of."""
    if name == "objects":
        return read_references(objects, session)
    dropped = records.dropped(session)
    lost, repaired = dropped["total"], dropped["repaired_total"]
    if name == "tasks" and (lost > repaired or (lost and dropped["repaired_partly"])):
        return None, Warnings(f"Task events dropped: {lost:,}. Recovered from the GCS: {repaired:,}.")
    return None, Warnings()


@contextlib.contextmanager
def _reading(file: SessionFile, held: pa.Table | None) -> Iterator[duckdb.DuckDBPyConnection]:
    with file.reader() as reader:
        if held is not None:
            reader.register("held", held)
        yield reader


@_get("/api/v0/logs")
def logs(records: CurrentRecords, logs: CurrentLogs, session: Session, request: Request) -> Response:
    """The log files of a node."""
    files = list_logs(records, logs, session, request.query_params)
    return answer({"result": True, "msg": "", "data": {"result": files}})


@_get("/api/v0/logs/{media_type}")
def log(records: CurrentRecords, logs: CurrentLogs, session: Session, request: Request) -> Response:
    """The last lines of a log file. A stream ends with them, too."""
    return _send(_LOGS, lambda: read_log(records, logs, session, request.query_params), "text/plain")


@_get("/api/v0/{resource}/summarize")
def summarize(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    objects: CurrentReferences,
    session: Session,
    request: Request,
    resource: str,
) -> Response:
    """A summary of the tasks, actors or objects."""
    if resource not in _SUMMARIES or request.query_params.get("summary_by") == "lineage":
        raise _unknown()
    version = _version(catalog, session)
    asked = replace(parse_list(request.query_params, resource, version), limit=OF_ALL)

    def look(file: SessionFile) -> dict[str, Any]:
        with _reading(file, held) as reader:
            total, filtered = lists.count_rows(reader, asked)
            summary = _SUMMARIES[resource](reader, asked)
        result = {"node_id_to_summary": {"cluster": summary}}
        return lists.envelope(total, filtered, result, warnings)

    with _SUMMING.take():
        held, warnings = _prepare(resource, records, objects, session)
        if held is not None:  # The answer does not depend on the record alone.
            return answer(records.read(session, look))
        return answer_from_record(records, session, request, look)


@_get("/api/v0/{resource}")
def list_resource(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    objects: CurrentReferences,
    session: Session,
    request: Request,
    resource: str,
) -> Response:
    """A list."""
    if resource not in RESOURCES:
        raise _unknown()
    asked = parse_list(request.query_params, resource, _version(catalog, session))
    slots = _LISTS if asked.limit <= lists.LONG_LIMIT else _LONG_LISTS
    with contextlib.ExitStack() as stack:
        stack.enter_context(slots.take())
        held, warnings = _prepare(resource, records, objects, session)
        records.flush()
        file = stack.enter_context(records.reading(session))
        reader = stack.enter_context(_reading(file, held))
        pieces = lists.read_list(reader, asked, warnings)
        first = next(pieces)  # raises errors of the request
        return Stream(itertools.chain([first], pieces), stack.pop_all(), media_type="application/json")
    raise AssertionError  # unreachable: no context above suppresses an exception


@router.get("/ray/{session}/{path:path}")
@router.get("/api/v0/{path:path}")
def unknown(request: Request) -> Response:
    """Every other path of Ray's API."""
    raise _unknown()


def _unknown() -> NotFound:
    return NotFound("Rayscope does not answer this part of Ray's API.", "See docs/how-to/ray-commands.md.")


def _refuse(
    request: Request, records: CurrentRecords, clusters: CurrentClusters, settings: CurrentSettings
) -> Response:
    """Refuse to change a cluster, and name the address to use instead."""
    try:
        session = _session(request, records, settings)
    except SeveralLive as error:
        raise ReadOnly(f"Rayscope only reads. {error.message}", error.remedy) from None
    try:
        api, _ = clusters.job_api(session)
    except DashboardError:
        raise ReadOnly("Rayscope only reads, and this cluster has ended or has no dashboard.", "") from None
    raise ReadOnly("Rayscope only reads.", f"Send this request to the cluster: {api.url}.")


for _path in ("/ray/{session}", "/api/jobs", "/api/packages", "/api/v0"):
    router.add_api_route(f"{_path}/{{path:path}}", _refuse, methods=["POST", "PUT", "PATCH", "DELETE"])
