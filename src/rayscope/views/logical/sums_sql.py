"""Sums for a logical graph with very many attempts: first by call path, because there are few call paths."""

from __future__ import annotations

import duckdb

from rayscope.storage.sql.execution import (
    CREATED,
    CREATED_ACTOR,
    END,
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
#: Columns that determine the function and the caller of an attempt. ``made`` is the actor if the attempt has
#: no name. ``up_hi`` and ``up_lo`` identify the parent if neither the path nor the parent's ID determines the
#: caller.
GROUP = "path_id, own, made, is_method, job, up_hi, up_lo"
#: The actor of a restart. Ray does not name restarts, so filters by name find them by their actor's class.
RESTARTED = "CASE WHEN name IS NULL AND type = 'ACTOR_CREATION_TASK' THEN actor_id END"
#: Columns ``blocked`` and ``awaiting`` of an attempt in ``keyed``. ``w`` is its row of :func:`wait_sums`.
WAITED = waited_columns("w.")
#: CTE with the name of the caller for each call path.
_KNOWN = (
    "known AS (SELECT own.path_id AS path_id, up.name AS name "
    "FROM paths own JOIN paths up ON up.path_id = own.parent_path_id)"
)
_EDGE = "is_node, func, caller_kind, caller"
#: Times that have quantiles, each with the prefix of the columns.
QUANTILES = (("total", "total_"), ("duration", ""))


def called(
    reader: duckdb.DuckDBPyConnection, where: Where, last: int, spans: str
) -> tuple[list[Row], list[tuple[str | None, None, str, int]]]:
    """Return a row per function (``is_node``) and a row per caller and function, with estimated quantiles.

    The second list has (function, None, state, number of attempts), ordered by state. ``spans`` is an SQL
    condition on ``picked`` for the waits to read.
    """
    # These run one after another: a single statement would exceed the memory limit.
    wait_sums(reader, where, last, spans)
    buckets = f"{bucket('duration')} AS duration_in, {bucket('total')} AS total_in"
    reader.execute(
        f"CREATE TEMP TABLE sums AS {keyed(where, last)} {sums(GROUP, buckets)} "
        f"FROM (SELECT k.*, {WAITED} FROM keyed k LEFT JOIN waited w ON w.key = {attempt_key('k.')}) "
        "GROUP BY ALL",
        where.values,
    )
    states = reader.execute(
        f"SELECT coalesce(own, {creation_name('made')}) AS func, NULL, state, sum(n)::BIGINT FROM sums "
        "GROUP BY ALL ORDER BY state"
    ).fetchall()
    return rows_of(reader.execute(by_edge(named_groups("sums")))), states


def wait_sums(reader: duckdb.DuckDBPyConnection, where: Where, last: int, spans: str) -> None:
    """Create the table ``waited`` with the sums of each attempt's waits, by the attempt's key."""
    picked = (
        f"WITH picked AS NOT MATERIALIZED (SELECT {_KEY}, {ended_at(last)} AS ended FROM attempts{where.sql})"
    )
    lasted = f"SELECT {_KEY}, ended FROM picked"
    reader.execute(
        f"CREATE TEMP TABLE waited AS {picked} SELECT * FROM ({waited_ns(spans, lasted)})",
        where.values,
    )


def keyed(where: Where, last: int) -> str:
    """Return SQL for the CTEs ``known`` (paths with the caller's name), ``picked``, and ``keyed``.

    ``keyed`` contains the attempts with the columns by which they are grouped. The parameters are those of
    ``where``.
    """
    of_attempt = times(last)
    return f"""
WITH {_KNOWN},
picked AS NOT MATERIALIZED (
    SELECT {_KEY}, path_id, {called_name("attempts")} AS own, coalesce(state, 'NIL') AS state, output_bytes,
        parent_hi, parent_lo, type, name, func_name, actor_repr_name, job_id, node_id,
        {CREATED_ACTOR} AS made, {RESTARTED} AS restarted,
        coalesce({IS_ACTOR}, false) AS is_method,
        CASE WHEN {is_driver("parent")} THEN right(parent_lo, 8) END AS job,
        coalesce(path_id IN (SELECT path_id FROM known), false) AS is_known,
        {CREATED} AS created, {END} AS ended, {of_attempt["duration"]} AS duration,
        {of_attempt["total"]} AS total, coalesce({of_attempt["executing"]}, 0) AS executing
    FROM attempts{where.sql}),
keyed AS NOT MATERIALIZED (
    SELECT *, CASE WHEN job IS NULL AND NOT is_known THEN parent_hi END AS up_hi,
        CASE WHEN job IS NULL AND NOT is_known THEN parent_lo END AS up_lo
    FROM picked)"""


def sums_of_attempts(of: str, is_method: str, quantile: str = "quantile_cont", sample: str = "") -> str:
    """Return SQL for rows in the format of :func:`by_edge`, but also grouped by box.

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


def sums(group: str, buckets: str) -> str:
    """Return SQL for sums over attempts that have their times, :data:`WAITED`, and ``output_bytes``.

    ``group`` contains the grouping columns, besides the state and the ``buckets`` (``duration_in``,
    ``total_in``).
    """
    bounds = ", ".join(f"min({of}) AS min_{of}, max({of}) AS max_{of}" for of, _ in QUANTILES)
    return (
        f"SELECT {group}, state, {buckets}, count(*) AS n, {total('duration')} AS took, "
        f"{total('executing')} AS executed, {total('awaiting')} AS awaited, "
        f"{total('blocked')} AS blocked, {total('output_bytes')} AS bytes, "
        f"{bounds}"
    )


def named_groups(of: str) -> str:
    """Return SQL for the rows of ``of`` with function and caller in place of :data:`GROUP`."""
    callers = tasks_named(f"task_hi IN (SELECT up_hi FROM {of} WHERE up_hi IS NOT NULL)")
    return f"""
WITH {_KNOWN},
callers AS ({callers})
SELECT coalesce(own, {creation_name("made")}) AS func,
    CASE WHEN job IS NOT NULL THEN 'driver' WHEN coalesce(k.name, c.func) IS NULL THEN 'unknown'
        ELSE 'function' END AS caller_kind,
    CASE WHEN job IS NOT NULL THEN job ELSE coalesce(k.name, c.func) END AS caller,
    s.* EXCLUDE (path_id, own, made, job, up_hi, up_lo)
FROM {of} s LEFT JOIN known k ON k.path_id = s.path_id
LEFT JOIN callers c ON c.task_hi = s.up_hi AND c.task_lo = s.up_lo
"""


def _spread(of: str) -> str:
    """Return SQL for the number and range of durations per bucket, for one kind of time."""
    return (
        f"{_EDGE}, {of}_in AS bucket, coalesce(sum(n) FILTER ({of}_in IS NOT NULL), 0) AS took_n, "
        f"min(min_{of}) AS min_took, max(max_{of}) AS max_took"
    )


def by_edge(named: str) -> str:
    """Return SQL for the rows per function and per caller and function, as :func:`called` returns them first.

    ``named`` is SQL for rows of :func:`sums` with ``func``, ``caller_kind``, ``caller``, and ``is_method``.
    """
    quantiles = ", ".join(
        f"{quantile(share, f'is_duration = {not prefix}')} AS {prefix}p{share * 100:.0f}_ns"
        for _, prefix in QUANTILES
        for share in (0.5, 0.95)
    )
    return f"""
WITH named AS MATERIALIZED ({named}),
every AS (
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
