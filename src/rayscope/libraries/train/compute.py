"""Prepares rows of the record for the page of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import msgspec

from rayscope.api.schemas import ErrorDetail
from rayscope.libraries.train import schemas

Row = dict[str, Any]

_FOLDER = "/logs/"
_decode_gpus = msgspec.json.Decoder(list[int]).decode


def log_file(path: str | None) -> str | None:
    """The name of a log file on the logs page, derived from its path on the node; None if it is not in a
    folder of logs.
    """
    if path is None or _FOLDER not in path:
        return None
    return path.split(_FOLDER, 1)[1] or None


def worker(row: Row) -> schemas.TrainWorker:
    """A worker as returned by the API."""
    gpus, path = row.pop("gpu_ids"), row.pop("log_path")
    try:
        numbers = _decode_gpus(gpus) if gpus else []
    except msgspec.DecodeError:
        numbers = []
    return cast(schemas.TrainWorker, {**row, "gpus": numbers, "log_file": log_file(path)})


def lines(metrics: Sequence[Row], points: Sequence[Row]) -> list[schemas.ReportedMetric]:
    """The metrics, each with a line per rank. ``points`` must be sorted by name, rank and column."""
    by_name: dict[str, dict[int, list[tuple[int, float]]]] = {}
    for point in points:
        of = by_name.setdefault(point["name"], {}).setdefault(point["rank"], [])
        of.append((point["column"], point["value"]))
    return [
        {
            "name": metric["name"],
            "not_finite_step": metric["not_finite_step"],
            "not_finite_rank": metric["not_finite_rank"],
            "lines": [
                {"rank": rank, "points": found} for rank, found in by_name.get(metric["name"], {}).items()
            ],
        }
        for metric in metrics
    ]


def problem(untracked_runs: int, workers_of_v1: int) -> ErrorDetail | None:
    """A hint if Ray Train's actors ran without a recorded run, or None."""
    if untracked_runs:
        return {
            "code": "train_untracked",
            "message": "Ray Train did not keep the state of "
            f"{untracked_runs} training {'run' if untracked_runs == 1 else 'runs'} of this session.",
            "remedy": "Set RAY_TRAIN_ENABLE_STATE_TRACKING=1 in the environment of the driver: "
            "`rayscope run` and `rayscope env` do so, unless with --no-train-state.",
            "params": {"number": untracked_runs},
        }
    if workers_of_v1:
        return {
            "code": "train_v1",
            "message": "This session ran Ray Train V1, whose runs are not shown here.",
            "remedy": "Use Ray Train V2: set RAY_TRAIN_V2_ENABLED=1, the default of newer versions of Ray.",
        }
    return None
