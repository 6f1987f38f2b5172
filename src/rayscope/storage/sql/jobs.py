"""The job that a request is about if it does not name one."""

from __future__ import annotations

import duckdb

from rayscope.storage.errors import NotFound
from rayscope.storage.sql.execution import CREATED, END, EXECUTING, NOT_DRIVER


def longest_job(reader: duckdb.DuckDBPyConnection, last_ns: int) -> str:
    """The job whose tasks took longest. Raises NotFound if no job has tasks.

    ``last_ns``: when tasks that have not ended count as ended.
    """
    found = reader.execute(
        f"SELECT job_id FROM attempts WHERE {NOT_DRIVER} GROUP BY job_id "
        f"ORDER BY max(coalesce({END}, $last_ns)) FILTER ({EXECUTING} IS NOT NULL) - min({CREATED}) "
        "DESC NULLS LAST, job_id LIMIT 1",
        {"last_ns": last_ns},
    ).fetchone()
    if found is None or found[0] is None:
        raise no_tasks(None)
    return str(found[0])


def no_tasks(job_id: str | None) -> NotFound:
    """The error for a job without recorded tasks. None: no job has any."""
    remedy = "GET /api/v1/jobs lists the jobs."
    if job_id is None:
        return NotFound("No tasks recorded yet.", remedy, what="tasks")
    return NotFound(f"No tasks recorded for job {job_id[:80]!r}.", remedy, what="job_tasks", id=job_id[:80])
