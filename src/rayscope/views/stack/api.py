"""The distributed call stack at one time, and the activity over the whole session."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from rayscope.api.parameters import ERRORS, CurrentRecords, Filters, Nanoseconds, Session, answer_from_record
from rayscope.storage.session_file import SessionFile
from rayscope.views.stack import schemas, sql
from rayscope.views.stack.compute import Example, Unit, Wait, call_stack

Buckets = Annotated[int, Query(ge=1, le=2000)]


router = APIRouter()


@router.get("/api/flow/stack", responses={**ERRORS, 200: {"model": schemas.StackAnswer}})
def stack(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    at_ns: Nanoseconds = None,
) -> Response:
    """Return the attempts in flight at a time, merged by callers, function, and situation, with waits."""
    chosen = records.resolve(session)

    def look(file: SessionFile) -> dict[str, Any]:
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
            "nodes": tree.nodes,
            "folded_nodes": tree.folded_nodes,
            "chains": tree.chains,
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/flow/activity", responses={**ERRORS, 200: {"model": schemas.ActivityAnswer}})
def activity(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    buckets: Buckets = 400,
) -> Response:
    """Return how many attempts were in flight and running, in equal parts of the session's time."""
    chosen = records.resolve(session)
    return answer_from_record(
        records,
        chosen,
        request,
        lambda file: {
            "session": chosen,
            **sql.activity(file, filters, buckets, records.last_ns(chosen)),
        },
    )


def unit_of(row: dict[str, Any]) -> Unit:
    """Convert a row of the database to a unit."""
    examples = sorted((Example(**e) for e in row.pop("examples", None) or ()), key=lambda e: e.order)
    return Unit(**row, examples=tuple(examples))
