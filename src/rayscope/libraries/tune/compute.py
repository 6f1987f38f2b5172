"""Prepares rows of the record for the page of an experiment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from rayscope.api.schemas import ErrorDetail
from rayscope.libraries.tune import schemas

Row = dict[str, Any]
Parameter = str | int | float | bool
_decode = msgspec.json.Decoder(dict[str, Parameter]).decode
_decode_ids = msgspec.json.Decoder(list[str]).decode


def trial(row: Row) -> schemas.TuneTrial:
    """A trial as returned by the API."""
    actors = row.pop("actor_ids")
    decoded = {
        "parameters": _values(row["parameters"]),
        "metrics": _values(row["metrics"]),
        "earlier_actor_ids": _ids(actors)[:-1],
    }
    return cast(schemas.TuneTrial, {**row, **decoded})


def parameters(trials: Sequence[schemas.TuneTrial]) -> list[schemas.TuneParameter]:
    """The parameters of some trials: varying ones first, then in the order of the trials.

    ``is_number``: whether all values are numbers; ``values``: the number of different values.
    """
    seen: dict[str, list[Parameter]] = {}
    for one in trials:
        for name, value in one["parameters"].items():
            seen.setdefault(name, []).append(value)
    found: list[schemas.TuneParameter] = [
        {
            "name": name,
            "is_number": all(isinstance(value, (int, float)) and type(value) is not bool for value in values),
            "values": len({(type(value) is bool, value) for value in values}),
            "varies": len(values) < len(trials) or len(set(map(repr, values))) > 1,
        }
        for name, values in seen.items()
    ]
    return sorted(found, key=lambda one: not one["varies"])


def metric_names(trials: Sequence[schemas.TuneTrial], limit: int) -> list[str]:
    """Up to ``limit`` names of metrics in the last results of some trials, the most frequent first."""
    counts = Counter(name for one in trials for name in one["metrics"])
    return sorted(counts, key=lambda name: (-counts[name], name))[:limit]


def lines(points: Sequence[Row]) -> list[schemas.TuneLine]:
    """The line of each trial in a chart. ``points`` must be sorted by trial and iteration."""
    found: dict[str, list[tuple[int, float]]] = {}
    for point in points:
        found.setdefault(point["trial_id"], []).append((point["iteration"], point["value"]))
    return [{"trial_id": trial_id, "points": of} for trial_id, of in found.items()]


def best(trials: Sequence[schemas.TuneTrial], mode: schemas.TuneMode | None) -> str | None:
    """The trial with the best last value, as in ``ResultGrid.get_best_result()``."""
    with_value = [(one["value"], one["trial_id"]) for one in trials if one["value"] is not None]
    if mode is None or not with_value:
        return None
    choose = min if mode == "min" else max
    return choose(with_value, key=lambda one: one[0])[1]


def problem(untraced_trials: int) -> ErrorDetail | None:
    """A hint if actors ran trials of an experiment that is not recorded, or None."""
    if not untraced_trials:
        return None
    what = (
        "1 actor ran a trial of Ray Tune whose experiment is"
        if untraced_trials == 1
        else f"{untraced_trials} actors ran trials of Ray Tune whose experiments are"
    )
    return {
        "code": "tune_untraced",
        "message": f"{what} not on record.",
        "remedy": "Only the tracer in the driver tells of experiments: start the program with "
        "`rayscope run`, or in the environment of `rayscope env`, without --no-trace.",
        "params": {"number": untraced_trials},
    }


def _values(text: str | None) -> dict[str, Parameter]:
    try:
        return _decode(text) if text else {}
    except msgspec.DecodeError:
        return {}


def _ids(text: str | None) -> list[str]:
    try:
        return _decode_ids(text) if text else []
    except msgspec.DecodeError:
        return []
