"""The route for the statistics of a time range."""

from __future__ import annotations

from typing import cast

from fastapi import Request

from rayscope.api.parameters import By, CurrentRecords, Filters, Levels, Session
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.call_lanes import MAX_LEVELS
from rayscope.storage.sql.pages import fields_of
from rayscope.views.range import sql
from rayscope.views.range.schemas import RangeAnswer, RangeFunction, RangeLane
from rayscope.views.range.sql import RangeSums

router = Router()


@router.get("/api/v1/flow/range")
def flow_range(
    records: CurrentRecords,
    request: Request,
    filters: Filters,
    session: Session = None,
    by: By = "worker",
    levels: Levels = MAX_LEVELS,
) -> Json[RangeAnswer]:
    """Return attempts, phases, functions, and lanes, clipped to ``since_ns`` and ``until_ns``."""
    chosen = records.resolve(session)

    def find(file: SessionFile) -> RangeAnswer:
        last_ns = records.last_ns(chosen)
        sums = sql.range_sums(file, filters, by=by, levels=levels, last_ns=last_ns)
        return _describe_range(chosen, sums, by)

    return answer_from_record(records, chosen, request, find)


def _describe_range(session: str, sums: RangeSums, by: str) -> RangeAnswer:
    """Return the response: the sums, and some of them as shares of the length of the range."""
    length = sums.until_ns - sums.since_ns
    return {
        "session": session,
        "by": by,
        "since_ns": sums.since_ns,
        "until_ns": sums.until_ns,
        "attempts": sums.attempts,
        "states": sums.states,
        "phases": sums.phases,
        "busy_ns": sums.busy_ns,
        "running": {"mean": sums.busy_ns / length, "most": sums.most},
        "functions": [
            cast(RangeFunction, {**fields_of(row, RangeFunction), "mean": row["busy_ns"] / length})
            for row in sums.functions
        ],
        "functions_total": sums.functions_total,
        "functions_left_out_ns": sums.phases["executing"]
        - sum(row["executing_ns"] for row in sums.functions),
        "lanes": [
            cast(
                RangeLane,
                {
                    **fields_of(row, RangeLane),
                    "kind": by,
                    "share": row["busy_ns"] / (length * row["rows"]) if row["rows"] else None,
                },
            )
            for row in sums.lanes
        ],
        "lanes_total": sums.lanes_total,
        "lanes_left_out_ns": sums.busy_ns - sum(row["busy_ns"] for row in sums.lanes),
    }
