"""Queries a job's record: attempts, waits, data edges, nodes, workers, actors and placement groups."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa

from rayscope.insights.replay.recorded import ARGUMENT, GET, LARGE_BYTES, PUT, RETURN, STOPPED
from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.schema import SHOWN_JOB
from rayscope.storage.sql.execution import (
    CREATED,
    CREATED_ACTOR,
    END,
    FIRST_PUT,
    INTERRUPTED,
    IS_DRIVER_TRACED,
    IS_GROUP_WAIT,
    IS_OPEN_WAIT,
    IS_USERS_SPAN,
    LAST,
    NOT_DRIVER,
    REACHED,
    STARTING,
    SUMMED,
    WAITED_GROUP,
    WAITS,
    called_name,
    ended_at,
    moved,
    with_worker_starts,
)
from rayscope.storage.sql.library_stops import IS_STOPPED
from rayscope.storage.sql.node_names import unique_node_name
from rayscope.storage.sql.process_ends import IS_CLOSEST, IS_OF_WORKER

_TASK = "hash({0}_hi, {0}_lo)"
_WAIT = "hash(task_hi, task_lo, attempt, begin_ns)"
#: SQL condition for rows of a job, whose task IDs end with the job's ID.
_OF_JOB = "ends_with(task_lo, $job)"
#: Ray's type of exit of a worker that its memory monitor killed.
_MONITORED = "NODE_OUT_OF_MEMORY"
#: SQL condition for all objects of those tasks that have at least one object that is needed.
_CHOSEN = "({0}_hi, {0}_lo) IN (FROM chosen)"


def count_attempts(reader: duckdb.DuckDBPyConnection, job: str) -> int:
    """The number of a job's attempts, not counting its driver."""
    sql = f"SELECT count(*) FROM attempts WHERE job_id = $job AND {NOT_DRIVER}"
    return int(reader.execute(sql, {"job": job}).fetchall()[0][0])


def running_jobs(reader: duckdb.DuckDBPyConnection, max_attempts: int, limit: int) -> list[str]:
    """The newest jobs that have not ended and have at most ``max_attempts`` attempts."""
    found = reader.execute(
        f"SELECT job_id FROM attempts WHERE job_id IS NOT NULL AND {NOT_DRIVER} "
        f"AND job_id NOT IN (SELECT id FROM job_rows WHERE end_ns IS NOT NULL OR NOT ({SHOWN_JOB})) "
        "GROUP BY job_id HAVING count(*) <= ? ORDER BY job_id DESC LIMIT ?",
        [max_attempts, limit],
    ).fetchall()
    return [job for (job,) in found]


def _table(reader: duckdb.DuckDBPyConnection, sql: str, job: str) -> pa.Table:
    return reader.sql(sql, params={"job": job}).to_arrow_table()


def read_attempts(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """The attempts of a job without drivers, in no particular order, because sorting such wide rows in DuckDB
    takes many times longer than sorting their keys in NumPy.
    """
    return _table(
        reader,
        f"""
SELECT {_TASK.format("task")} AS task, {_TASK.format("parent")} AS parent, task_hi, task_lo,
    attempt AS number, coalesce({called_name("attempts")}, creation, '') AS function, type,
    actor_id, node_id, worker_id, placement_group_id, required_resources, {CREATED} AS created,
    pending_node_assignment_ns AS pending,
    coalesce(submitted_to_worker_ns, {REACHED}) AS given,
    coalesce(execute_begin_ns, running_ns, {REACHED}) AS start,
    least(coalesce(execute_end_ns, returned_ns, total_end_ns, {END}), {END}) AS returned,
    {ended_at("NULL")} AS ended,
    {STARTING} AS starting,
    CASE WHEN deserialize_begin_ns IS NOT NULL THEN deserialize_begin_ns - running_ns END AS loading,
    CASE WHEN execute_begin_ns IS NOT NULL
        THEN execute_begin_ns - coalesce(deserialize_begin_ns, running_ns) END AS fetching,
    CASE WHEN returned_ns < execute_end_ns - 5000 THEN returned_ns END AS yielded,
    (coalesce(execute_begin_ns, running_ns) IS NOT NULL)::BIGINT AS ran,
    state, CASE WHEN {IS_STOPPED} THEN '{STOPPED}' ELSE error_type END AS error,
    cpu_ns, module_name AS module, function_hash AS code, call_site,
    runtime_env AS environment, return_bytes AS returned_bytes,
    output_bytes, peak_memory, start_memory, memory_scope,
    worker_pid AS pid
FROM (SELECT *, {CREATED_ACTOR} AS made FROM ({with_worker_starts("job_id = $job AND type != 'DRIVER_TASK'")})
    WHERE {CREATED} IS NOT NULL) attempts
LEFT JOIN (SELECT id, class_name || '.__init__' AS creation FROM actor_rows) r ON r.id = attempts.made""",
        job,
    )


def read_waits(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """The waits of a job's tasks and driver."""
    return _table(
        reader,
        f"""
SELECT {_TASK.format("task")} AS task, attempt, {_WAIT} AS wait, name = 'ray.wait' AS is_wait, begin_ns,
    end_ns,
    TRY_CAST(json_extract(extra, '$.ready') AS BIGINT) AS ready,
    TRY_CAST(json_extract(extra, '$.objects') AS BIGINT) AS objects, {INTERRUPTED} AS is_interrupted,
    {_WAIT} IN (SELECT {_WAIT} FROM edge_rows WHERE {IS_GROUP_WAIT} AND {_OF_JOB}) AS is_group,
    CASE WHEN {SUMMED} THEN TRY_CAST(json_extract(extra, '$.blocked_ns') AS BIGINT) END AS summed_ns
FROM (SELECT * REPLACE (CASE WHEN json_valid(extra) THEN extra END AS extra) FROM span_rows
    WHERE {WAITS} AND {_OF_JOB})
""",
        job,
    )


def read_open_waits(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """The objects in open waits of a job's tasks and driver, one per row."""
    return _table(
        reader,
        f"""
SELECT DISTINCT {_TASK.format("task")} AS task, attempt, kind = 'blocked:ray.wait' AS is_wait, begin_ns,
    {IS_GROUP_WAIT} AS is_group, {_TASK.format("object")} AS object, object_index
FROM edge_rows b WHERE {IS_OPEN_WAIT} AND {_OF_JOB}
ORDER BY ALL""",
        job,
    )


def read_group_waits(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """The waits of a job's tasks and driver for placement groups. ``end_ns`` is NULL if unknown."""
    return _table(
        reader,
        f"""
SELECT DISTINCT {_TASK.format("task")} AS task, {WAITED_GROUP} AS group_id, begin_ns,
    CASE WHEN kind = 'wait' THEN end_ns END AS end_ns
FROM edge_rows b WHERE {IS_GROUP_WAIT} AND (kind = 'wait' OR {IS_OPEN_WAIT}) AND {_OF_JOB}""",
        job,
    )


def read_edges(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """The objects that tasks of a job waited for or were called with. ``object``: the task that created it;
    ``wait``: the wait that named it.
    """
    return _table(
        reader,
        f"""
SELECT DISTINCT {_TASK.format("task")} AS task, {_WAIT} AS wait, kind = 'argument' AS is_argument,
    {_TASK.format("object")} AS object, object_index, coalesce(bytes, 0) AS bytes
FROM edge_rows
WHERE kind IN ('get', 'wait', 'argument') AND object_index < {FIRST_PUT} AND {_OF_JOB}""",
        job,
    )


def read_passed(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """The objects that tasks of a job, and its driver, created, were called with or got, if they are large,
    put, or nested in others. ``kind`` as in :class:`recorded.Passed`.
    """
    return _table(
        reader,
        f"""
WITH chosen AS MATERIALIZED (
    SELECT object_hi, object_lo FROM edge_rows
    WHERE (kind IN ('put', 'nested') OR bytes > {LARGE_BYTES}) AND {_OF_JOB}
    UNION SELECT task_hi, task_lo FROM attempts WHERE return_bytes > {LARGE_BYTES} AND {_OF_JOB})
SELECT CASE kind WHEN 'put' THEN {PUT} WHEN 'return' THEN {RETURN} WHEN 'argument' THEN {ARGUMENT}
        ELSE {GET} END AS kind,
    {_TASK.format("producer")} AS maker, {_TASK.format("consumer")} AS taker,
    hash(object_hi, object_lo, object_index) AS key, bytes,
    coalesce(nested, false) AS nested, coalesce(by_value, false) AS by_value, begin_ns AS "begin",
    end_ns AS "end"
FROM ({moved(f"{_OF_JOB} AND {_CHOSEN.format('object')}", f"ends_with({{0}}_lo, $job) AND {_CHOSEN}")})
WHERE ends_with(coalesce(consumer_lo, producer_lo), $job) AND (kind != 'return' OR bytes > {LARGE_BYTES})""",
        job,
    )


def read_sendings(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """Slow submissions of a job's tasks and driver, the code that they sent, and large arguments."""
    return _table(
        reader,
        f"""
SELECT CASE name WHEN 'submit_task' THEN 'submit' ELSE name END AS kind, {_TASK.format("task")} AS task,
    begin_ns AS "begin", end_ns AS "end", TRY_CAST(json_extract(extra, '$.bytes') AS BIGINT) AS bytes,
    coalesce(json_extract_string(extra, '$.code'), json_extract_string(extra, '$.check_sum')) AS code
FROM (SELECT * REPLACE (CASE WHEN json_valid(extra) THEN extra END AS extra) FROM span_rows
    WHERE (name IN ('export', 'content') OR name = 'submit_task' AND end_ns - begin_ns >= 1000000)
        AND NOT {IS_USERS_SPAN} AND {_OF_JOB})
ORDER BY begin_ns, end_ns""",
        job,
    )


def read_risks(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """Actions of a job's tasks and driver that may do harm. ``place``: the place in the code, or the operator
    for an issue of Ray Data; ``times``: the minimum number of times that it happened.
    """
    return _table(
        reader,
        f"""
SELECT name AS kind, {_TASK.format("task")} AS task, json_extract_string(extra, '$.place') AS place,
    TRY_CAST(json_extract(extra, '$.times') AS BIGINT) AS times,
    coalesce(json_extract_string(extra, '$.issue'), '') AS issue,
    coalesce(json_extract_string(extra, '$.message'), '') AS message
FROM (SELECT * REPLACE (CASE WHEN json_valid(extra) THEN extra END AS extra) FROM span_rows
    WHERE name IN ('fork', 'pickled_reference', 'data_issue')
        AND NOT {IS_USERS_SPAN} AND {_OF_JOB})
WHERE place IS NOT NULL AND times > 0
ORDER BY begin_ns, place""",
        job,
    )


def read_memory_kills(reader: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """The workers of all jobs that were killed for lack of memory, as (ID, node, end, whether the kernel
    killed it, its size, the memory of its node).
    """
    return reader.execute(
        f"""
SELECT w.id, w.node_id, coalesce(p.end_ns, w.end_ns) AS end_ns,
    w.exit_type IS DISTINCT FROM '{_MONITORED}' AS by_kernel,
    coalesce(p.rss_bytes, w.death_memory_bytes) AS size_bytes,
    least(p.memory_total, p.cgroup_limit) AS total_bytes
FROM worker_rows w LEFT JOIN process_end_rows p ON {IS_OF_WORKER}
WHERE w.exit_type = '{_MONITORED}'
    OR p.signal = 'SIGKILL' AND (p.kernel_record IS NOT NULL OR p.oom_kills > 0)
QUALIFY {IS_CLOSEST}
ORDER BY end_ns, w.id"""
    ).fetchall()


def read_fetched(reader: duckdb.DuckDBPyConnection, job: str) -> pa.Table:
    """How many bytes of arguments each attempt fetched."""
    return _table(
        reader,
        f"SELECT {_TASK.format('task')} AS task, attempt, sum(bytes)::BIGINT AS bytes FROM edge_rows "
        f"WHERE kind = 'fetched' AND {_OF_JOB} GROUP BY ALL",
        job,
    )


def read_driver(reader: duckdb.DuckDBPyConnection, job: str) -> dict[str, Any]:
    """The recorded facts about a job's driver: its task's number, when it and the job began and ended, the
    number of its children, whether it was traced, and the end of the record.
    """
    driver = DRIVER_PREFIX + job
    high, low = int(driver[:16], 16), driver[16:]
    found = reader.execute(
        f"""
SELECT hash($high::UBIGINT, $low::VARCHAR),
    (SELECT min(least(running_ns, {CREATED})) FROM attempts WHERE type = 'DRIVER_TASK' AND job_id = $job),
    (SELECT max({END}) FROM attempts WHERE type = 'DRIVER_TASK' AND job_id = $job),
    (SELECT min(start_ns) FROM job_rows WHERE id = $job AND start_ns > 0),
    (SELECT max(end_ns) FROM job_rows WHERE id = $job AND end_ns > 0),
    (SELECT count(*) FROM attempts WHERE parent_hi = $high AND parent_lo = $low),
    {IS_DRIVER_TRACED}, {LAST}""",
        {"high": high, "low": low, "job": job},
    ).fetchall()[0]
    names = ("task", "begin", "end", "job_begin", "job_end", "children", "traced", "last")
    return dict(zip(names, found, strict=True))


def read_entrypoint(reader: duckdb.DuckDBPyConnection, job: str) -> str:
    """The command line of a job's driver, or "" if unknown."""
    found = reader.execute("SELECT any_value(entrypoint) FROM job_rows WHERE id = $job", {"job": job})
    return found.fetchall()[0][0] or ""


def read_nodes(reader: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """All nodes, as (ID, resources as JSON, start, end, name, cause of death)."""
    return reader.execute(
        f"SELECT id, resources_total, start_ns, end_ns, {unique_node_name('node_rows')}, "
        "coalesce(death_reason, '') FROM node_rows "
        "ORDER BY is_head DESC NULLS LAST, start_ns, id"
    ).fetchall()


def read_workers(reader: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """All workers whose launch is known, as (ID, node, launch, start, job)."""
    return reader.execute(
        "SELECT id, node_id, launch_ns, start_ns, job_id FROM worker_rows "
        "WHERE launch_ns > 0 AND start_ns > 0 AND worker_type != 'DRIVER' ORDER BY launch_ns"
    ).fetchall()


def read_actors(reader: duckdb.DuckDBPyConnection, job: str) -> list[tuple[Any, ...]]:
    """A job's actors, as (ID, class, resources as JSON, end, start, state, restarts, cause of death)."""
    return reader.execute(
        "SELECT id, class_name, required_resources, end_ns, start_ns, coalesce(state, ''), "
        "coalesce(num_restarts, 0), coalesce(death_reason, '') FROM actor_rows WHERE job_id = $job "
        "ORDER BY id",
        {"job": job},
    ).fetchall()


def read_groups(reader: duckdb.DuckDBPyConnection, job: str) -> list[tuple[Any, ...]]:
    """A job's placement groups, as (ID, bundles as JSON, creation time, the whole record, name, strategy,
    statistics as JSON).
    """
    return reader.execute(
        "SELECT id, bundles, created_ns, doc, coalesce(name, ''), coalesce(strategy, 'PACK'), stats "
        "FROM placement_group_rows WHERE job_id = $job "
        "ORDER BY created_ns, id",
        {"job": job},
    ).fetchall()
