"""The distributed call stack at one time, and the activity over the whole session."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import Query, Request

from rayscope.api.parameters import CurrentRecords, Filters, Nanoseconds, Session
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.storage.session_file import SessionFile
from rayscope.views.stack import schemas, sql
from rayscope.views.stack.compute import Example, Unit, Wait, call_stack

Buckets = Annotated[int, Query(ge=1, le=2000)]


router = Router()


@router.get("/api/v1/flow/stack")
def stack(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    at_ns: Nanoseconds = None,
) -> Json[schemas.StackAnswer]:
    """Return the attempts in flight at a given time and their waits, merged by callers, function, and
    situation.
    """
    chosen = records.resolve(session)

    def look(file: SessionFile) -> schemas.StackAnswer:
        live = records.is_live(chosen)
        found = sql.in_flight(file, filters, at_ns=at_ns, last_ns=records.last_ns(chosen), live=live)
        tree = call_stack(map(unit_of, found.units), (Wait(**row) for row in found.waits))
        return {
            "session": chosen,
            "at_ns": found.at_ns,
            "live": live,
            "in_flight": found.in_flight,
            "left_out": found.in_flight - tree.in_flight,
            "callers_left_out": found.callers_left_out,
            # Structs are encoded like dicts, so a copy, which would take time and memory, is not needed.
            "nodes": cast(list[schemas.StackNode], tree.nodes),
            "folded_nodes": tree.folded_nodes,
            "chains": tree.chains,
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/flow/activity")
def activity(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    buckets: Buckets = 400,
) -> Json[schemas.ActivityAnswer]:
    """Return how many attempts were in flight and running over time, in equal parts of the session's time."""
    chosen = records.resolve(session)

    def find(file: SessionFile) -> schemas.ActivityAnswer:
        found = sql.activity(file, filters, buckets, records.last_ns(chosen))
        return {
            "session": chosen,
            "begin_ns": found.begin_ns,
            "end_ns": found.end_ns,
            "bucket_ns": found.bucket_ns,
            "in_flight": found.in_flight,
            "running": found.running,
            "failed": found.failed,
        }

    return answer_from_record(records, chosen, request, find)


def unit_of(row: dict[str, Any]) -> Unit:
    """Convert a database row to a unit."""
    examples = sorted((Example(**e) for e in row.pop("examples", None) or ()), key=lambda e: e.order)
    return Unit(**row, examples=tuple(examples))
