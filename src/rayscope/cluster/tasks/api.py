"""Routes for task attempts: the list, and the details of a task."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Cursor, Filters, Limit, Nanoseconds, Session, Sort, Text
from rayscope.api.responses import Json, answer, answer_from_record
from rayscope.api.routes import Router
from rayscope.cluster.logs.files import CurrentLogs
from rayscope.cluster.tasks import failures_sql, flow_sql, schemas, sql
from rayscope.cluster.tasks.lost import add_causes
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.entities import find_id

router = Router()


@router.get("/api/v1/tasks")
def tasks(
    records: CurrentRecords,
    filters: Filters,
    session: Session = None,
    sort: Sort = "-created_ns",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Json[schemas.TaskPage]:
    """Task attempts that match the filters, one page at a time, and their total."""
    chosen = records.resolve(session)
    page = records.read(
        chosen,
        lambda file: sql.list_attempts(
            file, filters, sort=sort, limit=limit, cursor=cursor, last_ns=records.last_ns(chosen)
        ),
    )
    return answer(
        {
            "items": page.items,
            "next": page.next,
            "total": page.total,
            "dropped": records.dropped(chosen),
        }
    )


@router.get("/api/v1/scheduling")
def scheduling(
    records: CurrentRecords,
    request: Request,
    session: Session = None,
    job_id: Text = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
    limit: Limit = 200,
) -> Json[schemas.SchedulingAnswer]:
    """Where the time of each function's attempts went, and how many ran on the node that submitted them."""
    chosen = records.resolve(session)

    def look(file: SessionFile) -> schemas.SchedulingAnswer:
        job = find_id(file, "job", job_id) if job_id else None
        return {
            "session": chosen,
            "items": flow_sql.scheduling(
                file,
                records.last_ns(chosen),
                job,
                limit,
                since_ns=since_ns,
                until_ns=until_ns,
            ),
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/failures")
def failures(
    records: CurrentRecords,
    logs: CurrentLogs,
    request: Request,
    filters: Filters,
    session: Session = None,
    outcome: Annotated[str | None, Query(max_length=60, description="final, retrying or recovered")] = None,
    limit: Limit = 200,
    stopped: Annotated[
        bool, Query(description="Also attempts that Ray's libraries stopped on purpose")
    ] = False,
) -> Json[schemas.FailuresAnswer]:
    """Failed attempts grouped by function, error type, message and line; final failures first.

    Attempts that Ray's libraries stopped on purpose are left out, and counted in `stopped_by_libraries`.
    """
    chosen = records.resolve(session)

    def look(file: SessionFile) -> schemas.FailuresAnswer:
        found = failures_sql.failure_groups(file, filters, outcome, limit, stopped=stopped)
        add_causes(file, logs, chosen, found.items)
        return {
            "session": chosen,
            "items": found.items,
            "total": found.total,
            "stopped_by_libraries": found.stopped_by_libraries,
            "tasks": found.tasks,
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/tasks/{task_id}")
def task(records: CurrentRecords, task_id: str, session: Session = None) -> Json[schemas.TaskDetail]:
    """One task: all attempts with state times, phases and errors; parent, call path, children, spans."""
    chosen = records.resolve(session)
    last_ns = records.last_ns(chosen)
    return answer(records.read(chosen, lambda file: sql.get_task(file, task_id, last_ns=last_ns)))
