"""Infers the ends that Ray never reported.

When a worker dies, a driver exits or a cluster ends, Ray reports no end for attempts in flight. When a node
dies, it reports none for its workers, and when a cluster ends, none for actors, nodes and jobs either. Their
rows then get the state and end time that follow from the end of their worker, node, job or session.
``end_known_by`` is the reason: ``returned`` (the task's value was stored, so it finished), ``worker``,
``node``, ``job`` or ``session``. Ray's own state stays in ``reported_state``.

Inferred ends are not merged like reported data. They are computed from the reported data and the session's
end, again whenever either changes. An end that Ray reports later replaces an inferred one.
"""

from __future__ import annotations

import duckdb

from rayscope.model import CUT_OFF, Kind
from rayscope.model.entity import FINAL_STATES
from rayscope.storage.sql.execution import CREATED, END, START

#: How long Ray may take to report an end while the cluster is alive, ns. The GCS declares a job's remaining
#: tasks failed 15 s after its end (``gcs_mark_task_failed_on_job_done_delay_ms``).
GRACE_NS = 20 * 10**9
#: Parts of error messages about the end of a job: from the GCS, and from a raylet that stops the job's
#: workers.
_JOB_ENDED = ("Job finishes (", "Worker force exited because its job has finished")
#: Ray's error types for tasks that died with their worker, actor, or owner. When a driver ends, Ray may
#: report any of these for its unfinished tasks.
_DEATHS = ("WORKER_DIED", "ACTOR_DIED", "OWNER_DIED")
#: Entity kind -> state that entities get if they had not ended when their session ended. Platform events have
#: no state.
ENDED: dict[Kind, str] = {
    "actor": "DEAD",
    "node": "DEAD",
    "worker": "DEAD",
    "job": CUT_OFF,
    "placement_group": "REMOVED",
    "dataset": CUT_OFF,
    "dataset_operator": CUT_OFF,
    "serve_application": CUT_OFF,
    "serve_deployment": CUT_OFF,
    "serve_replica": "STOPPED",
    "serve_proxy": "STOPPED",
    "serve_controller": "STOPPED",
    "train_run": CUT_OFF,
    "train_attempt": CUT_OFF,
    "train_worker": "DEAD",
    "tune_experiment": CUT_OFF,
    "tune_trial": CUT_OFF,
}
#: Entity kind -> a state that stays when the session ends. It is not among the final states, because it could
#: have changed again while the session was alive.
NOT_RUNNING: dict[Kind, str] = {
    "serve_application": "DELETED",
    "serve_deployment": "DELETED",
    "serve_proxy": "STOPPED",
    "tune_trial": "ERROR",
}

#: SQL: whether an attempt ``a`` was reported as failed only because its job ended. Its error says so, or it
#: died after the job ``j`` ended. An attempt that died earlier may be the reason why its driver ended.
_CUT_OFF_BY_JOB = (
    f"(starts_with(a.error_message, '{_JOB_ENDED[0]}') OR a.error_type IN {_DEATHS} AND "
    f"(contains(a.error_message, '{_JOB_ENDED[1]}') OR a.failed_ns >= j.end_ns))"
)
#: SQL: whether an attempt may lack a reported end: it has none, or its error may only mean that the job
#: ended.
IS_OPEN = (
    f"finished_ns IS NULL AND (failed_ns IS NULL OR error_type IN {_DEATHS} "
    f"OR starts_with(error_message, '{_JOB_ENDED[0]}'))"
)
_FINAL_JOB = ", ".join(map(repr, sorted(FINAL_STATES["job"])))
_OVER = "{0}.state {1} AND {0}.end_ns <= $before AND {0}.end_known_by IS DISTINCT FROM 'session'"
_ATTEMPTS = f"""
UPDATE attempts SET state = over.state, {END} = over.end_ns, end_known_by = over.known_by
FROM (
    SELECT row,
        CASE WHEN stored THEN 'FINISHED' ELSE '{CUT_OFF}' END AS state,
        CASE WHEN stored THEN coalesce(total_end_ns, store_end_ns, returned_ns) ELSE
            coalesce(failed_ns, greatest(ended, {CREATED}, {START}, total_end_ns)) END AS end_ns,
        CASE WHEN stored THEN 'returned' WHEN failed_ns IS NOT NULL OR ended = job_ns THEN 'job'
            WHEN ended = node_ns THEN 'node'
            WHEN ended = worker_ns THEN 'worker' ELSE 'session' END AS known_by
    FROM (
        SELECT a.rowid AS row, a.*, coalesce(a.returned_ns, a.store_end_ns) IS NOT NULL AS stored,
            w.end_ns AS worker_ns, n.end_ns AS node_ns, j.end_ns AS job_ns,
            least(w.end_ns, n.end_ns, j.end_ns, $end) AS ended
        FROM attempts a
        LEFT JOIN worker_rows w ON w.id = a.worker_id AND {_OVER.format("w", "= 'DEAD'")}
        LEFT JOIN node_rows n ON n.id = a.node_id AND {_OVER.format("n", "= 'DEAD'")}
        LEFT JOIN job_rows j ON j.id = a.job_id AND {_OVER.format("j", f"IN ({_FINAL_JOB})")}
        WHERE a.finished_ns IS NULL
            AND (a.failed_ns IS NULL OR {_CUT_OFF_BY_JOB})
    ) WHERE ended IS NOT NULL OR failed_ns IS NOT NULL
) over
WHERE attempts.rowid = over.row AND (attempts.state, attempts.{END}, attempts.end_known_by)
    IS DISTINCT FROM (over.state, over.end_ns, over.known_by)
"""
_WORKERS = """
UPDATE worker_rows SET state = 'DEAD', end_ns = n.end_ns, end_known_by = 'node'
FROM node_rows n
WHERE n.id = worker_rows.node_id AND n.state = 'DEAD' AND n.end_known_by IS NULL
    AND (worker_rows.state IS DISTINCT FROM 'DEAD' OR worker_rows.end_known_by IN ('node', 'session'))
    AND (worker_rows.end_ns, worker_rows.end_known_by) IS DISTINCT FROM (n.end_ns, 'node')
"""
_FORGET = f"""
UPDATE attempts SET state = reported_state, {END} = coalesce(failed_ns, finished_ns), end_known_by = NULL
WHERE end_known_by IS NOT NULL
"""


def end_workers(connection: duckdb.DuckDBPyConnection) -> None:
    """End the workers of dead nodes. An end that Ray reports later replaces their row, and so this one."""
    connection.execute(_WORKERS)


def infer(connection: duckdb.DuckDBPyConnection, now_ns: int, session_end_ns: int | None) -> None:
    """Infer the ends of everything that ended without a report.

    ``session_end_ns``: when the session ended, or None while it is alive.
    """
    if session_end_ns is not None:
        for kind in ENDED:
            over = {*FINAL_STATES[kind], ENDED[kind], NOT_RUNNING.get(kind, ENDED[kind])}
            ended = "" if kind == "placement_group" else f"end_ns = {int(session_end_ns)}, "
            connection.execute(
                f"UPDATE {kind}_rows SET state = '{ENDED[kind]}', {ended}end_known_by = 'session' "
                f"WHERE state IS NULL OR state NOT IN ({', '.join(map(repr, sorted(over)))})"
            )
    before_ns = now_ns - GRACE_NS if session_end_ns is None else max(now_ns, session_end_ns)
    connection.execute(_ATTEMPTS, {"before": before_ns, "end": session_end_ns})


def forget(connection: duckdb.DuckDBPyConnection) -> None:
    """Undo inferred ends of attempts, because their session is alive after all."""
    connection.execute(_FORGET)
