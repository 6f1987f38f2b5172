"""Routes for Ray Tune: all experiments, and a single one with its trials."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from rayscope.api.parameters import CurrentRecords, Limit, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.ingest.clusters import CurrentClusters
from rayscope.libraries.tune import schemas, sql
from rayscope.libraries.tune.compute import best, lines, metric_names, parameters, trial
from rayscope.libraries.used import problem
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile

router = Router()
#: Maximum number of columns in a chart: as many as a wide screen can show.
_MAX_COLUMNS = 200
#: Maximum number of lines in a chart; more could not be told apart.
_MAX_LINES = 100
#: Maximum number of metrics to choose from.
_MAX_METRICS = 50
_MAX_TRIALS = 1_000


@router.get("/api/v1/tune")
def tune_experiments(
    records: CurrentRecords, clusters: CurrentClusters, session: Session = None, limit: Limit = 100
) -> Json[schemas.TuneExperimentPage]:
    """The experiments of Ray Tune, newest first, with their trials by state and their best trial."""
    name = records.resolve(session)
    items, total = records.read_cached(
        name, f"Tune experiments {limit}", lambda file: sql.experiments(file, limit)
    )
    return answer(
        {"session": name, "items": items, "total": total, "problem": problem(records, clusters, name, "tune")}
    )


@router.get("/api/v1/tune/{experiment_id}")
def tune_experiment(
    records: CurrentRecords,
    experiment_id: str,
    session: Session = None,
    metric: Annotated[
        str | None, Query(max_length=100, description="A metric; the experiment's own if not given.")
    ] = None,
    mode: Annotated[
        schemas.TuneMode | None, Query(description="Whether the least or the greatest value is the best one.")
    ] = None,
) -> Json[schemas.TuneExperimentAnswer]:
    """An experiment of Ray Tune: its trials, their parameters, and a metric over their iterations."""
    name = records.resolve(session)
    key = f"Tune experiment {experiment_id!r} {mode} {metric!r}"
    return answer(
        records.read_cached(name, key, lambda file: _experiment(file, name, experiment_id, metric, mode))
    )


def _experiment(
    file: SessionFile, session: str, experiment_id: str, metric: str | None, mode: schemas.TuneMode | None
) -> schemas.TuneExperimentAnswer:
    objective = sql.objective(file, experiment_id)
    if objective is None:
        raise NotFound(
            f"Experiment {experiment_id[:80]!r} not found in this session.",
            what="experiment",
            id=experiment_id[:80],
        )
    own_metric, own_mode = objective
    shown_metric = metric or own_metric
    # The experiment's mode may be the wrong one for another metric.
    shown_mode = mode or (own_mode if shown_metric == own_metric else None)
    found = sql.experiment(
        file,
        experiment_id,
        shown_metric,
        shown_mode,
        limit=_MAX_TRIALS,
        lines=_MAX_LINES,
        columns=_MAX_COLUMNS,
    )
    trials = [trial(row) for row in found.trials]
    names = metric_names(trials, _MAX_METRICS)
    if shown_metric is None and len(names) == 1:
        return _experiment(file, session, experiment_id, names[0], mode)
    drawn = lines(found.points)
    with_value = sum(one["value"] is not None and one["results"] > 0 for one in trials)
    return {
        "session": session,
        **found.item,
        "restored_from": found.restored_from,
        "trials": trials,
        "trials_left_out": found.item["trial_count"] - len(trials),
        "parameters": parameters(trials),
        "metrics": names,
        "shown_metric": shown_metric,
        "shown_mode": shown_mode,
        "shown_best_trial_id": best(trials, shown_mode),
        "iterations": found.iterations,
        "bucket": found.bucket,
        "lines": drawn,
        "lines_left_out": max(0, with_value - len(drawn)),
        "results_left_out": found.results_left_out,
    }
