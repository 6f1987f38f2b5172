"""Traces the reports of a Ray Train worker: how long each blocks the worker, and how long it waited for data.

Ray Train runs the user's function in a thread of the worker's actor that belongs to no task. So everything is
attributed to the actor's creation task.
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

#: Maximum number of metrics per report.
_MAX_METRICS = 32
#: Maximum number of characters in a metric's name.
_MAX_NAME = 100
#: Maximum number of characters in a checkpoint's path.
_MAX_PATH = 1000
#: Prefix of the ID of an actor's creation task.
_CREATION = b"\xff" * 8


class _Waits(threading.local):
    """Waits for data in this thread: ``ns`` since its last report, and whether it is ``inside`` one now."""

    ns = 0
    inside = False


class _Worker:
    """The Ray Train worker in this process.

    Attributes:
        context: identity of Ray's context object.
        reports: number of reports so far.
        ended_ns: when the last report ended, 0 before the first.
        has_data: whether it reads a dataset shard.
        actor: the creation task of the worker's actor.
    """

    def __init__(self) -> None:
        self.context, self.reports, self.ended_ns = 0, 0, 0
        self.has_data = False
        self.actor: Task | None = None


_waits = _Waits()
_worker = _Worker()


def install(guard: Guard) -> None:
    """Trace Ray Train and Ray Data once they are loaded. ``guard`` keeps our functions from raising."""
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
    """Wrap the ``__iter__`` of the objects returned by ``iter_batches`` and similar methods."""

    @functools.wraps(original)
    def __iter__(self: Any) -> Any:
        iterator = original(self)
        return _timed(iterator) if state.on and _worker.has_data else iterator

    return __iter__


def _timed(iterator: Iterator[Any]) -> Iterator[Any]:
    """Yield the iterator's values unchanged, timing each. Nested iterators are timed only once."""
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
        # Close the original generator now, as leaving the loop early would do without us.
        close = getattr(iterator, "close", None)
        if close is not None:
            close()


def _report(guard: Guard) -> Callable[..., Any]:
    begin, end, failed = guard(_begin_report), guard(_end_report), guard(_report_failed)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def report(self: Any, *args: Any, **kwargs: Any) -> Any:
            started = begin(self, args, kwargs) if state.on else None
            try:
                result = original(self, *args, **kwargs)
            except BaseException:
                if started is not None:
                    failed(started[0])
                raise
            if started is not None:
                end(self, *started)
            return result

        return report

    return wrap


def _begin_report(context: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Start a report. Returns the call, its payload, and the checkpoint, or None outside of Ray Train."""
    rank = context.get_world_rank() if hasattr(context, "get_world_rank") else context.world_rank
    # Functions of Ray Tune use the same session but have no rank.
    if not isinstance(rank, int) or not emit.ready():
        return None
    if _worker.context != id(context):
        _worker.context, _worker.reports, _worker.ended_ns = id(context), 0, 0
    metrics = kwargs.get("metrics", args[0] if args else None)
    checkpoint = kwargs.get("checkpoint", args[1] if len(args) > 1 else None)
    call = Call("rayscope.train_report")
    call.task, call.known = _actor(), False
    emit.watch_call(call)  # it blocks until all ranks have reported
    waited_ns, _waits.ns = _waits.ns, 0
    payload: dict[str, Any] = {"n": _worker.reports, "rank": rank, "values": _numbers(metrics)}
    if _worker.has_data:
        payload["wait"] = waited_ns
    if _worker.ended_ns:
        payload["e"] = _worker.ended_ns
    return call, payload, checkpoint


def _actor() -> Task:
    actor = state.core.get_actor_id().binary()
    if _worker.actor is None or _worker.actor.id != _CREATION + actor:
        _worker.actor = Task(_CREATION + actor, 0, 0)
    return _worker.actor


def _report_failed(call: Call) -> None:
    """End a report that raised an error, if it was already reported while it blocked."""
    emit.unwatch_call(call)
    if call.reported and emit.ready():
        call.name = "rayscope.span"
        emit.end(call, {"name": "train.report failed"})


def _end_report(context: Any, call: Call, payload: dict[str, Any], checkpoint: Any) -> None:
    emit.unwatch_call(call)
    _worker.ended_ns = time.time_ns()
    _worker.reports += 1
    if not emit.ready():
        return
    if checkpoint is not None:
        # Where the checkpoint was stored, if known by now. The path that the user passed may be temporary.
        stored = getattr(context, "checkpoint", None) or getattr(context, "loaded_checkpoint", None)
        payload["text"] = str(getattr(stored or checkpoint, "path", ""))[:_MAX_PATH]
        payload["x"] = 1
    emit.end(call, payload)


def _numbers(metrics: Any) -> dict[str, float | str]:
    """The numeric metrics by name. NaN and infinities, which JSON lacks, become "nan", "inf" and "-inf"."""
    values: dict[str, float | str] = {}
    try:
        for name, value in metrics.items():
            if isinstance(value, numbers.Real):
                number = float(value)
                values[str(name)[:_MAX_NAME]] = number if math.isfinite(number) else str(number)
                if len(values) == _MAX_METRICS:
                    break
    except Exception:  # raised by a method of a user's object
        return values
    return values
