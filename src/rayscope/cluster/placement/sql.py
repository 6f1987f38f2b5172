"""Queries the placement at one time: nodes, workers and what they run, placement groups, annotations."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, cast

import duckdb
import msgspec

from rayscope.cluster.placement import schemas
from rayscope.cluster.placement.compute import NodeRow, WorkerRow
from rayscope.cluster.placement.gpus_sql import gpus_of_actors, gpus_of_attempts
from rayscope.model.program import script_name
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import (
    DRIVER_LO,
    FOREVER,
    START,
    ended_at,
    function_name,
    hex_id,
    is_driver,
    total,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters, default_time
from rayscope.storage.sql.internal import IS_INTERNAL
from rayscope.storage.sql.node_names import node_name
from rayscope.storage.sql.pages import Row, fields_of, rows_of
from rayscope.storage.sql.situations import AWAITED, IN_FLIGHT, ON_WORKER, create_flight
from rayscope.storage.sql.worker_names import DRIVERS_JOB

#: Maximum number of nodes that are considered. The head comes first.
_MAX_NODES = 20_000
_MAX_WORKERS = 200_000
_MAX_GROUPS = 10_000
#: Maximum number of annotation names that users can choose from.
_MAX_KEYS = 100
#: Maximum number of attempts that are listed per worker, the oldest first.
_MAX_TASKS = 5
#: Maximum number of functions that are listed for each waiting attempt.
_MAX_FUNCTIONS = 3
#: Maximum number of characters in an actor's name or an annotated value.
_MAX_TEXT = 200

_BLOCKED_DRIVERS = (
    f"SELECT w.id FROM workers w JOIN blocked b ON {is_driver('b.task')} "
    f"AND b.task_lo = '{DRIVER_LO}' || w.job_id"
)
#: The type of the entry that represents a driver.
DRIVER = "DRIVER_TASK"
_HERE = "($node IS NULL OR node_id = $node)"
#: Calls that a blocked event loop has not begun do not count as running.
_RUNNING = "CREATE TEMP VIEW running AS SELECT * FROM flight WHERE situation != 'queued'"
_NODES_AT = f"""
SELECT id, {node_name("node_rows")} AS name, node_ip, is_head, start_ns, end_ns, resources_total, labels
FROM node_rows
WHERE coalesce(start_ns, 0) <= $at AND coalesce(end_ns, {FOREVER}) > $at AND ($node IS NULL OR id = $node)
ORDER BY is_head DESC NULLS LAST, id LIMIT {_MAX_NODES}
"""
_ENDED_NODES = "SELECT id FROM node_rows WHERE end_ns <= $at AND ($node IS NULL OR id = $node)"
#: Recorded workers that were alive on a live node at the time, and unrecorded workers that ran something.
_WORKERS = f"""
CREATE TEMP TABLE workers AS
SELECT r.id, r.node_id, coalesce(r.worker_type, 'WORKER') AS kind, r.pid,
    coalesce(r.job_id, {DRIVERS_JOB}) AS job_id, r.start_ns
FROM worker_rows r LEFT JOIN node_rows n ON n.id = r.node_id
WHERE r.node_id IS NOT NULL AND coalesce(n.end_ns, {FOREVER}) > $at AND coalesce(r.start_ns, 0) <= $at
    AND coalesce(r.end_ns, CASE WHEN r.state = 'DEAD' THEN 0 ELSE {FOREVER} END) > $at
    AND ($node IS NULL OR r.node_id = $node)
UNION ALL
SELECT worker_id, any_value(node_id), 'WORKER', any_value(worker_pid), any_value(job_id), NULL
FROM flight
WHERE node_id IS NOT NULL AND worker_id NOT IN (SELECT id FROM worker_rows WHERE node_id IS NOT NULL)
GROUP BY worker_id
"""
_CHOSEN = f"""
CREATE TEMP TABLE workers AS
SELECT id, coalesce(worker_type, 'WORKER') AS kind, coalesce(job_id, {DRIVERS_JOB}) AS job_id, start_ns
FROM worker_rows r WHERE list_contains($ids, id) AND state IS DISTINCT FROM 'DEAD'
"""
#: The states of an actor's record, [ns, state, ...] as JSON: its transitions, and the last observation.
_ACTOR_STATES = (
    "list_append(json_extract(d.doc, '$[1][*]'), "
    "json_array(json_extract(d.doc, '$[2]'), json_extract(d.doc, '$[3].state')))"
)
#: A worker runs at most one actor, known from the attempt that created it, or else from the GCS. If the end
#: of that attempt is unknown, the actor counts as alive once it ran a method or was reported alive.
_ACTORS = f"""
CREATE TEMP TABLE actors_at AS
WITH made AS (
    SELECT worker_id, arg_max(actor_id, {START}) AS actor_id, max({ended_at(FOREVER)}) AS made_ns,
        max({START}) AS since, arg_max(required_resources, {START}) AS required_resources
    FROM attempts
    WHERE type = 'ACTOR_CREATION_TASK' AND {START} <= $at AND worker_id IN (SELECT id FROM workers)
    GROUP BY worker_id),
told AS (
    SELECT worker_id, id AS actor_id, 0 AS made_ns, 0 AS since, required_resources FROM actor_rows
    WHERE worker_id IN (SELECT id FROM workers) AND worker_id NOT IN (SELECT worker_id FROM made)
        AND coalesce(start_ns, 0) <= $at
    QUALIFY row_number() OVER (PARTITION BY worker_id ORDER BY id) = 1),
at_work AS (
    SELECT DISTINCT worker_id FROM attempts
    WHERE type = 'ACTOR_TASK' AND {START} <= $at
        AND worker_id IN (SELECT worker_id FROM made WHERE made_ns = {FOREVER})),
docs AS (SELECT id, doc FROM actor_rows WHERE id IN (SELECT actor_id FROM made WHERE made_ns = {FOREVER}))
SELECT h.worker_id, h.actor_id, a.class_name, coalesce(nullif(a.name, ''), a.repr_name) AS name,
    coalesce(a.required_resources, h.required_resources) AS required_resources,
    CASE WHEN a.end_ns <= $at THEN 'DEAD' WHEN h.made_ns <= $at THEN 'ALIVE'
        WHEN h.made_ns < {FOREVER} THEN 'PENDING_CREATION'
        WHEN h.worker_id IN (SELECT worker_id FROM at_work) THEN 'ALIVE'
        WHEN len([t FOR t IN {_ACTOR_STATES} IF json_extract_string(t, '$[1]') = 'ALIVE'
            AND TRY_CAST(json_extract_string(t, '$[0]') AS BIGINT) BETWEEN h.since AND $at]) > 0 THEN 'ALIVE'
        ELSE 'PENDING_CREATION' END AS state
FROM (FROM made UNION ALL FROM told) h LEFT JOIN actor_rows a ON a.id = h.actor_id
LEFT JOIN docs d ON d.id = h.actor_id
"""
_HOUSED = f"""
WITH by_name AS (
    SELECT worker_id, name, count(*) AS n, min(start_ns) AS since,
        count(*) FILTER (situation = 'blocked') AS blocked
    FROM running WHERE counted GROUP BY ALL),
by_worker AS (
    SELECT worker_id, sum(n)::BIGINT AS running, sum(blocked)::BIGINT AS blocked, count(*) AS functions,
        max_by(name, (n, -since)) AS function
    FROM by_name GROUP BY ALL),
tasks AS (
    SELECT worker_id, list((required_resources, situation = 'blocked')) AS tasks
    FROM running WHERE type = 'NORMAL_TASK' GROUP BY ALL),
by_job AS (SELECT worker_id, max(job_id) AS job_id FROM running GROUP BY ALL)
SELECT w.* REPLACE (coalesce(w.job_id, j.job_id, a.actor_id[-8:]) AS job_id),
    w.id IN (SELECT id FROM worker_rows WHERE {IS_INTERNAL["worker"]}) AS is_internal,
    a.actor_id, a.class_name AS actor_class, left(a.name, {_MAX_TEXT}) AS actor_name,
    a.state AS actor_state, a.required_resources AS actor_resources, t.tasks,
    coalesce(b.running, 0) AS running,
    CASE WHEN w.kind = 'DRIVER' THEN (w.id IN ({_BLOCKED_DRIVERS}))::BIGINT ELSE coalesce(b.blocked, 0) END
        AS blocked,
    coalesce(b.functions, 0) AS functions, b.function
FROM workers w LEFT JOIN actors_at a ON a.worker_id = w.id LEFT JOIN by_worker b ON b.worker_id = w.id
LEFT JOIN tasks t ON t.worker_id = w.id LEFT JOIN by_job j ON j.worker_id = w.id
ORDER BY running DESC, a.actor_id IS NULL, w.id LIMIT {_MAX_WORKERS}
"""
#: Bytes of the objects that a worker's tasks had returned or put by that time.
_BYTES = f"""
SELECT worker_id, {total("bytes")} FROM (
    SELECT worker_id, sum(output_bytes) AS bytes FROM attempts
    WHERE returned_ns <= $at AND worker_id IN (SELECT id FROM workers) GROUP BY worker_id
    UNION ALL
    SELECT a.worker_id, sum(e.bytes) FROM edge_rows e
    JOIN attempts a ON a.task_hi = e.task_hi AND a.task_lo = e.task_lo AND a.attempt = e.attempt
    WHERE e.kind = 'put' AND e.end_ns <= $at AND a.worker_id IN (SELECT id FROM workers) GROUP BY a.worker_id)
GROUP BY worker_id
"""
#: The newest value annotated by a task that runs on a worker, or by any task of the worker's actor.
_ANNOTATED = f"""
SELECT a.worker_id, left(arg_max(n.value, n.time_ns), {_MAX_TEXT})
FROM annotation_rows n
JOIN attempts a ON a.task_hi = n.task_hi AND a.task_lo = n.task_lo AND a.attempt = n.attempt
WHERE n.name = $key AND n.time_ns <= $at AND a.worker_id IN (SELECT id FROM workers)
    AND (a.actor_id IS NOT NULL OR {ended_at(FOREVER)} > $at)
GROUP BY a.worker_id
"""
_GROUPS = f"""
SELECT g.id, g.doc, j.end_ns AS job_end_ns FROM placement_group_rows g LEFT JOIN job_rows j ON j.id = g.job_id
WHERE coalesce(g.created_ns, 0) <= $at AND (g.is_detached OR coalesce(j.end_ns, {FOREVER}) > $at)
ORDER BY g.created_ns DESC, g.id LIMIT {_MAX_GROUPS}
"""
#: The attempts of each of ``workers``, the oldest first. A driver has one entry: its script.
_ATTEMPTS = f"""
SELECT a.*, coalesce(starts_with(w.tracer, 'on'), false) AS is_traced
FROM (
SELECT worker_id, {hex_id("task")} AS task_id, attempt, name, type, start_ns AS since_ns, situation,
    since AS situation_ns
FROM running WHERE counted
QUALIFY row_number() OVER (PARTITION BY worker_id ORDER BY start_ns, task_hi, task_lo) <= {_MAX_TASKS}
UNION ALL
SELECT w.id, '{DRIVER_PREFIX}' || j.id, 0, coalesce(j.entrypoint, ''), '{DRIVER}',
    coalesce(j.start_ns, w.start_ns), CASE WHEN b.begin_ns IS NULL THEN 'running' ELSE 'blocked' END,
    coalesce(b.begin_ns, j.start_ns, w.start_ns)
FROM workers w JOIN job_rows j ON j.id = w.job_id AND coalesce(j.end_ns, {FOREVER}) > $at
LEFT JOIN (SELECT task_lo, min(begin_ns) AS begin_ns FROM blocked WHERE {is_driver("task")} GROUP BY task_lo
    ) b ON b.task_lo = '{DRIVER_LO}' || j.id
WHERE w.kind = 'DRIVER') a
LEFT JOIN worker_rows w ON w.id = a.worker_id
ORDER BY since_ns, task_id
"""
#: The calls that block attempts, and the functions of the awaited values, the most frequent first.
_BLOCKED_ON = f"""
WITH awaited AS MATERIALIZED (
    SELECT DISTINCT b.task_hi, b.task_lo, b.attempt, e.object_hi, e.object_lo
    FROM blocked b JOIN edge_rows e ON e.task_hi = b.task_hi AND e.task_lo = b.task_lo
        AND e.attempt = b.attempt AND e.begin_ns = b.begin_ns
    WHERE {AWAITED}),
functions AS (
    SELECT a.task_hi, a.task_lo, a.attempt, coalesce({function_name("f")}, '') AS name, count(*) AS count,
        min({hex_id("f.task")}) AS task_id
    FROM awaited a JOIN (
        SELECT * FROM attempts WHERE {IN_FLIGHT} AND task_hi IN (SELECT object_hi FROM awaited)
    ) f ON f.task_hi = a.object_hi AND f.task_lo = a.object_lo GROUP BY ALL)
SELECT {hex_id("b.task")} AS task_id, b.attempt, min_by(b.call, b.begin_ns) AS call,
    coalesce(any_value(f.blocked_on), []) AS blocked_on
FROM blocked b LEFT JOIN (
    SELECT task_hi, task_lo, attempt,
        list({{'name': name, 'count': count, 'task_id': task_id}} ORDER BY count DESC, name)
            [:{_MAX_FUNCTIONS}] AS blocked_on
    FROM functions GROUP BY task_hi, task_lo, attempt
) f ON f.task_hi = b.task_hi AND f.task_lo = b.task_lo AND f.attempt = b.attempt
GROUP BY b.task_hi, b.task_lo, b.attempt
"""


class PlacementRows(NamedTuple):
    """Rows as of one time.

    ``groups``: (ID, decoded doc, when its creator's job ended). ``keys``: names of recorded annotations.
    ``attempts``: the oldest running attempts, by worker. ``gpus``: also by worker. These two are read only
    for a single node. ``gone``: IDs of ended nodes.
    """

    at_ns: int | None
    nodes: list[NodeRow]
    workers: list[WorkerRow]
    groups: list[tuple[str, Any, int | None]]
    keys: list[str]
    attempts: Mapping[str, list[schemas.RunningAttempt]] = {}
    gone: frozenset[str] = frozenset()
    gpus: Mapping[str, list[schemas.GpuShare]] = {}


def read_placement(
    file: SessionFile,
    filters: TaskFilters,
    *,
    at_ns: int | None,
    last_ns: int,
    live: bool,
    node_id: str | None = None,
    annotation: str | None = None,
    with_bytes: bool = False,
) -> PlacementRows:
    """Nodes, workers and placement groups at ``at_ns``, or only those of one node. Times are in ns.

    ``filters``: the attempts that count as running. The reservations of other attempts are always included.
    If ``at_ns`` is None, it is ``last_ns`` (now) for a live session, and the time of the last attempt in
    flight for an ended one. ``annotation``: a name whose newest value is added to each worker. Raises
    BadQuery.
    """
    where = attempt_filters(filters)
    with file.reader() as reader:
        if at_ns is None:
            at_ns = default_time(reader, filters, last_ns, live)
        if at_ns is None:
            return PlacementRows(None, [], [], [], [])
        at = {"at": at_ns, "node": node_id}
        condition, values = where.named()
        create_flight(
            reader,
            f"{ON_WORKER} AND {_HERE}",
            at_ns,
            counted=f"coalesce({condition}, false)",
            values={"node": node_id, **values},
        )
        reader.execute(_RUNNING)
        reader.execute(_WORKERS, at)
        reader.execute(_ACTORS, {"at": at_ns})
        nodes = [NodeRow(**row) for row in rows_of(reader.execute(_NODES_AT, at))]
        gone = frozenset(identity for (identity,) in reader.execute(_ENDED_NODES, at).fetchall())
        rows = rows_of(reader.execute(_HOUSED))
        for row in rows:
            row["tasks"] = tuple(row["tasks"] or ())
        if with_bytes:
            _add(rows, "bytes", reader.execute(_BYTES, {"at": at_ns}), 0)
        if annotation:
            _add(rows, "annotation", reader.execute(_ANNOTATED, {"at": at_ns, "key": annotation}), None)
        workers = [WorkerRow(**row) for row in rows]
        groups = [
            (identity, msgspec.json.decode(doc), end_ns)
            for identity, doc, end_ns in reader.execute(_GROUPS, {"at": at_ns}).fetchall()
        ]
        keys = reader.execute(
            f"SELECT name FROM annotation_rows WHERE name IS NOT NULL GROUP BY name "
            f"ORDER BY count(*) DESC, name LIMIT {_MAX_KEYS}"
        ).fetchall()
        attempts = _attempts(reader, at_ns) if node_id is not None else {}
        of_actors = {worker.id: worker.actor_id for worker in workers}
        gpus = _gpus(reader, of_actors) if node_id is not None else {}
    return PlacementRows(at_ns, nodes, workers, groups, [key for (key,) in keys], attempts, gone, gpus)


def read_activity(file: SessionFile, worker_ids: Collection[str], at_ns: int) -> dict[str, schemas.Activity]:
    """``running``, ``blocked``, ``attempts`` and ``gpus`` of each worker at a given time (ns)."""
    chosen = {"ids": list(worker_ids)}
    with file.reader() as reader:
        create_flight(reader, f"{ON_WORKER} AND list_contains($ids, worker_id)", at_ns, values=chosen)
        reader.execute(_RUNNING)
        reader.execute(_CHOSEN, chosen)
        attempts = _attempts(reader, at_ns)
        actors = reader.execute(
            "SELECT worker_id, id FROM actor_rows WHERE list_contains($ids, worker_id)", chosen
        ).fetchall()
        gpus = _gpus(reader, dict(actors))
        counts = reader.execute(
            "SELECT worker_id, count(*), count(*) FILTER (situation = 'blocked') FROM running GROUP BY ALL"
        ).fetchall()
    activity: dict[str, schemas.Activity] = {
        one: {"running": 0, "blocked": 0, "attempts": attempts.get(one, []), "gpus": gpus.get(one, [])}
        for one in worker_ids
    }
    for worker_id, running, blocked in counts:
        activity[worker_id]["running"], activity[worker_id]["blocked"] = running, blocked
    for of_worker in activity.values():
        for attempt in of_worker["attempts"]:
            if attempt["type"] == DRIVER:
                of_worker["blocked"] = int(attempt["situation"] == "blocked")
    return activity


def _attempts(reader: duckdb.DuckDBPyConnection, at_ns: int) -> dict[str, list[schemas.RunningAttempt]]:
    """The attempts of each worker in the table ``workers``."""
    at = {"at": at_ns}
    rows = rows_of(reader.execute(_ATTEMPTS, at))
    blocked = {(row["task_id"], row["attempt"]): row for row in rows_of(reader.execute(_BLOCKED_ON, at))}
    attempts: dict[str, list[schemas.RunningAttempt]] = {}
    for row in rows:
        wait = blocked.get((row["task_id"], row["attempt"])) if row["situation"] == "blocked" else None
        attempt = {
            **fields_of(row, schemas.RunningAttempt),
            "name": (script_name(row["name"]) or "driver") if row["type"] == DRIVER else row["name"],
            "call": wait["call"] if wait else None,
            "blocked_on": wait["blocked_on"] if wait else [],
        }
        attempts.setdefault(row["worker_id"], []).append(cast(schemas.RunningAttempt, attempt))
    return attempts


def _gpus(
    reader: duckdb.DuckDBPyConnection, actors: Mapping[str, str | None]
) -> dict[str, list[schemas.GpuShare]]:
    """The GPUs of each worker's actor (``actors``: by worker) and of the tasks that it runs."""
    of_actors = gpus_of_actors(reader, actors.values())
    found = {worker_id: list(of_actors.get(actor_id or "", [])) for worker_id, actor_id in actors.items()}
    tasks = "SELECT * FROM running WHERE type = 'NORMAL_TASK'"
    of_tasks = gpus_of_attempts(reader, tasks)
    if of_tasks:
        for task_id, attempt, worker_id in reader.execute(
            f"SELECT {hex_id('task')}, attempt, worker_id FROM ({tasks})"
        ).fetchall():
            found.setdefault(worker_id, []).extend(of_tasks.get((task_id, attempt), []))
    return found


def _add(rows: list[Row], name: str, result: duckdb.DuckDBPyConnection, default: Any) -> None:
    by_worker = dict(result.fetchall())
    for row in rows:
        row[name] = by_worker.get(row["id"], default)
