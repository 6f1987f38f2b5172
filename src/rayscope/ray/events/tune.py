"""What our tracer tells of Ray Tune (:mod:`rayscope.tracer.tune`), as records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec

from rayscope.model import Entity, RecordBatch, Span
from rayscope.model.entity import Value
from rayscope.ray.common import REDACTED, ProfileEntry, clean_error, redact_settings, redact_text
from rayscope.ray.events.reported import metrics
from rayscope.ray.protobuf import known

#: The span of a result.
RESULT = "tune.result"
_HUGE, _MAX_PARAMETERS, _MAX_NAME = 1e308, 64, 100
_STATES = frozenset({"RUNNING", "FINISHED", "ERRORED", "INTERRUPTED"})
_TRIAL_STATES = frozenset({"PENDING", "RUNNING", "PAUSED", "TERMINATED", "ERROR"})
_REASONS = frozenset({"", "finished", "criterion", "early"})
_TASK_DIGITS, _JOB_DIGITS = 48, 8

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Time = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
_Id = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Text = Annotated[str, msgspec.Meta(max_length=4_000)]
_Values = dict[str, str | int | float | bool | None]


class _Experiment(msgspec.Struct, gc=False):
    """Names are those of the wire. Times are in ns."""

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
    """``n``: iterations; ``why``: why it is over; ``actors``: in the order in which it ran in them."""

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
    """Add the records of an event. Raises ValueError and msgspec's errors for what is none of ours."""
    if entry.event_name == "rayscope.tune_experiment":
        experiment = _decode_experiment(entry.extra_data)
        batch.entities.append(_experiment(experiment, _task(experiment.t or task_id), entry.end_time))
    elif entry.event_name == "rayscope.tune_trials":
        told = _decode_trials(entry.extra_data)
        job_id = _task(told.t or task_id)[-_JOB_DIGITS:]
        batch.entities += [_trial(one, told.experiment, job_id, entry.end_time) for one in told.trials]
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


def _experiment(told: _Experiment, task_id: str, time_ns: int) -> Entity:
    if told.state not in _STATES or "/" in told.experiment:
        raise ValueError("an experiment of something else")
    fields: dict[str, Value | None] = {
        "name": told.name or None,
        "path": redact_text(told.path) or None,
        "job_id": task_id[-_JOB_DIGITS:],
        "metric": told.metric or None,
        "mode": told.mode if told.mode in ("min", "max") else None,
        "scheduler": told.scheduler or None,
        "search_algorithm": told.search or None,
        "num_samples": told.samples,
        "is_restored": told.restored,
    }
    observed: dict[str, Value | None] = {
        "state": told.state,
        "start_ns": told.start,
        "end_ns": told.end or None,
    }
    return Entity("tune_experiment", told.experiment, known(fields), {}, time_ns, known(observed))


def _trial(told: _Trial, experiment_id: str, job_id: str, time_ns: int) -> Entity:
    if told.state not in _TRIAL_STATES or told.why not in _REASONS or "/" in experiment_id:
        raise ValueError("a trial of something else")
    fields: dict[str, Value | None] = {
        "experiment_id": experiment_id,
        "trial_id": told.trial,
        "name": told.name or None,
        "job_id": job_id,
    }
    observed: dict[str, Value | None] = {
        "state": told.state,
        "parameters": _encode(_parameters(told.parameters)),
        "path": redact_text(told.path) or None,
        "iterations": told.n,
        "time_total_s": told.seconds,
        "metrics": _encode(metrics(told.values)),
        "failures": told.failures,
        "actor_id": told.actors[-1] if told.actors else None,
        "actor_ids": _encode(told.actors),
        "error": redact_text(clean_error(told.error)) or None,
        "end_reason": told.why or None,
        "start_ns": told.start or None,
        "end_ns": told.end or None,
    }
    identity = f"{experiment_id}/{told.trial}"
    return Entity("tune_trial", identity, known(fields), {}, time_ns, known(observed))


def _parameters(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values without secrets, by name; the names of nested ones are joined with "/"."""
    plain = {
        name[:_MAX_NAME]: REDACTED if "env_vars/" in name else value
        for name, value in list(values.items())[:_MAX_PARAMETERS]
        if isinstance(value, (str, bool)) or (value is not None and abs(value) < _HUGE)
    }
    redacted: dict[str, Any] = redact_settings(plain)
    return redacted


def _task(task_id: str) -> str:
    if len(task_id) != _TASK_DIGITS or int(task_id, 16) < 0:
        raise ValueError(f"a task id of {len(task_id)} digits")
    return task_id.lower()


def _encode(values: Any) -> str:
    return msgspec.json.encode(values).decode()
