"""Ray Tune's experiments, their trials and what these report, in the process that runs ``TuneController``.

Ray has no API for them. A snapshot of a trial is told whenever its status changes, and each of its results.
"""

from __future__ import annotations

import functools
import math
import numbers
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Any
from weakref import WeakKeyDictionary

from rayscope.tracer import emit
from rayscope.tracer.emit import state
from rayscope.tracer.libraries import Guard, Hook, wrap_when_loaded

#: Numbers of one result that are told, parameters of a trial, actors of one (the last ones), and trials of
#: one event; letters of names, texts, errors, and of all the parameters of a trial.
_MAX_METRICS, _MAX_PARAMETERS, _MAX_ACTORS, _MAX_TRIALS = 32, 64, 20, 10
_MAX_NAME, _MAX_TEXT, _MAX_PATH, _MAX_ERROR, _MAX_LETTERS = 100, 200, 1_000, 4_000, 4_000
_MAX_ITEMS = 16  # of a list among the parameters
_MAX_VALUES = 2_000  # that are looked at
_TERMINATED, _ERROR = "TERMINATED", "ERROR"
_DUPLICATE, _ANONYMOUS = "__duplicate__", "_metric"
#: What Ray Tune adds to each result by itself.
_TUNES_OWN = frozenset(
    {
        "config",
        "date",
        "done",
        "hostname",
        "iterations_since_restore",
        "node_ip",
        "pid",
        "should_checkpoint",
        "time_since_restore",
        "time_this_iter_s",
        "time_total_s",
        "timestamp",
        "timesteps_since_restore",
        "training_iteration",
        "trial_id",
    }
)


class _Trial:
    """What is not known of a trial by looking at it.

    ``why``: why it is over: ``finished`` by itself, ``criterion`` reached, stopped ``early``.
    """

    __slots__ = ("actors", "end_ns", "error", "start_ns", "status", "why")

    def __init__(self) -> None:
        self.status = self.error = self.why = ""
        self.actors: list[str] = []
        self.start_ns = self.end_ns = 0


class _Experiment:
    """What is not known of an experiment by looking at its controller.

    ``is_told``: from when it is set up.
    """

    def __init__(self) -> None:
        self.id, self.start_ns = uuid.uuid4().hex, time.time_ns()
        self.trials: dict[str, _Trial] = {}
        self.samples: int | None = None
        self.mode = ""
        self.is_told = self.is_over = False

    def trial(self, trial_id: str) -> _Trial:
        """One of its trials."""
        return self.trials.setdefault(trial_id, _Trial())


# Beside the controllers: their attributes are saved with their experiments.
_experiments: WeakKeyDictionary[Any, _Experiment] = WeakKeyDictionary()


def install(guard: Guard) -> None:
    """Watch for the loading of Ray Tune. ``guard`` makes a function of ours safe to call."""
    wrap_when_loaded(guard, "ray.tune.execution.tune_controller", "TuneController", hooks(guard))


def hooks(guard: Guard) -> dict[str, Hook]:
    """What wraps the methods of ``TuneController``, by name."""
    return {
        "setup_experiments": _around(guard, after=_note_experiment),
        "add_trial": _around(guard, after=_note_new),
        "_set_trial_status": _around(guard, after=_note_status),
        "_schedule_trial_stop": _around(guard, before=_note_error),
        "_process_trial_result": _around(guard, before=_is_done, after=_note_result),
        "cleanup": _around(guard, before=_is_unfinished, after=_note_end),
    }


def _around(
    guard: Guard, before: Callable[..., Any] | None = None, after: Callable[..., Any] | None = None
) -> Hook:
    """Tell ``before`` and ``after`` what a method is called with; ``after`` also what ``before`` gave."""
    safe_before = None if before is None else guard(before)
    safe_after = None if after is None else guard(after)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def noted(*args: Any, **kwargs: Any) -> Any:
            given = (*args, *kwargs.values())
            begun = safe_before(*given) if state.on and safe_before is not None else None
            result = original(*args, **kwargs)
            if state.on and safe_after is not None:
                safe_after(begun, *given)
            return result

        return noted

    return wrap


def _experiment(controller: Any) -> _Experiment:
    known = _experiments.get(controller)
    if known is None:
        known = _experiments[controller] = _Experiment()
    return known


def _note_experiment(_: Any, controller: Any, experiments: Any = None, samples: Any = None) -> None:
    """It is set up; a restored one has its trials already."""
    if not emit.ready():
        return
    experiment = _experiment(controller)
    if isinstance(samples, int) and samples > 0:
        experiment.samples = samples
    experiment.mode = _mode_of_run()
    experiment.is_told = True
    _tell_experiment(controller, experiment, "RUNNING")
    _tell_trials(controller, experiment, controller.get_trials())


def _note_new(_: Any, controller: Any, trial: Any) -> None:
    experiment = _experiment(controller)
    experiment.trial(trial.trial_id).status = trial.status
    if experiment.is_told and emit.ready():
        _tell_trials(controller, experiment, [trial])


def _note_status(_: Any, controller: Any, trial: Any, status: str) -> None:
    experiment = _experiment(controller)
    known = experiment.trial(trial.trial_id)
    if known.status == trial.status:
        return
    known.status = trial.status
    now = time.time_ns()
    if known.status == "RUNNING":
        known.start_ns = known.start_ns or now
        known.end_ns, known.why = 0, ""
        actor = getattr(trial.temporary_state.ray_actor, "_actor_id", None)
        # A trial that goes on in an actor that it had before has that one last.
        if actor is not None:
            others = [one for one in known.actors if one != actor.hex()]
            known.actors = [*others[1 - _MAX_ACTORS :], actor.hex()]
    elif known.status in (_TERMINATED, _ERROR):
        known.end_ns = now
    else:
        known.end_ns = 0
    if experiment.is_told and emit.ready():
        _tell_trials(controller, experiment, [trial])


def _note_error(controller: Any, trial: Any, exception: Any = None) -> None:
    if exception is not None:
        try:
            error = str(exception)
        except Exception:  # of a class of the user's
            error = type(exception).__name__
        # The last lines are those that say what happened.
        _experiment(controller).trial(trial.trial_id).error = error[-_MAX_ERROR:]


def _is_done(controller: Any, trial: Any, result: Any) -> bool:
    """Whether a result says by itself that it is the last one."""
    return bool(result.get("done"))


def _note_result(was_done: bool | None, controller: Any, trial: Any, result: Any) -> None:
    experiment = _experiment(controller)
    known = experiment.trial(trial.trial_id)
    is_duplicate = _DUPLICATE in result
    if is_duplicate or was_done:
        known.why = "finished"
    elif result.get("done"):
        known.why = "criterion" if _is_at_limit(controller, trial, result) else "early"
    if is_duplicate or not experiment.is_told or not emit.ready():
        return
    told: dict[str, Any] = {
        "experiment": experiment.id,
        "trial": trial.trial_id[:_MAX_NAME],
        "n": _whole(result.get("training_iteration")) or 0,
        "seconds": _number(result.get("time_total_s")) or 0.0,
        "values": _metrics(result, _metric(controller)),
    }
    if result.get("checkpoint_dir_name") or result.get("should_checkpoint"):
        told["x"] = 1
    emit.tell("rayscope.tune_result", told)


def _is_at_limit(controller: Any, trial: Any, result: Any) -> bool:
    """Whether a result is beyond what was asked for: a criterion, or the most that the scheduler gives."""
    limits = trial.stopping_criterion
    scheduler = controller._scheduler_alg
    most = getattr(scheduler, "_max_t", None) or getattr(scheduler, "_max_t_attr", None)
    asked = list(limits.items()) if isinstance(limits, dict) else []
    asked.append((getattr(scheduler, "_time_attr", None), most))
    flat = dict(_flat(result))
    return any(
        isinstance(limit, (int, float)) and isinstance(flat.get(name), (int, float)) and flat[name] >= limit
        for name, limit in asked
    )


def _is_unfinished(controller: Any) -> bool:
    """Whether trials are not over yet when their experiment ends."""
    return any(trial.status not in (_TERMINATED, _ERROR) for trial in controller.get_trials())


def _note_end(was_unfinished: bool | None, controller: Any) -> None:
    experiment = _experiment(controller)
    if experiment.is_over or not experiment.is_told:
        return
    experiment.is_over = True  # Ray Tune cleans up twice after some errors
    if emit.ready():
        statuses = [trial.status for trial in controller.get_trials()]
        ended = "FINISHED" if _TERMINATED in statuses or _ERROR not in statuses else "ERRORED"
        _tell_experiment(controller, experiment, "INTERRUPTED" if was_unfinished else ended)


def _tell_experiment(controller: Any, experiment: _Experiment, status: str) -> None:
    scheduler, search = controller._scheduler_alg, controller._search_alg
    for _ in range(5):  # what limits or adapts another one
        search = getattr(search, "searcher", search)
    told: dict[str, Any] = {
        "experiment": experiment.id,
        "name": str(controller._storage.experiment_dir_name)[:_MAX_TEXT],
        "path": str(controller.experiment_path)[:_MAX_PATH],
        "state": status,
        "metric": _metric(controller),
        "mode": experiment.mode or _of(controller, "_mode"),
        "scheduler": type(scheduler).__name__[:_MAX_NAME],
        "search": type(search).__name__[:_MAX_NAME],
        "restored": bool(controller.resumed),
        "start": experiment.start_ns,
    }
    if experiment.samples is not None:
        told["samples"] = experiment.samples
    if status != "RUNNING":
        told["end"] = time.time_ns()
    emit.tell_always("rayscope.tune_experiment", told)


def _tell_trials(controller: Any, experiment: _Experiment, trials: Sequence[Any]) -> None:
    metric = _metric(controller)
    for at in range(0, len(trials), _MAX_TRIALS):
        told = [_snapshot(experiment, trial, metric) for trial in trials[at : at + _MAX_TRIALS]]
        emit.tell_always("rayscope.tune_trials", {"experiment": experiment.id, "trials": told})


def _snapshot(experiment: _Experiment, trial: Any, metric: str) -> dict[str, Any]:
    """A trial as it is now."""
    # ``trial.last_result`` may wait for the trial's actor.
    known, last = experiment.trial(trial.trial_id), trial.run_metadata.last_result or {}
    has_path = trial.storage is not None and trial.storage.trial_dir_name
    told: dict[str, Any] = {
        "trial": trial.trial_id[:_MAX_NAME],
        "name": str(trial.custom_trial_name or f"{trial.trainable_name}_{trial.trial_id}")[:_MAX_TEXT],
        "state": trial.status,
        "parameters": _parameters(trial.config, trial.evaluated_params),
        "path": str(trial.storage.trial_fs_path)[:_MAX_PATH] if has_path else "",
        "n": _whole(last.get("training_iteration")) or 0,
        "seconds": _number(last.get("time_total_s")) or 0.0,
        "values": _metrics(last, metric),
        "failures": _whole(trial.run_metadata.num_failures) or 0,
        "actors": known.actors,
        "error": known.error,
        "why": known.why,
        "start": known.start_ns,
        "end": known.end_ns,
    }
    return {name: value for name, value in told.items() if value}


def _mode_of_run() -> str:
    """``mode``, which ``ray.tune.run`` does not pass on to where its metric goes."""
    frame = sys._getframe()
    for _ in range(10):
        if frame is None:
            break
        if frame.f_code.co_name == "run" and frame.f_globals.get("__name__") == "ray.tune.tune":
            mode = frame.f_locals.get("mode")
            return mode if mode in ("min", "max") else ""
        frame = frame.f_back  # type: ignore[assignment]
    return ""


def _metric(controller: Any) -> str:
    """The metric of an experiment, or that of its scheduler or search; '' where there is none."""
    return _of(controller, "_metric")


def _of(controller: Any, name: str) -> str:
    search = controller._search_alg
    for one in (controller, controller._scheduler_alg, search, getattr(search, "searcher", None)):
        value = getattr(one, name, None)
        if isinstance(value, str) and value != _ANONYMOUS:
            return value[:_MAX_NAME]
    return ""


def _metrics(result: Any, first: str) -> dict[str, float | str]:
    """The numbers among the user's metrics, that of the experiment first; "nan", "inf" and "-inf" for what
    JSON does not have. What is nested has names joined with "/", as in Ray Tune.
    """
    found: dict[str, float | str] = {}
    own: dict[str, float | str] = {}
    if not isinstance(result, dict):
        return found
    users = {
        name: value
        for name, value in dict.items(result)
        if isinstance(name, str) and (name not in _TUNES_OWN or name == first)
    }
    for name, value in islice(_flat(users), _MAX_VALUES):
        number = _number(value)
        if number is not None:
            own[name[:_MAX_NAME]] = number if math.isfinite(number) else str(number)
    if first in own:
        found[first] = own.pop(first)
    for name in list(own)[: _MAX_METRICS - len(found)]:
        found[name] = own[name]
    return found


def _parameters(config: Any, sampled: Any = ()) -> dict[str, float | int | bool | str]:
    """A trial's configuration, what was sampled first: plain values, and of all others only their types.

    ``sampled``: names as Ray Tune has them, ``optimizer/lr``, and ``layers/0`` of a list.
    """
    found: dict[str, float | int | bool | str] = {}
    letters = 0
    first = {name.rsplit("/", up)[0] for name in sampled if isinstance(name, str) for up in (0, 1)}
    values = list(islice(_flat(config), _MAX_VALUES))
    for name, value in sorted(values, key=lambda one: one[0] not in first):
        if len(found) == _MAX_PARAMETERS:
            break
        if value is None:
            continue
        told = _plain(value)
        letters += len(name) + (len(told) if isinstance(told, str) else 0)
        if letters > _MAX_LETTERS:
            break
        found[name[:_MAX_NAME]] = told
    return found


def _plain(value: Any) -> float | int | bool | str:
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    number = _number(value)
    if isinstance(value, bool) or (type(value) is int and abs(value) < 2**53):
        return value
    if number is not None:
        return number if math.isfinite(number) else str(number)
    is_short = isinstance(value, (list, tuple)) and len(value) <= _MAX_ITEMS
    if is_short and all(type(one) in (str, int, float, bool) for one in value):
        return str(list(value))[:_MAX_TEXT]
    return f"<{type(value).__name__[:_MAX_NAME]}>"


def _flat(values: Any, prefix: str = "", depth: int = 0) -> Iterable[tuple[str, Any]]:
    """The values in nested dictionaries of the user's, and their names joined with "/"."""
    if not isinstance(values, dict) or depth > 8:
        return
    for name, value in dict.items(values):
        if not isinstance(name, (str, int, float)):
            continue
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{name}/", depth + 1)
        else:
            yield f"{prefix}{name}", value


def _number(value: Any) -> float | None:
    if not isinstance(value, numbers.Real):
        return None
    try:
        return float(value)
    except Exception:  # of the user's values, or one that no float holds
        return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None
