"""Activity of attempts and drivers at a given time. Shared by views, nodes and workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from rayscope.storage.sql import execution
from rayscope.storage.sql.execution import (
    BLOCKED_AT,
    CREATED,
    FIRST_PUT,
    FOREVER,
    NOT_DRIVER,
    START,
    is_driver,
)

#: SQL: whether an attempt was submitted and had not ended at the time $at. Its worker may report the end
#: seconds before its owner does, and before anyone reports the attempt's name.
IN_FLIGHT = f"{NOT_DRIVER} AND {CREATED} <= $at AND {execution.ended_at(FOREVER)} > $at"
#: SQL: whether an attempt was in flight at the time $at, and a worker had begun to run it.
ON_WORKER = f"{IN_FLIGHT} AND worker_id IS NOT NULL AND {START} <= $at"


def _reached(value: str) -> str:
    """SQL for an attempt's situation at $at, which is the last phase that had begun by then.

    If ``value`` is not empty, the SQL is for when that phase began.
    """
    begins = execution.BEGINS
    cases = []
    for number, (name, begin) in reversed(list(enumerate(begins))):
        earlier = ", ".join(other for _, other in begins[: number + 1])
        named = "running" if name == "executing" else name
        cases.append(
            f"WHEN {begin} <= $at THEN {f'least($at, greatest({earlier}))' if value else repr(named)}"
        )
    return f"CASE {' '.join(cases)} END"


_FLIGHT = f"""
CREATE TEMP TABLE flight AS
SELECT task_hi, task_lo, attempt, parent_hi, parent_lo, type, job_id, actor_id,
    node_id, worker_id, worker_pid, required_resources, {START} AS start_ns, name AS task_name,
    coalesce({execution.function_name("attempts")}, '') AS name,
    {_reached("")} AS situation, {_reached("since")} AS since, {{counted}} AS counted
FROM ({{started}}) AS attempts
"""
_BLOCKED = f"""
CREATE TEMP TABLE blocked AS
SELECT * FROM ({BLOCKED_AT}) AS b WHERE {is_driver("task")} OR EXISTS (
    SELECT 1 FROM flight f WHERE f.task_hi = b.task_hi AND f.task_lo = b.task_lo AND f.attempt = b.attempt)
"""
#: Marks calls as queued if a blocking call had stopped the event loop of their async actor before they began.
#: Ray reports them as running, but they have not executed anything.
_STUCK = """
UPDATE flight SET situation = 'queued' FROM (
    SELECT f.worker_id, min(b.begin_ns) AS begin_ns
    FROM blocked b
    JOIN edge_rows e ON e.task_hi = b.task_hi AND e.task_lo = b.task_lo AND e.attempt = b.attempt
        AND e.begin_ns = b.begin_ns AND e.kind = 'blocks_loop'
    JOIN flight f ON f.task_hi = b.task_hi AND f.task_lo = b.task_lo AND f.attempt = b.attempt
    GROUP BY f.worker_id) stopped
WHERE flight.worker_id = stopped.worker_id AND flight.situation = 'running'
    AND flight.since >= stopped.begin_ns
"""
_MARK_BLOCKED = """
UPDATE flight SET situation = 'blocked', since = b.begin_ns FROM (
    SELECT task_hi, task_lo, attempt, min(begin_ns) AS begin_ns FROM blocked GROUP BY ALL) b
WHERE b.task_hi = flight.task_hi AND b.task_lo = flight.task_lo AND b.attempt = flight.attempt
"""
#: SQL: whether a row ``e`` of ``edge_rows`` is a return value that a wait is for.
AWAITED = f"(e.kind IN ('get', 'wait') OR starts_with(e.kind, 'blocked:')) AND e.object_index < {FIRST_PUT}"


def create_flight(
    reader: duckdb.DuckDBPyConnection,
    where: str,
    at_ns: int,
    *,
    counted: str = "true",
    values: Mapping[str, Any] | None = None,
) -> None:
    """Create the temporary tables ``flight`` and ``blocked`` for the attempts selected by ``where`` at
    ``at_ns``.

    ``flight`` contains each attempt's ``situation``, ``since`` (when that situation began, ns), and
    ``counted``, the value of the condition ``counted``. ``blocked`` contains the waits of these attempts and
    of all drivers: ``task_hi``, ``task_lo``, ``attempt``, ``begin_ns`` and ``call``. ``values``: further
    parameters of the conditions.
    """
    started = execution.with_worker_starts(where)
    reader.execute(_FLIGHT.format(started=started, counted=counted), {"at": at_ns, **(values or {})})
    reader.execute(_BLOCKED, {"at": at_ns})
    reader.execute(_STUCK)
    reader.execute(_MARK_BLOCKED)
