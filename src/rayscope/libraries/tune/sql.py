"""Queries experiments of Ray Tune, their trials, and the trials' results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import duckdb

from rayscope.libraries.sql import with_job
from rayscope.libraries.tune import schemas
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import IS_USERS_SPAN
from rayscope.storage.sql.pages import Row, rows_of

#: The class of the actor that runs a function as a trial.
TRIAL_ACTOR = "ImplicitFunc"
#: If the tracer has not reported an experiment within this time, in ns, we assume that the experiment is not
#: traced.
_MAX_REPORT_DELAY_NS = 15 * 10**9
_METRICS = "json_transform(metrics, '\"MAP(VARCHAR, VARCHAR)\"')"
_EXPERIMENTS = with_job("tune_experiment")
#: Trials that were still running when their experiment ended are cut off. If an experiment is interrupted,
#: Ray Tune terminates its running trials without giving a reason.
_TRIALS = f"""
SELECT t.* EXCLUDE (state, end_ns, end_known_by, end_reason, open),
    CASE WHEN is_cut_off THEN 'CUT_OFF' ELSE t.state END AS state,
    CASE WHEN NOT is_cut_off THEN end_reason END AS end_reason,
    CASE WHEN t.start_ns IS NULL THEN NULL WHEN open THEN t.experiment_end_ns ELSE t.end_ns END AS end_ns
FROM (
    SELECT t.*, e.metric AS experiment_metric, e.end_ns AS experiment_end_ns,
        coalesce(t.state NOT IN ('TERMINATED', 'ERROR'), true) AS open,
        e.end_ns IS NOT NULL AND (open OR (e.state = 'INTERRUPTED' AND t.state = 'TERMINATED'
            AND t.end_reason IS NULL AND t.start_ns IS NOT NULL)) AS is_cut_off
    FROM tune_trials t JOIN ({_EXPERIMENTS}) e USING (experiment_id)) t
"""
#: All results recorded by the tracer (:mod:`rayscope.tracer.tune`). A trial that was restarted from a
#: checkpoint repeats iterations. Only the last result of each iteration counts.
_RESULTS = f"""
SELECT field[1] AS experiment_id, field[2] AS trial_id, TRY_CAST(field[3] AS BIGINT) AS iteration,
    max(time_ns) AS time_ns, arg_max(TRY_CAST(field[4] AS DOUBLE), time_ns) AS seconds,
    arg_max(field[5], time_ns) AS metrics, bool_or(field[6] IS NOT NULL) AS has_checkpoint
FROM (SELECT begin_ns AS time_ns, json_extract_string(CASE WHEN json_valid(extra) THEN extra END,
        ['$.experiment', '$.trial', '$.iteration', '$.seconds', '$.metrics', '$.checkpoint']) AS field
    FROM span_rows WHERE name = 'tune.result' AND NOT {IS_USERS_SPAN})
WHERE TRY_CAST(field[3] AS BIGINT) IS NOT NULL
GROUP BY field[1], field[2], TRY_CAST(field[3] AS BIGINT)
"""


def _value(metric: str) -> str:
    """SQL for a metric's value in the column ``metrics``. ``metric``: SQL for its name."""
    return f"TRY_CAST({_METRICS}[{metric}] AS DOUBLE)"


def _last(results: str) -> str:
    """SQL for trials with the metrics of their last result, or else of their last change of state."""
    return f"""
SELECT t.* REPLACE (
        CASE WHEN r.iteration >= t.iterations THEN r.iteration ELSE t.iterations END AS iterations,
        CASE WHEN r.iteration >= t.iterations THEN r.seconds ELSE t.time_total_s END AS time_total_s,
        CASE WHEN r.iteration >= t.iterations THEN r.metrics ELSE t.metrics END AS metrics),
    coalesce(r.results, 0) AS results, coalesce(r.checkpoints, 0) AS checkpoints
FROM ({_TRIALS}) t LEFT JOIN (
    SELECT experiment_id, trial_id, arg_max(iteration, time_ns) AS iteration,
        arg_max(seconds, time_ns) AS seconds, arg_max(metrics, time_ns) AS metrics, count(*) AS results,
        count(*) FILTER (has_checkpoint) AS checkpoints
    FROM ({results}) GROUP BY ALL) r USING (experiment_id, trial_id)
"""


def _sums(results: str) -> str:
    """SQL for the number of each experiment's trials by state, and of its best trial by its own metric."""
    return f"""
SELECT experiment_id, count(*) AS trial_count, histogram(coalesce(state, 'UNKNOWN')) AS states,
    count(*) FILTER (end_reason = 'early') AS stopped_early, sum(results)::BIGINT AS results,
    arg_min(trial_id, value) FILTER (isfinite(value)) AS least_trial,
    min(value) FILTER (isfinite(value)) AS least,
    arg_max(trial_id, value) FILTER (isfinite(value)) AS most_trial,
    max(value) FILTER (isfinite(value)) AS most
FROM (SELECT *, {_value("experiment_metric")} AS value FROM ({_last(results)})) GROUP BY experiment_id
"""


_ITEM = """
e.experiment_id, e.name, e.state, e.path, e.job_id, e.entrypoint, e.metric, e.mode, e.scheduler,
e.search_algorithm, e.num_samples, coalesce(e.is_restored, FALSE) AS is_restored, e.start_ns, e.end_ns,
e.end_known_by, coalesce(s.trial_count, 0) AS trial_count, coalesce(s.states, MAP {}) AS trial_states,
coalesce(s.stopped_early, 0) AS stopped_early, coalesce(s.results, 0) AS results,
CASE e.mode WHEN 'min' THEN s.least_trial WHEN 'max' THEN s.most_trial END AS best_trial_id,
CASE e.mode WHEN 'min' THEN s.least WHEN 'max' THEN s.most END AS best_value
"""


def _items(results: str) -> str:
    """SQL for experiments with the sums of their trials."""
    return f"SELECT {_ITEM} FROM ({_EXPERIMENTS}) e LEFT JOIN ({_sums(results)}) s USING (experiment_id)"


def experiments(file: SessionFile, limit: int) -> tuple[list[schemas.TuneExperimentItem], int]:
    """The experiments, newest first, with the number of their trials by state and the best trial by their own
    metric and mode; and the number of all experiments.
    """
    with file.reader() as reader:
        total = reader.execute("SELECT count(*) FROM tune_experiments").fetchone()
        found = rows_of(
            reader.execute(
                f"{_items(_RESULTS)} ORDER BY start_ns DESC NULLS LAST, experiment_id LIMIT ?",
                [limit],
            )
        )
    return cast(list[schemas.TuneExperimentItem], found), int(total[0]) if total else 0


def objective(file: SessionFile, experiment_id: str) -> tuple[str | None, schemas.TuneMode | None] | None:
    """The metric and the mode of an experiment, or None if it is not recorded."""
    with file.reader() as reader:
        found: tuple[str | None, schemas.TuneMode | None] | None = reader.execute(
            "SELECT metric, mode FROM tune_experiments WHERE experiment_id = ?", [experiment_id]
        ).fetchone()
    return found


@dataclass(frozen=True)
class Experiment:
    """An experiment, its trials, and their results. See :func:`experiment`."""

    item: schemas.TuneExperimentItem
    restored_from: str | None
    trials: list[Row]
    points: list[Row]
    bucket: int
    iterations: int
    results_left_out: int


def experiment(
    file: SessionFile,
    experiment_id: str,
    metric: str | None,
    mode: str | None,
    *,
    limit: int,
    lines: int,
    columns: int,
) -> Experiment:
    """A recorded experiment, its ``limit`` best trials (or, without ``mode``, the first ones) sorted by ID,
    and their results for a chart of one metric.

    ``restored_from``: the experiment that it continues, if that is in this session. ``trials``: with
    ``parameters`` and ``metrics`` as JSON, the last ``value`` of ``metric``, and the ``best_value`` (with
    ``mode``) and its ``best_iteration``. ``points``: the last ``value`` of each ``bucket`` by ``trial_id``
    and ``iteration``, for the ``lines`` best trials or, without ``mode``, the first ones.
    ``results_left_out``: the number of results in the whole job in such quick succession that they were only
    counted.
    """
    with file.reader() as reader:
        reader.execute(
            f"CREATE OR REPLACE TEMP TABLE tune_results AS SELECT *, {_value('$metric')} AS value "
            f"FROM ({_RESULTS}) WHERE experiment_id = $id",
            {"id": experiment_id, "metric": metric},
        )
        try:
            return _experiment(reader, experiment_id, metric, mode, limit, lines, columns)
        finally:
            reader.execute("DROP TABLE tune_results")


def _experiment(
    reader: duckdb.DuckDBPyConnection,
    experiment_id: str,
    metric: str | None,
    mode: str | None,
    limit: int,
    lines: int,
    columns: int,
) -> Experiment:
    (item,) = rows_of(
        reader.execute(f"{_items('FROM tune_results')} WHERE experiment_id = ?", [experiment_id])
    )
    restored_from = reader.execute(
        "SELECT arg_max(o.experiment_id, o.start_ns) FROM tune_experiments e JOIN tune_experiments o "
        "ON o.path = e.path AND o.start_ns < e.start_ns WHERE e.experiment_id = ? AND e.is_restored",
        [experiment_id],
    ).fetchone()
    best = {"min": "arg_min", "max": "arg_max"}.get(mode or "")
    bests = (
        f"{best}(value, value) FILTER (isfinite(value))" if best else "NULL::DOUBLE",
        f"{best}(iteration, value) FILTER (isfinite(value))" if best else "NULL::BIGINT",
    )
    order = {"min": "value ASC NULLS LAST,", "max": "value DESC NULLS LAST,"}.get(mode or "", "")
    trials = rows_of(
        reader.execute(
            f"""
            SELECT t.trial_id, t.name, t.state, t.end_reason, t.parameters, t.metrics, t.iterations,
                t.time_total_s, CASE WHEN isfinite(t.value) THEN t.value END AS value, b.best_value,
                b.best_iteration, t.results, t.checkpoints, coalesce(t.failures, 0) AS failures, t.error,
                t.path, t.actor_id, t.actor_ids, a.node_id, t.start_ns, t.end_ns
            FROM (SELECT *, {_value("$metric")} AS value FROM ({_last("FROM tune_results")})
                WHERE experiment_id = $id) t
            LEFT JOIN (SELECT trial_id, {bests[0]} AS best_value, {bests[1]} AS best_iteration
                FROM tune_results GROUP BY trial_id) b USING (trial_id)
            LEFT JOIN (SELECT actor_id, any_value(node_id) AS node_id FROM actors GROUP BY actor_id) a
                USING (actor_id)
            ORDER BY {order} t.trial_id LIMIT $limit
            """,
            {"id": experiment_id, "metric": metric, "limit": limit},
        )
    )
    trials.sort(key=lambda trial: trial["trial_id"])
    last = reader.execute("SELECT coalesce(max(iteration), 0) FROM tune_results").fetchone()
    iterations = int(last[0]) if last else 0
    bucket = max(1, -(-iterations // columns))
    points = rows_of(
        reader.execute(
            f"""
            WITH found AS (SELECT trial_id, iteration, value FROM tune_results WHERE isfinite(value)),
            shown AS (SELECT trial_id FROM (
                SELECT trial_id, arg_max(value, iteration) AS value FROM found GROUP BY trial_id)
                ORDER BY {order} trial_id LIMIT $lines)
            SELECT trial_id, max(iteration) AS iteration, arg_max(value, iteration) AS value
            FROM found SEMI JOIN shown USING (trial_id)
            GROUP BY trial_id, (iteration - 1) // {bucket} ORDER BY trial_id, iteration
            """,
            {"lines": lines},
        )
    )
    left_out = reader.execute(
        "SELECT coalesce(sum(TRY_CAST(extra ->> '$.calls' AS BIGINT)), 0) FROM span_rows s JOIN "
        f"({_EXPERIMENTS}) e ON right(s.task_lo, 8) = e.job_id AND s.end_ns >= e.start_ns "
        "AND s.begin_ns <= coalesce(e.end_ns, s.begin_ns) "
        "WHERE s.name = 'rayscope.tune_result' AND json_valid(extra) AND e.experiment_id = ?",
        [experiment_id],
    ).fetchone()
    return Experiment(
        cast(schemas.TuneExperimentItem, item),
        restored_from[0] if restored_from else None,
        trials,
        points,
        bucket,
        iterations,
        int(left_out[0]) if left_out else 0,
    )


def untraced(file: SessionFile, now_ns: int | None) -> int:
    """The number of actors that ran trials in jobs without a recorded experiment.

    ``now_ns``: None if the session has ended.
    """
    known_by = "TRUE" if now_ns is None else "a.start_ns < $now - $max_delay"
    with file.reader() as reader:
        row = reader.execute(
            f"""
            SELECT count(*) FROM actors a WHERE class_name = $class AND {known_by}
                AND NOT EXISTS (SELECT 1 FROM tune_experiments e WHERE e.job_id = a.job_id)
            """,
            {"class": TRIAL_ACTOR}
            | ({} if now_ns is None else {"now": now_ns, "max_delay": _MAX_REPORT_DELAY_NS}),
        ).fetchone()
    return int(row[0]) if row else 0
