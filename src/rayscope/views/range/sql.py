"""Attempts, their phases, functions, and lanes in a time range, all clipped to the range."""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import call_lanes
from rayscope.storage.sql.execution import (
    CREATED,
    END,
    REACHED,
    SCHEDULING_PHASES,
    attempt_key,
    ended_at,
    function_name,
    phase_begins,
    phase_durations,
    total,
    waited_columns,
    waited_ns,
    with_worker_starts,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.lanes import LABELLED, LABELS, lanes_by
from rayscope.storage.sql.pages import Row, Where, rows_of
from rayscope.storage.sql.worker_names import name_lanes

#: Maximum number of functions and of lanes in a response: those with the most time.
MAX_ROWS = 100
#: With more attempts on workers than this, the maximum number at the same time is not computed, because it
#: takes two events per attempt.
MAX_COUNTED = 1_000_000
_KEY = "task_hi, task_lo, attempt"
_PHASES = ", ".join(f"{total(f'{phase}_ns')} AS {phase}_ns" for phase in SCHEDULING_PHASES)


class RangeSums(NamedTuple):
    """Sums over the attempts that overlap a range (docs/reference/api.md). ``phases`` are in ns.

    ``most`` is the maximum number of attempts on workers at the same time. If it was not computed, it is
    None, and the lanes have no ``rows``.
    """

    since_ns: int
    until_ns: int
    attempts: int
    busy_ns: int
    most: int | None
    states: dict[str, int]
    phases: dict[str, int]
    functions: list[Row]
    functions_total: int
    lanes: list[Row]
    lanes_total: int


def range_sums(
    file: SessionFile,
    filters: TaskFilters,
    *,
    by: str,
    last_ns: int,
    levels: int = call_lanes.MAX_LEVELS,
) -> RangeSums:
    """Return sums over the attempts that match ``filters`` between their ``since_ns`` and ``until_ns``.

    If one of these is absent, the range begins with the first attempt or ends with the last one. ``by`` and
    ``levels`` select the lanes, as in the Gantt chart. Attempts without an end last until ``last_ns``. Raises
    BadQuery.
    """
    lane, _, _ = lanes_by(by)
    where = attempt_filters(filters)
    where.add(f"{CREATED} IS NOT NULL")
    with file.reader() as reader:
        calls = call_lanes.prepare(reader, levels) if by == "path" else {}
        since, until = _extent(reader, where, filters, last_ns)
        if until <= since:
            raise BadQuery(
                "until_ns must be after since_ns.",
                "Use a range of at least 1 ns, or none.",
                what="time_range",
            )
        touching = _touching(where, lane, since, until, int(last_ns))
        reader.execute(f"CREATE TEMP TABLE sums AS {touching}", where.values)
        (whole,) = rows_of(
            reader.execute(
                f"SELECT {total('attempts')} AS attempts, {total('placed')} AS placed, "
                f"{total('busy_ns')} AS busy_ns, {_PHASES} FROM sums"
            )
        )
        states = dict(
            reader.execute(
                "SELECT state, sum(attempts)::BIGINT FROM sums GROUP BY state ORDER BY 2 DESC, state"
            ).fetchall()
        )
        functions, functions_total = _functions(reader)
        lanes, lanes_total = _lanes(reader, by)
        call_lanes.label(lanes, calls)
        name_lanes(reader, lanes, by)
        most = None
        if whole["placed"] <= MAX_COUNTED:
            most = _max_at_a_time(reader, where, lane, since, until, int(last_ns), lanes)
    return RangeSums(
        since,
        until,
        whole["attempts"],
        whole["busy_ns"],
        most,
        states,
        {phase: whole[f"{phase}_ns"] for phase in SCHEDULING_PHASES},
        functions,
        functions_total,
        lanes,
        lanes_total,
    )


def _extent(
    reader: duckdb.DuckDBPyConnection, where: Where, filters: TaskFilters, last_ns: int
) -> tuple[int, int]:
    """Return the requested range. A missing bound is taken from the start or end of the attempts."""
    since, until = filters.since_ns, filters.until_ns
    if since is not None and until is not None:
        return int(since), int(until)
    found = reader.execute(
        f"SELECT min({CREATED}), max(greatest(coalesce({END}, {int(last_ns)}), {CREATED})) "
        f"FROM attempts{where.sql}",
        where.values,
    ).fetchone()
    first, last = found if found and found[0] is not None else (last_ns, last_ns)
    if until is None:
        since = first if since is None else since
        return int(since), int(max(last, since + 1))
    return int(min(first, until - 1)), int(until)


def _touching(where: Where, lane: str, since: int, until: int, last: int) -> str:
    """Return SQL for one row per lane, function, and state.

    Each row has the number of attempts, how many of them were on workers inside the range (``placed``), the
    largest peak memory of these, their time there (``busy_ns``), and the phases. The parameters are those of
    ``where``.
    """
    inside = (str(since), str(until))
    placed = f"lane IS NOT NULL AND began_ns <= {until} AND ended_ns >= {since}"
    busy = f"greatest(0, least(ended_ns, {until}) - greatest(began_ns, {since}))"
    ended = f"SELECT {_KEY}, {ended_at(last)} AS ended FROM attempts"
    return f"""
SELECT lane, shown, state, max(node_id) AS node_id, max(worker_pid) AS worker_pid, max(actor_id) AS actor_id,
    max(actor_repr_name) AS actor_repr_name, count(*) AS attempts,
    count(*) FILTER ({placed}) AS placed, max(peak_memory) FILTER ({placed}) AS max_memory,
    {total(f"CASE WHEN began_ns IS NOT NULL THEN {busy} END")} AS busy_ns,
    {", ".join(f"{total(_phase_inside(phase))} AS {phase}_ns" for phase in SCHEDULING_PHASES)}
FROM (
    SELECT lane, shown, state, node_id, worker_pid, actor_id, actor_repr_name, peak_memory, began_ns,
        greatest(ended_ns, began_ns) AS ended_ns, {phase_durations(*inside)},
        {waited_columns()}
    FROM (
        SELECT {_KEY}, coalesce({function_name("attempts")}, '') AS shown, coalesce(state, 'NIL') AS state,
            node_id, worker_pid, actor_id, actor_repr_name, peak_memory, {REACHED} AS began_ns,
            {ended_at(last)} AS ended_ns, CASE WHEN {REACHED} IS NOT NULL THEN {lane} END AS lane,
            {phase_begins(last)}
        FROM ({with_worker_starts(where.sql.removeprefix(" WHERE "))}) AS attempts) a
    LEFT JOIN ({waited_ns("true", ended, inside)}) b
        ON b.key = {attempt_key("a.")})
GROUP BY lane, shown, state
"""


def _phase_inside(phase: str) -> str:
    return "executing - awaiting - blocked" if phase == "executing" else phase


def _functions(reader: duckdb.DuckDBPyConnection) -> tuple[list[Row], int]:
    """Return the functions that executed longest in the range, and the number of all functions."""
    rows = rows_of(
        reader.execute(
            f"SELECT shown AS name, {total('attempts')} AS attempts, "
            f"{total('CASE WHEN state = $failed THEN attempts END')} AS failed, "
            f"{total('busy_ns')} AS busy_ns, max(max_memory) AS max_memory, {_PHASES}, "
            "count(*) OVER () AS functions_total FROM sums "
            f"GROUP BY shown ORDER BY executing_ns DESC, attempts DESC, shown LIMIT {MAX_ROWS}",
            {"failed": "FAILED"},
        )
    )
    total_count = rows[0]["functions_total"] if rows else 0
    for row in rows:
        del row["functions_total"]
    return rows, total_count


def _lanes(reader: duckdb.DuckDBPyConnection, by: str) -> tuple[list[Row], int]:
    """Return the busiest lanes of the range with the fields for their labels, and the number of all lanes."""
    _, label, _ = lanes_by(by)
    rows = rows_of(
        reader.execute(
            f"SELECT {LABELLED}, l.lane AS id FROM ("
            f"SELECT lane, {label}, {total('placed')} AS attempts, {total('busy_ns')} AS busy_ns, "
            "max(max_memory) AS max_memory, count(*) OVER () AS lanes_total "
            f"FROM sums WHERE lane IS NOT NULL AND placed > 0 GROUP BY lane) l {LABELS} "
            f"ORDER BY busy_ns DESC, lane LIMIT {MAX_ROWS}"
        )
    )
    total_count = rows[0]["lanes_total"] if rows else 0
    for row in rows:
        del row["lanes_total"], row["repr_name"]
        row["rows"] = None
    return rows, total_count


def _max_at_a_time(
    reader: duckdb.DuckDBPyConnection,
    where: Where,
    lane: str,
    since: int,
    until: int,
    last: int,
    lanes: list[Row],
) -> int:
    """Return the maximum number of attempts on workers at the same time. Set each lane's own maximum as its
    ``rows``.

    If an attempt begins just when another ends, the two do not count as simultaneous.
    """
    reader.execute(
        f"""
CREATE TEMP TABLE steps AS
SELECT lane, unnest([greatest(began_ns, {since}), least(ended_ns, {until})]) AS at_ns, unnest([1, -1]) AS step
FROM (
    SELECT CASE WHEN {REACHED} IS NOT NULL THEN {lane} END AS lane, {REACHED} AS began_ns,
        greatest({ended_at(last)}, {REACHED}) AS ended_ns
    FROM attempts{where.sql})
WHERE lane IS NOT NULL AND began_ns < {until} AND ended_ns > {since} AND ended_ns > began_ns
""",
        where.values,
    )
    most = (
        "SELECT {0}max(running)::BIGINT FROM (SELECT {0}sum(step) OVER ({1} ORDER BY at_ns) AS running FROM ("
    )
    most += "SELECT {0}at_ns, sum(step) AS step FROM steps{2} GROUP BY {0}at_ns)) {3}"
    found = reader.execute(most.format("", "", "", "")).fetchone()
    of_lane = dict(
        reader.execute(
            most.format(
                "lane, ",
                "PARTITION BY lane",
                " WHERE lane IN (SELECT unnest(?::VARCHAR[]))",
                "GROUP BY lane",
            ),
            [[row["lane"] for row in lanes]],
        ).fetchall()
    )
    for row in lanes:
        row["rows"] = of_lane.get(row["lane"], 0)
    return (found[0] or 0) if found else 0
