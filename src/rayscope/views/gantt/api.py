"""The Gantt chart's routes."""

from __future__ import annotations

from functools import partial
from typing import Annotated, NamedTuple, cast

import msgspec
from fastapi import Query, Request

from rayscope.api.parameters import By, CurrentRecords, Filters, Levels, Session
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.api.schemas import HiddenLibrary
from rayscope.records.reader import SessionReader
from rayscope.records.rollups import Make, Rollups
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.call_lanes import MAX_LEVELS
from rayscope.storage.sql.filters import TaskFilters, hidden_libraries
from rayscope.storage.sql.pages import Row, fields_of
from rayscope.views.gantt import schemas, sql
from rayscope.views.gantt.compute import pack
from rayscope.views.gantt.sql import NOT_PLACED

#: Maximum number of rows per lane. If more attempts overlap, the others share the last row.
MAX_ROWS = 20
#: Maximum number of lanes in a response, and in the cached extent, which has the first lanes.
MAX_LANES = 500
#: Kinds of lanes for which large sessions have rollups.
_ROLLED_UP = ("worker", "function", "node")
STATES = ("finished", "failed", "running", "cut_off", "waiting")


router = Router()


@router.get("/api/v1/flow/gantt")
def bars(
    records: CurrentRecords,
    rollups: Annotated[Rollups, provide(Rollups)],
    request: Request,
    filters: Filters,
    session: Session = None,
    by: By = "worker",
    levels: Levels = MAX_LEVELS,
    width: Annotated[int, Query(ge=16, le=8192)] = 1600,
    lanes_from: Annotated[int, Query(ge=0, le=10**9)] = 0,
    lanes: Annotated[int, Query(ge=1, le=MAX_LANES)] = 200,
    overview: bool = True,
) -> Json[schemas.GanttAnswer]:
    """Return attempts as bars on lanes, for the window from ``since_ns`` to ``until_ns``."""
    chosen = records.resolve(session)

    def find(file: SessionFile) -> schemas.GanttAnswer:
        # This part stays the same while the user moves the window.
        extent = _extent_of(
            records, rollups, chosen, file, filters.without_range(), by, levels, lanes_from, lanes
        )
        window = sql.window_bars(
            file,
            filters,
            by=by,
            width=width,
            last_ns=records.last_ns(chosen),
            extent=(extent.origin_ns, extent.end_ns),
            lanes=[lane["lane"] for lane in extent.lanes],
            lanes_total=extent.lanes_total,
            levels=levels,
        )
        return _encode_answer(chosen, by, lanes_from, extent, window, overview=overview)

    return answer_from_record(records, chosen, request, find)


class _Extent(msgspec.Struct):
    """The part of the response that does not depend on the window: lanes, and utilization over time."""

    origin_ns: int
    end_ns: int
    attempts: int
    max_memory: int | None
    lanes: list[Row]
    lanes_total: int
    bucket_ns: int
    running: list[float]
    #: Functions hidden by ``only=mine``, by library.
    hidden: list[HiddenLibrary] = []


_EXTENT = msgspec.json.Decoder(_Extent)


def _lay_out(
    file: SessionFile,
    last_ns: int,
    filters: TaskFilters,
    *,
    by: str,
    levels: int = MAX_LEVELS,
    lanes_from: int = 0,
    lanes: int = MAX_LANES,
) -> _Extent:
    found = sql.extent(
        file,
        filters,
        by=by,
        lanes_from=lanes_from,
        lanes=lanes,
        last_ns=last_ns,
        levels=levels,
    )
    bucket_ns, means = sql.utilisation(file, filters, found.origin_ns, found.end_ns, last_ns=last_ns)
    running = [round(mean, 3) for mean in means]
    return _Extent(*found, bucket_ns, running, hidden_libraries(file, filters))


def _extent_of(
    records: SessionReader,
    rollups: Rollups,
    session: str,
    file: SessionFile,
    filters: TaskFilters,
    by: str,
    levels: int,
    lanes_from: int,
    lanes: int,
) -> _Extent:
    """Return the extent with the requested lanes, which is the same for any window.

    Raises BadQuery or StoreError.
    """
    is_first = lanes_from + lanes <= MAX_LANES
    page = {} if is_first else {"lanes_from": lanes_from, "lanes": lanes}
    chosen = filters.active()
    extent = None
    if is_first and not chosen and by in _ROLLED_UP:
        extent = rollups.read(file, session, f"gantt by {by}", _EXTENT)
    if extent is None:
        key = f"Gantt lanes {msgspec.json.encode((by, levels, page, chosen)).decode()}"

        def make(file: SessionFile) -> bytes:
            last_ns = records.last_ns(session)
            return msgspec.json.encode(_lay_out(file, last_ns, filters, by=by, levels=levels, **page))

        extent = _EXTENT.decode(records.read_cached(session, key, make, flush=False))
    if is_first:
        extent.lanes = extent.lanes[lanes_from : lanes_from + lanes]
    return extent


class _Rows(NamedTuple):
    """The lanes of the response, and the lane and row of each bar."""

    lanes: list[schemas.GanttLane]
    lane: list[int]
    row: list[int]


def _pack_lanes(by: str, lanes: list[Row], bars: list[Row]) -> _Rows:
    of_lane: dict[str, list[int]] = {lane["lane"]: [] for lane in lanes}
    for at, bar in enumerate(bars):
        of_lane[bar["lane"]].append(at)
    rows = _Rows([], [0] * len(bars), [0] * len(bars))
    for number, lane in enumerate(lanes):
        placed_lane = lane["lane"] != NOT_PLACED
        # Calls that wait for an actor share one row, the actor's queue, below the calls that the actor
        # executes.
        queue = [at for at in of_lane[lane["lane"]] if placed_lane and bars[at]["waits"]]
        mine = [at for at in of_lane[lane["lane"]] if not placed_lane or not bars[at]["waits"]]
        packed = pack([bars[at]["begin"] for at in mine], [bars[at]["end"] for at in mine], MAX_ROWS)
        for at, placed in zip(mine, packed.row, strict=True):
            rows.lane[at], rows.row[at] = number, placed if placed >= 0 else MAX_ROWS - 1
        for at in queue:
            rows.lane[at], rows.row[at] = number, packed.rows
        rows.lanes.append(
            cast(
                schemas.GanttLane,
                {
                    **fields_of(lane, schemas.GanttLane),
                    "id": lane["lane"] if placed_lane else "",
                    "kind": by if placed_lane else "not_placed",
                    "rows": max(1, packed.rows + bool(queue)),
                    "folded": packed.folded,
                },
            )
        )
    return rows


def _encode_answer(
    session: str, by: str, lanes_from: int, extent: _Extent, window: sql.WindowBars, *, overview: bool
) -> schemas.GanttAnswer:
    """Return the response. Rows are packed, each name is included once, and bars are columns, not objects."""
    rows = _pack_lanes(by, extent.lanes, window.bars)
    names: dict[str, int] = {}
    bars: schemas.GanttBars = {
        "lane": rows.lane,
        "row": rows.row,
        "begin": [bar["begin"] for bar in window.bars],
        "end": [bar["end"] for bar in window.bars],
        "count": [bar["count"] for bar in window.bars],
        "busy": [bar["busy"] for bar in window.bars],
        "failed": [bar["failed"] for bar in window.bars],
        "task_id": [bar["task_id"] for bar in window.bars],
        "attempt": [bar["attempt"] for bar in window.bars],
        "peak_memory": [bar["peak_memory"] for bar in window.bars],
        "name": [names.setdefault(bar["name"], len(names)) for bar in window.bars],
        "state": [STATES.index(bar["state"]) for bar in window.bars],
    }
    detailed = [at for at, bar in enumerate(window.bars) if bar["count"] == 1 and bar["created"] is not None]
    return {
        "session": session,
        "by": by,
        "lanes_from": lanes_from,
        "origin_ns": extent.origin_ns,
        "begin_ns": extent.origin_ns,
        "end_ns": max(extent.end_ns, *(extent.origin_ns + bar["end"] for bar in window.bars), 0),
        "attempts": max(extent.attempts, window.in_window),
        "max_memory": max(
            (one for one in (extent.max_memory, *bars["peak_memory"]) if one is not None), default=None
        ),
        "resolution_ns": window.resolution_ns,
        "lanes": rows.lanes,
        "lanes_total": extent.lanes_total,
        "names": list(names),
        "states": list(STATES),
        "bars": bars,
        "memory_shared": [at for at, bar in enumerate(window.bars) if bar["is_shared"]],
        "details": {
            "bar": detailed,
            "created": [window.bars[at]["created"] for at in detailed],
            "waiting_node": [window.bars[at]["waiting_node"] for at in detailed],
            "queued": [window.bars[at]["queued"] for at in detailed],
            "executing": [window.bars[at]["executing"] for at in detailed],
            "storing": [window.bars[at]["storing"] for at in detailed],
        },
        "blocked": {
            "bar": [span[0] for span in window.spans],
            "begin": [span[1] for span in window.spans],
            "end": [span[2] for span in window.spans],
            "is_awaiting": [span[3] for span in window.spans],
        },
        "in_window": window.in_window,
        "merged": sum(bar["count"] for bar in window.bars if bar["count"] > 1),
        "left_out": window.left_out,
        "hidden": extent.hidden,
        "utilisation": {"bucket_ns": extent.bucket_ns, "running": extent.running} if overview else None,
    }


ROLLUPS: dict[str, Make] = {
    f"gantt by {kind}": partial(_lay_out, filters=TaskFilters(), by=kind) for kind in _ROLLED_UP
}
