"""Sums over attempts by call path, for flame graphs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import duckdb

from rayscope.storage.errors import BadQuery
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import (
    CREATED,
    CREATED_ACTOR,
    EXECUTING,
    FOREVER,
    START,
    attempt_key,
    called_name,
    creation_name,
    ended_at,
    executed_at,
    total,
    waited_columns,
    waited_ns,
)
from rayscope.storage.sql.filters import TaskFilters, attempt_filters
from rayscope.storage.sql.pages import Where
from rayscope.storage.sql.quantiles import bucket, quantile, ranked

#: Maximum number of different call paths in one result.
MAX_PATHS = 200_000
_FRAME = re.compile(r"[0-9]{1,19}|unknown(/.*)?", re.DOTALL)
_KEY = "task_hi, task_lo, attempt"


#: Columns by which attempts are grouped. If the path is unknown, they are grouped by function. Finding the
#: function of a restarted actor takes a lookup, so this is done last.
_GROUP = "path_id, lone, made"
_LONE = f"coalesce(lone, {creation_name('made')})"


def _byte_seconds(ns: str) -> str:
    """SQL for the peak memory of an attempt times ``ns``, in bytes times seconds."""
    return f"least(peak_memory * (({ns}) / 1e9), 9e18)::BIGINT"


def _by_path(where: Where, since: int, upto: int, last: int, *, with_peaks: bool) -> tuple[str, str]:
    """Return two SQL statements. One creates a helper table, the other returns a row per call path.

    A single statement would exceed the memory limit. Both take the parameters of ``where``. ``since``,
    ``upto``, and ``last`` are in ns. Running attempts last until ``last``.

    Blocked time is the union of an attempt's waits, as in ``execution.phases``. In a running attempt, a wait
    without a recorded end continues. If several waits were recorded as one sum, a time range gets a
    proportional share of it. Quantiles are computed from eight buckets of durations per power of two. Those
    of peak memory are NULL unless ``with_peaks``, because they take a quarter of the time of all other sums.

    If attempts shared a process, its memory is not added up, because it would count several times.
    """
    is_ranged = since > 0 or upto < FOREVER

    def inside(begin: str, end: str) -> str:
        lasted = f"least({end}, {upto}) - greatest({begin}, {since})" if is_ranged else f"{end} - {begin}"
        return f"CASE WHEN {begin} IS NULL THEN 0 ELSE greatest(0, {lasted}) END"

    # A time range gets CPU time in proportion to its length.
    lies = inside("began", "ended")
    held = f"CASE WHEN memory_scope = 'own' AND began IS NOT NULL THEN {_byte_seconds(lies)} END"
    used = f"(cpu_ns * (({lies}) / greatest(1, ended - began)))::BIGINT" if is_ranged else "cpu_ns"
    waited = waited_ns("true", f"SELECT {_KEY}, ended FROM timed", (str(since), str(upto)))
    timed = f"""
WITH chosen AS NOT MATERIALIZED (
    SELECT {_KEY}, path_id, CASE WHEN path_id IS NULL THEN {called_name("attempts")} END AS lone,
        CASE WHEN path_id IS NULL THEN {CREATED_ACTOR} END AS made,
        state, output_bytes, cpu_ns, peak_memory, memory_scope,
        {CREATED} AS created, {START} AS began, {ended_at(last)} AS ended, {EXECUTING} AS runs,
        {executed_at(last)} AS executed
    FROM attempts{where.sql}),
timed AS NOT MATERIALIZED (SELECT *, {inside("runs", "executed")} AS executing FROM chosen)"""
    peaks = f"""
    UNION ALL BY NAME SELECT {_GROUP}, {bucket("peak_memory")} AS bucket, count(*) AS took_n,
        true AS is_memory, min(peak_memory) AS min_took, max(peak_memory) AS max_took
    FROM chosen WHERE peak_memory IS NOT NULL GROUP BY {_GROUP}, bucket"""
    return (
        f"CREATE OR REPLACE TEMP TABLE waited AS {timed} SELECT * FROM ({waited})",
        f"""{timed},
lasted AS (
    SELECT {_GROUP}, state, output_bytes, peak_memory, memory_scope, executing,
        coalesce(began, created) AS first_ns,
        CASE WHEN began IS NOT NULL THEN greatest(0, ended - began) END AS took,
        {lies} AS inside, {used} AS used, {held} AS held,
        {waited_columns("w.")}
    FROM timed t LEFT JOIN waited w ON w.key = {attempt_key("t.")}),
sums AS (
    SELECT {_GROUP}, {bucket("took")} AS bucket, count(*) AS n, count(took) AS took_n,
        count(*) FILTER (state = 'FAILED') AS failed, count(*) FILTER (state LIKE 'RUNNING%') AS running,
        {total("inside")} AS inside, {total("executing")} AS executing,
        {total("awaiting")} AS awaiting, {total("blocked")} AS blocked, {total("output_bytes")} AS bytes,
        {total("used")} AS used, count(used) AS used_n, {total("held")} AS held, count(held) AS held_n,
        count(peak_memory) FILTER (memory_scope = 'shared') AS shared, false AS is_memory,
        min(first_ns) AS first_ns, min(took) AS min_took, max(took) AS max_took,
        max(peak_memory) AS max_memory
    FROM lasted GROUP BY {_GROUP}, bucket{peaks if with_peaks else ""}),
named AS (
    SELECT path_id, {_LONE} AS lone, is_memory, bucket, sum(n) AS n, sum(took_n) AS took_n,
        sum(failed) AS failed, sum(running) AS running, sum(inside) AS inside, sum(executing) AS executing,
        sum(awaiting) AS awaiting, sum(blocked) AS blocked, sum(bytes) AS bytes, sum(used) AS used,
        sum(used_n) AS used_n, sum(held) AS held, sum(held_n) AS held_n, sum(shared) AS shared,
        min(first_ns) AS first_ns, min(min_took) AS min_took, max(max_took) AS max_took,
        max(max_memory) AS max_memory
    FROM sums GROUP BY path_id, {_LONE}, is_memory, bucket),
ranked AS ({ranked("named", "path_id, lone, is_memory")})
SELECT path_id, lone, sum(n)::BIGINT, sum(failed)::BIGINT, sum(running)::BIGINT, {total("inside")},
    greatest(0, {total("executing")} - {total("awaiting")} - {total("blocked")}), {total("awaiting")},
    {total("blocked")}, {total("bytes")},
    {total("used")}, sum(used_n)::BIGINT, {total("held")}, sum(held_n)::BIGINT, sum(shared)::BIGINT,
    {quantile(0.95, "is_memory")}, max(max_memory),
    min(first_ns), {quantile(0.5, "NOT is_memory")}, {quantile(0.95, "NOT is_memory")},
    max(max_took) FILTER (NOT is_memory)
FROM ranked GROUP BY path_id, lone LIMIT {MAX_PATHS + 1}
""",
    )


#: SQL for the paths with the given IDs, and the paths above them.
_PATHS = """
WITH RECURSIVE up AS (
    SELECT path_id, parent_path_id, name FROM paths WHERE path_id IN (SELECT unnest(?::BIGINT[]))
    UNION
    SELECT p.path_id, p.parent_path_id, p.name FROM paths p JOIN up ON p.path_id = up.parent_path_id)
SELECT path_id, parent_path_id, name FROM up
"""


class PathSums(NamedTuple):
    """Sums by call path: rows with the fields of ``compute.Own``, and the rows of the baseline.

    ``paths`` contains the paths of these rows and the paths above them, as (ID, parent's ID, name). IDs are
    decimal strings.
    """

    rows: list[tuple[Any, ...]]
    baseline: list[tuple[Any, ...]] | None
    paths: list[tuple[str, str, str]]


def path_sums(
    file: SessionFile,
    filters: TaskFilters,
    *,
    last_ns: int,
    baseline: Sequence[Mapping[str, Any]] = (),
    with_peaks: bool = False,
) -> PathSums:
    """Return sums over the attempts that match ``filters``, by call path. Times are clipped to their range.

    Each ``baseline`` is a set of changes to the filters. The result has the rows of all of them. Unless the
    filters name a job, the main sums exclude the job of a baseline. Running attempts last until ``last_ns``.
    ``with_peaks``: include ``p95_memory``. Raises BadQuery.
    """
    where = attempt_filters(filters)
    compared = [replace(filters, **one) for one in baseline]
    if not filters.job_id:
        for one in baseline:
            if one.get("job_id"):
                where.add("job_id IS DISTINCT FROM ?", one["job_id"])
    with file.reader() as reader:
        rows = _sums(reader, where, filters, last_ns, with_peaks=with_peaks)
        before = None
        if compared:
            before = [row for one in compared for row in _sums(reader, attempt_filters(one), one, last_ns)]
        ids = {int(row[0]) for row in (*rows, *(before or ())) if row[0] is not None}
        paths = _paths(reader, ids)
    return PathSums(rows, before, paths)


def paths_to(file: SessionFile, frame: str) -> list[tuple[str, str, str]]:
    """Return a frame's path and the paths above it, as in :class:`PathSums`. Raises BadQuery."""
    if not _FRAME.fullmatch(frame) or (frame.isdigit() and int(frame) >= 2**63):
        raise BadQuery(
            f"{frame[:80]!r} is not a frame ID.", "Use the `id` of a frame from /api/v1/flow/flame."
        )
    with file.reader() as reader:
        return _paths(reader, [int(frame)] if frame.isdigit() else ())


def _paths(reader: duckdb.DuckDBPyConnection, ids: Iterable[int]) -> list[tuple[str, str, str]]:
    found = reader.execute(_PATHS, [list(ids)]).fetchall()
    return [(str(path), str(parent), name) for path, parent, name in found]


def _sums(
    reader: duckdb.DuckDBPyConnection,
    where: Where,
    filters: TaskFilters,
    last_ns: int,
    *,
    with_peaks: bool = False,
) -> list[tuple[Any, ...]]:
    since, until = filters.since_ns, filters.until_ns
    upto = FOREVER if until is None else int(until)
    for sql in _by_path(where, int(since or 0), upto, int(last_ns), with_peaks=with_peaks):
        reader.execute(sql, where.values)
    found = reader.fetchall()
    if len(found) > MAX_PATHS:
        raise BadQuery(
            f"There are more than {MAX_PATHS} different call paths.",
            "Narrow it with filters: job_id, func_name, since_ns and until_ns.",
            what="call_paths",
            limit=MAX_PATHS,
        )
    return [(None if path is None else str(path), *rest) for path, *rest in found]
