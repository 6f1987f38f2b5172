"""Wrappers around the Python functions of Ray that handle gets, puts, waits, submissions and tasks.

Every wrapper calls the original function, even if tracing fails. Our own code runs inside :func:`_safe`: an
error in it turns off this process's tracer.
"""

from __future__ import annotations

import asyncio
import functools
import importlib
import os
import re
import sys
import threading
import time
import types
import zlib
from collections.abc import Callable
from typing import Any, TypeVar

from rayscope.tracer import coroutines, data, emit, functions, risks, serve, train, tune
from rayscope.tracer.awaits import Awaits
from rayscope.tracer.emit import Call, Returns, Task, state
from rayscope.tracer.faults import is_users
from rayscope.tracer.limits import MAX_OBJECTS, MAX_WAITED
from rayscope.tracer.sampler import rate, sampler

_T = TypeVar("_T")
_MARK = "_rayscope_traced"
#: Maximum depth to which nested containers are searched for references.
_MAX_DEPTH = 3
#: Maximum number of values in one call's arguments that are searched for references.
_MAX_SEARCHED = 256
#: Arguments above this size, in bytes, are passed through the object store.
_LARGE_BYTES = 100_000
#: Approximate number of bytes of a large argument that go into its checksum.
_SAMPLES = 512
#: Index of the first object created by a put, or by Ray for an argument passed by value. Lower indexes belong
#: to return values.
_FIRST_PUT = 100_000_001
#: Prefix of the ID of an actor's creation task.
_CREATION = b"\xff" * 8
#: Functions that Ray 2.50 does not need: there, ``PlacementGroup.ready`` runs a task.
_NEWER = frozenset({"_call_placement_group_ready_async"})
#: The actor's part of the ID of a task without an actor.
_NO_ACTOR = b"\xff" * 12
#: Names of GPU resources. Those of a single bundle are left out, because they name the same GPUs again.
_GPU = re.compile(r"GPU(_group_[0-9A-Za-z]+)?")
#: Raised inside a wait by Ctrl-C, SIGTERM, and ray.cancel.
_SIGNALS = (KeyboardInterrupt, SystemExit)
_DYNAMIC = "DynamicObjectRefGenerator"


class _Thread(threading.local):
    """State of a thread.

    Attributes:
        call: the innermost open call.
        calls: number of calls so far.
        returns: return values of the task that is about to end.
    """

    call: Call | None = None
    calls = 0
    returns: Returns | None = None


_thread = _Thread()
_ray: Any = None  # Ray's classes used by the wrappers


def _safe(function: Callable[..., _T]) -> Callable[..., _T | None]:
    """Wrap ``function`` so that an error in our code switches the tracer off instead of being raised."""

    @functools.wraps(function)
    def guarded(*args: Any) -> _T | None:
        try:
            return function(*args)
        except Exception as error:
            if is_users(error):
                raise
            emit.switch_off(function.__name__.strip("_"), error)
            return None

    return guarded


def install() -> None:
    """Wrap Ray's functions in this process, once. Functions that this version of Ray lacks are reported."""
    if hasattr(install, _MARK):
        return
    setattr(install, _MARK, True)
    import ray
    from ray import _raylet, actor, exceptions, remote_function
    from ray._private import function_manager, profiling, serialization, worker

    # Import the module: ray.util has a function of the same name.
    groups = importlib.import_module("ray.util.placement_group")
    global _ray
    _ray = types.SimpleNamespace(
        ObjectRef=_raylet.ObjectRef,
        TaskError=exceptions.RayTaskError,
        TaskCancelled=exceptions.TaskCancelledError,
        Generator=ray.ObjectRefGenerator,
        async_task_id=getattr(getattr(_raylet, "async_task_id", None), "get", lambda: None),
        looked_into=frozenset({_raylet.ObjectRef, list, tuple, set, dict}),
        main_loop=getattr(getattr(worker.Worker, "main_loop", None), "__code__", None),
    )
    state.worker = worker
    # Patch this before Ray's own ``asyncio`` below, which copies it.
    asyncio.wrap_future = asyncio.futures.wrap_future = _wrap_future(asyncio.wrap_future)
    missing = []
    for owner, name, wrapped in (
        (worker.Worker, "get_objects", _get_objects),
        (worker.Worker, "put_object", _put_object),
        (worker.Worker, "deserialize_objects", _deserialize_objects),
        (worker.Worker, "main_loop", _main_loop),
        (worker.Worker, "worker_paused_by_debugger", _paused),
        (serialization.SerializationContext, "serialize", _serialize),
        (serialization.SerializationContext, "add_contained_object_ref", _add_contained_object_ref),
        (remote_function.RemoteFunction, "_remote", _remote),
        (actor.ActorMethod, "_remote", _remote),
        (actor.ActorClass, "_remote", _remote),
        (function_manager.FunctionActorManager, "export", _export),
        (function_manager.FunctionActorManager, "export_actor_class", _export),
        (function_manager, "check_oversized_function", _check_oversized),
        (worker, "wait", _wait),
        (worker, "cancel", _cancel),
        (groups, "_call_placement_group_ready", _wait_for_group),
        (groups, "_call_placement_group_ready_async", _group_reference),
        (worker, "_changeproctitle", _task_context),
        (worker, "disconnect", _disconnect),
        (profiling, "profile", _profile),
        (_raylet, "asyncio", _asyncio),
        (_raylet, "_call_actor_shutdown", _worker_exits),
    ):
        original = getattr(owner, name, None)
        if original is not None:
            setattr(owner, name, wrapped(original))
        elif name not in _NEWER:
            missing.append(f"{owner.__name__}.{name}")
    ray.wait, ray.cancel = worker.wait, worker.cancel
    # Called for os.fork only: subprocess does not fork in Python, except with preexec_fn.
    os.register_at_fork(after_in_parent=lambda: _note(risks.FORK))
    # Ray's libraries are loaded only by programs that use them.
    data.install(_safe)
    train.install(_safe)
    tune.install(_safe)
    serve.install(_safe)
    if (task_id := getattr(_raylet, "async_task_id", None)) is not None:
        _raylet.async_task_id = coroutines.TaskIdVariable(task_id)  # type: ignore[attr-defined]
    sampler.hz, reason = rate()
    state.when_driver.append(sampler.start)
    if parent := os.environ.get("TRACEPARENT"):  # W3C Trace Context
        values = {"traceparent": parent[: serve.MAX_TRACEPARENT]}
        state.when_driver.append(lambda: report_from_user("rayscope.annotation", {"values": values}))
    state.missing = (*missing, reason) if reason else tuple(missing)
    state.on = True


# Each of the following functions returns the wrapper of an original function of Ray.


def _get_objects(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def get_objects(self: Any, object_refs: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin("ray.get", object_refs)
        try:
            return original(self, object_refs, *args, **kwargs)
        except _SIGNALS:
            if call is not None:
                call.interrupted = True
            raise
        finally:
            if call is not None:
                _end_get(call)

    return get_objects


@_safe
def _begin(name: str, refs: Any, limit: int = MAX_OBJECTS) -> Call | None:
    if not emit.ready():
        return None
    # Ray will reject anything that is not a reference.
    ids = b"".join([ref.binary() for ref in refs[:limit] if isinstance(ref, _ray.ObjectRef)])
    if not ids:
        return None
    call = Call(name, ids, len(refs), id(refs))
    call.blocks_loop = not call.task.thread and asyncio._get_running_loop() is not None
    emit.watch_call(call)
    return _enter(call)


def _enter(call: Call) -> Call:
    call.outer, _thread.call = _thread.call, call
    _thread.calls += 1
    return call


@_safe
def _end_get(call: Call) -> None:
    _thread.call = call.outer
    emit.unwatch_call(call)
    if emit.ready():
        emit.end(call, emit.objects(call.objects, call.count, call.sizes))


def _deserialize_objects(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def deserialize_objects(self: Any, serialized_objects: Any, object_refs: Any, *a: Any, **k: Any) -> Any:
        if state.on:
            _record_sizes(serialized_objects, object_refs)
        return original(self, serialized_objects, object_refs, *a, **k)

    return deserialize_objects


@_safe
def _record_sizes(serialized: Any, refs: Any) -> None:
    """Record the sizes of objects received by a get or as a task's arguments; Ray deserializes both here."""
    call = _thread.call
    if call is not None and call.refs_id == id(refs):
        call.sizes = [_size(item) for item in serialized]
    elif call is None and emit.ready():
        task = state.tasks.get(state.core.get_current_task_id().binary())
        if task is None:
            return
        # Arguments passed by value have nil references.
        fetched = [
            (ref, item) for ref, item in zip(refs, serialized, strict=True) if ref and not ref.is_nil()
        ]
        if fetched:
            ids, sizes = [ref.binary() for ref, _ in fetched], [_size(item) for _, item in fetched]
            emit.add_fetched(task, b"".join(ids), sizes)
            large = [
                (size, _check_sum(item[0]))
                for ref_id, size, (_, item) in zip(ids, sizes, fetched, strict=True)
                if size > _LARGE_BYTES and int.from_bytes(ref_id[24:], "little") >= _FIRST_PUT
            ]
            if large:
                emit.report_contents(large)


def _size(item: Any) -> int:
    """Size of a serialized object in bytes, as Ray counts it: data and metadata."""
    data, metadata = item[0], item[1]
    return (0 if data is None else len(data)) + len(metadata or b"")


def _check_sum(data: Any) -> int:
    """A checksum over samples of a large value's bytes."""
    # The step is odd: an even one would always hit the same bytes of 8-byte numbers.
    return zlib.crc32(bytes(memoryview(data)[:: len(data) // _SAMPLES | 1]))


def _put_object(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def put_object(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin_put()
        ref = None
        try:
            ref = original(self, *args, **kwargs)
            return ref
        finally:
            if call is not None:
                _end_put(call, ref)

    return put_object


@_safe
def _begin_put() -> Call | None:
    if not emit.ready():
        return None
    return _enter(Call("ray.put"))


@_safe
def _end_put(call: Call, ref: Any) -> None:
    _thread.call = call.outer
    if isinstance(ref, _ray.ObjectRef) and emit.ready():
        call.count = 1
        emit.end(call, emit.objects(ref.binary(), 1, call.sizes))


def _serialize(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def serialize(self: Any, value: Any) -> Any:
        serialized = original(self, value)
        if state.on:
            _record_serialized(value, serialized)
        return serialized

    return serialize


@_safe
def _record_serialized(value: Any, serialized: Any) -> None:
    """Record the size of a put or of a task's return value.

    Arguments are skipped: Ray serializes them here, too.
    """
    call = _thread.call
    if call is not None:
        if call.name == "ray.put" and call.sizes is None:
            call.sizes = (serialized.total_bytes + len(serialized.metadata),)
        return
    if type(value) is _ray.TaskError and type(value.cause) is _ray.TaskCancelled:
        _report_canceled(value.cause.task_id)
    try:
        caller = sys._getframe(3).f_code  # the caller of our wrapper
    except ValueError:  # called by Ray's C++ code
        caller = None
    if (caller is not None and caller is not _ray.main_loop) or not emit.ready() or not state.tasks:
        return
    # Values belong to the task that ends next in this thread: a thread runs one task at a time, and a
    # coroutine's values are stored in one go before it ends. Ray's current task is wrong where coroutines
    # interleave.
    if _thread.returns is None or type(value).__name__ == _DYNAMIC:
        # The objects that a dynamic generator lists were stored before it and have other IDs, so start over.
        _thread.returns = Returns()
    _thread.returns.add(serialized.total_bytes + len(serialized.metadata))


def _report_canceled(task_id: Any) -> None:
    """Report that a task of this process was canceled while it ran. Ray's events report it as FINISHED."""
    # A task that fails because it waited for a canceled task stores the canceled task's error.
    if task_id is None or not emit.ready() or task_id != state.core.get_current_task_id():
        return
    # Ray itself reports a canceled coroutine as failed.
    if not state.core.current_actor_is_asyncio():
        attempt = state.core.get_current_task_attempt_number()
        emit.report_always("rayscope.canceled", {}, task=Task(task_id.binary(), attempt, 0))


def _add_contained_object_ref(original: Callable[..., Any]) -> Callable[..., Any]:
    """Report references pickled outside of Ray's serialization, because their objects are never freed.

    Ray calls the wrapped method whenever a reference is pickled.
    """

    @functools.wraps(original)
    def add_contained_object_ref(self: Any, ref: Any, **options: Any) -> Any:
        result = original(self, ref, **options)
        # Ray passes no call site for actor handles.
        if state.on and "call_site" in options and not self.is_in_band_serialization():
            _note(risks.PICKLED_REFERENCE)
        return result

    return add_contained_object_ref


def _paused(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def worker_paused_by_debugger(*args: Any, **kwargs: Any) -> Any:
        around = original(*args, **kwargs)
        return _Paused(around) if state.on else around

    return worker_paused_by_debugger


class _Paused:
    """Wraps Ray's context manager around the wait for a debugger. No frame of ours stays on the stack."""

    def __init__(self, around: Any) -> None:
        self._around = around

    def __enter__(self) -> Any:
        entered = self._around.__enter__()
        try:
            self._pause = _begin_pause()
        except BaseException:  # such as Ctrl-C
            self._around.__exit__(*sys.exc_info())
            raise
        return entered

    def __exit__(self, *error: Any) -> Any:
        try:
            if self._pause is not None:
                _end_pause(self._pause)
        finally:
            result = self._around.__exit__(*error)
        return result


@_safe
def _begin_pause() -> Any:
    if not emit.ready():
        return None
    from rayscope.tracer import debugger  # rarely needed

    return debugger.begin()


@_safe
def _end_pause(pause: Any) -> None:
    from rayscope.tracer import debugger

    debugger.end(pause)


@_safe
def _note(kind: str) -> None:
    if emit.ready():
        risks.note(kind)


def _task_context(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _changeproctitle(*args: Any, **kwargs: Any) -> Any:
        around = original(*args, **kwargs)
        return _TaskContext(around) if state.on else around

    return _changeproctitle


class _TaskContext:
    """Wraps Ray's context manager around each task that it executes."""

    __slots__ = ("around", "task")

    def __init__(self, around: Any) -> None:
        self.around = around

    def __enter__(self) -> Any:
        self.task = _begin_task()
        return self.around.__enter__()

    def __exit__(self, *error: Any) -> Any:
        try:
            return self.around.__exit__(*error)
        finally:
            if self.task is not None:
                _end_task(self.task, bool(error) and error[0] is not None)


@_safe
def _begin_task() -> Task | None:
    # Clear what a task left behind if it was interrupted inside our own code.
    _thread.call = _thread.returns = None
    if not emit.ready():
        return None
    core = state.core
    current = core.get_current_task_id().binary()
    # Coroutines run in another thread, where Ray does not know their task.
    is_coroutine = core.current_actor_is_asyncio()
    thread = 0 if is_coroutine else threading.get_ident()
    task = Task(current, core.get_current_task_attempt_number(), thread)
    if is_coroutine:
        task.awaits = Awaits()
        if not state.watching:
            emit.watch()
    task.begin()
    sampler.start()
    # Methods of an actor use the GPUs of their actor.
    if current[:8] == _CREATION or current[8:20] == _NO_ACTOR:
        _report_gpus(task)
    return task


def _report_gpus(task: Task) -> None:
    """Report the GPUs assigned to a task, or to an actor at its creation."""
    share = sum(
        amount
        for name, slots in state.core.resource_ids().items()
        if name.startswith("GPU") and _GPU.fullmatch(name)
        for _, amount in slots
    )
    if share:
        ids = state.worker.get_gpu_ids()
        emit.report_always(
            "rayscope.gpus", {"values": {str(gpu): share / len(ids) for gpu in ids}}, task=task
        )


@_safe
def _end_task(task: Task, is_interrupted: bool) -> None:
    """Report the end of a task. Ray catches the task's errors itself, so only signals can interrupt it."""
    task.end()
    if task.is_sampled:
        sampler.task_ended()
    returns, _thread.returns = _thread.returns, None
    if is_interrupted:
        returns = None  # the first values of a generator do not mean that it finished
    if not emit.ready():
        return
    if returns is None and (task.thread or task.cpu_ns() is not None):
        returns = Returns()  # no values
    if returns is not None:
        returns.report(task)
    elif task.fetched is not None:
        emit.send_fetched(task)
    if state.sums:
        emit.flush(task)


def _worker_exits(original: Callable[..., Any]) -> Callable[..., Any]:
    """Close the tracer before the worker exits.

    Ray calls the wrapped function in every worker that exits on its own, while its core worker still exists.
    """

    @functools.wraps(original)
    def _call_actor_shutdown() -> Any:
        try:
            return original()
        finally:
            sampler.stop()
            emit.close()

    return _call_actor_shutdown


def _main_loop(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def main_loop(self: Any) -> Any:
        try:
            return original(self)
        finally:
            emit.close()  # for workers that end in any other way
            sampler.stop()

    return main_loop


def _remote(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _remote(self: Any, args: Any = None, kwargs: Any = None, *rest: Any, **options: Any) -> Any:
        result = original(self, args, kwargs, *rest, **options)
        # With get_if_exists, Ray either calls this function again or creates no actor.
        if state.on and not options.get("get_if_exists"):
            _report_submission(result, args, kwargs)
        return result

    return _remote


def _export(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def export(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin_export()
        try:
            return original(self, *args, **kwargs)
        finally:
            if call is not None:
                _end_export(call, args)

    return export


@_safe
def _begin_export() -> Call | None:
    return _enter(Call("rayscope.export")) if emit.ready() else None


@_safe
def _end_export(call: Call, args: Any) -> None:
    """Report the size of a function or actor class that was sent to the GCS, from which workers load it."""
    _thread.call = call.outer
    if len(args) == 1 and emit.ready():  # a function, not a class
        _describe(args[0])
    if call.sizes is None or not emit.ready():
        return  # nothing was sent
    descriptor = args[1] if len(args) > 1 else args[0]._function_descriptor
    emit.end(call, {"code": descriptor.function_hash, "b": call.sizes[0]})


def _describe(remote: Any) -> None:
    """Report details of a remote function whose name in Ray is ambiguous. Names of methods are unique."""
    descriptor = remote._function_descriptor
    about = functions.describe(remote._function, descriptor.module_name)
    if about is not None:
        emit.report_always("rayscope.definition", {"code": descriptor.function_hash, "values": about})


def _check_oversized(original: Callable[..., Any]) -> Callable[..., Any]:
    """Record the size of the code that is about to be exported: Ray checks it here."""

    @functools.wraps(original)
    def check_oversized_function(pickled: Any, *args: Any, **kwargs: Any) -> Any:
        call = _thread.call
        if call is not None and call.name == "rayscope.export":
            call.sizes = (len(pickled),)
        return original(pickled, *args, **kwargs)

    return check_oversized_function


@_safe
def _report_submission(result: Any, args: Any, kwargs: Any) -> None:
    """Report the references passed to a task, an actor's method, or its creation."""
    if not emit.ready():
        return
    emit.spend()
    # A process that runs one task at a time runs it in its main thread, where Ray records the right caller.
    if threading.get_ident() != threading.main_thread().ident:
        _report_caller(result)
    values = (*args, *kwargs.values()) if args and kwargs else args or (kwargs and kwargs.values()) or ()
    for value in values:
        if type(value) in _ray.looked_into:
            break
    else:
        return
    references = _References()
    for value in values:
        references.collect(value)
    if not references.top and not references.inside:
        return
    callee = _callee(result)
    if callee is None:
        return
    if not references.inside and len(references.top) <= MAX_OBJECTS and references.left >= 0:
        emit.report_arguments(callee, b"".join(references.top), len(references.top))
        return
    payload: dict[str, Any] = {"c": callee.hex()}
    if references.top:
        payload.update(emit.objects(b"".join(references.top), len(references.top)))
    if references.inside:
        payload["i"] = emit.objects(b"".join(references.inside), 0)["o"]
    if references.left < 0:
        payload["more"] = 1
    emit.report("rayscope.arguments", payload, len(references.top) + len(references.inside))


def _report_caller(result: Any) -> None:
    """Report the caller if it is a coroutine or thread of an actor, because Ray records the creation task.

    Ray keeps the task's ID for coroutines and for its own threads. Other threads have unrelated IDs, and the
    task that started them is unknown.
    """
    caller = state.core.get_current_task_id().binary()
    if caller[8:] == state.core.get_actor_id().binary() and caller[:8] != _CREATION:
        callee = _callee(result)
        if callee is not None:
            emit.report_caller(caller, callee)


class _References:
    """The references among a call's arguments: ``top`` are arguments themselves, ``inside`` are in
    containers.

    ``left``: number of values that may still be searched, negative if some were skipped.
    """

    __slots__ = ("inside", "left", "top")

    def __init__(self) -> None:
        self.top: list[bytes] = []
        self.inside: list[bytes] = []
        self.left = _MAX_SEARCHED

    def collect(self, value: Any, depth: int = 0) -> None:
        """Add the references contained in an argument."""
        kind = type(value)
        if kind is _ray.ObjectRef:
            (self.inside if depth else self.top).append(value.binary())
        elif depth < _MAX_DEPTH and (kind is list or kind is tuple or kind is set or kind is dict):
            try:
                for item in value.values() if kind is dict else value:
                    self.left -= 1
                    if self.left < 0:
                        return
                    self.collect(item, depth + 1)
            except RuntimeError:  # changed by another thread
                self.left = -1


def _callee(result: Any) -> bytes | None:
    """ID of the task created by a submission. None if the result does not contain it."""
    if type(result) is list and result:
        result = result[0]
    if isinstance(result, _ray.ObjectRef):
        return bytes(result.task_id().binary())
    if isinstance(result, _ray.Generator):
        return bytes(result._generator_ref.task_id().binary())
    actor = getattr(result, "_actor_id", None)
    return None if actor is None else _CREATION + actor.binary()


def _wait(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def wait(ray_waitables: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin_wait(ray_waitables)
        done = None
        try:
            done = original(ray_waitables, *args, **kwargs)
            return done
        except _SIGNALS:
            if call is not None:
                call.interrupted = True
            raise
        finally:
            if call is not None:
                _end_wait(call, done)

    return wait


@_safe
def _begin_wait(waitables: Any) -> Call | None:
    if not isinstance(waitables, list):
        return None
    return _begin("ray.wait", waitables, MAX_WAITED)


@_safe
def _end_wait(call: Call, done: Any) -> None:
    _thread.call = call.outer
    emit.unwatch_call(call)
    if emit.ready():
        payload = emit.objects(call.objects, call.count)
        if done is not None:
            payload["ready"] = len(done[0])
        emit.end(call, payload)


def _wait_for_group(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _call_placement_group_ready(pg_id: Any, *args: Any, **kwargs: Any) -> Any:
        call = _begin_group(pg_id)
        is_ready = False
        try:
            is_ready = original(pg_id, *args, **kwargs)
            return is_ready
        except _SIGNALS:
            if call is not None:
                call.interrupted = True
            raise
        finally:
            if call is not None:
                _end_group(call, is_ready)

    return _call_placement_group_ready


@_safe
def _begin_group(group_id: Any) -> Call | None:
    if not emit.ready():
        return None
    call = Call("placement_group.wait")
    call.groups = group_id.binary()
    emit.watch_call(call)
    return _enter(call)


@_safe
def _end_group(call: Call, is_ready: bool) -> None:
    _thread.call = call.outer
    emit.unwatch_call(call)
    if emit.ready():
        emit.end(call, {"ready": int(is_ready)})


def _group_reference(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def _call_placement_group_ready_async(group: Any) -> Any:
        reference = original(group)
        if state.on:
            _remember_group(reference, group)
        return reference

    return _call_placement_group_ready_async


@_safe
def _remember_group(reference: Any, group: Any) -> None:
    if isinstance(reference, _ray.ObjectRef) and emit.ready():
        emit.remember_group(reference.binary(), group.id.binary())


def _cancel(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cancel(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if state.on:
            _report_cancel(kwargs.get("ray_waitable", args[0] if args else None))
        return result

    return cancel


@_safe
def _report_cancel(reference: Any) -> None:
    """Report that a cancellation was requested, whether or not it ends the task."""
    callee = _callee(reference)
    if callee is not None and emit.ready():
        emit.report("rayscope.cancel", {"c": callee.hex()})


def _profile(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def profile(event_type: str, *args: Any, **kwargs: Any) -> Any:
        # With RAY_PROFILING Ray reports these calls too, but without the objects.
        if state.on and event_type in ("ray.get", "ray.put", "ray.wait"):
            return _Profiled(event_type)
        return original(event_type, *args, **kwargs)

    return profile


class _Profiled:
    """Replaces Ray's own span of a call. It is reported only if we report no call inside or around it.

    Generators and compiled graphs, for example, wait through other functions.
    """

    __slots__ = ("begin_ns", "calls", "name")

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        self.begin_ns, self.calls = time.time_ns(), -1 if _thread.call else _thread.calls

    def __exit__(self, *_: object) -> None:
        if self.calls == _thread.calls:
            _plain_span(self.name, self.begin_ns)


@_safe
def _plain_span(name: str, begin_ns: int) -> None:
    if emit.ready():
        call = Call(name)
        call.begin_ns = begin_ns
        emit.end(call, {"plain": 1})


def _disconnect(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def disconnect(*args: Any, **kwargs: Any) -> Any:
        flush_sums()
        sampler.stop()
        emit.close()
        return original(*args, **kwargs)

    return disconnect


@_safe
def flush_sums() -> None:
    """Send all remaining sums of a driver before it leaves its cluster.

    Workers send the sums of each task when it ends. When a worker disconnects, its core worker no longer
    exists.
    """
    if state.connected and state.worker.global_worker.mode == 0:
        while state.sums:
            emit.flush()


@_safe
def report_from_user(name: str, values: dict[str, Any]) -> None:
    """Report an annotation or a counter's value from user code."""
    if emit.ready():
        emit.report(name, values)


@_safe
def begin_span() -> Call | None:
    """Start a span of user code."""
    return Call("rayscope.span") if emit.ready() else None


@_safe
def end_span(call: Call, values: dict[str, Any]) -> None:
    """End a span of user code."""
    if emit.ready():
        emit.end(call, values)


def _wrap_future(original: Callable[..., Any]) -> Callable[..., Any]:
    """Trace waits for references: ``await ref`` starts with this call, as does awaiting ``ref.future()``."""

    @functools.wraps(original)
    def wrap_future(future: Any, *args: Any, **kwargs: Any) -> Any:
        waiting = original(future, *args, **kwargs)
        ref = getattr(future, "object_ref", None)
        if state.on and ref is not None and waiting is not future:
            _begin_await(waiting, ref)
        return waiting

    return wrap_future


def _asyncio(original: Any) -> Any:
    """A copy of ``asyncio`` for Ray that wraps the async method calls that Ray submits to event loops."""
    stand_in = types.ModuleType(original.__name__)
    stand_in.__dict__.update(original.__dict__)

    def run_coroutine_threadsafe(coroutine: Any, loop: Any) -> Any:
        if not state.on:
            return original.run_coroutine_threadsafe(coroutine, loop)
        driver = coroutines.Driver(coroutine, _ray.async_task_id)
        future = original.run_coroutine_threadsafe(driver, loop)
        future.add_done_callback(coroutines.hide_frames)
        return future

    stand_in.run_coroutine_threadsafe = run_coroutine_threadsafe  # type: ignore[attr-defined]
    return stand_in


@_safe
def _begin_await(waiting: Any, ref: Any) -> None:
    if emit.ready():
        call = Call("await", ref.binary(), 1)
        emit.watch_call(call)
        if call.task.awaits is not None:
            call.task.awaits.ref_awaited(call.begin_ns)
        waiting.add_done_callback(lambda done: _end_await(call, done))


@_safe
def _end_await(call: Call, done: Any) -> None:
    emit.unwatch_call(call)
    if call.task.awaits is not None:
        call.task.awaits.ref_ready()
    if emit.ready():
        payload = emit.objects(call.objects, 1)
        if done.cancelled():
            payload["x"] = 1
            call.interrupted = True
        emit.end(call, payload)
