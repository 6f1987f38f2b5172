"""Attempts as bars on lanes: long ones each by itself, those narrower than a screen's pixels merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from rayscope.store.errors import BadQuery
from rayscope.store.flow_sql import (
    CREATED,
    END,
    REACHED,
    SUMMED,
    WAITS,
    hex_id,
    still_blocked,
    total,
)
from rayscope.store.query import call_lanes
from rayscope.store.query.attempts import attempt_filters
from rayscope.store.query.lanes import LABELLED, LABELS, NAME, lanes_by
from rayscope.store.query.pages import Row, Where, rows_of
from rayscope.store.session_file import SessionFile

#: The lane of what has not come to a worker: no id begins so.
NOT_PLACED = " not placed"
MAX_BARS = 10_000
MAX_SPANS = 5_000
BUCKETS = 400
#: A bar of so many resolutions is told with its phases.
_DETAILED = 6


class Frame(NamedTuple):
    """What stays when the window moves: when all begins and ends, some lanes, and by ``bucket_ns`` from
    ``origin_ns`` on how many attempts began and ended at their workers, and the sums of these times.
    """

    origin_ns: int
    end_ns: int
    attempts: int
    lanes: list[Row]
    lanes_total: int
    bucket_ns: int
    begins: list[tuple[int, int, int]]
    ends: list[tuple[int, int, int]]


class Picture(NamedTuple):
    """What is on record of a window (docs/api.md). Times of bars and spans are relative to the origin.

    ``spans``: (index of the bar, begin, end) of the stretches in which the longer ones were blocked.
    """

    resolution_ns: int
    bars: list[Row]
    spans: list[tuple[int, int, int]]
    in_window: int
    left_out: int


def resolution(span: int, width: int) -> int:
    """The smallest power of two (ns) that is at least a pixel's share of a span."""
    return 1 << max(0, -(-span // width) - 1).bit_length()


def frame(
    file: SessionFile,
    filters: Mapping[str, Any],
    *,
    by: str,
    lanes_from: int,
    lanes: int,
    last_ns: int,
    levels: int,
) -> Frame:
    """The lanes of all attempts that the filters leave, whatever their window. Raises BadQuery.

    ``levels``: down to which depth lanes by call path are told apart.
    """
    base = _base(filters, by, last_ns)
    _, label, order = lanes_by(by)
    with file.reader() as reader:
        calls = call_lanes.prepare(reader, levels) if by == "path" else {}
        extent, lanes_total, shown = _lanes(reader, base, label, order, lanes_from, lanes)
        call_lanes.label(shown, calls)
        if extent is None:
            return Frame(last_ns, last_ns, 0, [], 0, 1, [], [])
        origin, end, attempts = extent
        bucket = max(1, -(-(end - origin) // BUCKETS))
        events = _events(reader, base, origin, bucket)
    return Frame(origin, end, attempts, shown, lanes_total, bucket, *events)


def picture(
    file: SessionFile,
    filters: Mapping[str, Any],
    *,
    by: str,
    width: int,
    last_ns: int,
    extent: tuple[int, int, int],
    lanes: list[str],
    lanes_total: int,
    levels: int,
) -> Picture:
    """The bars of the window ``since_ns`` to ``until_ns`` of the filters. Raises BadQuery.

    ``extent``: origin, end and number of the frame's attempts; ``lanes``: their ids.
    """
    since, until = filters.get("since_ns"), filters.get("until_ns")
    if since is not None and until is not None and until <= since:
        raise BadQuery("until_ns must be after since_ns.", "Give a window of at least 1 ns, or none.")
    origin, end, attempts = extent
    begin, stop = origin if since is None else since, end if until is None else until
    grain = resolution(max(1, stop - begin), width)
    if not lanes:
        return Picture(grain, [], [], 0, 0)
    window = _Window(_base(filters, by, last_ns), lanes, len(lanes) == lanes_total, since, until)
    in_window = None
    with file.reader() as reader:
        if by == "path":
            call_lanes.prepare(reader, levels)
        if attempts > MAX_BARS:
            in_window, grain = _fitting(reader, window, stop - begin, grain)
        bars, lost = _bars(reader, window, origin, grain)
        spans = _blocked(reader, bars, origin, grain, last_ns)
    told = sum(row["count"] for row in bars)
    in_window = told + lost if in_window is None else max(told + lost, in_window)
    return Picture(grain, bars, spans, in_window, in_window - told)


def _base(filters: Mapping[str, Any], by: str, last_ns: int) -> _Base:
    lane, _, _ = lanes_by(by)
    where = attempt_filters({**filters, "since_ns": None, "until_ns": None})
    where.add(f"{CREATED} IS NOT NULL")
    return _Base(where, lane, last_ns)


class _Base:
    """The attempts that the filters leave, and their lanes."""

    def __init__(self, where: Where, lane: str, last_ns: int) -> None:
        self.values = where.values
        self._from = (
            f"{CREATED} AS created_ns, coalesce({REACHED}, {CREATED}) AS began_ns, {END} AS told_end_ns, "
            f"CASE WHEN {REACHED} IS NULL THEN '{NOT_PLACED}' ELSE {lane} END AS lane "
            f"FROM attempts{where.sql}"
        )
        self._last_ns = int(last_ns)

    def select(self, *columns: str) -> str:
        """SQL of them with ``lane``, ``created_ns``, ``began_ns``, ``ended_ns`` and ``told_end_ns`` (NULL for
        those that run still), and more columns.
        """
        more = "".join(f"{column}, " for column in columns)
        return (
            f"SELECT *, greatest(coalesce(told_end_ns, {self._last_ns}), began_ns) AS ended_ns "
            f"FROM (SELECT {more}{self._from})"
        )


class _Window(NamedTuple):
    """A part of their time, ``begin`` to ``stop``, or all of it; on some of the lanes, or on all."""

    base: _Base
    lanes: list[str]
    is_all: bool
    begin: int | None
    stop: int | None

    def select(self, *columns: str) -> tuple[str, list[Any]]:
        """SQL of the attempts in it, see :meth:`_Base.select`, and its parameters."""
        where = Where([], [])
        if not self.is_all:
            where.add("lane IN (SELECT unnest(?::VARCHAR[]))", self.lanes)
        if self.begin is not None:
            where.add("ended_ns >= ?", self.begin)
        if self.stop is not None:
            where.add("began_ns <= ?", self.stop)
        return (
            f"SELECT * FROM ({self.base.select(*columns)}){where.sql}",
            [*self.base.values, *where.values],
        )


def _lanes(
    reader: duckdb.DuckDBPyConnection, base: _Base, label: str, order: str, first: int, most: int
) -> tuple[tuple[int, int, int] | None, int, list[Row]]:
    """When all begins and ends, and how many attempts there are; how many lanes; and some of the lanes with
    what their labels are made of.
    """
    used = ("node_id", "worker_pid", "actor_id", "actor_repr_name")
    every = (
        f"SELECT lane, {label}, count(*) AS attempts, {total('ended_ns - began_ns')} AS busy_ns, "
        "min(began_ns) AS first_ns, min(least(created_ns, began_ns)) AS since, max(ended_ns) AS until "
        f"FROM ({base.select(*used)}) GROUP BY lane"
    )
    sums = "min(since) AS origin, max(until) AS over, sum(attempts)::BIGINT AS told, count(*) AS lanes_total"
    rows = rows_of(
        reader.execute(
            f"WITH every AS MATERIALIZED ({every}), whole AS (SELECT {sums} FROM every), shown AS ("
            f"SELECT {LABELLED} FROM every l {LABELS} "
            f"ORDER BY lane = '{NOT_PLACED}', {order} LIMIT {int(most)} OFFSET {int(first)}) "
            f"SELECT * FROM whole LEFT JOIN shown ON true ORDER BY lane = '{NOT_PLACED}', {order}",
            base.values,
        )
    )
    one = rows[0]
    if not one["told"]:
        return None, 0, []
    extent, lanes_total = (one["origin"], one["over"], one["told"]), one["lanes_total"]
    if one["lane"] is None:
        return extent, lanes_total, []
    for row in rows:
        for name in ("origin", "over", "told", "lanes_total", "first_ns", "repr_name", "since", "until"):
            del row[name]
    return extent, lanes_total, rows


def _fitting(reader: duckdb.DuckDBPyConnection, window: _Window, span: int, grain: int) -> tuple[int, int]:
    """How many attempts are in a window of ``span`` ns, and the resolution (ns) that keeps to
    :data:`MAX_BARS`: bars shorter than two of it are merged with those that begin in the same one.
    """
    attempts, values = window.select()
    in_window = 0
    for steps in (range(5), range(5, 22)):  # nearly always one of the first fits
        grains = [grain << step for step in steps]
        asked = []
        for size in grains:
            asked.append(f"count(*) FILTER (ended_ns - began_ns >= {2 * size})")
            # So many can begin in it, or before it and reach into it.
            most = len(window.lanes) * (span // size + 4)
            short = f"CASE WHEN ended_ns - began_ns < {2 * size} THEN hash(lane, began_ns // {size}) END"
            asked.append(str(most) if most <= MAX_BARS // 2 else f"approx_count_distinct({short})")
        row = reader.execute(f"SELECT count(*), {', '.join(asked)} FROM ({attempts})", values).fetchone()
        in_window, *found = row or (0,)
        for size, long, few in zip(grains, found[::2], found[1::2], strict=True):
            if long + few <= MAX_BARS:
                return in_window, size
    return in_window, grain << 21


def _bars(
    reader: duckdb.DuckDBPyConnection, window: _Window, origin: int, grain: int
) -> tuple[list[Row], int]:
    """The bars of a window at a resolution, the longer ones with when their phases began, from theirs; and
    how many attempts are on lanes that nobody knew when the frame was made.
    """
    bucket = f"CASE WHEN ended_ns - began_ns < {2 * grain} THEN began_ns // {grain} END"
    alone = f"CASE WHEN ended_ns - began_ns >= {2 * grain} THEN hash(task_hi, task_lo, attempt) END"
    failed = "(told_end_ns IS NOT NULL AND failed_ns IS NOT NULL)"
    state = f"CASE WHEN {failed} THEN 'failed' WHEN told_end_ns IS NULL THEN 'running' ELSE 'finished' END"
    attempts, values = window.select("task_hi", "task_lo", "attempt", f"{NAME} AS shown", "failed_ns")
    rows = rows_of(
        reader.execute(
            f"SELECT lane, n AS count, began - {int(origin)} AS begin, "
            f"CASE WHEN n > 1 AND bucket IS NOT NULL THEN least(ended, (bucket + 1) * {grain}) "
            f"ELSE ended END - {int(origin)} AS end, busy, failed, "
            "lower(lpad(to_hex(longest[1]), 16, '0') || longest[2]) "
            "AS task_id, longest[3] AS attempt, longest[4] AS name, longest[5] AS state FROM ("
            f"SELECT lane, {bucket} AS bucket, {alone} AS alone, count(*) AS n, min(began_ns) AS began, "
            f"max(ended_ns) AS ended, {total('ended_ns - began_ns')} AS busy, "
            f"count(*) FILTER ({failed}) AS failed, "
            f"arg_max(row(task_hi, task_lo, attempt, shown, {state}), ended_ns - began_ns) AS longest "
            f"FROM ({attempts}) GROUP BY lane, bucket, alone) "
            f"ORDER BY ended - began DESC, lane, began LIMIT {MAX_BARS + 500}",
            values,
        )
    )
    known = set(window.lanes)  # others may have come since the frame was made
    lost = sum(row["count"] for row in rows if row["lane"] not in known)
    rows = [row for row in rows if row["lane"] in known]
    _add_phases(reader, window, rows, _DETAILED * grain)
    return rows, lost


def _add_phases(reader: duckdb.DuckDBPyConnection, window: _Window, rows: Sequence[Row], least: int) -> None:
    """Add to each row when its phases began, ns from its begin; None where it is shorter than ``least``."""
    begins = {
        "created": "created_ns",
        "waiting_node": "pending_node_assignment_ns",
        "queued": "submitted_to_worker_ns",
        "executing": "coalesce(execute_begin_ns, running_ns)",
        "storing": "execute_end_ns",
    }
    told: dict[tuple[str, int], tuple[int | None, ...]] = {}
    if any(row["count"] == 1 and row["end"] - row["begin"] >= least for row in rows):
        attempts, values = window.select(
            *("task_hi", "task_lo", "attempt", "pending_node_assignment_ns", "submitted_to_worker_ns"),
            *("execute_begin_ns", "running_ns", "execute_end_ns"),
        )
        since = ", ".join(f"{column} - began_ns" for column in begins.values())
        found = reader.execute(
            f"SELECT {hex_id('task')}, attempt, {since} FROM ({attempts}) "
            f"WHERE ended_ns - began_ns >= {least} ORDER BY ended_ns - began_ns DESC LIMIT {MAX_BARS + 500}",
            values,
        )
        told = {(task_id, attempt): tuple(rest) for task_id, attempt, *rest in found.fetchall()}
    nothing = (None,) * len(begins)
    for row in rows:
        row.update(zip(begins, told.get((row["task_id"], row["attempt"]), nothing), strict=True))


def _blocked(
    reader: duckdb.DuckDBPyConnection, bars: Sequence[Row], origin: int, grain: int, last_ns: int
) -> list[tuple[int, int, int]]:
    """(index of the bar, begin, end) of the stretches in which the longer bars' attempts were blocked."""
    wide = {
        (bar["task_id"], bar["attempt"]): at
        for at, bar in enumerate(bars)
        if bar["count"] == 1 and bar["end"] - bar["begin"] >= _DETAILED * grain
    }
    if not wide:
        return []
    tasks = sorted({int(task_id[:16], 16) for task_id, _ in wide})
    found = reader.execute(
        f"SELECT {hex_id('task')}, attempt, begin_ns, end_ns FROM span_rows "
        "WHERE task_hi IN (SELECT unnest($tasks::UBIGINT[])) "
        f"AND {WAITS} AND end_ns - begin_ns >= $grain AND NOT coalesce({SUMMED}, false) UNION ALL "
        "SELECT task_id, attempt, begin_ns, $last FROM "
        f"({still_blocked('b.task_hi IN (SELECT unnest($tasks::UBIGINT[]))')}) "
        f"ORDER BY end_ns - begin_ns DESC LIMIT {MAX_SPANS}",
        {"tasks": tasks, "grain": grain, "last": last_ns},
    ).fetchall()
    spans: list[tuple[int, int, int]] = []
    for task_id, attempt, begin, end in found:
        at = wide.get((task_id, attempt))
        if at is None:
            continue
        begin, end = max(begin - origin, bars[at]["begin"]), min(end - origin, bars[at]["end"])
        if end > begin:
            spans.append((at, begin, end))
    return spans


def _events(
    reader: duckdb.DuckDBPyConnection, base: _Base, origin: int, bucket: int
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """By bucket, how many attempts began and ended at their workers, and the sums of these times."""
    begin, end = f"(began_ns - {int(origin)})", f"(ended_ns - {int(origin)})"
    found = reader.execute(
        f"WITH cells AS MATERIALIZED (SELECT {begin} // {int(bucket)} AS began_in, "
        f"{end} // {int(bucket)} AS ended_in, count(*) AS n, sum({begin}) AS begins, sum({end}) AS ends "
        f"FROM ({base.select()}) WHERE lane != '{NOT_PLACED}' GROUP BY ALL) "
        "SELECT true, began_in, sum(n), sum(begins) FROM cells GROUP BY began_in UNION ALL "
        "SELECT false, ended_in, sum(n), sum(ends) FROM cells GROUP BY ended_in",
        base.values,
    ).fetchall()
    return (
        [(at, int(n), int(times)) for is_begin, at, n, times in found if is_begin],
        [(at, int(n), int(times)) for is_begin, at, n, times in found if not is_begin],
    )
