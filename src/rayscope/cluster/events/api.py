"""The route for the events of a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Cursor, Limit, Nanoseconds, Session, Text, node_ids
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.cluster.deaths.find import causes_of, find_deaths
from rayscope.cluster.events import schemas, sql
from rayscope.cluster.logs.files import CurrentLogs, Logs
from rayscope.storage.session_file import SessionFile

router = Router()


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
    """Add to each event what ended in it, and why."""
    ends = [(one["kind"], one["id"]) for event in events if (one := event["ended"]) is not None]
    deaths = find_deaths(file, logs, session, ends)
    for event in events:
        one = event["ended"]
        event["causes"] = causes_of(deaths.get((one["kind"], one["id"]))) if one is not None else []
