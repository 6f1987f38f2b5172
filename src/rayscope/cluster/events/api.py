"""The route for the events of a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Cursor, Limit, Nanoseconds, Session, Text, node_ids
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.cluster.deaths.find import causes_of, find_deaths
from rayscope.cluster.deaths.schemas import Subject
from rayscope.cluster.events import schemas, sql
from rayscope.cluster.logs.files import CurrentLogs, Logs
from rayscope.storage.session_file import SessionFile

router = Router()

#: The events with which something has ended.
_ENDS = ("WORKER_DEAD", "ACTOR_DEAD", "NODE_DEAD", "JOB_FAILED", "JOB_FINISHED", "JOB_STOPPED")


@router.get("/api/v1/events")
def events(
    records: CurrentRecords,
    logs: CurrentLogs,
    request: Request,
    session: Session = None,
    severity: Annotated[str | None, Query(max_length=60, description="ERROR,WARNING,INFO")] = None,
    kind: Annotated[str | None, Query(max_length=100, description="Comma-separated.")] = None,
    node_id: Text = None,
    job_id: Text = None,
    q: Text = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Json[schemas.EventsAnswer]:
    """A page of events, newest first."""
    filters = {
        "severity": severity,
        "kind": kind,
        "node_id": node_ids(records, session, node_id),
        "job_id": job_id,
        "q": q,
        "since_ns": since_ns,
        "until_ns": until_ns,
    }
    chosen = records.resolve(session)

    def look(file: SessionFile) -> schemas.EventsAnswer:
        page, by_severity = sql.list_events(file, filters, limit=limit, cursor=cursor)
        _add_causes(file, logs, chosen, page.items)
        return {
            "items": page.items,
            "next": page.next,
            "total": page.total,
            "by_severity": by_severity,
            "dropped": records.dropped(chosen),
        }

    return answer_from_record(records, chosen, request, look)


def _add_causes(file: SessionFile, logs: Logs, session: str, events: list[schemas.Event]) -> None:
    """Add to each end of a worker, actor, node or job its causes."""
    subjects = [_subject(event) for event in events]
    deaths = find_deaths(file, logs, session, filter(None, subjects))
    for event, subject in zip(events, subjects, strict=True):
        event["causes"] = causes_of(deaths.get(subject)) if subject is not None else []


def _subject(event: schemas.Event) -> tuple[Subject, str] | None:
    """The worker, actor, node or job that ended in an event, or None if nothing did."""
    kind = event["kind"]
    if event["event"] not in _ENDS or event["id"] is None:
        return None
    return (kind, event["id"]) if kind in ("worker", "actor", "node", "job") else None
