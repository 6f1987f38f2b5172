"""Queries crashed workers, with the recorded signs of harm, one row per worker."""

from __future__ import annotations

from collections.abc import Collection

from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import CREATED, END, NOT_DRIVER, START
from rayscope.storage.sql.lanes import NAME
from rayscope.storage.sql.library_stops import LET_GO
from rayscope.storage.sql.pages import Row, rows_of

#: Maximum number of crashed workers that one answer evaluates. The newest are kept.
MAX_WORKERS = 1_000
#: Number of characters at the end of an error's text that are searched for worker IDs.
_TEXT_CHARS = 8_000
#: Ray's exit types for workers that did not end as intended.
_CRASHES = ("SYSTEM_ERROR", "NODE_OUT_OF_MEMORY")
_DEATHS = ("WORKER_DIED", "ACTOR_DIED", "ACTOR_UNAVAILABLE", "OUT_OF_MEMORY")
#: SQL condition: the attempt was lost with its worker.
_LOST = f"(state = 'FAILED' AND error_type IN {_DEATHS} OR end_known_by = 'worker' OR {END} IS NULL)"
_CRASHED = f"""
CREATE TEMP TABLE crashed AS
SELECT id AS worker_id, w.* EXCLUDE (id), count(*) OVER () AS crashes
FROM worker_rows w
WHERE list_contains($reported, id) OR state = 'DEAD' AND exit_type IN {_CRASHES}
ORDER BY end_ns DESC NULLS FIRST, id LIMIT {MAX_WORKERS}
"""
_RAN = f"""
CREATE TEMP TABLE ran AS
SELECT worker_id, task_hi, task_lo, actor_id, job_id, {NAME} AS name, {_LOST} AS lost,
    coalesce({START}, {CREATED}, 0) AS start_ns
FROM attempts WHERE {NOT_DRIVER} AND worker_id IN (SELECT worker_id FROM crashed)
"""
_ACTORS = f"""
CREATE TEMP TABLE actors AS
SELECT c.worker_id, a.id AS actor_id, a.class_name, coalesce(nullif(a.name, ''), a.repr_name) AS name,
    a.job_id,
    CASE WHEN a.worker_id != c.worker_id OR a.state = 'RESTARTING' THEN 'restarted'
        WHEN a.state = 'DEAD' AND ({LET_GO} OR a.end_known_by IS NOT NULL) THEN 'ended'
        WHEN a.state = 'DEAD' THEN 'died' ELSE 'open' END AS fate
FROM (SELECT DISTINCT worker_id, actor_id FROM ran WHERE actor_id IS NOT NULL
    UNION SELECT worker_id, id FROM actor_rows WHERE worker_id IN (SELECT worker_id FROM crashed)) c
JOIN actor_rows a ON a.id = c.actor_id
"""
_FACTS = f"""
WITH by_worker AS (
    SELECT r.worker_id, count(*) AS attempts, arg_max(r.name, r.start_ns) AS function,
        any_value(r.job_id) AS job_id,
        count(*) FILTER (r.lost AND a.fate IS DISTINCT FROM 'ended') AS lost_attempts
    FROM ran r LEFT JOIN actors a ON a.worker_id = r.worker_id AND a.actor_id = r.actor_id
    GROUP BY r.worker_id),
submitters AS (SELECT DISTINCT worker_id, task_hi, task_lo FROM ran),
submitted AS (
    SELECT s.worker_id, count(DISTINCT hash(a.task_hi, a.task_lo)) AS tasks,
        count(*) FILTER (a.error_type = 'OWNER_DIED' OR a.{END} IS NULL) AS lost
    FROM attempts a JOIN submitters s ON a.parent_hi = s.task_hi AND a.parent_lo = s.task_lo
    GROUP BY s.worker_id),
put AS (
    SELECT s.worker_id, count(DISTINCT hash(e.object_hi, e.object_lo, e.object_index)) AS objects
    FROM edge_rows e JOIN submitters s USING (task_hi, task_lo) WHERE e.kind = 'put' GROUP BY s.worker_id),
elsewhere AS (
    SELECT c.worker_id, count(*) AS failed FROM (
        SELECT worker_id AS ran_on,
            unnest(list_distinct(
                regexp_extract_all(right(error_message, {_TEXT_CHARS}), '[0-9a-f]{{56}}'))) AS named
        FROM attempts WHERE state = 'FAILED' AND error_type NOT IN {_DEATHS}) e
    JOIN crashed c ON c.worker_id = e.named AND e.ran_on IS DISTINCT FROM e.named GROUP BY c.worker_id),
of_driver AS (
    SELECT c.worker_id, count(*) AS lost FROM attempts a JOIN crashed c ON a.job_id = c.job_id
    WHERE c.worker_type = 'DRIVER' AND a.{NOT_DRIVER} AND (a.end_known_by = 'job' OR a.{END} IS NULL)
    GROUP BY c.worker_id),
of_actors AS (
    SELECT worker_id, list(fate) AS fates, max(actor_id) AS actor_id, any_value(class_name) AS actor_class,
        any_value(name) AS actor_name, any_value(job_id) AS job_id
    FROM actors GROUP BY worker_id)
SELECT c.worker_id, c.worker_type, c.node_id, c.pid, j.id AS job_id, o.actor_id, o.actor_class, o.actor_name,
    nullif(b.function, '') AS function, c.exit_type, c.exit_detail, c.end_ns, c.crashes,
    coalesce(j.end_ns <= c.end_ns AND j.end_known_by IS NULL, false) AS job_had_ended,
    coalesce(b.attempts, 0) AS attempts, coalesce(b.lost_attempts, 0) AS lost_attempts,
    coalesce(s.lost, 0) AS lost_calls, coalesce(e.failed, 0) AS failed_elsewhere,
    coalesce(o.fates, []) AS actors, coalesce(s.tasks, 0) + coalesce(p.objects, 0) AS owned,
    coalesce(starts_with(c.tracer, 'on'), false) AS traced, coalesce(d.lost, 0) AS lost_with_driver,
    j.entrypoint
FROM crashed c LEFT JOIN by_worker b USING (worker_id) LEFT JOIN of_actors o USING (worker_id)
LEFT JOIN submitted s USING (worker_id) LEFT JOIN put p USING (worker_id)
LEFT JOIN elsewhere e USING (worker_id) LEFT JOIN of_driver d USING (worker_id)
LEFT JOIN job_rows j ON j.id = coalesce(c.job_id, b.job_id, o.job_id)
ORDER BY c.end_ns DESC NULLS FIRST, c.worker_id
"""


def crashed_workers(file: SessionFile, reported: Collection[str]) -> tuple[list[Row], int]:
    """A row for each crashed worker or driver, newest first, and the number of all workers in the session.

    ``reported``: the workers whose log has a crash report. Each row has ``crashes``, the total number of
    crashed workers.
    """
    with file.reader() as reader:
        workers = reader.execute("SELECT count(*) FROM worker_rows").fetchone()
        reader.execute(_CRASHED, {"reported": list(reported)})
        rows = []
        if reader.execute("SELECT count(*) FROM crashed").fetchone() != (0,):
            reader.execute(_RAN)
            reader.execute(_ACTORS)
            rows = rows_of(reader.execute(_FACTS))
    return rows, int(workers[0]) if workers else 0
