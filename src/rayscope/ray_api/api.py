"""Ray's HTTP API, answered from the record: the state API and the job API.

Ray's own commands and clients work with the address ``/ray/SESSION``, even after the cluster has ended. At
the root, the answers are about the live session, or else the newest one.
"""

from __future__ import annotations

import codecs
import contextlib
import itertools
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

import duckdb
import msgspec
import pyarrow as pa
from fastapi import Depends, Request
from fastapi.responses import Response
from starlette.datastructures import QueryParams

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, CurrentSettings
from rayscope.api.responses import Json, Stream, answer, answer_from_record, attachment
from rayscope.cluster.logs.files import CurrentLogs
from rayscope.cluster.objects.references import OF_ALL, CurrentReferences, ObjectReferences
from rayscope.errors import RayscopeError
from rayscope.ingest.clusters import CurrentClusters
from rayscope.ray.dashboard import DashboardError
from rayscope.ray.versions import NEWEST_TESTED, numbers
from rayscope.ray_api import lists
from rayscope.ray_api.fields import RESOURCES
from rayscope.ray_api.lineage import summarize_lineage
from rayscope.ray_api.lists import Warnings, parse_list
from rayscope.ray_api.logs import list_logs, read_job_log, read_log
from rayscope.ray_api.objects import read_references
from rayscope.ray_api.routes import RayRouter, Session, SeveralLive, any_session, current_session, send
from rayscope.records.reader import SessionReader
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.slots import Slots
from rayscope.views.export.ray_timeline_sql import read_timeline

#: The version of the job API in all versions of Ray that are supported.
_API_VERSION = "4"
_LISTS = Slots(8, "8 lists are already being sent.", waiting=8, wait_s=10.0)
_LONG_LISTS = Slots(2, "2 long lists are already being sent.", waiting=4, wait_s=10.0)
_SUMMING = Slots(2, "2 summaries are already being computed.", waiting=8, wait_s=10.0)
_LOGS = Slots(8, "8 log files are already being sent.", waiting=8, wait_s=10.0)
_SUMMARIES = {
    "tasks": lists.summarize_tasks,
    "actors": lists.summarize_actors,
    "objects": lists.summarize_objects,
}


class ReadOnly(RayscopeError):
    """A request that would change a cluster."""

    code = "read_only"
    status = 405


router = RayRouter()


@router.answer("/api/version")
def version(catalog: CurrentCatalog, session: Annotated[str, Depends(any_session)]) -> Response:
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


@router.answer("/api/jobs/")
def jobs(catalog: CurrentCatalog, records: CurrentRecords, session: Session) -> Response:
    """All jobs."""
    return Json(b"[%b]" % b",".join(_jobs(catalog, records, session)))


@router.answer("/api/jobs/{job_id}")
def job(catalog: CurrentCatalog, records: CurrentRecords, session: Session, job_id: str) -> Response:
    """A job, by its ID or submission ID."""
    return answer(_job(catalog, records, session, job_id))


@router.answer("/api/jobs/{job_id}/logs")
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

    return send(_LOGS, read, "application/json")


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


@router.answer("/api/v0/logs")
def logs(records: CurrentRecords, logs: CurrentLogs, session: Session, request: Request) -> Response:
    """The log files of a node."""
    files = list_logs(records, logs, session, request.query_params)
    return answer({"result": True, "msg": "", "data": {"result": files}})


@router.answer("/api/v0/logs/{media_type}")
def log(records: CurrentRecords, logs: CurrentLogs, session: Session, request: Request) -> Response:
    """The last lines of a log file. A stream ends with them, too."""
    return send(_LOGS, lambda: read_log(records, logs, session, request.query_params), "text/plain")


@router.answer("/api/v0/{resource}/summarize")
def summarize_resource(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    objects: CurrentReferences,
    session: Session,
    request: Request,
    resource: str,
) -> Response:
    """A summary of the tasks, actors or objects."""
    if resource not in _SUMMARIES:
        raise _unknown()
    is_tree = resource == "tasks" and request.query_params.get("summary_by") == "lineage"
    summarize = summarize_lineage if is_tree else _SUMMARIES[resource]
    version = _version(catalog, session)
    asked = replace(parse_list(request.query_params, resource, version), limit=OF_ALL)

    def look(file: SessionFile) -> dict[str, Any]:
        with _reading(file, held) as reader:
            total, filtered = lists.count_rows(reader, asked)
            summary = summarize(reader, asked)
        result = {"node_id_to_summary": {"cluster": summary}}
        return lists.envelope(total, filtered, result, warnings)

    with _SUMMING.take():
        held, warnings = _prepare(resource, records, objects, session)
        if held is not None:  # The answer does not depend on the record alone.
            return answer(records.read(session, look))
        return answer_from_record(records, session, request, look)


@router.answer("/api/v0/tasks/timeline")
def timeline(
    records: CurrentRecords, session: Session, job_id: str | None = None, download: str = ""
) -> Response:
    """The timeline of tasks, for Chrome or Perfetto."""

    def pieces() -> Iterator[bytes]:
        records.flush()
        with records.reading(session) as file, file.reader() as reader:
            yield from read_timeline(reader, job_id)

    response = send(_LONG_LISTS, pieces, "application/json")
    if download == "1":
        response.headers.update(attachment(f"timeline-{session}.json", "timeline.json"))
    return response


@router.answer("/api/v0/{resource}/")  # as KubeRay's History Server asks for placement groups
@router.answer("/api/v0/{resource}")
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
        session = current_session(request, records, settings)
    except SeveralLive as error:
        raise ReadOnly(f"Rayscope only reads. {error.message}", error.remedy) from None
    try:
        api, _ = clusters.job_api(session)
    except DashboardError:
        raise ReadOnly("Rayscope only reads, and this cluster has ended or has no dashboard.", "") from None
    raise ReadOnly("Rayscope only reads.", f"Send this request to the cluster: {api.url}.")


for _path in ("/ray/{session}", "/api/jobs", "/api/packages", "/api/v0"):
    router.add_api_route(f"{_path}/{{path:path}}", _refuse, methods=["POST", "PUT", "PATCH", "DELETE"])
