"""Reports Ray Tune's experiments, trials and results from the process that runs ``TuneController``.

Ray has no API for them. Whenever a trial's status changes, a snapshot of the trial is sent. Each result is
sent as well.
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

#: Maximum number of metrics per result.
_MAX_METRICS = 32
#: Maximum number of parameters per trial.
_MAX_PARAMETERS = 64
#: Maximum number of actors reported per trial. The last ones are kept.
_MAX_ACTORS = 20
#: Maximum number of trials reported in one event.
_MAX_TRIALS = 10
#: Maximum number of characters in an ID, a class name, or the name of a metric or a parameter.
_MAX_NAME = 100
#: Maximum number of characters in a string parameter, or in an experiment's or a trial's name.
_MAX_TEXT = 200
#: Maximum number of characters in a path.
_MAX_PATH = 1_000
#: Maximum number of characters in an error. The last ones are kept.
_MAX_ERROR = 4_000
#: Maximum number of characters in all parameters of a trial together.
_MAX_PARAMETER_CHARS = 4_000
#: Maximum number of items in a list that is a parameter's value. A longer list is reported as its type.
_MAX_ITEMS = 16
#: Maximum number of values examined in a result or a configuration.
_MAX_VALUES = 2_000
_TERMINATED = "TERMINATED"
_ERROR = "ERROR"
#: A result with this key repeats the previous one.
_DUPLICATE = "__duplicate__"
#: Ray's placeholder for a metric without a name.
_ANONYMOUS = "_metric"
#: Keys that Ray Tune adds to each result.
_BUILTIN_KEYS = frozenset(
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
    """State of a trial that Ray's own object for the trial lacks.

    ``end_reason``: ``finished`` if it ended on its own, ``criterion`` if it reached one, ``early`` if it was
    stopped early, "" until it ends.
    """

    __slots__ = ("actors", "end_ns", "end_reason", "error", "start_ns", "status")

    def __init__(self) -> None:
        self.status = self.error = self.end_reason = ""
        self.actors: list[str] = []
        self.start_ns = self.end_ns = 0


class _Experiment:
    """State of an experiment that Ray's controller lacks. ``is_reported``: False until it has been set up."""

    def __init__(self) -> None:
        self.id, self.start_ns = uuid.uuid4().hex, time.time_ns()
        self.trials: dict[str, _Trial] = {}
        self.samples: int | None = None
        self.mode = ""
        self.is_reported = self.has_ended = False

    def trial(self, trial_id: str) -> _Trial:
        """The state of one of the experiment's trials."""
        return self.trials.setdefault(trial_id, _Trial())


# Not stored in the controllers, because their attributes are saved with the experiments.
_experiments: WeakKeyDictionary[Any, _Experiment] = WeakKeyDictionary()


def install(guard: Guard) -> None:
    """Trace Ray Tune once it is loaded. ``guard`` wraps our functions so that they never raise."""
    wrap_when_loaded(guard, "ray.tune.execution.tune_controller", "TuneController", hooks(guard))


def hooks(guard: Guard) -> dict[str, Hook]:
    """Hooks for the methods of ``TuneController``, by name."""
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
    """Return a hook that calls ``before`` with a method's arguments, and ``after`` with the result of
    ``before`` and the method's arguments.
    """
    safe_before = None if before is None else guard(before)
    safe_after = None if after is None else guard(after)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def noted(*args: Any, **kwargs: Any) -> Any:
            arguments = (*args, *kwargs.values())
            started = safe_before(*arguments) if state.on and safe_before is not None else None
            result = original(*args, **kwargs)
            if state.on and safe_after is not None:
                safe_after(started, *arguments)
            return result

        return noted

    return wrap


def _experiment(controller: Any) -> _Experiment:
    known = _experiments.get(controller)
    if known is None:
        known = _experiments[controller] = _Experiment()
    return known


def _note_experiment(_: Any, controller: Any, experiments: Any = None, samples: Any = None) -> None:
    """Called when the experiment is set up. A restored experiment already has trials."""
    if not emit.ready():
        return
    experiment = _experiment(controller)
    if isinstance(samples, int) and samples > 0:
        experiment.samples = samples
    experiment.mode = _mode_of_run()
    experiment.is_reported = True
    _report_experiment(controller, experiment, "RUNNING")
    _report_trials(controller, experiment, controller.get_trials())


def _note_new(_: Any, controller: Any, trial: Any) -> None:
    experiment = _experiment(controller)
    experiment.trial(trial.trial_id).status = trial.status
    if experiment.is_reported and emit.ready():
        _report_trials(controller, experiment, [trial])


def _note_status(_: Any, controller: Any, trial: Any, status: str) -> None:
    experiment = _experiment(controller)
    known = experiment.trial(trial.trial_id)
    if known.status == trial.status:
        return
    known.status = trial.status
    now = time.time_ns()
    if known.status == "RUNNING":
        known.start_ns = known.start_ns or now
        known.end_ns, known.end_reason = 0, ""
        actor = getattr(trial.temporary_state.ray_actor, "_actor_id", None)
        # If a trial moves back to an earlier actor, that actor becomes the last.
        if actor is not None:
            others = [other for other in known.actors if other != actor.hex()]
            known.actors = [*others[1 - _MAX_ACTORS :], actor.hex()]
    elif known.status in (_TERMINATED, _ERROR):
        known.end_ns = now
    else:
        known.end_ns = 0
    if experiment.is_reported and emit.ready():
        _report_trials(controller, experiment, [trial])


def _note_error(controller: Any, trial: Any, exception: Any = None) -> None:
    if exception is not None:
        try:
            error = str(exception)
        except Exception:  # raised by the user's class
            error = type(exception).__name__
        # The last lines of a traceback contain the error itself.
        _experiment(controller).trial(trial.trial_id).error = error[-_MAX_ERROR:]


def _is_done(controller: Any, trial: Any, result: Any) -> bool:
    """Whether the trial itself marked a result as its last one."""
    return bool(result.get("done"))


def _note_result(was_done: bool | None, controller: Any, trial: Any, result: Any) -> None:
    experiment = _experiment(controller)
    known = experiment.trial(trial.trial_id)
    is_duplicate = _DUPLICATE in result
    if is_duplicate or was_done:
        known.end_reason = "finished"
    elif result.get("done"):
        known.end_reason = "criterion" if _is_at_limit(controller, trial, result) else "early"
    if is_duplicate or not experiment.is_reported or not emit.ready():
        return
    payload: dict[str, Any] = {
        "experiment": experiment.id,
        "trial": trial.trial_id[:_MAX_NAME],
        "n": _whole(result.get("training_iteration")) or 0,
        "seconds": _number(result.get("time_total_s")) or 0.0,
        "values": _metrics(result, _metric(controller)),
    }
    if result.get("checkpoint_dir_name") or result.get("should_checkpoint"):
        payload["x"] = 1
    emit.report("rayscope.tune_result", payload)


def _is_at_limit(controller: Any, trial: Any, result: Any) -> bool:
    """Whether a result reached a stopping criterion or the scheduler's maximum."""
    limits = trial.stopping_criterion
    scheduler = controller._scheduler_alg
    maximum = getattr(scheduler, "_max_t", None) or getattr(scheduler, "_max_t_attr", None)
    criteria = list(limits.items()) if isinstance(limits, dict) else []
    criteria.append((getattr(scheduler, "_time_attr", None), maximum))
    flat = dict(_flat(result))
    return any(
        isinstance(limit, (int, float)) and isinstance(flat.get(name), (int, float)) and flat[name] >= limit
        for name, limit in criteria
    )


def _is_unfinished(controller: Any) -> bool:
    """Whether some trials have not ended when their experiment ends."""
    return any(trial.status not in (_TERMINATED, _ERROR) for trial in controller.get_trials())


def _note_end(was_unfinished: bool | None, controller: Any) -> None:
    experiment = _experiment(controller)
    if experiment.has_ended or not experiment.is_reported:
        return
    experiment.has_ended = True  # after some errors Ray Tune calls cleanup twice
    if emit.ready():
        statuses = [trial.status for trial in controller.get_trials()]
        ended = "FINISHED" if _TERMINATED in statuses or _ERROR not in statuses else "ERRORED"
        _report_experiment(controller, experiment, "INTERRUPTED" if was_unfinished else ended)


def _report_experiment(controller: Any, experiment: _Experiment, status: str) -> None:
    scheduler, search = controller._scheduler_alg, controller._search_alg
    for _ in range(5):  # unwrap limiters and adapters
        search = getattr(search, "searcher", search)
    payload: dict[str, Any] = {
        "experiment": experiment.id,
        "name": str(controller._storage.experiment_dir_name)[:_MAX_TEXT],
        "path": str(controller.experiment_path)[:_MAX_PATH],
        "state": status,
        "metric": _metric(controller),
        "mode": experiment.mode or _setting(controller, "_mode"),
        "scheduler": type(scheduler).__name__[:_MAX_NAME],
        "search": type(search).__name__[:_MAX_NAME],
        "restored": bool(controller.resumed),
        "start": experiment.start_ns,
    }
    if experiment.samples is not None:
        payload["samples"] = experiment.samples
    if status != "RUNNING":
        payload["end"] = time.time_ns()
    emit.report_always("rayscope.tune_experiment", payload)


def _report_trials(controller: Any, experiment: _Experiment, trials: Sequence[Any]) -> None:
    metric = _metric(controller)
    for at in range(0, len(trials), _MAX_TRIALS):
        payload = [_snapshot(experiment, trial, metric) for trial in trials[at : at + _MAX_TRIALS]]
        emit.report_always("rayscope.tune_trials", {"experiment": experiment.id, "trials": payload})


def _snapshot(experiment: _Experiment, trial: Any, metric: str) -> dict[str, Any]:
    """The current state of a trial."""
    # Reading ``trial.last_result`` could block on the trial's actor.
    known, last = experiment.trial(trial.trial_id), trial.run_metadata.last_result or {}
    has_path = trial.storage is not None and trial.storage.trial_dir_name
    payload: dict[str, Any] = {
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
        "why": known.end_reason,
        "start": known.start_ns,
        "end": known.end_ns,
    }
    return {name: value for name, value in payload.items() if value}


def _mode_of_run() -> str:
    """``mode`` of ``ray.tune.run``, "" if there is none. Ray does not store it with the metric."""
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
    """The metric of an experiment, its scheduler, or its search algorithm, or "" if there is none."""
    return _setting(controller, "_metric")


def _setting(controller: Any, name: str) -> str:
    search = controller._search_alg
    for holder in (controller, controller._scheduler_alg, search, getattr(search, "searcher", None)):
        value = getattr(holder, name, None)
        if isinstance(value, str) and value != _ANONYMOUS:
            return value[:_MAX_NAME]
    return ""


def _metrics(result: Any, first: str) -> dict[str, float | str]:
    """The user's numeric metrics by name, the experiment's metric first. NaN and infinities, which JSON
    lacks, become "nan", "inf" and "-inf". Nested names are joined with "/", as in Ray Tune.
    """
    metrics: dict[str, float | str] = {}
    own: dict[str, float | str] = {}
    if not isinstance(result, dict):
        return metrics
    users = {
        name: value
        for name, value in dict.items(result)
        if isinstance(name, str) and (name not in _BUILTIN_KEYS or name == first)
    }
    for name, value in islice(_flat(users), _MAX_VALUES):
        number = _number(value)
        if number is not None:
            own[name[:_MAX_NAME]] = number if math.isfinite(number) else str(number)
    if first in own:
        metrics[first] = own.pop(first)
    for name in list(own)[: _MAX_METRICS - len(metrics)]:
        metrics[name] = own[name]
    return metrics


def _parameters(config: Any, sampled: Any = ()) -> dict[str, float | int | bool | str]:
    """A trial's configuration, sampled parameters first. Complex values are replaced by their type.

    ``sampled``: Ray Tune's names of the sampled parameters, such as ``optimizer/lr`` or ``layers/0``.
    """
    parameters: dict[str, float | int | bool | str] = {}
    chars = 0
    first = {name.rsplit("/", up)[0] for name in sampled if isinstance(name, str) for up in (0, 1)}
    values = list(islice(_flat(config), _MAX_VALUES))
    for name, value in sorted(values, key=lambda entry: entry[0] not in first):
        if len(parameters) == _MAX_PARAMETERS:
            break
        if value is None:
            continue
        plain = _plain(value)
        chars += len(name) + (len(plain) if isinstance(plain, str) else 0)
        if chars > _MAX_PARAMETER_CHARS:
            break
        parameters[name[:_MAX_NAME]] = plain
    return parameters


def _plain(value: Any) -> float | int | bool | str:
    if isinstance(value, str):
        return value[:_MAX_TEXT]
    number = _number(value)
    if isinstance(value, bool) or (type(value) is int and abs(value) < 2**53):
        return value
    if number is not None:
        return number if math.isfinite(number) else str(number)
    is_short = isinstance(value, (list, tuple)) and len(value) <= _MAX_ITEMS
    if is_short and all(type(item) in (str, int, float, bool) for item in value):
        return str(list(value))[:_MAX_TEXT]
    return f"<{type(value).__name__[:_MAX_NAME]}>"


def _flat(values: Any, prefix: str = "", depth: int = 0) -> Iterable[tuple[str, Any]]:
    """The values in nested dictionaries, with their keys joined by "/"."""
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
    except Exception:  # raised by the user's class, or too large for a float
        return None


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and 0 <= value < 2**53 else None
