"""What a worker of Ray Train reports, how long that blocks it, and how long it waited for data before.

Ray Train runs the user's function in a thread of the worker's actor, which belongs to no task: what it
reports is told of the actor's creation.
"""

from __future__ import annotations

import functools
import math
import numbers
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from rayscope.tracer import emit
from rayscope.tracer.emit import Call, Task, state
from rayscope.tracer.libraries import Guard, wrap_when_loaded

#: Numbers of one report that are told, and letters of their names and of a checkpoint's path.
_MAX_METRICS, _MAX_NAME, _MAX_PATH = 32, 100, 1000
_CREATION = b"\xff" * 8


class _Waits(threading.local):
    """``ns``: how long this thread has waited for data since its last report. ``inside``: it does now."""

    ns = 0
    inside = False


class _Worker:
    """The worker of Ray Train that this process is: what it has reported so far.

    ``context``: the identity of Ray's object for it; ``ended_ns``: when its last report ended, 0 before any.
    """

    def __init__(self) -> None:
        self.context, self.reports, self.ended_ns = 0, 0, 0
        self.has_data = False
        self.actor: Task | None = None


_waits = _Waits()
_worker = _Worker()


def install(guard: Guard) -> None:
    """Watch for the loading of Ray Train and Ray Data. ``guard`` makes a function of ours safe to call."""
    for module, owner, hooks in (
        (
            "ray.train.v2._internal.execution.context",
            "TrainContext",
            {"report": _report(guard), "get_dataset_shard": _get_dataset_shard},
        ),
        (
            "ray.train._internal.session",
            "_TrainSession",
            {"report": _report(guard), "get_dataset_shard": _get_dataset_shard},
        ),
        ("ray.data.iterator", "_IterableFromIterator", {"__iter__": _iterate}),
    ):
        wrap_when_loaded(guard, module, owner, hooks)


def _get_dataset_shard(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_dataset_shard(*args: Any, **kwargs: Any) -> Any:
        _worker.has_data = True
        return original(*args, **kwargs)

    return get_dataset_shard


def _iterate(original: Callable[..., Any]) -> Callable[..., Any]:
    """What ``iter_batches`` and its like give makes an iterator."""

    @functools.wraps(original)
    def __iter__(self: Any) -> Any:
        iterator = original(self)
        return _timed(iterator) if state.on and _worker.has_data else iterator

    return __iter__


def _timed(iterator: Iterator[Any]) -> Iterator[Any]:
    """The same values; how long each took counts as waiting, once where iterators are made of iterators."""
    try:
        while True:
            outermost = not _waits.inside
            _waits.inside = True
            began = time.perf_counter_ns()
            try:
                value = next(iterator)
            except StopIteration:
                return
            finally:
                if outermost:
                    _waits.inside = False
                    _waits.ns += time.perf_counter_ns() - began
            yield value
    finally:
        # A loop that is left early ends Ray's generator now, as it would without this one around it.
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def _report(guard: Guard) -> Callable[..., Any]:
    begin, end, failed = guard(_begin_report), guard(_end_report), guard(_report_failed)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def report(self: Any, *args: Any, **kwargs: Any) -> Any:
            begun = begin(self, args, kwargs) if state.on else None
            try:
                result = original(self, *args, **kwargs)
            except BaseException:
                if begun is not None:
                    failed(begun[0])
                raise
            if begun is not None:
                end(self, *begun)
            return result

        return report

    return wrap


def _begin_report(context: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What is known before: the call and what it is to tell; None of what is no worker of Ray Train."""
    rank = context.get_world_rank() if hasattr(context, "get_world_rank") else context.world_rank
    # Ray Tune's functions have the same session, and no rank.
    if not isinstance(rank, int) or not emit.ready():
        return None
    if _worker.context != id(context):
        _worker.context, _worker.reports, _worker.ended_ns = id(context), 0, 0
    metrics = kwargs.get("metrics", args[0] if args else None)
    checkpoint = kwargs.get("checkpoint", args[1] if len(args) > 1 else None)
    call = Call("rayscope.train_report")
    call.task, call.known = _actor(), False
    emit.started(call)  # it waits for the reports of the other ranks
    waited_ns, _waits.ns = _waits.ns, 0
    told: dict[str, Any] = {"n": _worker.reports, "rank": rank, "values": _numbers(metrics)}
    if _worker.has_data:
        told["wait"] = waited_ns
    if _worker.ended_ns:
        told["e"] = _worker.ended_ns
    return call, told, checkpoint


def _actor() -> Task:
    actor = state.core.get_actor_id().binary()
    if _worker.actor is None or _worker.actor.id != _CREATION + actor:
        _worker.actor = Task(_CREATION + actor, 0, 0)
    return _worker.actor


def _report_failed(call: Call) -> None:
    """Report the end of a wait that is on record."""
    emit.ended(call)
    if call.told and emit.ready():
        call.name = "rayscope.span"
        emit.end(call, {"name": "train.report failed"})


def _end_report(context: Any, call: Call, told: dict[str, Any], checkpoint: Any) -> None:
    emit.ended(call)
    _worker.ended_ns = time.time_ns()
    _worker.reports += 1
    if not emit.ready():
        return
    if checkpoint is not None:
        # Where it was stored, as far as it is by now: what was given may be a temporary folder.
        stored = getattr(context, "checkpoint", None) or getattr(context, "loaded_checkpoint", None)
        told["text"] = str(getattr(stored or checkpoint, "path", ""))[:_MAX_PATH]
        told["x"] = 1
    emit.end(call, told)


def _numbers(metrics: Any) -> dict[str, float | str]:
    """The numbers among the metrics; "nan", "inf" and "-inf" for what JSON does not have."""
    found: dict[str, float | str] = {}
    try:
        for name, value in metrics.items():
            if isinstance(value, numbers.Real):
                number = float(value)
                found[str(name)[:_MAX_NAME]] = number if math.isfinite(number) else str(number)
                if len(found) == _MAX_METRICS:
                    break
    except Exception:  # of the user's values
        return found
    return found
