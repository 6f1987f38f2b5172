"""Queries the functions and the newest failures of a session."""

from __future__ import annotations

from rayscope.cluster.sessions import schemas
from rayscope.storage.rows import join_id
from rayscope.storage.schema import SHOWN_NAME
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.error_text import ERROR_SUMMARY
from rayscope.storage.sql.execution import END, NOT_DRIVER, function_name, total, with_times
from rayscope.storage.sql.filters import MESSAGE_CHARS, TaskFilters, attempt_filters
from rayscope.storage.sql.library_stops import IS_STOPPED, stopped_by
from rayscope.storage.sql.origins import origins
from rayscope.storage.sql.pages import rows_of


def functions(
    file: SessionFile, last_ns: int, limit: int = 50, filters: TaskFilters | None = None
) -> list[schemas.FunctionItem]:
    """Functions, ordered by the sum of their durations. Times are in ns and defined in
    docs/reference/glossary.md.

    ``last_ns``: the end that is assumed for running attempts. Raises BadQuery.
    """
    where = attempt_filters(filters or TaskFilters())
    with file.reader() as reader:
        rows = rows_of(
            reader.execute(
                f"""
                SELECT func_name, any_value(type) AS type, count(*) AS attempts,
                    count(*) FILTER (state = 'FINISHED') AS finished,
                    count(*) FILTER (state = 'FAILED') AS failed,
                    count(*) FILTER (state LIKE 'RUNNING%') AS running,
                    quantile_cont(duration, 0.5)::BIGINT AS p50_ns,
                    quantile_cont(duration, 0.95)::BIGINT AS p95_ns, max(duration) AS max_ns,
                    quantile_cont(peak_memory, 0.5)::BIGINT AS p50_memory,
                    quantile_cont(peak_memory, 0.95)::BIGINT AS p95_memory, max(peak_memory) AS max_memory,
                    {total("duration")} AS duration_ns, {total("waiting")} AS waiting_ns,
                    {total("total")} AS total_ns
                FROM ({with_times(last_ns)}{where.sql})
                GROUP BY func_name ORDER BY duration_ns DESC, func_name NULLS LAST LIMIT {int(limit)}
                """,
                where.values,
            )
        )
        failed = any(row["failed"] for row in rows)
        stopped = stopped_by(reader, function_name("attempts"), where) if failed else {}
        known = origins(reader)
    for row in rows:
        row["stopped_by_libraries"] = stopped.get(row["func_name"], 0)
        row["origin"], row["operator"] = known.get(row["func_name"], (None, None))
    return rows


def failures(file: SessionFile, limit: int = 20) -> list[schemas.FailureItem]:
    """The newest failed attempts, without the internals of libraries that were stopped on purpose."""
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                f"SELECT task_hi, task_lo, attempt, {SHOWN_NAME} AS name, error_type, "
                f"left(error_message, {MESSAGE_CHARS}) AS error_message, {ERROR_SUMMARY}, {END} AS end_ns "
                f"FROM attempts WHERE state = 'FAILED' AND {NOT_DRIVER} AND NOT {IS_STOPPED} "
                f"ORDER BY failed_ns DESC LIMIT {int(limit)}"
            )
        )
    for row in found:
        row["task_id"] = join_id(row.pop("task_hi"), row.pop("task_lo"))
    return found
