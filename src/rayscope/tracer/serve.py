"""Which requests of Ray Serve are slow and where they spend their time, and what deployments call each other.

A request passes a proxy and one replica or more. Each of these processes notes its own part, a *hop*, and the
calls of deployments that it made meanwhile. Serve's id of the request joins the hops. Each process decides by
itself which it tells: of each interval the first that failed, and the slowest, by how long the hop took. So a
proxy and a replica that answer the same requests keep the same ones. All others are only counted.

Ray drops what is told in the thread of a task whose events are off, as Serve's are: all is told by the
tracer's watcher, in one event for each interval.
"""

from __future__ import annotations

import asyncio
import functools
import heapq
import inspect
import itertools
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextvars import ContextVar
from typing import Any

from rayscope.importing import after_import
from rayscope.tracer import emit
from rayscope.tracer.emit import Task, state
from rayscope.tracer.libraries import Guard, Hook, wrap_methods, wrap_when_loaded

#: How often what was noted is told, s.
INTERVAL_S = 5.0
#: Of an interval: hops of at least so long (ns) are told, at most so many; of others only the slowest few.
SLOW_NS, MAX_HOPS, SLOWEST = 100 * 10**6, 20, 3
#: Each interval keeps up to this number of failed hops, the first ones, however short they were.
MAX_FAILED = 20
#: Calls of one hop whose times are noted, and that are told, the longest. All of them are counted.
_MAX_NOTED, _MAX_TOLD = 256, 16
#: Pairs of deployments that one process counts calls of.
_MAX_EDGES = 200
#: Letters of a route, of an id that a client chose, and of other words.
_MAX_ROUTE, _MAX_ID, _MAX_WORD = 200, 100, 60
_NO_FAILURES = (StopIteration, StopAsyncIteration, asyncio.CancelledError)
_CREATION = b"\xff" * 8


class _Call:
    """A call of a deployment. ``caller`` is "" for a proxy; ``end_ns``: 0 while it runs.

    ``queue_ns``: until a replica took it, without the time in which its arguments were made; -1 before.
    """

    __slots__ = ("begin_ns", "callee", "caller", "end_ns", "failed", "queue_ns", "resolve_ns")

    def __init__(self, caller: str, callee: str) -> None:
        self.caller, self.callee = caller, callee
        self.begin_ns = time.time_ns()
        self.end_ns = self.resolve_ns = 0
        self.queue_ns = -1
        self.failed = False


class _Hop:
    """A part of a request in this process. ``deployment`` is "" in a proxy."""

    __slots__ = ("begin_ns", "calls", "context", "count", "deployment", "end_ns", "failed", "told")

    def __init__(self, deployment: str) -> None:
        self.deployment = deployment
        self.begin_ns, self.end_ns = time.time_ns(), 0
        self.failed = False
        self.calls: list[_Call] = []
        self.count = 0
        self.context: Any = None
        self.told: dict[str, Any] = {}


class _Edge:
    """Calls of one deployment by another. ``errors``: those whose caller got an error."""

    __slots__ = ("calls", "errors", "latency")

    def __init__(self) -> None:
        self.calls = self.errors = 0
        self.latency: dict[int, int] = {}


class _Process:
    """What this process has noted since it told last. ``deployment``: of the replica that it is."""

    def __init__(self) -> None:
        self.deployment = self.application = self.name = ""
        self.began_ns, self.told_s = time.time_ns(), time.monotonic()
        self.slowest: list[tuple[int, int, _Hop]] = []
        self.failed: list[_Hop] = []
        #: How many hops were slow or failed.
        self.notable = 0
        self.edges: dict[tuple[str, str], _Edge] = {}


_process = _Process()
_order = itertools.count()
_hop: ContextVar[_Hop | None] = ContextVar("rayscope_serve_hop", default=None)
_call: ContextVar[_Call | None] = ContextVar("rayscope_serve_call", default=None)


def install(guard: Guard) -> None:
    """Watch for the loading of Ray Serve. ``guard`` makes a function of ours safe to call."""
    state.every_second.append(_tell)
    for module, owner, hooks in (
        (
            "ray.serve._private.replica",
            "Replica",
            {"_wrap_request": _begin_with(guard), "_record_errors_and_metrics": _end_with(guard)},
        ),
        (
            "ray.serve._private.router",
            "AsyncioRouter",
            {"assign_request": _assign_request(guard), "_resolve_request_arguments": _resolve},
        ),
        ("ray.serve._private.proxy", "GenericProxy", {"proxy_request": _proxy_request(guard)}),
    ):
        wrap_when_loaded(guard, module, owner, hooks)
    after_import("ray.serve._private.replica_result", guard(_wrap_results(guard)))


def _wrap_results(guard: Guard) -> Callable[[Any], None]:
    hooks = dict.fromkeys(("get", "get_async", "__next__", "__anext__"), _take_with(guard))

    def wrap(module: Any) -> None:
        wrap_methods("ActorReplicaResult", hooks)(module)
        if hasattr(module, "gRPCReplicaResult"):  # older versions of Ray speak no gRPC here
            wrap_methods("gRPCReplicaResult", hooks)(module)

    return wrap


def _begin_with(guard: Guard) -> Hook:
    begin = guard(_begin_replica)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _wrap_request(self: Any, *args: Any, **kwargs: Any) -> Any:
            if state.on:
                begin(self)
            return original(self, *args, **kwargs)

        return _wrap_request

    return wrap


def _begin_replica(replica: Any) -> None:
    if not _process.deployment:
        deployment = replica._deployment_id
        _process.application, _process.name = deployment.app_name, deployment.name
        _process.deployment = _name(deployment)
    _watch()
    _hop.set(_Hop(_process.deployment))


def _end_with(guard: Guard) -> Hook:
    end = guard(_end_replica)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _record_errors_and_metrics(self: Any, *args: Any, **kwargs: Any) -> Any:
            if state.on:
                end(*args, *kwargs.values())
            return original(self, *args, **kwargs)

        return _record_errors_and_metrics

    return wrap


def _end_replica(error: BaseException | None, status: str | None, latency_ms: float, request: Any) -> None:
    hop = _hop.get()
    if hop is None or hop.end_ns:
        return
    hop.end_ns = time.time_ns()
    cancelled = isinstance(error, asyncio.CancelledError)
    hop.failed = error is not None and not cancelled
    if _is_kept(hop):
        said = "OK" if error is None else "CANCELLED" if cancelled else "ERROR"
        hop.told = {
            "id": request.internal_request_id,
            "q": request.request_id[:_MAX_ID],
            "r": request.route[:_MAX_ROUTE],
            "m": (request._http_method or request.call_method)[:_MAX_WORD],
            "s": (status or said)[:_MAX_WORD],
        }
        if hop.failed:
            # Ray names an error of a call that it raises here after the callee's.
            name = type(error).__name__.removeprefix("RayTaskError(").removesuffix(")")
            hop.told |= {"f": 1, "err": name[:_MAX_WORD]}


def _proxy_request(guard: Guard) -> Hook:
    begin, end = guard(_begin_proxy), guard(_end_proxy)

    def wrap(original: Callable[..., AsyncIterator[Any]]) -> Callable[..., AsyncIterator[Any]]:
        @functools.wraps(original)
        async def proxy_request(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            hop = begin() if state.on else None
            messages: Any = original(self, *args, **kwargs)
            message = None
            try:
                async for message in messages:
                    yield message
            finally:
                # A request that nobody waits for any more ends now, as it would without this one around it.
                await messages.aclose()
                if hop is not None:
                    end(hop, message, *args, *kwargs.values())

        return proxy_request

    return wrap


def _begin_proxy() -> _Hop:
    _watch()
    hop = _Hop("")
    hop.context = _serve_context()
    _hop.set(hop)
    return hop


def _end_proxy(hop: _Hop, status: Any, request: Any) -> None:
    """``status``: the last message, if it came so far."""
    hop.end_ns = time.time_ns()
    context, before = _serve_context(), hop.context
    hop.context = None
    hop.failed = bool(getattr(status, "is_error", False))
    # A health check, or a route that nobody knows, has none of its own.
    if context is None or context is before or not context._internal_request_id or not _is_kept(hop):
        return
    code = getattr(status, "code", "")
    hop.told = {
        "id": context._internal_request_id,
        "q": context.request_id[:_MAX_ID],
        "r": context.route[:_MAX_ROUTE],
        "m": str(request.method)[:_MAX_WORD],
        "s": str(getattr(code, "name", code))[:_MAX_WORD],
        "app": context.app_name,
    }
    if hop.failed:
        hop.told["f"] = 1


def _serve_context() -> Any:
    return sys.modules["ray.serve.context"]._serve_request_context.get()


def _assign_request(guard: Guard) -> Hook:
    begin, end, follow = guard(_begin_call), guard(_end_call), guard(_follow)

    def wrap(original: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def assign_request(call: _Call, assigned: Coroutine[Any, Any, Any]) -> Any:
            _call.set(call)  # in a task of its own
            try:
                result = await assigned
            except BaseException as error:
                end(call, not isinstance(error, asyncio.CancelledError))
                raise
            follow(call, result, end)
            return result

        # The caller's thread and context are here; the coroutine runs in the router's.
        @functools.wraps(original)
        def in_context(self: Any, *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
            call = begin(self) if state.on else None
            assigned = original(self, *args, **kwargs)
            return assigned if call is None else assign_request(call, assigned)

        return in_context

    return wrap


def _begin_call(router: Any) -> _Call | None:
    hop = _hop.get()
    caller = _process.deployment if hop is None else hop.deployment
    if hop is None and not caller:
        return None  # neither a proxy nor a replica
    call = _Call(caller, _name(router.deployment_id))
    if hop is not None and not hop.end_ns:
        hop.count += 1
        if len(hop.calls) < _MAX_NOTED:
            hop.calls.append(call)
    return call


def _resolve(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    async def _resolve_request_arguments(*args: Any, **kwargs: Any) -> Any:
        call, began_ns = _call.get(), time.time_ns()
        try:
            return await original(*args, **kwargs)
        finally:
            if call is not None:
                call.resolve_ns += time.time_ns() - began_ns

    return _resolve_request_arguments


def _follow(call: _Call, result: Any, ended: Callable[..., Any]) -> None:
    """A replica has taken the call."""
    call.queue_ns = max(0, time.time_ns() - call.begin_ns - call.resolve_ns)
    if call.caller:
        result._rayscope_call = call
        # Ray calls this in a thread of its own. What it says there is not whether the call failed.
        result.add_done_callback(lambda _: ended(call, False))


def _end_call(call: _Call, failed: bool) -> None:
    """Count it. ``failed``: no replica has taken it."""
    call.end_ns = time.time_ns()
    if call.caller and state.on:
        with state.lock:
            edge = _edge(call)
            edge.calls += 1
            bucket = latency_bucket(call.end_ns - call.begin_ns)
            edge.latency[bucket] = edge.latency.get(bucket, 0) + 1
        if failed:
            _fail(call)


def _fail(call: _Call) -> None:
    if not call.failed:
        call.failed = True
        with state.lock:
            _edge(call).errors += 1


def _edge(call: _Call) -> _Edge:
    """The edge of a call; beyond a limit those of a caller are one."""
    key = (call.caller, call.callee)
    if key not in _process.edges and len(_process.edges) >= _MAX_EDGES:
        key = (call.caller, "")
    return _process.edges.setdefault(key, _Edge())


def _take_with(guard: Guard) -> Hook:
    """Where a caller gets what a call returned, or the error that it raised."""
    note = guard(_note_error)

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def take(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return original(self, *args, **kwargs)
            except BaseException as error:
                note(self, error)
                raise

        @functools.wraps(original)
        async def take_async(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return await original(self, *args, **kwargs)
            except BaseException as error:
                note(self, error)
                raise

        return take_async if inspect.iscoroutinefunction(original) else take

    return wrap


def _note_error(result: Any, error: BaseException) -> None:
    call = getattr(result, "_rayscope_call", None)
    if call is None or not state.on or isinstance(error, _NO_FAILURES):
        return
    # The caller waits no longer, or has cancelled the call. A callee's TimeoutError has another class.
    name = type(error).__name__
    if name not in ("GetTimeoutError", "RequestCancelledError") and type(error) is not TimeoutError:
        _fail(call)


def latency_bucket(ns: int) -> int:
    """The number of one of eight buckets for each power of two: by the first four bits of ``ns``."""
    ns = max(ns, 8)
    bits = ns.bit_length()
    return bits * 8 + (ns >> (bits - 4) & 7)


def _name(deployment: Any) -> str:
    return f"{deployment.app_name}#{deployment.name}"


def _watch() -> None:
    if not state.watching and emit.ready():
        emit.watch()


def _is_kept(hop: _Hop) -> bool:
    """Keep a hop that has ended if it is one of the first that failed, or one of the slowest so far."""
    took, slowest = hop.end_ns - hop.begin_ns, _process.slowest
    with state.lock:
        _process.notable += _is_notable(hop)
        if hop.failed and len(_process.failed) < MAX_FAILED:
            _process.failed.append(hop)
        elif len(slowest) < MAX_HOPS:
            heapq.heappush(slowest, (took, next(_order), hop))
        elif took > slowest[0][0]:
            heapq.heapreplace(slowest, (took, next(_order), hop))
        else:
            return False
    return True


def _is_notable(hop: _Hop) -> bool:
    return hop.failed or hop.end_ns - hop.begin_ns >= SLOW_NS


def _tell() -> None:
    """Tell what was noted, if it is time to."""
    now = time.monotonic()
    if now - _process.told_s < INTERVAL_S:
        return
    began_ns, now_ns = _process.began_ns, time.time_ns()
    with state.lock:
        slowest, _process.slowest = _process.slowest, []
        failed, _process.failed = _process.failed, []
        notable, _process.notable = _process.notable, 0
        edges, _process.edges = _process.edges, {}
        _process.began_ns, _process.told_s = now_ns, now
    told = _told(slowest, failed, notable, edges)
    if told:
        actor = state.core.get_actor_id().binary()
        told |= {"k": began_ns, "e": now_ns}
        emit.tell_always("rayscope.serve", told, Task(_CREATION + actor, 0, 0))


def _told(
    slowest: list[tuple[int, int, _Hop]],
    failed: list[_Hop],
    notable: int,
    edges: dict[tuple[str, str], _Edge],
) -> dict[str, Any]:
    ordered = [hop for _, _, hop in sorted(slowest, key=lambda entry: entry[:2], reverse=True)]
    kept = failed + [hop for at, hop in enumerate(ordered) if _is_notable(hop) or at < SLOWEST]
    told: dict[str, Any] = {}
    hops = [_hop_told(hop) for hop in kept if hop.told]
    if hops:
        told["hops"] = hops
    left_out = notable - sum(map(_is_notable, kept))
    if left_out:
        told["n"] = left_out
    if edges:
        told["edges"] = [
            {
                "from": caller,
                "to": callee,
                "n": edge.calls,
                "x": edge.errors,
                "l": [number for pair in edge.latency.items() for number in pair],
            }
            for (caller, callee), edge in edges.items()
        ]
    return told


def _hop_told(hop: _Hop) -> dict[str, Any]:
    # A call that ended meanwhile counts to the end of the hop, and so does one that nobody waits for.
    calls = [(call, min(call.end_ns or hop.end_ns, hop.end_ns)) for call in hop.calls]
    longest = sorted(calls, key=lambda one: one[0].begin_ns - one[1])[:_MAX_TOLD]
    told = {**hop.told, "k": hop.begin_ns, "e": hop.end_ns}
    if hop.deployment:
        told |= {"app": _process.application, "dep": _process.name}
        told["d"] = _union_ns((call.begin_ns, end_ns) for call, end_ns in calls)
    if calls:
        told["n"] = hop.count
        told["c"] = [
            [
                call.callee,
                call.begin_ns,
                end_ns,
                end_ns - call.begin_ns if call.queue_ns < 0 else call.queue_ns,
                int(call.failed),
            ]
            for call, end_ns in longest
        ]
    return told


def _union_ns(spans: Any) -> int:
    """How long at least one of them lasted."""
    total = until = 0
    for begin_ns, end_ns in sorted(spans):
        total += max(0, end_ns - max(begin_ns, until))
        until = max(until, end_ns)
    return total
