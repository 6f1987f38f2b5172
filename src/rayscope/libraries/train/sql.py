"""Queries training runs, their attempts and workers, and the reports of the workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import duckdb

from rayscope.libraries.sql import with_job
from rayscope.libraries.train import schemas
from rayscope.libraries.train.compute import log_file
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import IS_OPEN_WAIT, START
from rayscope.storage.sql.pages import Row, rows_of

#: The class of the controller's actor in Ray Train's second version.
CONTROLLER = "TrainController"
#: The class of the workers' actors in both versions.
WORKER = "RayTrainWorker"
#: If Ray has not reported a run within this time, in ns, we assume that Ray Train does not export the state
#: of the run.
_MAX_REPORT_DELAY_NS = 45 * 10**9
_RUNS = with_job("train_run")
_ITEM = """
r.run_id, r.name, r.state, r.status_detail, r.job_id, r.entrypoint, r.start_ns, r.end_ns, r.end_known_by,
(SELECT count(*) FROM train_attempts a WHERE a.run_id = r.run_id) AS attempt_count,
(SELECT count(*) FROM train_attempts a WHERE a.run_id = r.run_id AND a.state IN ('ERRORED', 'ABORTED'))
    AS failed_attempts,
coalesce((SELECT max(n) FROM (SELECT count(*) AS n FROM train_workers w WHERE w.run_id = r.run_id
    GROUP BY attempt_id)), 0) AS worker_count
"""
_SETTINGS = (
    "framework_versions",
    "train_loop_config",
    "scaling_config",
    "backend_config",
    "datasets",
    "data_config",
    "run_config",
)


def runs(file: SessionFile, limit: int) -> tuple[list[schemas.TrainRunItem], int]:
    """The runs, newest first, with the numbers of their attempts and workers; and the number of all runs."""
    with file.reader() as reader:
        total = reader.execute("SELECT count(*) FROM train_runs").fetchone()
        found = rows_of(
            reader.execute(
                f"SELECT {_ITEM} FROM ({_RUNS}) r ORDER BY start_ns DESC NULLS LAST, run_id LIMIT ?", [limit]
            )
        )
    return cast(list[schemas.TrainRunItem], found), int(total[0]) if total else 0


def run(file: SessionFile, run_id: str) -> schemas.TrainRun | None:
    """A run, or None if it is not recorded."""
    columns = ", ".join(f"r.{name}" for name in ("controller_actor_id", "controller_log_path", *_SETTINGS))
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                f"SELECT {_ITEM}, {columns}, (SELECT any_value(a.node_id) FROM actors a WHERE a.actor_id = "
                f"r.controller_actor_id) AS controller_node_id FROM ({_RUNS}) r WHERE run_id = ?",
                [run_id],
            )
        )
    if not found:
        return None
    row = found[0]
    settings = {name: row.pop(name) for name in _SETTINGS}
    row["settings"] = {name: text for name, text in settings.items() if text is not None}
    row["controller_log_file"] = log_file(row.pop("controller_log_path"))
    return cast(schemas.TrainRun, row)


def attempts(file: SessionFile, run_id: str) -> list[schemas.TrainAttempt]:
    """The attempts of a run in order, with the number of workers, and the largest number of reports by a
    rank.
    """
    with file.reader() as reader:
        found = rows_of(
            reader.execute(
                f"""
                WITH of_run AS (SELECT * FROM train_workers WHERE run_id = $run),
                reported AS (
                    SELECT w.attempt_id, max(r.step) + 1 AS reports FROM of_run w
                    JOIN ({_REPORTS}) r USING (actor_id) GROUP BY ALL)
                SELECT a.* EXCLUDE (run_id, job_id),
                    (SELECT count(*) FROM of_run w WHERE w.attempt_id = a.attempt_id) AS worker_count,
                    coalesce(r.reports, 0) AS reports
                FROM train_attempts a LEFT JOIN reported r USING (attempt_id)
                WHERE a.run_id = $run ORDER BY a.start_ns, a.attempt_id
                """,
                {"run": run_id},
            )
        )
    return cast(list[schemas.TrainAttempt], found)


def workers(file: SessionFile, attempt_id: str, limit: int) -> list[Row]:
    """The workers of an attempt by rank. ``reporting_since_ns``: when a worker's current report began, or
    None.
    """
    with file.reader() as reader:
        return rows_of(
            reader.execute(
                f"""
                SELECT w.train_worker_id, w.state, w.world_rank, w.local_rank, w.node_rank, w.actor_id,
                    w.node_id, w.node_ip, w.pid, w.gpu_ids, w.log_path,
                    CASE WHEN w.state = 'ALIVE' THEN (
                        SELECT max(b.begin_ns) FROM edge_rows b WHERE b.kind = 'blocked:train.report'
                            AND b.task_lo = w.actor_id AND {IS_OPEN_WAIT}) END AS reporting_since_ns
                FROM train_workers w WHERE w.attempt_id = ? ORDER BY w.world_rank LIMIT ?
                """,
                [attempt_id, limit],
            )
        )


def progress(file: SessionFile, limit: int) -> list[Row]:
    """The running runs whose workers have reported several times.

    Rows have ``run_id``, ``name``, ``job_id``, ``longest_ns`` (the longest time between two reports of a
    worker, also before a restart), and ``silent_ns`` (from the last report to the session's newest data).
    """
    with file.reader() as reader:
        if reader.execute("SELECT 1 FROM train_runs WHERE state = 'RUNNING' LIMIT 1").fetchone() is None:
            return []
        return rows_of(reader.execute(_PROGRESS, [limit]))


def untracked(file: SessionFile, now_ns: int | None) -> tuple[int, int]:
    """The number of Ray Train's controllers without a recorded run, and the number of workers without a
    controller, which belong to the first version of Ray Train. ``now_ns``: None if the session has ended.
    """
    known_by = "TRUE" if now_ns is None else "a.start_ns < $now - $max_delay"
    with file.reader() as reader:
        row = reader.execute(
            f"""
            SELECT count(*) FILTER (class_name = $controller AND NOT EXISTS (
                    SELECT 1 FROM train_runs r WHERE r.controller_actor_id = a.actor_id)),
                CASE WHEN count(*) FILTER (class_name = $controller) = 0
                    THEN count(*) FILTER (class_name = $worker) ELSE 0 END
            FROM actors a WHERE class_name IN ($controller, $worker) AND {known_by}
            """,
            {"controller": CONTROLLER, "worker": WORKER}
            | ({} if now_ns is None else {"now": now_ns, "max_delay": _MAX_REPORT_DELAY_NS}),
        ).fetchone()
    return (int(row[0]), int(row[1])) if row else (0, 0)


#: How many times between two reports of a rank are needed to say what is unusually long.
_MIN_INTERVALS = 5
#: Reports of workers, attached to the creation tasks of their actors (:mod:`rayscope.tracer.train`).
_REPORTS = """
SELECT task_lo AS actor_id, TRY_CAST(extra ->> '$.step' AS BIGINT) AS step, begin_ns, end_ns,
    TRY_CAST(extra ->> '$.since_ns' AS BIGINT) AS since_ns,
    TRY_CAST(extra ->> '$.data_ns' AS BIGINT) AS data_ns,
    extra -> '$.metrics' AS metrics, extra ->> '$.checkpoint' AS checkpoint
FROM (SELECT * REPLACE (CASE WHEN json_valid(extra) THEN extra END AS extra) FROM span_rows
    WHERE name = 'train.report' AND task_hi = 18446744073709551615)
WHERE step IS NOT NULL
"""
#: For each running run, the time between the last report of its workers and the newest data of the session,
#: and the longest time between two reports of a worker. Several reports of each rank are needed.
_PROGRESS = f"""
SELECT r.run_id, r.name, r.job_id, max(p.end_ns - p.since_ns) AS longest_ns,
    (SELECT max(end_ns) FROM span_rows) - max(p.end_ns) FILTER (w.state = 'ALIVE') AS silent_ns
FROM train_runs r JOIN train_workers w USING (run_id) JOIN (
    SELECT actor_id, end_ns, since_ns FROM ({_REPORTS}) UNION ALL
    SELECT task_lo, end_ns, NULL FROM span_rows WHERE name = 'rayscope.train_report') p USING (actor_id)
WHERE r.state = 'RUNNING' GROUP BY ALL HAVING silent_ns IS NOT NULL
    AND count(p.since_ns) >= {_MIN_INTERVALS} * count(DISTINCT w.world_rank) AND longest_ns > 0
ORDER BY run_id LIMIT ?
"""
#: The steps of an attempt's ranks: the time until the report, and how it was spent. The first step begins
#: when the worker was asked to run the user's function.
_STEPS = f"""
SELECT rank, step, begin_ns, end_ns, metrics, checkpoint, end_ns - begin_ns AS report_ns,
    begin_ns - since AS own_ns, least(data_ns, begin_ns - since) AS data_ns
FROM (
    SELECT w.world_rank AS rank, r.*, coalesce(r.since_ns, CASE WHEN r.step = 0 THEN s.at END) AS since
    FROM ({_REPORTS}) r JOIN (SELECT * FROM train_workers WHERE attempt_id = $attempt) w USING (actor_id)
    LEFT JOIN (
        SELECT actor_id, min({START}) AS at FROM attempts WHERE func_name = '{WORKER}.run_train_fn'
        GROUP BY actor_id) s USING (actor_id)
    QUALIFY row_number() OVER (PARTITION BY rank, step ORDER BY begin_ns) = 1)
"""
#: A rank straggles in a step if it takes at least this many times as long as the median rank ...
_STRAGGLER_RATIO = 1.5
#: ... and at least this much longer, in ns.
_STRAGGLER_NS = 10 * 10**6


@dataclass(frozen=True)
class Reports:
    """The reports of an attempt's workers. See :func:`reports`."""

    steps: int
    bucket: int
    cells: list[schemas.StepCell]
    ranks: list[schemas.RankTimes]
    metrics: list[Row]
    points: list[Row]
    checkpoints: list[schemas.TrainCheckpoint]
    left_out: int


def reports(file: SessionFile, attempt_id: str, *, columns: int, rows: int, names: int) -> Reports:
    """The reports of an attempt's workers, for charts with ``columns`` columns and ``rows`` rows.

    ``steps``: the number of steps of the rank with the most steps. If there are more than ``columns``, each
    column combines ``bucket`` steps. ``cells``: the mean times (ns) of a ``rank`` in a ``column``, and the
    number of steps in which it straggled. ``ranks``: the same for each rank over all steps, the most frequent
    stragglers first. Cells and points cover the first ``rows`` of these. ``metrics``: up to ``names`` names,
    with the first step that has a non-finite value. ``points``: the means of a metric by ``rank`` and
    ``column``. ``left_out``: the number of reports that were only counted.
    """
    with file.reader() as reader:
        reader.execute(f"CREATE OR REPLACE TEMP TABLE train_steps AS {_STEPS}", {"attempt": attempt_id})
        try:
            return _reports(reader, attempt_id, columns, rows, names)
        finally:
            reader.execute("DROP TABLE train_steps")


def _reports(
    reader: duckdb.DuckDBPyConnection, attempt_id: str, columns: int, rows: int, names: int
) -> Reports:
    last = reader.execute("SELECT max(step) FROM train_steps").fetchone()
    steps = 0 if last is None or last[0] is None else int(last[0]) + 1
    bucket = max(1, -(-steps // columns))
    judged = f"""
        SELECT *, step // {bucket} AS "column",
            own_ns > {_STRAGGLER_RATIO} * median(own_ns) OVER (PARTITION BY step)
                AND own_ns - median(own_ns) OVER (PARTITION BY step) >= {_STRAGGLER_NS} AS straggles
        FROM train_steps
    """
    sums = (
        "count(*) AS steps, avg(own_ns)::BIGINT AS own_ns, avg(data_ns)::BIGINT AS data_ns, "
        "avg(report_ns)::BIGINT AS report_ns, count(*) FILTER (straggles) AS straggles"
    )
    ranks = rows_of(
        reader.execute(
            f"SELECT rank, {sums}, quantile_cont(own_ns, 0.5)::BIGINT AS p50_ns, max(own_ns) AS max_ns "
            f"FROM ({judged}) GROUP BY rank ORDER BY straggles DESC, rank"
        )
    )
    shown = sorted(row["rank"] for row in ranks[:rows])
    cells = rows_of(
        reader.execute(
            f'SELECT rank, "column", {sums} FROM ({judged}) WHERE list_contains($shown, rank) '
            'GROUP BY rank, "column" ORDER BY rank, "column"',
            {"shown": shown},
        )
    )
    values = """
        SELECT rank, step, entry.key AS name, TRY_CAST(entry.value AS DOUBLE) AS value
        FROM (SELECT rank, step, unnest(map_entries(
            json_transform(metrics, '"MAP(VARCHAR, VARCHAR)"'))) AS entry FROM train_steps)
    """
    metrics = rows_of(
        reader.execute(
            f"SELECT name, min(step) FILTER (NOT isfinite(value)) AS not_finite_step, "
            f"arg_min(rank, [step, rank]) FILTER (NOT isfinite(value)) AS not_finite_rank "
            f"FROM ({values}) WHERE value IS NOT NULL GROUP BY name ORDER BY count(*) DESC, name LIMIT ?",
            [names],
        )
    )
    points = rows_of(
        reader.execute(
            f'SELECT name, rank, step // {bucket} AS "column", avg(value) AS value FROM ({values}) '
            "WHERE isfinite(value) AND list_contains($shown, rank) AND list_contains($names, name) "
            'GROUP BY ALL ORDER BY name, rank, "column"',
            {"shown": shown, "names": [row["name"] for row in metrics]},
        )
    )
    checkpoints = rows_of(
        reader.execute(
            "SELECT step, min(rank) AS rank, count(*) AS ranks, arg_min(checkpoint, rank) AS path, "
            "max(end_ns) AS time_ns, max(report_ns) AS report_ns FROM train_steps "
            "WHERE checkpoint IS NOT NULL GROUP BY step ORDER BY step DESC LIMIT 100"
        )
    )
    left_out = reader.execute(
        "SELECT coalesce(sum(TRY_CAST(extra ->> '$.calls' AS BIGINT)), 0) FROM span_rows "
        "WHERE name = 'rayscope.train_report' AND json_valid(extra) AND task_lo IN "
        "(SELECT actor_id FROM train_workers WHERE attempt_id = ?)",
        [attempt_id],
    ).fetchone()
    return Reports(
        steps,
        bucket,
        cast(list[schemas.StepCell], cells),
        cast(list[schemas.RankTimes], ranks),
        metrics,
        points,
        cast(list[schemas.TrainCheckpoint], checkpoints),
        int(left_out[0]) if left_out else 0,
    )
