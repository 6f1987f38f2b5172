"""Attempts as bars on lanes. Long attempts have bars of their own. Those narrower than a pixel are merged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from rayscope.model import CUT_OFF
from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import call_lanes
from rayscope.storage.sql.execution import (
    AWAITING,
    CREATED,
    END,
    IS_AWAITING,
    REACHED,
    START_LOST,
    SUMMED,
    TASK_ID,
    WAITS,
    actors_worker,
    ended_at,
    hex_id,
    still_blocked,
    total,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.lanes import LABELLED, LABELS, NAME, lanes_by
from rayscope.storage.sql.open_intervals import mean_open
from rayscope.storage.sql.pages import Row, Where, rows_of
from rayscope.storage.sql.worker_names import name_lanes

#: The lane of attempts that have not reached a worker. No ID begins with a blank.
NOT_PLACED = " not placed"
#: Maximum number of bars. This and the next two limits keep a response below 1 MB.
MAX_BARS = 7_500
#: Maximum number of periods when attempts were blocked or awaiting.
MAX_SPANS = 1_500
#: Maximum number of bars that include their phases.
MAX_DETAILED = 1_500
#: Number of buckets in which the utilization over the extent is computed.
BUCKETS = 400
#: Bars at least this many times as wide as the resolution include their phases.
_DETAILED = 6
#: Maximum number of times that the resolution is doubled to reduce the number of bars.
_STEPS = 21


_FAILED = f"({END} IS NOT NULL AND state = 'FAILED')"
#: SQL for the start time of each phase, by name.
_BEGINS = {
    "created": CREATED,
    "waiting_node": "pending_node_assignment_ns",
    "queued": f"CASE WHEN NOT {START_LOST} THEN submitted_to_worker_ns END",
    "executing": "coalesce(execute_begin_ns, running_ns)",
    "storing": "execute_end_ns",
}


class Extent(NamedTuple):
    """The part that does not depend on the window: the total time range, and some of the lanes.

    ``max_memory``: the largest peak memory of all attempts.
    """

    origin_ns: int
    end_ns: int
    attempts: int
    max_memory: int | None
    lanes: list[Row]
    lanes_total: int


class WindowBars(NamedTuple):
    """The bars of a window (docs/reference/api.md). Times of bars and spans are relative to the origin.

    ``spans`` contains (index of the bar, begin, end, is_awaiting) for each period when an attempt of a longer
    bar was blocked, or awaited something other than object references.
    """

    resolution_ns: int
    bars: list[Row]
    spans: list[tuple[int, int, int, bool]]
    in_window: int
    left_out: int


def resolution(span: int, width: int) -> int:
    """Return the resolution in ns: the smallest power of two that is at least one pixel wide."""
    return 1 << max(0, -(-span // width) - 1).bit_length()


def extent(
    file: SessionFile,
    filters: TaskFilters,
    *,
    by: str,
    lanes_from: int,
    lanes: int,
    last_ns: int,
    levels: int,
) -> Extent:
    """Return the lanes of all attempts that match the filters, regardless of the window. Raises BadQuery.

    Lanes by call path are separate down to a depth of ``levels``.
    """
    lane, label, order = lanes_by(by)
    base = _base(filters, lane, last_ns, by)
    with file.reader() as reader:
        calls = call_lanes.prepare(reader, levels) if by == "path" else {}
        extent, lanes_total, shown = _lanes(reader, base, label, order, lanes_from, lanes)
        call_lanes.label(shown, calls)
        name_lanes(reader, shown, by)
    if extent is None:
        return Extent(last_ns, last_ns, 0, None, [], 0)
    return Extent(*extent, shown, lanes_total)


def utilisation(
    file: SessionFile, filters: TaskFilters, origin: int, end: int, *, last_ns: int
) -> tuple[int, list[float]]:
    """Return the width of a bucket (ns), and the mean number of attempts on workers in each bucket.

    The buckets divide an extent from ``origin`` to ``end``, over all lanes.
    """
    width = max(1, -(-(end - origin) // BUCKETS))
    base = _base(filters, "''", last_ns)
    on_workers = f"SELECT began_ns AS began, ended_ns AS ended FROM ({base.select()}) WHERE NOT waits"
    buckets = -(-max(1, end - origin) // width)
    with file.reader() as reader:
        return width, mean_open(reader, on_workers, base.values, begin=origin, width=width, buckets=buckets)


def window_bars(
    file: SessionFile,
    filters: TaskFilters,
    *,
    by: str,
    width: int,
    last_ns: int,
    extent: tuple[int, int],
    lanes: list[str],
    lanes_total: int,
    levels: int,
) -> WindowBars:
    """Return the bars between ``since_ns`` and ``until_ns`` of the filters. Raises BadQuery.

    ``extent`` is (origin, end), and ``lanes`` contains the IDs of its lanes.
    """
    since, until = filters.since_ns, filters.until_ns
    if since is not None and until is not None and until <= since:
        raise BadQuery(
            "until_ns must be after since_ns.", "Use a window of at least 1 ns, or none.", what="time_range"
        )
    origin, end = extent
    begin, stop = origin if since is None else since, end if until is None else until
    grain = resolution(max(1, stop - begin), width)
    if not lanes:
        return WindowBars(grain, [], [], 0, 0)
    base = _base(filters, lanes_by(by)[0], last_ns, by)
    window = _Window(base, lanes, len(lanes) == lanes_total, since, until)
    with file.reader() as reader:
        if by == "path":
            call_lanes.prepare(reader, levels)
        in_window = _cells(reader, window, grain)
        step, is_all_merged = _fitting(reader)
        bars = _bars(reader, None if is_all_merged else window, lanes, origin, grain, step)
        spans = _blocked(reader, bars, origin, grain << step, last_ns)
    shown = sum(row["count"] for row in bars)
    return WindowBars(grain << step, bars, spans, in_window, in_window - shown)


def _base(filters: TaskFilters, lane: str, last_ns: int, by: str | None = None) -> _Base:
    where = attempt_filters(filters.without_range())
    where.add(f"{CREATED} IS NOT NULL")
    return _Base(where, lane, last_ns, by)


class _Base:
    """The attempts that match the filters, with their lanes of kind ``by``.

    A call that waits for its actor is on the lane of the actor or its worker. On these lanes, a bar covers
    the time when a call executed, if that is recorded, because actors start to execute a call while they are
    still storing the outputs of others.
    """

    def __init__(self, where: Where, lane: str, last_ns: int, by: str | None = None) -> None:
        self.values = where.values
        begin, end, unplaced = REACHED, ended_at("NULL"), f"'{NOT_PLACED}'"
        if by in ("actor", "worker"):
            executed = "CASE WHEN type = 'ACTOR_TASK' THEN execute_{}_ns END"
            begin = f"coalesce({executed.format('begin')}, {REACHED})"
            end = f"coalesce({executed.format('end')}, {end})"
        if by == "actor":
            unplaced = f"coalesce(actor_id, {unplaced})"
        elif by == "worker":
            unplaced = f"coalesce({actors_worker('attempts')}, {unplaced})"
        lane = f"CASE WHEN {REACHED} IS NULL THEN {unplaced} ELSE {lane} END"
        self._from = (
            f"{CREATED} AS created_ns, coalesce({begin}, {CREATED}) AS began_ns, {end} AS told_end_ns, "
            f"{REACHED} IS NULL AS waits, {lane} AS lane "
            f"FROM attempts{where.sql}"
        )
        self._last_ns = int(last_ns)

    def select(self, *columns: str) -> str:
        """Return SQL for the attempts with their lanes and times, plus ``columns``.

        The SQL has the columns ``lane``, ``waits`` (not yet on a worker), ``created_ns``, ``began_ns``,
        ``ended_ns``, and ``told_end_ns`` (the recorded end, NULL for running attempts).
        """
        more = "".join(f"{column}, " for column in columns)
        return (
            f"SELECT *, greatest(coalesce(told_end_ns, {self._last_ns}), began_ns) AS ended_ns "
            f"FROM (SELECT {more}{self._from})"
        )


class _Window(NamedTuple):
    """The attempts on some or all lanes between ``begin`` and ``stop``. None means no limit."""

    base: _Base
    lanes: list[str]
    is_all: bool
    begin: int | None
    stop: int | None

    def select(self, *columns: str) -> tuple[str, list[Any]]:
        """Return SQL for the attempts in the window (see :meth:`_Base.select`), and its parameters."""
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
    reader: duckdb.DuckDBPyConnection, base: _Base, label: str, order: str, offset: int, limit: int
) -> tuple[tuple[int, int, int, int | None] | None, int, list[Row]]:
    """Return the total (begin, end, attempts, largest peak memory), the number of lanes, and the requested
    lanes with labels.
    """
    used = ("node_id", "worker_pid", "actor_id", "actor_repr_name", "peak_memory")
    busy = total(f"CASE WHEN NOT waits OR lane = '{NOT_PLACED}' THEN ended_ns - began_ns END")
    every = (
        f"SELECT lane, {label}, count(*) AS attempts, {busy} AS busy_ns, "
        "count(*) FILTER (waits AND told_end_ns IS NULL) AS waiting, "
        "max(peak_memory) AS max_memory, min(began_ns) AS first_ns, "
        "min(least(created_ns, began_ns)) AS since, max(ended_ns) AS until "
        f"FROM ({base.select(*used)}) GROUP BY lane"
    )
    sums = (
        "min(since) AS origin, max(until) AS over, sum(attempts)::BIGINT AS total, max(max_memory) AS peak, "
        "count(*) AS lanes_total"
    )
    rows = rows_of(
        reader.execute(
            f"WITH every AS MATERIALIZED ({every}), whole AS (SELECT {sums} FROM every), shown AS ("
            f"SELECT {LABELLED} FROM every l {LABELS} "
            f"ORDER BY lane = '{NOT_PLACED}', {order} LIMIT {int(limit)} OFFSET {int(offset)}) "
            f"SELECT * FROM whole LEFT JOIN shown ON true ORDER BY lane = '{NOT_PLACED}', {order}",
            base.values,
        )
    )
    first = rows[0]
    if not first["total"]:
        return None, 0, []
    extent = (first["origin"], first["over"], first["total"], first["peak"])
    lanes_total = first["lanes_total"]
    if first["lane"] is None:
        return extent, lanes_total, []
    for row in rows:
        for name in (
            "origin",
            "over",
            "total",
            "peak",
            "lanes_total",
            "first_ns",
            "repr_name",
            "since",
            "until",
        ):
            del row[name]
    return extent, lanes_total, rows


def _cells(reader: duckdb.DuckDBPyConnection, window: _Window, grain: int) -> int:
    """Create the table ``cells``, and return the number of attempts in the window.

    Each row is a group of attempts that have the same lane, are all waiting or all not, and begin in the same
    ``cell`` (a period of ``grain`` ns, a power of two). They also have the same ``steps``: how often the
    grain must be doubled until they are shorter than two grains. ``longest`` is the row of the longest
    attempt, and ``peak`` the largest peak memory.
    """
    attempts, values = window.select("rowid AS place", f"{_FAILED} AS has_failed", "peak_memory")
    exponent = grain.bit_length() - 1  # shifts are faster than divisions
    doubled = f"(took >> {exponent + 1})"
    reader.execute(
        f"CREATE TEMP TABLE cells AS SELECT lane, waits, began_ns >> {exponent} AS cell, "
        f"CASE WHEN {doubled} > 0 THEN floor(log2(least({doubled}, {1 << _STEPS})))::INTEGER + 1 ELSE 0 END "
        "AS steps, count(*) AS n, min(began_ns) AS began, max(ended_ns) AS ended, "
        f"{total('took')} AS busy, count(*) FILTER (has_failed) AS failed, "
        "arg_max(place, took) AS longest, max(took) AS most, max(peak_memory) AS peak "
        f"FROM (SELECT *, ended_ns - began_ns AS took FROM ({attempts})) GROUP BY lane, waits, cell, steps",
        values,
    )
    found = reader.execute("SELECT coalesce(sum(n), 0)::BIGINT FROM cells").fetchone()
    return found[0] if found else 0


def _fitting(reader: duckdb.DuckDBPyConnection) -> tuple[int, bool]:
    """Return how often to double the resolution to respect MAX_BARS, and whether all bars are merged.

    Attempts shorter than twice the resolution are merged with those that begin in the same cell.
    """
    alone = dict(reader.execute("SELECT steps, sum(n)::BIGINT FROM cells GROUP BY steps").fetchall())
    for step in range(_STEPS):
        room = MAX_BARS - sum(n for steps, n in alone.items() if steps > step)
        if room < 0:
            continue
        merged = reader.execute(
            f"SELECT count(*) FROM (SELECT DISTINCT lane, waits, cell >> {step} FROM cells "
            f"WHERE steps <= {step})"
        ).fetchone()
        if merged and merged[0] <= room:
            return step, room == MAX_BARS
    return _STEPS, max(alone) <= _STEPS


def _bars(
    reader: duckdb.DuckDBPyConnection,
    window: _Window | None,
    lanes: list[str],
    origin: int,
    grain: int,
    step: int,
) -> list[Row]:
    """Return the bars of a window at the resolution ``grain << step``.

    Long bars include the start times of their phases, relative to the bar's start. ``window`` is None if all
    bars are merged. Bars on lanes that are not in ``lanes`` are left out.
    """
    size = grain << step
    alone = ""
    values: list[Any] = []
    if window is not None:
        attempts, values = window.select("rowid AS place", f"{_FAILED} AS has_failed", "peak_memory")
        alone = (
            "UNION ALL SELECT lane, waits, 1, began_ns, ended_ns, NULL, ended_ns - began_ns, "
            f"has_failed::BIGINT, place, peak_memory FROM ({attempts}) "
            f"WHERE ended_ns - began_ns >= {2 * size}"
        )
    state = (
        f"CASE WHEN {_FAILED} THEN 'failed' "
        f"WHEN {END} IS NULL THEN CASE WHEN waits THEN 'waiting' ELSE 'running' END "
        f"WHEN state = '{CUT_OFF}' THEN 'cut_off' ELSE 'finished' END AS state"
    )
    longest = reader.execute("SELECT max(most) FROM cells").fetchone()
    any_wide = longest is not None and (longest[0] or 0) >= _DETAILED * size
    begins = ", ".join(
        f"{f'{column} - began_at' if any_wide else 'NULL'} AS {name}" for name, column in _BEGINS.items()
    )
    rows = rows_of(
        reader.execute(
            f"""
WITH bars AS MATERIALIZED (
    SELECT * FROM (
        SELECT lane, waits, sum(n)::BIGINT AS n, min(began) AS began_at, max(ended) AS ended_at,
            (cell >> {step}) AS cell, {total("busy")} AS busy, sum(failed)::BIGINT AS failed,
            arg_max(longest, most) AS place, max(peak) AS peak
        FROM cells WHERE steps <= {step} GROUP BY lane, waits, cell >> {step} {alone})
    ORDER BY ended_at - began_at DESC, lane, began_at LIMIT {MAX_BARS})
SELECT b.lane AS lane, waits, n AS count, began_at - {int(origin)} AS begin,
    CASE WHEN n > 1 AND cell IS NOT NULL THEN least(ended_at, (cell + 1) * {size}) ELSE ended_at END
        - {int(origin)} AS end,
    busy, failed, {TASK_ID} AS task_id, attempt, {NAME} AS name, {state}, peak AS peak_memory,
    n = 1 AND peak IS NOT NULL AND memory_scope = 'shared' AS is_shared, {begins}
FROM bars b JOIN attempts ON attempts.rowid = b.place
ORDER BY ended_at - began_at DESC, b.lane, began_at""",
            values,
        )
    )
    known = set(lanes)  # lanes may have been added since the extent was computed
    rows = [row for row in rows if row["lane"] in known]
    detailed = 0
    for row in rows:
        is_wide = row["count"] == 1 and row["end"] - row["begin"] >= _DETAILED * size
        detailed += is_wide
        if not is_wide or detailed > MAX_DETAILED:
            row.update(dict.fromkeys(_BEGINS))
    return rows


def _blocked(
    reader: duckdb.DuckDBPyConnection, bars: Sequence[Row], origin: int, grain: int, last_ns: int
) -> list[tuple[int, int, int, bool]]:
    """Return the periods when attempts of longer bars were blocked or awaiting.

    Each is (index of the bar, begin, end, is_awaiting). Suspensions that were recorded as one sum count if
    they make up at least half of their period.
    """
    wide = {(bar["task_id"], bar["attempt"]): at for at, bar in enumerate(bars) if bar["created"] is not None}
    if not wide:
        return []
    tasks = sorted({int(task_id[:16], 16) for task_id, _ in wide})
    found = reader.execute(
        f"SELECT {hex_id('task')}, attempt, begin_ns, end_ns, name FROM span_rows "
        "WHERE task_hi IN (SELECT unnest($tasks::UBIGINT[])) AND end_ns - begin_ns >= $grain AND "
        f"(({WAITS} AND NOT coalesce({SUMMED}, false)) OR ({IS_AWAITING} AND (NOT coalesce({SUMMED}, false) "
        "OR 2 * TRY_CAST(json_extract(extra, '$.blocked_ns') AS BIGINT) >= end_ns - begin_ns))) UNION ALL "
        "SELECT task_id, attempt, begin_ns, $last, name FROM "
        f"({still_blocked('b.task_hi IN (SELECT unnest($tasks::UBIGINT[]))')}) "
        f"ORDER BY end_ns - begin_ns DESC LIMIT {MAX_SPANS}",
        {"tasks": tasks, "grain": grain, "last": last_ns},
    ).fetchall()
    spans: list[tuple[int, int, int, bool]] = []
    for task_id, attempt, begin, end, name in found:
        at = wide.get((task_id, attempt))
        if at is None:
            continue
        begin, end = max(begin - origin, bars[at]["begin"]), min(end - origin, bars[at]["end"])
        if end > begin:
            spans.append((at, begin, end, name == AWAITING))
    return spans
