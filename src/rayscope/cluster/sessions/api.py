"""Routes for sessions: the list, names and notes, and the summary of one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Annotated, NamedTuple

from fastapi import Request

from rayscope.api.parameters import CurrentCatalog, CurrentRecords, Cursor, Filters, Limit, Session, Text
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer, answer_from_record, error_info
from rayscope.api.routes import Router
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.cluster.recording.api import lane_summary
from rayscope.cluster.recording.recording import cannot_see, recording
from rayscope.cluster.recording.schemas import Tracing
from rayscope.cluster.sessions import schemas, sql
from rayscope.cluster.sessions.ended_jobs import CurrentEndedJobs, EndedJobs
from rayscope.cluster.tasks import flow_sql
from rayscope.ingest.clusters import CurrentClusters
from rayscope.ingest.writer import Writer
from rayscope.metrics.service import CurrentMetrics, Metrics
from rayscope.ray.frontend import find_frontend
from rayscope.records.reader import SessionReader
from rayscope.records.schemas import Dropped
from rayscope.storage.about import Label
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, StoreError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.filters import hidden_libraries
from rayscope.storage.sql.sessions import time_range

_NOTHING_DROPPED: Dropped = {
    "total": 0,
    "spans": 0,
    "by": [],
    "unresolved_attempts": 0,
    "starts_lost": 0,
    "repaired_total": 0,
    "repaired_ns": None,
    "repaired_partly": False,
}


def _session_rows(
    catalog: Catalog, records: SessionReader, metrics: Metrics, ended_jobs: EndedJobs, names: list[str]
) -> list[schemas.SessionItem]:
    problems = catalog.unreadable(names)  # opening a record may reveal new problems
    return [_session_row(catalog, records, metrics, ended_jobs, name, problems.get(name)) for name in names]


def _session_row(
    catalog: Catalog,
    records: SessionReader,
    metrics: Metrics,
    ended_jobs: EndedJobs,
    name: str,
    problem: StoreError | None,
) -> schemas.SessionItem:
    about = catalog.about(name)
    state: schemas.SessionState = "live" if records.is_live(name) else "ended"
    notes = [about.note] if about.note else []
    if damage := metrics.damage(name):
        notes.append(damage)
    error = " ".join(notes) or None
    if problem is not None:
        state, error = "unreadable", f"{problem.message} {problem.remedy}"
    return {
        "session": name,
        "name": about.name,
        "script": about.script or None,
        "host": about.host,
        "note": about.label.note,
        "tags": list(about.label.tags),
        "recording": recording(catalog, name),
        "state": state,
        "outcome": ended_jobs.outcome(name, about.jobs),
        "slower": ended_jobs.slower(name),
        "error": error,
        "problem": error_info(problem),
        "first_ns": about.first_ns,
        "last_ns": records.last_ns(name),
        "tasks": about.tasks,
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        "actors": about.actors,
        "nodes": about.nodes,
        "jobs": about.jobs,
        "disk_bytes": catalog.disk_bytes(name),
        "location": _location(catalog, name),
        "ray_version": about.ray_version,
        "gcs_address": about.gcs_address,
        "dropped_total": about.dropped_total,
    }


def _location(catalog: Catalog, name: str) -> schemas.Location:
    is_here = catalog.path(name).exists()
    places = {place.name for place in catalog.remotes if place.has(name)}
    if "archive" in places:
        return "both" if is_here else "archive"
    return "warehouse" if "warehouse" in places and not is_here else "local"


class _Figures(NamedTuple):
    """Figures of the record, computed together so that they are cached together."""

    range_ns: tuple[int | None, int | None]
    functions: list[schemas.FunctionItem]
    failures: list[schemas.FailureItem]
    tracing: Tracing


def _figures(file: SessionFile, at_ns: int) -> _Figures:
    return _Figures(time_range(file), sql.functions(file, at_ns), sql.failures(file), flow_sql.tracing(file))


router = Router()


@router.get("/api/v1/sessions")
def sessions(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    metrics: CurrentMetrics,
    ended_jobs: CurrentEndedJobs,
    name: Session = None,
    q: Text = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Json[schemas.SessionPage]:
    """The recorded sessions, most recently updated first. With `name`, only the one with this ID, a prefix of
    it, or this displayed name.

    With `q`, those with this text in their name, script, host, tags, note, or Ray's name, ignoring case.
    """
    names = [records.resolve(name)] if name else catalog.names()
    if q:
        sought = q.casefold()
        names = [one for one in names if sought in catalog.about(one).searchable.casefold()]
    start = 0
    if cursor is not None:
        if cursor not in names:
            raise BadQuery(
                "This cursor belongs to a session that no longer exists.", "Start with the first page."
            )
        start = names.index(cursor) + 1
    page = names[start : start + limit]
    following = page[-1] if len(names) > start + limit else None
    return answer(
        {
            "items": _session_rows(catalog, records, metrics, ended_jobs, page),
            "next": following,
            "total": len(names),
            "ray_dashboard": find_frontend() is not None,
            "dropped": _NOTHING_DROPPED,
        }
    )


@router.patch(
    "/api/v1/sessions/{session}",
    dependencies=OPERATOR_ONLY,
)
def label(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    metrics: CurrentMetrics,
    ended_jobs: CurrentEndedJobs,
    session: str,
    label_body: schemas.SessionLabel,
) -> Json[schemas.SessionItem]:
    """Name a session, or annotate it."""
    before = catalog.about(session).label
    catalog.set_label(
        session,
        Label(
            max(time.time_ns(), before.set_ns + 1),
            before.name if label_body.name is None else _line(label_body.name),
            before.note if label_body.note is None else _text(label_body.note),
            before.tags if label_body.tags is None else clean_tags(label_body.tags),
        ),
    )
    return answer(_session_rows(catalog, records, metrics, ended_jobs, [session])[0])


def clean_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags as they are stored: each once, on one line, without empty ones."""
    return tuple(dict.fromkeys(filter(None, map(_line, tags))))


def _line(text: str) -> str:
    """The text on one line, without characters that change how other text is displayed."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _text(text: str) -> str:
    return "".join(c for c in text if c.isprintable() or c in "\n\t").strip()


@router.get("/api/v1/functions")
def functions(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    limit: Limit = 50,
) -> Json[schemas.FunctionsAnswer]:
    """Functions, ordered by the total duration of their matching attempts."""
    name = records.resolve(session)

    def look(file: SessionFile) -> schemas.FunctionsAnswer:
        found = sql.functions(file, records.last_ns(name), limit, filters)
        return {"session": name, "items": found, "hidden": hidden_libraries(file, filters)}

    return answer_from_record(records, name, request, look)


@router.get("/api/v1/summary")
def summary(
    catalog: CurrentCatalog,
    records: CurrentRecords,
    writer: Annotated[Writer, provide(Writer)],
    clusters: CurrentClusters,
    session: Session = None,
) -> Json[schemas.Summary]:
    """A session at a glance: attempts by state, slowest functions, failures, and what is missing."""
    name = records.resolve(session)
    about = catalog.about(name)
    figures = records.read_cached(
        name, "figures of the summary", lambda file: _figures(file, records.last_ns(name))
    )
    return answer(
        {
            "session": name,
            "recording": recording(catalog, name),
            "tasks": about.tasks,
            "attempts": about.attempts,
            "states": about.states,
            "stopped_by_libraries": about.stopped_by_libraries,
            "first_ns": figures.range_ns[0],
            "last_ns": figures.range_ns[1],
            "functions": figures.functions,
            "failures": figures.failures,
            "tracing": figures.tracing,
            "dropped": records.dropped(name),
            "lanes": lane_summary(catalog, records, name),
            "ingest": {
                "events": about.events,
                "batches": about.batches,
                "pending_batches": writer.pending_batches,
                "rejected_batches": writer.rejected,
                "unknown": about.unknown,
                "last_batch_ns": writer.last_batch_ns or None,
                "behind_ns": writer.behind_ns(name),
                "error": error_info(writer.problem()),
            },
            "cannot_see": cannot_see(catalog, clusters, name),
        }
    )
