"""Routes for Ray Train: all runs, and a single one with the reports of its workers."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from rayscope.api.parameters import CurrentRecords, Limit, Session
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.ingest.clusters import CurrentClusters
from rayscope.libraries.train import schemas, sql
from rayscope.libraries.train.compute import lines, worker
from rayscope.libraries.used import problem
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile

router = Router()
#: Maximum number of columns in a chart: as many as a wide screen can show.
_MAX_COLUMNS = 200
#: Maximum number of ranks in a chart; more could not be told apart.
_MAX_ROWS = 32
#: Maximum number of metrics with a chart.
_MAX_METRICS = 24
_MAX_WORKERS = 1_000


@router.get("/api/v1/train")
def train_runs(
    records: CurrentRecords, clusters: CurrentClusters, session: Session = None, limit: Limit = 100
) -> Json[schemas.TrainRunPage]:
    """The runs of Ray Train, newest first, with the numbers of their attempts and workers."""
    name = records.resolve(session)
    items, total = records.read_cached(name, f"Train runs {limit}", lambda file: sql.runs(file, limit))
    return answer(
        {
            "session": name,
            "items": items,
            "total": total,
            "problem": problem(records, clusters, name, "train"),
        }
    )


@router.get("/api/v1/train/{run_id}")
def train_run(
    records: CurrentRecords,
    run_id: str,
    session: Session = None,
    attempt: Annotated[
        str | None, Query(max_length=200, description="The id of an attempt; the last one if not given.")
    ] = None,
) -> Json[schemas.TrainRunAnswer]:
    """A run of Ray Train: its attempts, and the workers of one attempt with their reports."""
    name = records.resolve(session)
    key = f"Train run {run_id!r} {attempt!r}"
    return answer(records.read_cached(name, key, lambda file: _run(file, name, run_id, attempt)))


def _run(file: SessionFile, session: str, run_id: str, attempt_id: str | None) -> schemas.TrainRunAnswer:
    found = sql.run(file, run_id)
    if found is None:
        raise NotFound(f"Training run {run_id[:80]!r} not found in this session.", what="run", id=run_id[:80])
    attempts = sql.attempts(file, run_id)
    ids = [row["attempt_id"] for row in attempts]
    if attempt_id is not None and attempt_id not in ids:
        raise NotFound(f"The run has no attempt {attempt_id[:80]!r}.", what="attempt", id=attempt_id[:80])
    chosen = attempt_id or (ids[-1] if ids else None)
    reported = sql.reports(file, chosen or "", columns=_MAX_COLUMNS, rows=_MAX_ROWS, names=_MAX_METRICS)
    return {
        "session": session,
        **found,
        "attempts": attempts,
        "attempt_id": chosen,
        "workers": [worker(row) for row in sql.workers(file, chosen or "", _MAX_WORKERS)],
        "steps": reported.steps,
        "bucket": reported.bucket,
        "cells": reported.cells,
        "ranks": reported.ranks,
        "shown_ranks": min(_MAX_ROWS, len(reported.ranks)),
        "metrics": lines(reported.metrics, reported.points),
        "checkpoints": reported.checkpoints,
        "reports_left_out": reported.left_out,
    }
