"""Queries about one run: its job, its functions, its nodes and what it used."""

from __future__ import annotations

from typing import NamedTuple

import duckdb

from rayscope.storage.call_paths import DRIVER_PREFIX, ROOT
from rayscope.storage.rows import split_id
from rayscope.storage.schema import SHOWN_JOB
from rayscope.storage.sql.execution import (
    EXECUTING,
    IS_DRIVER_TRACED,
    NOT_DRIVER,
    TASK_ID,
    executed_at,
    function_name,
    phases,
)
from rayscope.storage.sql.gpu_use import holds_gpus
from rayscope.storage.sql.library_stops import count_stopped
from rayscope.storage.sql.pages import Row, Where, rows_of

#: Maximum number of functions of a run: those with the most time.
MAX_FUNCTIONS = 10_000
#: Likewise of call paths, whose names are long.
_MAX_CALL_PATHS = 2000
#: Stands for the callers in a call path if they are unknown or more than `_MAX_DEPTH`.
UNKNOWN_CALLERS = "… › "
_MAX_DEPTH = 16
#: Maximum length of a function's name in a call path.
_MAX_NAME = 100
_OF_JOB = f"{NOT_DRIVER} AND job_id = $job"


class FunctionFigures(NamedTuple):
    """The figures of a function in one run. Times are in ns, sizes in bytes. None: unknown.

    ``mean_ns``, ``p50_ns``, ``p95_ns`` and ``total_ns`` are times of execution without waits, over
    ``measured`` attempts.
    """

    module: str | None
    attempts: int
    failed: int
    measured: int
    mean_ns: float | None
    p50_ns: int | None
    p95_ns: int | None
    total_ns: int
    cpu_ns: int | None
    peak_memory: int | None
    input_bytes: int | None
    output_bytes: int | None


def read_job(reader: duckdb.DuckDBPyConnection, job_id: str | None) -> Row:
    """A job's command, settings and state, empty for an unknown job."""
    found: list[Row] = rows_of(
        reader.execute(
            "SELECT entrypoint, runtime_env, metadata, versions, state, start_ns, end_ns FROM job_rows "
            "WHERE id = ?",
            [job_id],
        )
    )
    return found[0] if found else {}


def read_functions(
    reader: duckdb.DuckDBPyConnection, job_id: str | None, last_ns: int, *, by_path: bool = False
) -> dict[str, FunctionFigures]:
    """The functions of a job by name, or by call path as ``prepare › load``, those with the most time first.

    A path begins with ``…`` if the callers are unknown, or too many.
    """
    name = function_name("attempts")
    key, func, texts, called, ctes = name, "func_name", "", "", ""
    if by_path:
        key, func = f"coalesce(x.text, '{UNKNOWN_CALLERS}' || {name})", "func"
        texts = "LEFT JOIN texts x ON x.path_id = attempts.path_id"
        called = "JOIN called USING (task_id, attempt)"
        ctes = f"""RECURSIVE texts AS (
            SELECT path_id, left(name, {_MAX_NAME}) AS text, 1 AS level
            FROM paths WHERE parent_path_id = {ROOT}
            UNION ALL SELECT p.path_id, t.text || ' › ' || left(p.name, {_MAX_NAME}), level + 1
            FROM paths p JOIN texts t ON p.parent_path_id = t.path_id WHERE level < {_MAX_DEPTH}),
        called AS (
            SELECT {TASK_ID} AS task_id, attempt, {key} AS func FROM attempts {texts} WHERE {_OF_JOB}),"""
    found = reader.execute(
        f"""
        WITH {ctes} lasted AS (
            SELECT {func} AS func, count(executing_ns) AS measured, avg(executing_ns) AS mean_ns,
                quantile_cont(executing_ns, 0.5)::BIGINT AS p50_ns,
                quantile_cont(executing_ns, 0.95)::BIGINT AS p95_ns,
                coalesce(sum(executing_ns), 0)::BIGINT AS total_ns
            FROM ({phases(_OF_JOB, last=int(last_ns))})
            {called} GROUP BY ALL),
        fetched AS (
            SELECT task_hi, task_lo, attempt, sum(bytes)::BIGINT AS bytes FROM edge_rows
            WHERE kind = 'fetched' AND ends_with(task_lo, $job) GROUP BY ALL),
        used AS (
            SELECT {key} AS func, any_value(module_name) AS module, count(*) AS attempts,
                count(*) FILTER (state = 'FAILED') AS failed, sum(cpu_ns)::BIGINT AS cpu_ns,
                max(peak_memory) AS peak_memory, sum(f.bytes)::BIGINT AS input_bytes,
                sum(output_bytes)::BIGINT AS output_bytes
            FROM attempts LEFT JOIN fetched f USING (task_hi, task_lo, attempt) {texts}
            WHERE {_OF_JOB} GROUP BY func)
        SELECT func, module, attempts, failed, measured, mean_ns, p50_ns, p95_ns, total_ns, cpu_ns,
            peak_memory, input_bytes, output_bytes
        FROM used JOIN lasted USING (func) WHERE func IS NOT NULL
        ORDER BY total_ns DESC, func LIMIT {_MAX_CALL_PATHS if by_path else MAX_FUNCTIONS}
        """,
        {"job": job_id},
    ).fetchall()
    return {func: FunctionFigures(*figures) for func, *figures in found}


def read_nodes(
    reader: duckdb.DuckDBPyConnection, begin_ns: int, end_ns: int
) -> list[tuple[str | None, str | None]]:
    """The resources (JSON) and type of each node that was alive in a range of time."""
    return reader.execute(
        "SELECT resources_total, instance_type FROM node_rows "
        "WHERE coalesce(start_ns, 0) <= $end_ns AND coalesce(end_ns, $end_ns) >= $begin_ns",
        {"begin_ns": begin_ns, "end_ns": end_ns},
    ).fetchall()


def read_plans(reader: duckdb.DuckDBPyConnection, job_id: str | None) -> list[str]:
    """The operators of each dataset of a job in order, such as ``Read → Map(f)``."""
    found = reader.execute(
        """
        SELECT string_agg(o.name, ' → ' ORDER BY o.position, o.id)
        FROM dataset_rows d JOIN dataset_operator_rows o ON o.dataset_id = d.id
        WHERE d.job_id = $job AND o.name IS NOT NULL GROUP BY d.id
        """,
        {"job": job_id},
    ).fetchall()
    return [plan for (plan,) in found]


def read_placement_groups(
    reader: duckdb.DuckDBPyConnection, job_id: str | None
) -> list[tuple[str | None, str | None]]:
    """The strategy and the bundles (JSON) of each placement group that a job created."""
    return reader.execute(
        "SELECT strategy, bundles FROM placement_group_rows WHERE job_id = $job ORDER BY created_ns, id",
        {"job": job_id},
    ).fetchall()


def read_commands(reader: duckdb.DuckDBPyConnection, before_ns: int) -> list[tuple[str, str]]:
    """The ID and command of each job that ended and began before a time, the newest first."""
    return reader.execute(
        f"SELECT id, entrypoint FROM job_rows WHERE {SHOWN_JOB} AND end_ns > 0 AND start_ns < $before_ns "
        "AND entrypoint IS NOT NULL ORDER BY start_ns DESC, id",
        {"before_ns": before_ns},
    ).fetchall()


def read_jobs(reader: duckdb.DuckDBPyConnection) -> list[tuple[str, int, int | None]]:
    """The ID, begin and end of each job. A begin that is not recorded is 0, such an end is None."""
    return reader.execute(
        f"""
        SELECT id, coalesce(start_ns, 0), CASE WHEN end_ns > 0 THEN end_ns END FROM job_rows
        WHERE {SHOWN_JOB} ORDER BY id
        """
    ).fetchall()


class RunTotals(NamedTuple):
    """Totals of the attempts of a job. Times are in ns, memory in bytes. None: unknown.

    ``failed`` excludes the attempts that a library stopped on purpose. ``gpu_ns`` is the time in which the
    job's tasks and actors held GPUs, multiplied by the number of GPUs.
    """

    tasks: int
    attempts: int
    failed: int
    cpu_ns: int | None
    gpu_ns: int | None
    peak_memory: int | None
    is_traced: bool


def _gpus(of: str) -> str:
    """SQL for the number of GPUs that a row of a table requests. In a placement group, several names stand
    for the same GPUs.
    """
    resources = f"{of}.required_resources"
    return (
        f"list_max([TRY_CAST(json_extract_string({resources}, '$.\"' || name || '\"') AS DOUBLE) "
        f"FOR name IN json_keys({resources}) IF name = 'GPU' OR starts_with(name, 'GPU_group')])"
    )


def read_totals(reader: duckdb.DuckDBPyConnection, job_id: str, last_ns: int) -> RunTotals:
    """Read the totals of a job's attempts. ``last_ns``: the end that is assumed for running attempts."""
    tasks, attempts, failed, cpu_ns, peak_memory, is_defined = reader.execute(
        "SELECT count(DISTINCT (task_hi, task_lo)), count(*), count(*) FILTER (state = 'FAILED'), "
        "sum(cpu_ns)::BIGINT, max(peak_memory), count(required_resources) > 0 OR count(*) = 0 "
        f"FROM attempts WHERE {_OF_JOB}",
        {"job": job_id},
    ).fetchall()[0]
    if failed:
        failed -= count_stopped(reader, Where([NOT_DRIVER, "job_id = ?"], [job_id]))
    ((gpu_ns,),) = reader.execute(
        f"""
        WITH held AS (
            SELECT {_gpus("a")} * ({executed_at(int(last_ns))} - {EXECUTING}) AS gpu_ns FROM attempts a
            WHERE type = 'NORMAL_TASK' AND job_id = $job AND {EXECUTING} IS NOT NULL AND {holds_gpus("a")}
            UNION ALL
            SELECT {_gpus("r")} * (coalesce(end_ns, {int(last_ns)}) - start_ns) FROM actor_rows r
            WHERE job_id = $job AND start_ns IS NOT NULL AND {holds_gpus("r")})
        SELECT CASE WHEN count(*) = count(gpu_ns) THEN coalesce(sum(gpu_ns), 0)::BIGINT END FROM held
        """,
        {"job": job_id},
    ).fetchall()
    high, low = split_id(DRIVER_PREFIX + job_id)
    ((is_traced,),) = reader.execute(
        f"SELECT {IS_DRIVER_TRACED}", {"job": job_id, "high": high, "low": low}
    ).fetchall()
    return RunTotals(
        tasks, attempts, failed, cpu_ns, gpu_ns if is_defined else None, peak_memory, bool(is_traced)
    )
