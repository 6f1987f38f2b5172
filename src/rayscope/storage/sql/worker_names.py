"""Names for workers: their actor, or the functions that they ran."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import duckdb

from rayscope.model.program import script_name
from rayscope.storage.sql.execution import NOT_DRIVER, START
from rayscope.storage.sql.function_names import by_function
from rayscope.storage.sql.internal import job_of_driver
from rayscope.storage.sql.pages import Row, rows_of

#: Maximum number of functions in a worker's name. They are the first that it ran, so that the name is stable.
NAMED_FUNCTIONS = 3

DRIVERS_JOB = job_of_driver("r.")
#: SQL for the job of any row ``r`` of ``worker_rows``. Ray itself reports the job of only a few workers.
JOB_OF_WORKER = f"""coalesce(r.job_id, {DRIVERS_JOB},
    (SELECT max(a.job_id) FROM actor_rows a WHERE a.worker_id = r.id),
    (SELECT max(t.job_id) FROM attempts t WHERE t.worker_id = r.id))"""
_CALLS = by_function(
    "worker_id",
    "max(actor_id) AS actor_id, max(actor_repr_name) AS repr_name, max(job_id) AS job_id, "
    f"min({START}) AS first_ns",
    f"worker_id IN (SELECT worker_id FROM wanted) AND {NOT_DRIVER}",
)
_NAMES = f"""
WITH wanted AS (SELECT unnest(?::VARCHAR[]) AS worker_id),
calls AS (
    SELECT worker_id, coalesce(func, '') AS name, max(actor_id) AS actor_id, max(repr_name) AS repr_name,
        max(job_id) AS job_id, min(first_ns) AS first_ns
    FROM ({_CALLS}) GROUP BY worker_id, name),
ran AS (
    SELECT worker_id, max(actor_id) AS actor_id, max(repr_name) AS repr_name, max(job_id) AS job_id,
        list(name ORDER BY first_ns, name) FILTER (name != '') AS functions
    FROM calls GROUP BY worker_id),
living AS (SELECT worker_id, max(id) AS actor_id FROM actor_rows GROUP BY worker_id)
SELECT w.worker_id, coalesce(ran.actor_id, living.actor_id) AS actor_id, a.class_name AS actor_class,
    coalesce(nullif(a.name, ''), ran.repr_name, a.repr_name) AS actor_name,
    coalesce(ran.functions[:{NAMED_FUNCTIONS}], []) AS functions,
    coalesce(len(ran.functions), 0) AS functions_total,
    coalesce(r.job_id, {DRIVERS_JOB}, ran.job_id, a.job_id) AS job_id
FROM wanted w LEFT JOIN ran USING (worker_id) LEFT JOIN living USING (worker_id)
LEFT JOIN actor_rows a ON a.id = coalesce(ran.actor_id, living.actor_id)
LEFT JOIN worker_rows r ON r.id = w.worker_id
"""


def worker_names(reader: duckdb.DuckDBPyConnection, worker_ids: Collection[str]) -> dict[str, Row]:
    """Worker ID -> ``actor_id``, ``actor_class``, ``actor_name``, ``functions`` (the first that it ran),
    ``functions_total`` (how many it ran), and ``job_id``.

    Unknown values are None.
    """
    if not worker_ids:
        return {}
    rows = rows_of(reader.execute(_NAMES, [list(worker_ids)]))
    return {row.pop("worker_id"): row for row in rows}


def name_lanes(reader: duckdb.DuckDBPyConnection, lanes: list[Row], by: str) -> None:
    """Add the functions that name a worker to rows of lanes. If the lanes are not workers, no functions are
    added.
    """
    names = worker_names(reader, [lane["lane"] for lane in lanes]) if by == "worker" else {}
    for lane in lanes:
        name = names.get(lane["lane"])
        lane["functions"] = name["functions"] if name else []
        lane["functions_total"] = name["functions_total"] if name else 0


def job_scripts(reader: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """ID of a job or submission -> the script that it runs. Those that did not report one are omitted."""
    found: list[tuple[Any, ...]] = reader.execute(
        "SELECT id, submission_id, entrypoint FROM job_rows WHERE entrypoint != ''"
    ).fetchall()
    return {key: script_name(entrypoint) for *keys, entrypoint in found for key in keys if key is not None}
