"""The end of what Ray never reported the end of.

A worker that dies, a driver that exits and a cluster that goes take along what is in flight: attempts without
an end and, with the cluster, everything else. Their rows get the state and the time that follow from what
ended around them, and ``end_known_by`` says what that was: ``returned`` (the value of the task was stored,
so it finished), ``worker``, ``node``, ``job`` or ``session``. What Ray said stays in ``reported_state``.

None of this is part of the records that are merged: it is a function of them and of the session's end, made
anew when either changes. An end that Ray reports later replaces it.
"""

from __future__ import annotations

import duckdb

from rayscope.model import CUT_OFF, KINDS
from rayscope.model.entity import FINAL_STATES
from rayscope.storage.sql.execution import CREATED, END, START

#: While the cluster lives, Ray has this long to report the end itself (the GCS declares what is left of a job
#: failed 15 s after its end, ``gcs_mark_task_failed_on_job_done_delay_ms``).
GRACE_NS = 20 * 10**9
#: How the GCS, and how a raylet that ends the job's workers, say that; no task is to blame for it.
_JOB_ENDED = ("Job finishes (", "Worker force exited because its job has finished")
#: What Ray says of what died with its worker, its actor, or its owner. The end of a driver takes all of these
#: along, and Ray declares what they ran failed.
_DEATHS = ("WORKER_DIED", "ACTOR_DIED", "OWNER_DIED")
#: What becomes of what lives when its session ends.
ENDED = {
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
#: What is over although its state is not final: it could have come back while the session lived.
GONE = {
    "serve_application": "DELETED",
    "serve_deployment": "DELETED",
    "serve_proxy": "STOPPED",
    "tune_trial": "ERROR",
}

#: Whether an attempt ``a`` was reported failed for that alone: it says so, or it died after the job ``j``.
#: What dies before may be why a driver ends.
_CUT_OFF_BY_JOB = (
    f"(starts_with(a.error_message, '{_JOB_ENDED[0]}') OR a.error_type IN {_DEATHS} AND "
    f"(contains(a.error_message, '{_JOB_ENDED[1]}') OR a.failed_ns >= j.end_ns))"
)
#: Whether it may be that no end of an attempt was reported: an error may say no more than that the job ended.
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
_FORGET = f"""
UPDATE attempts SET state = reported_state, {END} = coalesce(failed_ns, finished_ns), end_known_by = NULL
WHERE end_known_by IS NOT NULL
"""


def infer(connection: duckdb.DuckDBPyConnection, now_ns: int, session_end_ns: int | None) -> None:
    """Give an end to all that has none although it is over.

    ``session_end_ns``: None while the session lives.
    """
    if session_end_ns is not None:
        for kind in KINDS:
            over = {*FINAL_STATES[kind], ENDED[kind], GONE.get(kind, ENDED[kind])}
            ended = "" if kind == "placement_group" else f"end_ns = {int(session_end_ns)}, "
            connection.execute(
                f"UPDATE {kind}_rows SET state = '{ENDED[kind]}', {ended}end_known_by = 'session' "
                f"WHERE state IS NULL OR state NOT IN ({', '.join(map(repr, sorted(over)))})"
            )
    before_ns = now_ns - GRACE_NS if session_end_ns is None else max(now_ns, session_end_ns)
    connection.execute(_ATTEMPTS, {"before": before_ns, "end": session_end_ns})


def forget(connection: duckdb.DuckDBPyConnection) -> None:
    """Take back what was inferred of attempts: their session lives after all."""
    connection.execute(_FORGET)
