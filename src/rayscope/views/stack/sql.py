"""Attempts in flight at one time with their waits, and how many were in flight over time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import duckdb

from rayscope.model.program import script_name
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import execution
from rayscope.storage.sql.execution import (
    CREATED,
    DRIVER_LO,
    END,
    FIRST_PUT,
    NOT_DRIVER,
    START,
    hex_id,
    is_driver,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters, default_time
from rayscope.storage.sql.internal import job_of_driver
from rayscope.storage.sql.open_intervals import mean_open
from rayscope.storage.sql.pages import Row, rows_of
from rayscope.storage.sql.situations import AWAITED, IN_FLIGHT, create_flight

#: Maximum number of groups of similar attempts. Tasks with children come first, then the largest groups.
_MAX_UNITS = 100_000
#: Maximum number of (waiter, target) pairs of groups.
_MAX_WAITS = 200_000
#: Number of levels of ended callers above the attempts in flight that are looked up regardless of the time
#: limit.
_LEVELS = 50
#: Time limit for looking up callers beyond these levels, in seconds.
_CLIMB_S = 2.0
#: Maximum number of examples per group.
_EXAMPLES = 5

_TASK = hex_id("task")


#: Pairs (waiter, target). Waiters are attempts in ray.get, ray.wait, or await, or attempts whose arguments
#: are not ready.
_PAIRS = f"""
CREATE TEMP TABLE pairs AS
SELECT DISTINCT w.task_hi, w.task_lo, w.attempt,
    f.task_hi AS to_hi, f.task_lo AS to_lo, f.attempt AS to_attempt
FROM blocked w
JOIN edge_rows e ON e.task_hi = w.task_hi AND e.task_lo = w.task_lo AND e.attempt = w.attempt
    AND e.begin_ns = w.begin_ns
JOIN flight f ON f.task_hi = e.object_hi AND f.task_lo = e.object_lo
WHERE {AWAITED}
UNION
SELECT DISTINCT w.task_hi, w.task_lo, w.attempt, f.task_hi, f.task_lo, f.attempt
FROM flight w
JOIN edge_rows e ON e.task_hi = w.task_hi AND e.task_lo = w.task_lo AND e.kind = 'argument'
JOIN flight f ON f.task_hi = e.object_hi AND f.task_lo = e.object_lo
WHERE w.situation = 'waiting_args' AND e.object_index < {FIRST_PUT}
"""
#: Assigns each attempt to a group.
_PLACED = """
CREATE TEMP TABLE placed AS
SELECT *, hash(CASE WHEN is_parent THEN task_hi END, CASE WHEN is_parent THEN task_lo END,
    CASE WHEN is_parent THEN attempt END, parent_hi, parent_lo, name, situation, waits, is_target, counted
    ) AS unit
FROM (
    SELECT f.*,
        EXISTS (SELECT 1 FROM flight c
            WHERE c.parent_hi = f.task_hi AND c.parent_lo = f.task_lo) AS is_parent,
        EXISTS (SELECT 1 FROM pairs p WHERE p.task_hi = f.task_hi AND p.task_lo = f.task_lo
            AND p.attempt = f.attempt) AS waits,
        EXISTS (SELECT 1 FROM pairs p WHERE p.to_hi = f.task_hi AND p.to_lo = f.task_lo
            AND p.to_attempt = f.attempt) AS is_target
    FROM flight f)
"""
_UNITS = f"""
SELECT unit, CASE WHEN any_value(is_parent) THEN any_value({_TASK}) END AS task_id,
    any_value({hex_id("parent")}) AS parent_id, any_value(name) AS name, min(type) AS type,
    any_value(situation) AS situation, count(*) FILTER (counted) AS count,
    count(*) FILTER (NOT counted) AS others, min(since) AS oldest_ns, max(since) AS newest_ns,
    min_by({{'since_ns': since, 'task_id': {_TASK}, 'attempt': attempt, 'node_id': node_id,
        'worker_pid': worker_pid}}, since, {_EXAMPLES}) FILTER (counted) AS examples
FROM placed WHERE counted OR is_parent OR waits OR is_target
GROUP BY unit ORDER BY task_id IS NULL, count(*) DESC, unit LIMIT {_MAX_UNITS}
"""
#: The workers that run the attempts of each group. An actor's worker may run several attempts at the same
#: time.
_WORKERS = f"""
SELECT unit, worker_id, node_id, worker_pid, any_value(name) AS name, any_value(task_name) AS task_name,
    min(type) AS type
FROM placed
WHERE counted AND situation IN ('loading', 'fetching', 'running', 'blocked', 'storing')
    AND worker_id IS NOT NULL AND node_id IS NOT NULL AND worker_pid > 0
GROUP BY unit, worker_id, node_id, worker_pid ORDER BY min(since), worker_id, unit LIMIT {_MAX_UNITS}
"""
#: Ray Train workers run the user's function in a thread and do not run a task in the meantime. They are shown
#: at the call of their controller.
_TRAINERS = f"""
SELECT p.unit, a.worker_id, w.node_id, w.pid AS worker_pid, any_value(p.name) AS name,
    NULL AS task_name, 'ACTOR_TASK' AS type
FROM train_workers w JOIN train_runs r USING (run_id) JOIN actors a ON a.actor_id = w.actor_id
JOIN placed p ON p.task_lo = r.controller_actor_id AND p.type = 'ACTOR_TASK'
WHERE p.counted AND w.state = 'ALIVE' AND a.worker_id IS NOT NULL AND w.node_id IS NOT NULL AND w.pid > 0
GROUP BY p.unit, a.worker_id, w.node_id, w.pid, w.world_rank ORDER BY w.world_rank LIMIT {_MAX_UNITS}
"""
_ABOVE = """
CREATE TEMP TABLE above (task_hi UBIGINT, task_lo VARCHAR, parent_hi UBIGINT, parent_lo VARCHAR,
    name VARCHAR, type VARCHAR, end_ns BIGINT)
"""
#: Adds the next level of callers that are not in flight.
_CLIMB = f"""
INSERT INTO above
SELECT task_hi, task_lo, arg_max(parent_hi, attempt), arg_max(parent_lo, attempt),
    coalesce(max({execution.called_name("attempts")}), ''), max(type), max({execution.ended_at("NULL")})
FROM attempts
WHERE (task_hi, task_lo) IN (
    SELECT (parent_hi, parent_lo) FROM (
        SELECT DISTINCT parent_hi, parent_lo FROM {{below}}
        WHERE parent_hi IS NOT NULL AND NOT {is_driver("parent")}) w
    WHERE NOT EXISTS (SELECT 1 FROM flight f WHERE f.task_hi = w.parent_hi AND f.task_lo = w.parent_lo)
        AND NOT EXISTS (SELECT 1 FROM above a WHERE a.task_hi = w.parent_hi AND a.task_lo = w.parent_lo))
GROUP BY task_hi, task_lo
"""
_DRIVERS = f"""
CREATE TEMP TABLE drivers AS
SELECT d.task_hi, d.task_lo, hash(d.task_hi, d.task_lo, 'driver') AS unit, b.begin_ns AS blocked_ns,
    coalesce(j.end_ns, a.end_ns) AS end_ns, coalesce(j.start_ns, a.start_ns) AS start_ns,
    coalesce(j.entrypoint, '') AS entrypoint
FROM (
    SELECT parent_hi AS task_hi, parent_lo AS task_lo FROM flight WHERE {is_driver("parent")}
    UNION SELECT parent_hi, parent_lo FROM above WHERE {is_driver("parent")}) d
LEFT JOIN (SELECT task_hi, task_lo, min(begin_ns) AS begin_ns FROM blocked GROUP BY ALL) b
    ON b.task_hi = d.task_hi AND b.task_lo = d.task_lo
LEFT JOIN job_rows j ON j.id = substr(d.task_lo, {len(DRIVER_LO) + 1})
LEFT JOIN (
    SELECT task_hi, task_lo, max({END}) AS end_ns, min({START}) AS start_ns FROM attempts
    WHERE type = 'DRIVER_TASK' GROUP BY ALL) a ON a.task_hi = d.task_hi AND a.task_lo = d.task_lo
"""
_CALLERS = f"""
SELECT unit, {_TASK} AS task_id, NULL AS parent_id, entrypoint AS name, 'DRIVER_TASK' AS type,
    CASE WHEN end_ns <= $at THEN 'ended' WHEN blocked_ns IS NOT NULL THEN 'blocked' ELSE 'running' END
        AS situation,
    CASE WHEN end_ns <= $at THEN end_ns ELSE coalesce(blocked_ns, start_ns) END AS since
FROM drivers
UNION ALL
SELECT hash(task_hi, task_lo, 'ended'), {_TASK}, {hex_id("parent")}, name, type, 'ended', end_ns FROM above
"""
_WAITS = f"""
SELECT coalesce(w.unit, d.unit) AS waiter, t.unit AS target, count(*) AS count,
    min(lower(lpad(to_hex(p.to_hi), 16, '0') || p.to_lo), {_EXAMPLES}) AS examples
FROM pairs p
JOIN placed t ON t.task_hi = p.to_hi AND t.task_lo = p.to_lo AND t.attempt = p.to_attempt
LEFT JOIN placed w ON w.task_hi = p.task_hi AND w.task_lo = p.task_lo AND w.attempt = p.attempt
LEFT JOIN drivers d ON d.task_hi = p.task_hi AND d.task_lo = p.task_lo
WHERE w.unit IS NOT NULL OR d.unit IS NOT NULL
GROUP BY ALL ORDER BY count DESC, waiter, target LIMIT {_MAX_WAITS}
"""


#: The processes of drivers, and the group of each, NULL if none of its tasks is in flight.
_DRIVER_PROCESSES = f"""
SELECT w.id AS worker_id, w.node_id, w.pid AS worker_pid, w.state IS NOT DISTINCT FROM 'DEAD' AS has_ended,
    d.unit
FROM worker_rows w LEFT JOIN drivers d ON d.task_lo = '{DRIVER_LO}' || {job_of_driver("w.")}
WHERE w.worker_type = 'DRIVER' AND list_contains($workers, w.id) ORDER BY w.id
"""


class InFlight(NamedTuple):
    """The attempts in flight at ``at_ns``: ``units`` and ``waits`` with the fields of ``compute``.

    ``in_flight`` counts the attempts that match the filters. ``workers``, if requested, have ``unit``,
    ``worker_id``, ``node_id``, ``worker_pid``, ``name``, ``task_name``, and ``type``. ``callers_left_out``:
    some attempts have more levels of ended callers than were looked up. ``drivers``, if requested, have
    ``worker_id``, ``node_id``, ``worker_pid``, ``has_ended``, and ``unit``.
    """

    at_ns: int | None
    in_flight: int
    units: list[Row]
    waits: list[Row]
    workers: list[Row]
    callers_left_out: bool = False
    drivers: Sequence[Row] = ()


def in_flight(
    file: SessionFile,
    filters: TaskFilters,
    *,
    at_ns: int | None,
    last_ns: int,
    live: bool,
    workers: bool = False,
    drivers: Sequence[str] = (),
) -> InFlight:
    """Return the attempts matching ``filters`` that were created but had not ended at ``at_ns``, in groups.

    Without ``at_ns``, the time is ``last_ns`` (now) in a live session. In an ended session, it is the last
    time when an attempt was in flight, or None if none ever was. With ``workers``, the result includes the
    workers that run the attempts. ``drivers``: worker IDs of drivers to include. Raises BadQuery.
    """
    where = attempt_filters(filters)
    with file.reader() as reader:
        if at_ns is None:
            at_ns = default_time(reader, filters, last_ns, live)
        if at_ns is None:
            return InFlight(None, 0, [], [], [])
        at = {"at": at_ns}
        condition, values = where.named()
        create_flight(reader, IN_FLIGHT, at_ns, counted=f"coalesce({condition}, false)", values=values)
        for statement in (_PAIRS, _PLACED, _ABOVE):
            reader.execute(statement)
        is_whole = _climb(reader)
        reader.execute(_DRIVERS)
        total = reader.execute("SELECT count(*) FROM flight WHERE counted").fetchone()
        units = rows_of(reader.execute(_UNITS))
        for row in rows_of(reader.execute(_CALLERS, at)):
            since = row.pop("since")
            if row["type"] == "DRIVER_TASK":
                row["name"] = script_name(row["name"]) or "driver"
            units.append({**row, "count": 0, "others": 1, "oldest_ns": since, "newest_ns": since})
        waits = rows_of(reader.execute(_WAITS))
        busy = [row for sql in (_WORKERS, _TRAINERS) if workers for row in rows_of(reader.execute(sql))]
        named = rows_of(reader.execute(_DRIVER_PROCESSES, {"workers": drivers})) if drivers else ()
    return InFlight(at_ns, total[0] if total else 0, units, waits, busy, not is_whole, named)


def _climb(reader: duckdb.DuckDBPyConnection) -> bool:
    """Add ended callers to ``above``, one level after another. Returns whether all of them were added."""
    until = time.monotonic() + _CLIMB_S
    below, level = "flight", 0
    while level < _LEVELS or time.monotonic() < until:
        found = reader.execute(_CLIMB.format(below=below)).fetchone()
        if not found or not found[0]:
            return True
        below = "above"
        level += 1
    return False


class Activity(NamedTuple):
    """The mean number of attempts in flight and running, and the number of failures, in each time bucket.

    Without attempts, the times are None and the lists are empty.
    """

    begin_ns: int | None
    end_ns: int | None
    bucket_ns: int | None
    in_flight: list[float]
    running: list[float]
    failed: list[int]


def activity(file: SessionFile, filters: TaskFilters, buckets: int, last_ns: int) -> Activity:
    """Return the activity of the attempts that match ``filters``, in equal time buckets.

    The ``buckets`` divide the time from the creation of the first of these attempts to the end of the last
    one. Attempts without an end are in flight until ``last_ns``. Raises BadQuery.
    """
    where = attempt_filters(filters)
    where.add(NOT_DRIVER)
    where.add(f"{CREATED} IS NOT NULL")
    last = int(last_ns)
    with file.reader() as reader:
        extent = reader.execute(
            f"SELECT min({CREATED}), max(greatest({execution.ended_at(last)}, {CREATED})) "
            f"FROM attempts{where.sql}",
            where.values,
        ).fetchone()
        if extent is None or extent[0] is None:
            return Activity(None, None, None, [], [], [])
        begin, end = extent
        width = max(1, -(-(end - begin) // buckets))
        in_flight, running = (
            mean_open(
                reader,
                f"SELECT {since} AS began, greatest({execution.ended_at(last)}, {since}) AS ended "
                f"FROM attempts{where.sql} AND {since} IS NOT NULL",
                where.values,
                begin=begin,
                width=width,
                buckets=buckets,
            )
            for since in (CREATED, START)
        )
        failed = [0] * buckets
        for bucket, count in reader.execute(
            f"SELECT least(({END} - {begin}) // {width}, {buckets - 1}) AS bucket, count(*) "
            f"FROM attempts{where.sql} AND state = 'FAILED' AND {END} IS NOT NULL GROUP BY bucket",
            where.values,
        ).fetchall():
            failed[bucket] = count
    return Activity(
        begin,
        begin + width * buckets,
        width,
        [round(mean, 3) for mean in in_flight],
        [round(mean, 3) for mean in running],
        failed,
    )
