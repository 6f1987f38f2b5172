"""Attempts as bars on lanes: long ones each by itself, those narrower than a screen's pixels merged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from rayscope.store.errors import BadQuery
from rayscope.store.flow_sql import CREATED, END, SUMMED, WAITS, hex_id, still_blocked
from rayscope.store.query.attempts import attempt_filters
from rayscope.store.query.pages import Row, Where, rows_of
from rayscope.store.session_file import SessionFile

#: When an attempt came to its worker. What waits there in a queue does not hold it yet.
REACHED = (
    "coalesce(least(running_ns, getting_and_pinning_args_ns), execute_begin_ns, "
    "CASE WHEN coalesce(failed_ns, finished_ns) IS NOT NULL THEN submitted_to_worker_ns END)"
)
#: The lane of what has not come to a worker: no id begins so.
NOT_PLACED = " not placed"
MAX_BARS = 10_000
MAX_SPANS = 5_000
BUCKETS = 400
#: A bar of so many resolutions is told with its phases.
_DETAILED = 6
_NAME = "coalesce(func_name, name, '')"
_OF_WORKER = (
    "max(node_id) AS node_id, max(worker_pid) AS pid, max(actor_id) AS actor_id, "
    "max(actor_repr_name) AS repr_name"
)
#: By -> (SQL of the lane, of what its label is made of, order of lanes).
_LANES: Mapping[str, tuple[str, str, str]] = {
    "worker": (
        "coalesce(worker_id, '')",
        _OF_WORKER,
        "label NULLS LAST, node_id, first_ns, lane",
    ),
    "actor": (
        "coalesce(actor_id, '')",
        _OF_WORKER,
        "lane = '', first_ns, lane",
    ),
    "function": (
        _NAME,
        "NULL AS node_id, NULL AS pid, NULL AS actor_id, NULL AS repr_name",
        "busy_ns DESC, lane",
    ),
    "node": (
        "coalesce(node_id, '')",
        "max(node_id) AS node_id, NULL AS pid, NULL AS actor_id, NULL AS repr_name",
        "label NULLS LAST, first_ns, lane",
    ),
}


class Picture(NamedTuple):
    """What is on record of a window (docs/api.md). Times of bars and spans are relative to ``origin_ns``."""

    origin_ns: int
    end_ns: int
    attempts: int
    resolution_ns: int
    lanes: list[Row]
    lanes_total: int
    bars: list[Row]
    spans: list[tuple[int, int, int]]
    in_window: int
    left_out: int
    bucket_ns: int
    begins: list[tuple[int, int, int]]
    ends: list[tuple[int, int, int]]


def resolution(span: int, width: int) -> int:
    """The smallest power of two (ns) that is at least a pixel's share of a span."""
    return 1 << max(0, -(-span // width) - 1).bit_length()


def gantt(
    file: SessionFile,
    filters: Mapping[str, Any],
    *,
    by: str,
    width: int,
    lanes_from: int,
    lanes: int,
    overview: bool,
    last_ns: int,
) -> Picture:
    """The picture of the window ``since_ns`` to ``until_ns`` of the filters. Raises BadQuery."""
    if by not in _LANES:
        raise BadQuery(f"Lanes by {by[:80]!r} are unknown.", f"by is one of: {', '.join(_LANES)}.")
    since, until = filters.get("since_ns"), filters.get("until_ns")
    if since is not None and until is not None and until <= since:
        raise BadQuery("until_ns must be after since_ns.", "Give a window of at least 1 ns, or none.")
    where = attempt_filters({**filters, "since_ns": None, "until_ns": None})
    where.add(f"{CREATED} IS NOT NULL")
    lane, label, order = _LANES[by]
    base = (
        f"SELECT *, greatest(coalesce({END}, {int(last_ns)}), began_ns) AS ended_ns FROM ("
        f"SELECT task_hi, task_lo, attempt, {_NAME} AS shown, node_id, worker_pid, actor_id, "
        f"actor_repr_name, failed_ns, finished_ns, pending_node_assignment_ns, "
        f"submitted_to_worker_ns, execute_begin_ns, running_ns, execute_end_ns, "
        f"{CREATED} AS created_ns, coalesce({REACHED}, {CREATED}) AS began_ns, "
        f"CASE WHEN {REACHED} IS NULL THEN '{NOT_PLACED}' ELSE {lane} END AS lane FROM attempts{where.sql})"
    )
    with file.reader() as reader:
        extent = reader.execute(
            f"SELECT min(least(created_ns, began_ns)), max(ended_ns), count(*) FROM ({base})", where.values
        ).fetchone()
        if extent is None or extent[2] == 0:
            return Picture(last_ns, last_ns, 0, 1, [], 0, [], [], 0, 0, 1, [], [])
        origin, end, attempts = extent
        total, shown = _lanes(reader, base, where, label, order, lanes_from, lanes)
        begin, stop = origin if since is None else since, end if until is None else until
        grain = resolution(max(1, stop - begin), width)
        bars, in_window, grain = _bars(reader, base, where, shown, begin, stop, origin, grain)
        spans = _blocked(reader, bars, origin, grain, last_ns)
        bucket = max(1, -(-(end - origin) // BUCKETS))
        events = _events(reader, base, where, origin, bucket) if overview else ([], [])
    told = sum(row["count"] for row in bars)
    return Picture(
        origin, end, attempts, grain, shown, total, bars, spans, in_window, in_window - told, bucket, *events
    )


def _lanes(
    reader: duckdb.DuckDBPyConnection, base: str, where: Where, label: str, order: str, first: int, most: int
) -> tuple[int, list[Row]]:
    """How many lanes there are, and some of them with what their labels are made of."""
    rows = rows_of(
        reader.execute(
            f"SELECT *, count(*) OVER () AS lanes_total FROM (SELECT l.*, "
            "coalesce(n.node_name, n.node_ip, n.hostname) AS label, n.node_ip AS node_ip, "
            "a.class_name AS class_name, coalesce(nullif(a.name, ''), l.repr_name) AS actor_name "
            f"FROM (SELECT lane, {label}, count(*) AS attempts, "
            "least(sum(ended_ns - began_ns), 9000000000000000000)::BIGINT AS busy_ns, "
            f"min(began_ns) AS first_ns FROM ({base}) GROUP BY lane) l "
            "LEFT JOIN node_rows n ON n.id = l.node_id LEFT JOIN actor_rows a ON a.id = l.actor_id) "
            f"ORDER BY lane = '{NOT_PLACED}', {order} LIMIT {int(most)} OFFSET {int(first)}",
            where.values,
        )
    )
    if not rows:
        counted = reader.execute(f"SELECT count(DISTINCT lane) FROM ({base})", where.values).fetchone()
        return (counted[0] if counted else 0), []
    total = rows[0]["lanes_total"]
    for row in rows:
        del row["lanes_total"], row["first_ns"], row["repr_name"]
    return total, rows


def _bars(
    reader: duckdb.DuckDBPyConnection,
    base: str,
    where: Where,
    lanes: Sequence[Row],
    begin: int,
    stop: int,
    origin: int,
    grain: int,
) -> tuple[list[Row], int, int]:
    """The bars of some lanes in a window, how many attempts are in it, and the resolution (ns) that keeps to
    :data:`MAX_BARS`: bars shorter than two of it are merged with those that begin in the same one.
    """
    window = (
        f"SELECT * FROM ({base}) WHERE lane IN (SELECT unnest(?::VARCHAR[])) "
        "AND ended_ns >= ? AND began_ns <= ?"
    )
    values = [*where.values, [row["lane"] for row in lanes], begin, stop]
    grains = [grain << step for step in range(22)]
    sizes = ", ".join(
        f"count(*) FILTER (ended_ns - began_ns >= {2 * size}) + approx_count_distinct(CASE WHEN "
        f"ended_ns - began_ns < {2 * size} THEN hash(lane, began_ns // {size}) END)"
        for size in grains
    )
    counted = reader.execute(f"SELECT count(*), {sizes} FROM ({window})", values).fetchone()
    in_window, *found = counted or (0,)
    grain = next((size for size, bars in zip(grains, found, strict=True) if bars <= MAX_BARS), grains[-1])
    bucket = f"CASE WHEN ended_ns - began_ns < {2 * grain} THEN began_ns // {grain} END"
    own = "CASE WHEN ended_ns - began_ns < {0} THEN NULL ELSE {1} END"
    alone = own.format(2 * grain, "hash(task_hi, task_lo, attempt)")
    failed, running = f"({END} IS NOT NULL AND failed_ns IS NOT NULL)", f"({END} IS NULL)"
    state = f"CASE WHEN {failed} THEN 'failed' WHEN {running} THEN 'running' ELSE 'finished' END"
    offsets = ("created_ns", "pending_node_assignment_ns", "submitted_to_worker_ns")
    details = ", ".join(
        own.format(_DETAILED * grain, f"{column} - began_ns")
        for column in (*offsets, "coalesce(execute_begin_ns, running_ns)", "execute_end_ns")
    )
    names = ("created", "waiting_node", "queued", "executing", "storing")
    longest = ", ".join(f"longest[{at + 6}] AS {name}" for at, name in enumerate(names))
    rows = rows_of(
        reader.execute(
            f"SELECT lane, n AS count, began - {int(origin)} AS begin, "
            f"CASE WHEN n > 1 AND bucket IS NOT NULL THEN least(ended, (bucket + 1) * {grain}) "
            f"ELSE ended END - {int(origin)} AS end, busy, failed, "
            f"lower(lpad(to_hex(longest[1]), 16, '0') || longest[2]) "
            f"AS task_id, longest[3] AS attempt, longest[4] AS name, longest[5] AS state, {longest} FROM ("
            f"SELECT lane, {bucket} AS bucket, {alone} AS alone, count(*) AS n, min(began_ns) AS began, "
            "max(ended_ns) AS ended, sum(ended_ns - began_ns)::BIGINT AS busy, "
            f"count(*) FILTER ({failed}) AS failed, "
            f"arg_max(row(task_hi, task_lo, attempt, shown, {state}, {details}), ended_ns - began_ns) "
            f"AS longest FROM ({window}) GROUP BY ALL) "
            f"ORDER BY ended - began DESC, lane, began LIMIT {MAX_BARS + 500}",
            values,
        )
    )
    return rows, in_window, grain


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
    reader: duckdb.DuckDBPyConnection, base: str, where: Where, origin: int, bucket: int
) -> tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """By bucket, how many attempts began and ended at their workers, and the sums of these times."""
    found = []
    for column in ("began_ns", "ended_ns"):
        found.append(
            reader.execute(
                f"SELECT ({column} - {int(origin)}) // {int(bucket)} AS bucket, count(*), "
                f"sum({column} - {int(origin)}) FROM ({base}) WHERE lane != '{NOT_PLACED}' GROUP BY bucket",
                where.values,
            ).fetchall()
        )
    return found[0], found[1]
