"""Sums for a logical graph with very many attempts: first by call path, because there are few call paths."""

from __future__ import annotations

import duckdb

from rayscope.storage.call_paths import ROOT
from rayscope.storage.sql.execution import (
    CREATED_ACTOR,
    attempt_key,
    called_name,
    creation_name,
    ended_at,
    is_driver,
    times,
    total,
    waited_columns,
    waited_ns,
)
from rayscope.storage.sql.function_names import IS_ACTOR, tasks_named
from rayscope.storage.sql.pages import Row, Where, rows_of
from rayscope.storage.sql.quantiles import bucket, quantile, ranked

_KEY = "task_hi, task_lo, attempt"
_EDGE = "is_node, func, caller_kind, caller"
#: Times that have quantiles, each with the prefix of the columns.
QUANTILES = (("total", "total_"), ("duration", ""))
#: The call path determines the function and the caller, except that a driver is identified by its job.
_BY_PATH = "path_id, job_id AS job"
#: Columns that determine the function and the caller of an attempt without a call path. ``made`` is the actor
#: if the attempt has no name. ``up_hi`` and ``up_lo`` identify the parent if it is not a driver.
_BY_PARENT = f"""{called_name("attempts")} AS own, {CREATED_ACTOR} AS made,
        CASE WHEN {is_driver("parent")} THEN right(parent_lo, 8) END AS job,
        CASE WHEN job IS NULL THEN parent_hi END AS up_hi,
        CASE WHEN job IS NULL THEN parent_lo END AS up_lo"""


def called(
    reader: duckdb.DuckDBPyConnection, where: Where, last: int, spans: str
) -> tuple[list[Row], list[tuple[str | None, None, str, int]]]:
    """Return a row per function (``is_node``) and a row per caller and function, with estimated quantiles.

    The second list has (function, None, state, number of attempts), ordered by state. ``spans`` is an SQL
    condition on ``picked`` for the waits to read.
    """
    condition, values = where.named()
    # These run one after another: a single statement would exceed the memory limit.
    _wait_sums(reader, condition, values, last, spans)
    reader.execute(
        f"CREATE TEMP TABLE sums AS {_sums(_BY_PATH, f'{condition} AND path_id IS NOT NULL', last)} "
        f"UNION ALL BY NAME {_sums(_BY_PARENT, f'{condition} AND path_id IS NULL', last)}",
        values,
    )
    reader.execute(f"CREATE TEMP TABLE named AS {_named()}")
    states = reader.execute(
        "SELECT func, NULL, state, sum(n)::BIGINT FROM named GROUP BY ALL ORDER BY state"
    ).fetchall()
    return rows_of(reader.execute(_by_edge())), states


def _wait_sums(
    reader: duckdb.DuckDBPyConnection, condition: str, values: dict[str, object], last: int, spans: str
) -> None:
    """Create the table ``waited`` with the sums of each attempt's waits, by the attempt's key."""
    picked = (
        f"WITH picked AS NOT MATERIALIZED (SELECT {_KEY}, {ended_at(last)} AS ended FROM attempts "
        f"WHERE {condition})"
    )
    lasted = f"SELECT {_KEY}, ended FROM picked"
    reader.execute(f"CREATE TEMP TABLE waited AS {picked} SELECT * FROM ({waited_ns(spans, lasted)})", values)


def sums_of_attempts(of: str, is_method: str, quantile: str = "quantile_cont", sample: str = "") -> str:
    """Return SQL for rows in the format of :func:`_by_edge`, but also grouped by box.

    ``of`` contains attempts with their function, caller, boxes, ``duration``, ``executing``, ``awaiting``,
    ``blocked``, and ``total``. ``is_method`` is SQL for whether an attempt belongs to an actor. ``quantile``
    is the function for quantiles, and ``sample`` its last parameter.
    """
    quantiles = ", ".join(
        f"{quantile}({of}, {share}{sample})::BIGINT AS {prefix}p{share * 100:.0f}_ns"
        for of, prefix in QUANTILES
        for share in (0.5, 0.95)
    )
    return f"""
SELECT func, box, caller_kind, caller, caller_box, grouping(caller_kind) = 1 AS is_node,
    bool_or({is_method}) AS is_method, count(*) AS attempts, count(*) FILTER (state = 'FAILED') AS failed,
    {total("duration")} AS duration_ns, {total("executing - awaiting - blocked")} AS executing_ns,
    {total("awaiting")} AS awaiting_ns, {total("blocked")} AS blocked_ns,
    {total("output_bytes")} AS output_bytes, {quantiles}
FROM {of} GROUP BY GROUPING SETS ((func, box), (func, box, caller_kind, caller, caller_box))
"""


def _sums(by: str, condition: str, last: int) -> str:
    """Return SQL for sums over the attempts that match ``condition``, by the columns ``by``, the state, and
    the buckets of both times.
    """
    of_attempt = times(last)
    bounds = ", ".join(f"min({of}) AS min_{of}, max({of}) AS max_{of}" for of, _ in QUANTILES)
    return f"""
SELECT * EXCLUDE ({_KEY}, is_of_actor, output_bytes, duration, total, executing, blocked, awaiting),
    bool_or(is_of_actor) AS is_method, count(*) AS n, {total("duration")} AS took,
    {total("executing")} AS executed, {total("awaiting")} AS awaited, {total("blocked")} AS blocked,
    {total("output_bytes")} AS bytes, {bounds}
FROM (
    SELECT k.*, {bucket("duration")} AS duration_in, {bucket("total")} AS total_in, {waited_columns("w.")}
    FROM (
        SELECT {_KEY}, {by}, coalesce(state, 'NIL') AS state, output_bytes,
            coalesce({IS_ACTOR}, false) AS is_of_actor, {of_attempt["duration"]} AS duration,
            {of_attempt["total"]} AS total, coalesce({of_attempt["executing"]}, 0) AS executing
        FROM attempts WHERE {condition}) k
    LEFT JOIN waited w ON w.key = {attempt_key("k.")})
GROUP BY ALL"""


def _named() -> str:
    """Return SQL for the rows of ``sums`` with their function and caller."""
    callers = tasks_named("task_hi IN (SELECT up_hi FROM sums WHERE up_hi IS NOT NULL)")
    return f"""
WITH callers AS ({callers})
SELECT coalesce(s.name, s.own, {creation_name("made")}) AS func,
    CASE WHEN is_of_driver THEN 'driver' WHEN coalesce(up.name, c.func) IS NULL THEN 'unknown'
        ELSE 'function' END AS caller_kind,
    CASE WHEN is_of_driver THEN job ELSE coalesce(up.name, c.func) END AS caller,
    s.* EXCLUDE (path_id, own, made, job, up_hi, up_lo, name, parent_path_id, is_of_driver)
FROM (
    SELECT sums.*, p.name, p.parent_path_id,
        CASE WHEN sums.path_id IS NULL THEN job IS NOT NULL ELSE p.parent_path_id = {ROOT} END AS is_of_driver
    FROM sums LEFT JOIN paths p USING (path_id)) s
LEFT JOIN paths up ON up.path_id = s.parent_path_id
LEFT JOIN callers c ON c.task_hi = s.up_hi AND c.task_lo = s.up_lo
"""


def _spread(of: str) -> str:
    """Return SQL for the number and range of durations per bucket, for one kind of time."""
    return (
        f"{_EDGE}, {of}_in AS bucket, coalesce(sum(n) FILTER ({of}_in IS NOT NULL), 0) AS took_n, "
        f"min(min_{of}) AS min_took, max(max_{of}) AS max_took"
    )


def _by_edge() -> str:
    """Return SQL for the rows per function and per caller and function, from the table ``named``."""
    quantiles = ", ".join(
        f"{quantile(share, f'is_duration = {not prefix}')} AS {prefix}p{share * 100:.0f}_ns"
        for _, prefix in QUANTILES
        for share in (0.5, 0.95)
    )
    return f"""
WITH every AS (
    SELECT false AS is_node, * FROM named
    UNION ALL SELECT true, * REPLACE (NULL AS caller_kind, NULL AS caller) FROM named),
grouped AS (
    SELECT true AS is_duration, {_spread("duration")}, bool_or(is_method) AS is_method, sum(n) AS n,
        sum(n) FILTER (state = 'FAILED') AS failed, sum(took) AS took, sum(executed) AS executed,
        sum(awaited) AS awaited, sum(blocked) AS blocked, sum(bytes) AS bytes
    FROM every GROUP BY {_EDGE}, bucket
    UNION ALL BY NAME SELECT false AS is_duration, {_spread("total")} FROM every GROUP BY {_EDGE}, bucket),
ranked AS ({ranked("grouped", f"{_EDGE}, is_duration")})
SELECT func, NULL::VARCHAR AS box, caller_kind, caller, NULL::VARCHAR AS caller_box, is_node,
    bool_or(is_method) AS is_method, coalesce(sum(n), 0)::BIGINT AS attempts,
    coalesce(sum(failed), 0)::BIGINT AS failed, {total("took")} AS duration_ns,
    greatest(0, {total("executed")} - {total("awaited")} - {total("blocked")}) AS executing_ns,
    {total("awaited")} AS awaiting_ns, {total("blocked")} AS blocked_ns, {total("bytes")} AS output_bytes,
    {quantiles}
FROM ranked GROUP BY {_EDGE}
"""
