"""SQL that recognizes attempts that Ray's libraries canceled or ended on purpose.

Libraries end their own actors with ``ray.kill``: Serve its proxies and its controller, Data its readers of
Parquet footers. They also cancel calls that they no longer need: Serve's proxies cancel most requests once
they have the full response. Ray reports all of these as FAILED, and so does the record, but nothing went
wrong.
"""

from __future__ import annotations

import duckdb

from rayscope.storage.sql.execution import NOT_DRIVER, called_name
from rayscope.storage.sql.origins import is_internal
from rayscope.storage.sql.pages import Where

#: SQL for why an actor died. It is NULL for a long cause, because that was truncated and is not valid JSON.
_DEATH = "TRY_CAST(death_cause AS JSON)->>'$.actor_died_error_context.reason'"
#: SQL: whether a row of ``actor_rows`` died as intended by its owner, user or job.
LET_GO = (
    f"(coalesce({_DEATH}, '') IN ('OWNER_DIED', 'RAY_KILL', 'OUT_OF_SCOPE', 'REF_DELETED') "
    "OR contains(coalesce(death_reason, ''), 'exit type: INTENDED_'))"
)
_CANCELLED = (
    "(coalesce(error_type, '') = 'TASK_CANCELLED' OR coalesce(error_type, '') = 'TASK_EXECUTION_EXCEPTION' "
    "AND contains(coalesce(error_message, ''), 'CancelledError'))"
)
_LOST = (
    "(coalesce(error_type, '') IN ('ACTOR_DIED', 'WORKER_DIED') "
    f"AND coalesce(actor_id, '') IN (SELECT id FROM actor_rows WHERE {LET_GO}))"
)
# DuckDB cannot optimize functions of a column that has only NULL, hence ''.
_MODULE = "coalesce(module_name, '')"
_FUNCTION = f"coalesce({called_name('attempts')}, '')"
#: SQL: whether an attempt failed because a library stopped it on purpose.
IS_STOPPED = (
    f"(coalesce(state, '') = 'FAILED' AND starts_with({_MODULE}, 'ray.') AND ({_CANCELLED} "
    f"OR ({_LOST} AND {is_internal(_FUNCTION, _MODULE)})))"
)


def count_stopped(reader: duckdb.DuckDBPyConnection, where: Where | None = None) -> int:
    """Number of attempts that a library stopped, among those selected by ``where``."""
    picked = where if where is not None else Where([NOT_DRIVER], [])
    found = reader.execute(
        f"SELECT count(*) FROM attempts{picked.sql} AND {IS_STOPPED}", picked.values
    ).fetchone()
    return found[0] if found else 0


def stopped_by(reader: duckdb.DuckDBPyConnection, key: str, where: Where) -> dict[str | None, int]:
    """Number of attempts that a library stopped for each value of ``key`` (SQL), among those selected by
    ``where``.

    Keys without such attempts are omitted.
    """
    found = reader.execute(
        f"SELECT {key} AS key, count(*) FROM attempts{where.sql} AND {IS_STOPPED} GROUP BY key", where.values
    ).fetchall()
    return dict(found)
