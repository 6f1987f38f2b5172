"""Converts the tracer's events about Ray Tune (:mod:`rayscope.tracer.tune`) to records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rayscope.model import Entity, RecordBatch, Span
from rayscope.model.entity import Value
from rayscope.ray.common import REDACTED, ProfileEntry, clean_error, redact_settings, redact_text
from rayscope.ray.events.reported import metrics
from rayscope.ray.protobuf import known

#: Name of the span for a result.
RESULT = "tune.result"
#: Maximum absolute value of a parameter. Larger ones are dropped.
_MAX_ABS = 1e308
_MAX_PARAMETERS = 64
#: Maximum number of characters in a parameter's name.
_MAX_NAME = 100
_STATES = frozenset({"RUNNING", "FINISHED", "ERRORED", "INTERRUPTED"})
_TRIAL_STATES = frozenset({"PENDING", "RUNNING", "PAUSED", "TERMINATED", "ERROR"})
_REASONS = frozenset({"", "finished", "criterion", "early"})
_TASK_DIGITS = 48
_JOB_DIGITS = 8

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Text = Annotated[str, msgspec.Meta(max_length=4_000)]
_Values = dict[str, str | int | float | bool | None]


class _Experiment(msgspec.Struct, gc=False):
    """An experiment. The names are those of the wire format; times are in ns."""

    experiment: _Id
    state: str
    start: _Time
    name: _Text = ""
    path: _Text = ""
    metric: _Text = ""
    mode: str = ""
    scheduler: _Text = ""
    search: _Text = ""
    restored: bool = False
    samples: _Number | None = None
    end: _Time = 0
    t: str = ""


class _Trial(msgspec.Struct, gc=False):
    """A trial. ``n``: iterations; ``why``: why it ended; ``actors``: its actors in the order of their use."""

    trial: _Id
    state: str
    name: _Text = ""
    parameters: _Values = {}
    path: _Text = ""
    n: _Number = 0
    seconds: _Seconds = 0.0
    values: _Values = {}
    failures: _Number = 0
    actors: Annotated[list[_Id], msgspec.Meta(max_length=20)] = []
    error: _Text = ""
    why: str = ""
    start: _Time = 0
    end: _Time = 0


class _Trials(msgspec.Struct, gc=False):
    experiment: _Id
    trials: Annotated[list[_Trial], msgspec.Meta(max_length=100)]
    t: str = ""


class _Result(msgspec.Struct, gc=False):
    experiment: _Id
    trial: _Id
    n: _Number = 0
    seconds: _Seconds = 0.0
    values: _Values = {}
    x: int = 0
    t: str = ""
    a: Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)] = 0


_decode_experiment = msgspec.json.Decoder(_Experiment).decode
_decode_trials = msgspec.json.Decoder(_Trials).decode
_decode_result = msgspec.json.Decoder(_Result).decode


def add(entry: ProfileEntry, task_id: str, attempt: int, batch: RecordBatch) -> None:
    """Add the records of an event. Raises ValueError or an error of msgspec's if the event is not ours."""
    if entry.event_name == "rayscope.tune_experiment":
        experiment = _decode_experiment(entry.extra_data)
        batch.entities.append(_experiment(experiment, _task(experiment.t or task_id), entry.end_time))
    elif entry.event_name == "rayscope.tune_trials":
        payload = _decode_trials(entry.extra_data)
        job_id = _task(payload.t or task_id)[-_JOB_DIGITS:]
        batch.entities += [
            _trial(trial, payload.experiment, job_id, entry.end_time) for trial in payload.trials
        ]
    elif entry.event_name == "rayscope.tune_result":
        result = _decode_result(entry.extra_data)
        if result.t:
            task_id, attempt = _task(result.t), result.a
        extra: dict[str, Any] = {
            "experiment": result.experiment,
            "trial": result.trial,
            "iteration": result.n,
            "seconds": result.seconds,
            "metrics": metrics(result.values),
        }
        if result.x:
            extra["checkpoint"] = 1
        at = entry.end_time
        batch.spans.append(Span(task_id, attempt, RESULT, at, at, _encode(extra)))
    else:
        raise ValueError("nothing of Ray Tune")


def _experiment(experiment: _Experiment, task_id: str, time_ns: int) -> Entity:
    if experiment.state not in _STATES or "/" in experiment.experiment:
        raise ValueError("an experiment of something else")
    fields: dict[str, Value | None] = {
        "name": experiment.name or None,
        "path": redact_text(experiment.path) or None,
        "job_id": task_id[-_JOB_DIGITS:],
        "metric": experiment.metric or None,
        "mode": experiment.mode if experiment.mode in ("min", "max") else None,
        "scheduler": experiment.scheduler or None,
        "search_algorithm": experiment.search or None,
        "num_samples": experiment.samples,
        "is_restored": experiment.restored,
    }
    observed: dict[str, Value | None] = {
        "state": experiment.state,
        "start_ns": experiment.start,
        "end_ns": experiment.end or None,
    }
    return Entity("tune_experiment", experiment.experiment, known(fields), {}, time_ns, known(observed))


def _trial(trial: _Trial, experiment_id: str, job_id: str, time_ns: int) -> Entity:
    if trial.state not in _TRIAL_STATES or trial.why not in _REASONS or "/" in experiment_id:
        raise ValueError("a trial of something else")
    fields: dict[str, Value | None] = {
        "experiment_id": experiment_id,
        "trial_id": trial.trial,
        "name": trial.name or None,
        "job_id": job_id,
    }
    observed: dict[str, Value | None] = {
        "state": trial.state,
        "parameters": _encode(_parameters(trial.parameters)),
        "path": redact_text(trial.path) or None,
        "iterations": trial.n,
        "time_total_s": trial.seconds,
        "metrics": _encode(metrics(trial.values)),
        "failures": trial.failures,
        "actor_id": trial.actors[-1] if trial.actors else None,
        "actor_ids": _encode(trial.actors),
        "error": redact_text(clean_error(trial.error)) or None,
        "end_reason": trial.why or None,
        "start_ns": trial.start or None,
        "end_ns": trial.end or None,
    }
    identity = f"{experiment_id}/{trial.trial}"
    return Entity("tune_trial", identity, known(fields), {}, time_ns, known(observed))


def _parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Strings, numbers and booleans by name, without secrets. Names of nested values contain "/"."""
    plain = {
        name[:_MAX_NAME]: REDACTED if "env_vars/" in name else value
        for name, value in list(values.items())[:_MAX_PARAMETERS]
        if isinstance(value, (str, bool)) or (value is not None and abs(value) < _MAX_ABS)
    }
    redacted: dict[str, Any] = redact_settings(plain)
    return redacted


def _task(task_id: str) -> str:
    if len(task_id) != _TASK_DIGITS or int(task_id, 16) < 0:
        raise ValueError(f"a task id of {len(task_id)} digits")
    return task_id.lower()


def _encode(values: Any) -> str:
    return msgspec.json.encode(values).decode()
