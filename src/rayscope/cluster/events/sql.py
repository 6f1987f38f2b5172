"""Derives the events of a session from its record: nodes, workers, actors, jobs and placement groups that
started, changed or ended, failed tasks (failures of a function with the same error within a minute are one
event), warnings from Ray Data, platform events, and lost events.

Everything is derived from the recorded entities, so the list needs no table, and is complete even after the
spool is replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb

from rayscope.cluster.events import schemas
from rayscope.model.program import program_name
from rayscope.storage.errors import BadQuery
from rayscope.storage.schema import SHOWN_JOB
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.data_issues import DATA_ISSUES
from rayscope.storage.sql.error_text import error_parts
from rayscope.storage.sql.execution import END, NOT_DRIVER, called_name
from rayscope.storage.sql.library_stops import IS_STOPPED, LET_GO
from rayscope.storage.sql.node_names import node_name
from rayscope.storage.sql.pages import (
    Page,
    Row,
    Where,
    check_limit,
    decode_cursor,
    encode_cursor,
    equals,
    like,
    rows_of,
)
from rayscope.storage.sql.platform_events import NODE_ID, SEVERITY, WHAT
from rayscope.storage.sql.restarts import ENDED_WORKERS, restarts

SEVERITIES = ("ERROR", "WARNING", "INFO")
KINDS = ("node", "worker", "actor", "job", "placement_group", "task", "dataset", "platform", "loss")

#: Maximum length of a message.
MESSAGE_CHARS = 2000
#: Later than any time, in ns.
_NEVER_NS = 2**63 - 1

_ACTOR = "coalesce(name, repr_name, class_name)"
_GROUP = "coalesce(nullif(name, ''), concat(left(id, 8), ' (', strategy, ')'))"
_FUNCTION = called_name("attempts")
#: How a worker ended. If the end was intended, Ray's own description of it suffices.
_EXIT = """
CASE WHEN starts_with(exit_type, 'INTENDED') AND exit_detail != '' THEN exit_detail
    ELSE concat_ws(': ', exit_type, exit_detail) END"""
#: SQL condition: another attempt of the same task followed this one.
_IS_RETRIED = """
((task_hi, task_lo, attempt + 1) IN (SELECT task_hi, task_lo, attempt FROM attempts WHERE attempt > 0))"""
#: The events in which their subject ends.
_ENDS = ("WORKER_DEAD", "ACTOR_DEAD", "NODE_DEAD", "JOB_FAILED", "JOB_FINISHED", "JOB_STOPPED")
#: For placement groups known only from the GCS: how long placing the group took, us. The GCS reports no times
#: of other changes.
_GROUP_TOOK_US = "(stats->>'$.end_to_end_creation_latency_us')::BIGINT"
#: SQL condition: the worker outlived its job. In that case Ray ends the worker, and may kill it while it runs
#: a task.
_JOB_HAD_ENDED = (
    "EXISTS (FROM job_rows j WHERE j.id = worker_rows.job_id AND j.end_ns <= worker_rows.end_ns "
    "AND j.end_known_by IS DISTINCT FROM 'session')"
)
#: Every event: (time_ns, severity, kind, event, id, title, message, node_id, job_id, count, last_ns).
EVENTS = f"""
    SELECT start_ns AS time_ns, 'INFO' AS severity, 'node' AS kind, 'NODE_ALIVE' AS event, id,
        {node_name("node_rows")} AS title, NULL::VARCHAR AS message, id AS node_id,
        NULL::VARCHAR AS job_id, 1::BIGINT AS count, NULL::BIGINT AS last_ns
    FROM node_rows
    UNION ALL SELECT end_ns,
        CASE WHEN end_known_by IS NOT NULL OR death_reason = 'EXPECTED_TERMINATION'
                OR death_reason LIKE '%DRAIN%' THEN 'INFO' ELSE 'ERROR' END,
        'node', 'NODE_DEAD', id, {node_name("node_rows")}, concat_ws(': ', death_reason, death_message),
        id, NULL, 1, NULL
    FROM node_rows WHERE state = 'DEAD'
    UNION ALL SELECT end_ns,
        CASE WHEN starts_with(exit_type, 'INTENDED') OR {_JOB_HAD_ENDED} THEN 'INFO' ELSE 'ERROR' END,
        'worker', 'WORKER_DEAD', id, concat('pid ', pid),
        {_EXIT}, node_id, job_id, 1, NULL
    FROM worker_rows WHERE state = 'DEAD' AND exit_type IS NOT NULL AND worker_type != 'DRIVER'
    UNION ALL SELECT start_ns, 'INFO', 'actor', 'ACTOR_ALIVE', id, {_ACTOR}, NULL, node_id, job_id, 1, NULL
    FROM actor_rows
    UNION ALL SELECT (step->>0)::BIGINT, 'WARNING', 'actor', 'ACTOR_RESTARTING', id, {_ACTOR},
        coalesce(message, step->2->>'restart_reason'), NULL, job_id, 1, NULL
    FROM ({restarts("num_restarts > 0")})
    UNION ALL SELECT end_ns,
        CASE WHEN {LET_GO}
            OR death_cause IS NULL AND death_reason IS NULL THEN 'INFO' ELSE 'ERROR' END,
        'actor', 'ACTOR_DEAD', id, {_ACTOR}, death_reason, node_id, job_id, 1, NULL
    FROM actor_rows WHERE state = 'DEAD'
    UNION ALL SELECT start_ns, 'INFO', 'job', 'JOB_STARTED', id, entrypoint, NULL, driver_node_id, id, 1, NULL
    FROM job_rows WHERE {SHOWN_JOB}
    UNION ALL SELECT end_ns,
        CASE WHEN state = 'FAILED' THEN 'ERROR'
            WHEN state IN ('FINISHED', 'STOPPED', 'CUT_OFF') THEN 'WARNING' ELSE 'INFO' END,
        'job', 'JOB_' || state, id, entrypoint, message, driver_node_id, id, 1, NULL
    FROM job_rows WHERE {SHOWN_JOB} AND end_ns IS NOT NULL
    UNION ALL SELECT created_ns, 'INFO', 'placement_group', 'PLACEMENT_GROUP_PENDING', id, {_GROUP},
        NULL, NULL, job_id, 1, NULL
    FROM placement_group_rows
    UNION ALL SELECT (step->>0)::BIGINT, CASE step->>1 WHEN 'RESCHEDULING' THEN 'WARNING' ELSE 'INFO' END,
        'placement_group', 'PLACEMENT_GROUP_' || (step->>1), id, {_GROUP}, NULL, NULL, job_id, 1, NULL
    FROM (SELECT *, unnest(CAST(doc->1 AS JSON[])) AS step FROM placement_group_rows)
    WHERE (step->>1) != 'PENDING'
    UNION ALL SELECT created_ns + {_GROUP_TOOK_US} * 1000, 'INFO', 'placement_group',
        'PLACEMENT_GROUP_CREATED', id, {_GROUP}, NULL, NULL, job_id, 1, NULL
    FROM placement_group_rows WHERE json_array_length(doc->1) = 0 AND {_GROUP_TOOK_US} > 0
    UNION ALL SELECT min({END}),
        CASE WHEN {IS_STOPPED} THEN 'INFO' WHEN {_IS_RETRIED} THEN 'WARNING' ELSE 'ERROR' END, 'task',
        CASE WHEN {_IS_RETRIED} THEN 'TASK_RETRIED' ELSE 'TASK_FAILED' END, {_FUNCTION}, {_FUNCTION},
        concat_ws(': ', nullif(error_type, 'TASK_EXECUTION_EXCEPTION'),
            {error_parts("min(error_message)")}['headline']), min(node_id), job_id,
        count(*), max({END})
    FROM attempts WHERE state = 'FAILED' AND {NOT_DRIVER}
    GROUP BY {_FUNCTION}, error_type, job_id, {IS_STOPPED}, {_IS_RETRIED}, {END} // 60_000_000_000
    UNION ALL SELECT time_ns, 'INFO', 'task', 'TASK_PAUSED', {_FUNCTION}, {_FUNCTION}, n.value, node_id,
        job_id, 1, NULL
    FROM annotation_rows n JOIN attempts USING (task_hi, task_lo, attempt) WHERE n.kind = 'pause'
    UNION ALL SELECT time_ns, 'WARNING', 'dataset', 'DATA_ISSUE', dataset_id,
        concat_ws(' / ', regexp_replace(dataset_id, '^dataset_', ''), operator),
        concat_ws(': ', issue, message), NULL, job_id, 1, NULL
    FROM ({DATA_ISSUES})
    UNION ALL SELECT coalesce(start_ns, last_ns), {SEVERITY}, 'platform', {WHAT}, id, object_name, message,
        {NODE_ID}, NULL, count, last_ns
    FROM platform_event_rows p
    UNION ALL SELECT coalesce(first_ns, observed_ns), 'WARNING', 'loss', 'EVENTS_LOST', source, reason,
        event_type, NULL, NULL, count, last_ns
    FROM drops WHERE count > 0
"""


def list_events(
    file: SessionFile, filters: Mapping[str, Any], *, limit: int = 100, cursor: str | None = None
) -> tuple[Page[schemas.Event], schemas.EventsBySeverity]:
    """A page of events, newest first, and the number of events by severity, regardless of the requested
    severity.

    ``filters``: ``severity`` and ``kind`` (comma-separated), ``node_id``, ``job_id``, ``q``, ``since_ns``,
    ``until_ns``. Raises BadQuery.
    """
    check_limit(limit)
    where = Where(["time_ns IS NOT NULL"], [])
    severities = _chosen("severity", filters.get("severity"), SEVERITIES)
    shown = severities or SEVERITIES
    kinds = _chosen("kind", filters.get("kind"), KINDS)
    if kinds:
        where.add("list_contains(?, kind)", kinds)
    for name in ("node_id", "job_id"):
        if filters.get(name):
            where.add(equals(name, str(filters[name])), filters[name])
    if filters.get("since_ns") is not None:
        where.add("coalesce(last_ns, time_ns) >= ?", filters["since_ns"])
    if filters.get("until_ns") is not None:
        where.add("time_ns < ?", filters["until_ns"])
    if filters.get("q"):
        pattern = like(str(filters["q"]))
        where.add(
            "(title ILIKE ? ESCAPE '\\' OR message ILIKE ? ESCAPE '\\' OR event ILIKE ? ESCAPE '\\' "
            "OR starts_with(id, ?))",
            *[pattern] * 3,
            str(filters["q"]),
        )
    last: list[Any] = []
    if cursor:
        _, *last = decode_cursor(cursor, "-time_ns", [int, str, str, str])
    with file.reader() as reader:
        # This query also returns the newest times of each severity, so that the next one need not read older
        # events.
        counted = reader.execute(
            f"SELECT severity, count(*), max(time_ns, {limit + 1}) FILTER (time_ns < ?) FROM ({EVENTS})"
            f"{where.sql} GROUP BY 1",
            [last[0] if last else _NEVER_NS, *where.values],
        ).fetchall()
        newest = [time_ns for severity, _, times in counted if severity in shown for time_ns in times or ()]
        if severities:
            where.add("list_contains(?, severity)", severities)
        if last:
            where.add("time_ns <= ? AND (time_ns, kind, event, key) < (?, ?, ?, ?)", last[0], *last)
        if len(newest) > limit:
            where.add("time_ns >= ?", sorted(newest, reverse=True)[limit])
        found = rows_of(
            reader.execute(
                f"SELECT * FROM (SELECT *, concat_ws('|', id, title, message, job_id) AS key "
                f"FROM ({EVENTS})){where.sql} "
                f"ORDER BY time_ns DESC, kind DESC, event DESC, key DESC LIMIT {limit + 1}",
                where.values,
            )
        )
        _add_ended(reader, found)
    following = None
    if len(found) > limit:
        found.pop()
        tail = found[-1]
        following = encode_cursor(["-time_ns", tail["time_ns"], tail["kind"], tail["event"], tail["key"]])
    for row in found:
        del row["key"]
        if row["kind"] == "job" and row["title"]:
            row["title"] = program_name(row["title"])
        if row["message"]:
            row["message"] = row["message"][:MESSAGE_CHARS]
    numbers = {severity: number for severity, number, _ in counted}
    total = sum(numbers.get(severity, 0) for severity in shown)
    by_severity: schemas.EventsBySeverity = {
        "ERROR": numbers.get("ERROR", 0),
        "WARNING": numbers.get("WARNING", 0),
        "INFO": numbers.get("INFO", 0),
    }
    return Page(found, following, total), by_severity


def _add_ended(reader: duckdb.DuckDBPyConnection, events: list[Row]) -> None:
    """Add to each event the worker, actor, node or job that ended in it, or None."""
    restarted = [event["id"] for event in events if event["event"] == "ACTOR_RESTARTING"]
    found: list[tuple[str, int, str]] = []
    if restarted:
        found = reader.execute(ENDED_WORKERS, [restarted]).fetchall()
    workers = {(actor, time_ns): worker for actor, time_ns, worker in found}
    for event in events:
        event["ended"] = None
        if event["event"] in _ENDS and event["id"] is not None:
            event["ended"] = {"kind": event["kind"], "id": event["id"]}
        elif event["event"] == "ACTOR_RESTARTING" and (event["id"], event["time_ns"]) in workers:
            event["ended"] = {"kind": "worker", "id": workers[event["id"], event["time_ns"]]}


def _chosen(name: str, value: Any, allowed: tuple[str, ...]) -> list[str]:
    chosen = [part for part in str(value or "").split(",") if part]
    for part in chosen:
        if part not in allowed:
            raise BadQuery(f"Unknown {name} {part[:40]!r}.", f"Use one of: {', '.join(allowed)}.")
    return chosen
