"""Reads the attempts of a job that its trace shows, and the data that they exchanged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypedDict

import duckdb
import pyarrow as pa

from rayscope.storage.call_paths import DRIVER_PREFIX
from rayscope.storage.rows import split_id
from rayscope.storage.schema import SHOWN_NAME
from rayscope.storage.sql.error_text import ERROR_SUMMARY
from rayscope.storage.sql.execution import (
    CREATED,
    NOT_DRIVER,
    PARENT_ID,
    REACHED,
    TASK_ID,
    all_ended_at,
    function_name,
    hex_id,
    moved,
    times,
)
from rayscope.storage.sql.library_stops import IS_STOPPED
from rayscope.storage.sql.node_names import unique_node_name
from rayscope.storage.sql.pages import rows_of

#: The annotation, or the entry of a job's metadata, that names the user's own span (W3C Trace Context).
TRACEPARENT = "traceparent"
#: Maximum number of links from one attempt.
_MAX_LINKS = 50
_TIMES = times("$last")
_BEGIN = f"coalesce({REACHED}, {CREATED})"
_RANKED = f"""
CREATE OR REPLACE TEMP TABLE ranked AS
SELECT a.rowid AS row_id, task_hi, task_lo, attempt, coalesce({function_name("a")}, '') AS function,
    {_BEGIN} AS begin_ns, greatest({_BEGIN}, {all_ended_at("$last")}) AS end_ns,
    coalesce({_TIMES["duration"]}, 0) AS run_ns,
    coalesce(state = 'FAILED', false) AND NOT {IS_STOPPED.replace("attempts.", "a.")} AS failed
FROM attempts a WHERE job_id = $job AND {NOT_DRIVER} AND {CREATED} IS NOT NULL
"""
_FUNCTIONS = """
SELECT function, count(*) AS attempts, count_if(failed) AS failed, sum(run_ns)::BIGINT AS run_ns,
    min(begin_ns) AS begin_ns, max(end_ns) AS end_ns
FROM ranked GROUP BY function ORDER BY run_ns DESC, function LIMIT $limit
"""
#: The shown attempts: those with a span of the user's; those on the critical path, the longest first, up to
#: half of all; for each function in turn, its first failed and its slowest ones; and the rest of the path.
_SHOWN = f"""
CREATE OR REPLACE TEMP TABLE shown AS
WITH ranks AS (
    SELECT row_id, -1 AS step, 0 AS rank FROM ranked JOIN (
        SELECT DISTINCT task_hi, task_lo, attempt FROM annotation_rows
        WHERE kind = 'annotation' AND name = '{TRACEPARENT}') USING (task_hi, task_lo, attempt)
    UNION ALL
    SELECT row_id, CASE WHEN rank <= $limit // 2 THEN 0 ELSE 2 END, rank FROM (
        SELECT row_id, row_number() OVER (ORDER BY on_path_ns DESC, row_id) AS rank FROM ranked
        JOIN walked USING (task_hi, task_lo, attempt))
    UNION ALL
    SELECT row_id, 1, row_number() OVER (PARTITION BY function ORDER BY begin_ns, row_id)
    FROM ranked WHERE failed
    UNION ALL
    SELECT row_id, 1, rank FROM (
        SELECT row_id, row_number() OVER (PARTITION BY function ORDER BY run_ns DESC, row_id) AS rank
        FROM ranked)
    WHERE rank <= $slowest)
SELECT r.*, w.on_path_ns, coalesce(n.name, '') AS node
FROM (
    SELECT row_id, min((step, rank)) AS place FROM ranks
    GROUP BY row_id ORDER BY place, row_id LIMIT $limit) c
JOIN ranked r USING (row_id)
LEFT JOIN walked w USING (task_hi, task_lo, attempt)
LEFT JOIN (SELECT rowid AS row_id, node_id FROM attempts) a USING (row_id)
LEFT JOIN (SELECT id AS node_id, {unique_node_name("node_rows")} AS name FROM node_rows) n USING (node_id)
"""
_ATTEMPTS = f"""
SELECT {TASK_ID} AS task_id, attempt, {SHOWN_NAME} AS name, type, coalesce(state, 'NIL') AS state, actor_id,
    node_id, worker_id, worker_pid, {PARENT_ID} AS caller_task_id, error_type, {ERROR_SUMMARY},
    {CREATED} AS created_ns, {_TIMES["waiting"]} AS waiting_ns, {_TIMES["executing"]} AS executing_ns,
    s.function, s.begin_ns, s.end_ns, s.failed, s.on_path_ns, s.node, notes.traceparent
FROM shown s JOIN (SELECT rowid AS row_id, * FROM attempts) a USING (row_id, task_hi, task_lo, attempt)
LEFT JOIN (SELECT task_hi, task_lo, attempt, arg_max(value, time_ns) AS traceparent FROM annotation_rows
    WHERE kind = 'annotation' AND name = '{TRACEPARENT}' GROUP BY ALL) notes USING (task_hi, task_lo, attempt)
ORDER BY s.begin_ns, task_id, attempt
"""
_OF_SHOWN = "task_hi IN (SELECT task_hi FROM shown)"
#: Data that shown tasks passed to shown tasks. An argument has no attempt: all attempts of a task receive it.
_EDGES = f"""
SELECT producer, consumer, attempt, kind, sum(bytes)::BIGINT AS bytes FROM (
    SELECT {hex_id("producer")} AS producer, {hex_id("consumer")} AS consumer,
        CASE kind WHEN 'get' THEN taken_by END AS attempt, kind, max(bytes) AS bytes
    FROM ({moved(_OF_SHOWN, "{}_hi IN (SELECT object_hi FROM edge_rows WHERE " + _OF_SHOWN + ")", "attempt")})
    WHERE kind IN ('argument', 'get') AND NOT nested AND consumer_hi IN (SELECT task_hi FROM shown)
        AND producer_hi IN (SELECT task_hi FROM shown)
        AND (producer_hi, producer_lo) != (consumer_hi, consumer_lo)
    GROUP BY producer, consumer, attempt, kind, object_hi, object_lo, object_index)
WHERE producer IN (SELECT {TASK_ID} FROM shown) AND consumer IN (SELECT {TASK_ID} FROM shown)
GROUP BY producer, consumer, attempt, kind
QUALIFY row_number() OVER (PARTITION BY consumer, attempt ORDER BY sum(bytes) DESC NULLS LAST, producer)
    <= {_MAX_LINKS}
ORDER BY consumer, attempt, bytes DESC NULLS LAST, producer
"""


class Job(NamedTuple):
    """A job. ``traceparent`` names the span of the user's under which it ran."""

    state: str | None
    entrypoint: str | None
    submission_id: str | None
    message: str | None
    traceparent: str | None


class Function(NamedTuple):
    """A function's attempts. ``run_ns`` is the sum of their durations in ns."""

    name: str
    attempts: int
    failed: int
    run_ns: int
    begin_ns: int
    end_ns: int


class ShownAttempt(TypedDict):
    """An attempt. ``begin_ns`` is when it reached its worker, or when it was submitted if it never did.

    ``on_path_ns`` is its time on the critical path in ns, or None. ``node`` is the name of its node.
    """

    task_id: str
    attempt: int
    name: str
    type: str | None
    state: str
    actor_id: str | None
    node_id: str | None
    worker_id: str | None
    worker_pid: int | None
    caller_task_id: str | None
    error_type: str | None
    error_summary: str | None
    created_ns: int
    waiting_ns: int | None
    executing_ns: int | None
    function: str
    begin_ns: int
    end_ns: int
    failed: bool
    on_path_ns: int | None
    node: str
    traceparent: str | None


class Edge(NamedTuple):
    """Data that one task passed to another. ``attempt`` is None for arguments."""

    producer: str
    consumer: str
    attempt: int | None
    kind: str
    bytes: int | None


def read_jobs(reader: duckdb.DuckDBPyConnection) -> list[str]:
    """The IDs of the jobs that have tasks, in the order of their first task."""
    found = reader.execute(
        f"SELECT job_id FROM attempts WHERE {NOT_DRIVER} AND job_id IS NOT NULL AND {CREATED} IS NOT NULL "
        f"GROUP BY job_id ORDER BY min({CREATED}), job_id"
    )
    return [job_id for (job_id,) in found.fetchall()]


def read_job(reader: duckdb.DuckDBPyConnection, job_id: str) -> Job:
    """Read a job. Unknown fields are None."""
    high, low = split_id(DRIVER_PREFIX + job_id)
    found = reader.execute(
        # A driver may have inherited its annotation from the environment of the cluster.
        "SELECT max(state), max(entrypoint), max(submission_id), max(message), "
        f"coalesce(max(TRY_CAST(metadata AS JSON)->>'$.{TRACEPARENT}'), "
        "(SELECT arg_max(value, time_ns) FROM annotation_rows WHERE task_hi = $high AND task_lo = $low "
        f"AND kind = 'annotation' AND name = '{TRACEPARENT}')) FROM job_rows WHERE id = $job",
        {"job": job_id, "high": high, "low": low},
    ).fetchall()
    return Job(*found[0])


class ShownJob:
    """The functions and attempts of a job that its trace shows. ``total`` and ``failed`` count all attempts.

    ``on_path`` is the time of the attempts on the critical path in ns, by task ID and attempt. At most
    ``max_functions`` functions are in the trace, those with the longest run time, and ``max_spans`` functions
    and attempts together. Read one thing after another.
    """

    def __init__(
        self,
        reader: duckdb.DuckDBPyConnection,
        job_id: str,
        last_ns: int,
        on_path: Mapping[tuple[str, int], int],
        *,
        max_functions: int,
        slowest: int,
        max_spans: int,
    ) -> None:
        self._reader = reader
        parts = [split_id(task_id) for task_id, _ in on_path]
        walked = pa.table(
            {
                "task_hi": pa.array([high for high, _ in parts], pa.uint64()),
                "task_lo": pa.array([low for _, low in parts], pa.string()),
                "attempt": pa.array([attempt for _, attempt in on_path], pa.int32()),
                "on_path_ns": pa.array(on_path.values(), pa.int64()),
            }
        )
        reader.execute(_RANKED, {"job": job_id, "last": last_ns})
        ((self.total, self.failed),) = reader.execute(
            "SELECT count(*), count_if(failed) FROM ranked"
        ).fetchall()
        found = reader.execute(_FUNCTIONS, {"limit": max_functions}).fetchall()
        self.functions = [Function(*row) for row in found]
        reader.register("walked", walked)
        try:
            reader.execute(_SHOWN, {"slowest": slowest, "limit": max_spans - len(found)})
        finally:
            reader.unregister("walked")
        self._last_ns = last_ns

    def attempts(self) -> list[ShownAttempt]:
        """The shown attempts by begin."""
        return rows_of(self._reader.execute(_ATTEMPTS, {"last": self._last_ns}))

    def edges(self) -> list[Edge]:
        """The data that the shown attempts exchanged."""
        return [Edge(*row) for row in self._reader.execute(_EDGES).fetchall()]
