"""Reports slow requests of Ray Serve, where they spend their time, and the calls between deployments.

A request passes through a proxy and one or more replicas. Each of these processes records its own part, a
*hop*, and the deployments that it called during it. Serve's request ID joins the hops. Each process reports
the first failed hops of each interval and the slowest by duration, so a proxy and a replica that serve the
same requests choose the same ones. All other hops are only counted.

Ray drops profile events from a thread if events are disabled for its task, as they are for Serve's tasks. So
the tracer's watcher thread sends everything, in one event per interval.
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

#: Length of a reporting interval, in seconds.
INTERVAL_S = 5.0
#: Hops that take at least this long are slow, in ns.
SLOW_NS = 100 * 10**6
#: Maximum number of slow hops reported per interval.
MAX_HOPS = 20
#: Number of the slowest hops that are reported per interval even if they take less than ``SLOW_NS``.
SLOWEST = 3
#: Maximum number of failed hops reported per interval, however short they were. The first ones are kept.
MAX_FAILED = 20
#: Maximum number of calls of one hop whose times are recorded. Further ones are only counted.
_MAX_RECORDED_CALLS = 256
#: Maximum number of calls reported per hop. The longest ones are kept.
_MAX_REPORTED_CALLS = 16
#: Maximum number of pairs of deployments counted per process.
_MAX_EDGES = 200
#: Maximum number of characters in a route.
_MAX_ROUTE = 200
#: Maximum number of characters in a request ID, which clients may choose.
_MAX_ID = 100
#: Maximum number of characters of a W3C ``traceparent``, which has 55 today.
MAX_TRACEPARENT = 100
#: Maximum number of characters in a method, a status, or an error's class.
_MAX_WORD = 60
_NO_FAILURES = (StopIteration, StopAsyncIteration, asyncio.CancelledError)
#: Prefix of the ID of an actor's creation task.
_CREATION = b"\xff" * 8


class _Call:
    """A call of a deployment.

    Attributes:
        caller: the calling deployment, "" for a proxy.
        end_ns: 0 while the call runs.
        queue_ns: time until a replica accepted the call, excluding ``resolve_ns``. -1 before that.
        resolve_ns: time spent resolving the call's arguments.
    """

    __slots__ = ("begin_ns", "callee", "caller", "end_ns", "failed", "queue_ns", "resolve_ns")

    def __init__(self, caller: str, callee: str) -> None:
        self.caller, self.callee = caller, callee
        self.begin_ns = time.time_ns()
        self.end_ns = self.resolve_ns = 0
        self.queue_ns = -1
        self.failed = False


class _Hop:
    """This process's part of a request. ``deployment`` is "" in a proxy."""

    __slots__ = ("begin_ns", "calls", "context", "count", "deployment", "end_ns", "failed", "payload")

    def __init__(self, deployment: str) -> None:
        self.deployment = deployment
        self.begin_ns, self.end_ns = time.time_ns(), 0
        self.failed = False
        self.calls: list[_Call] = []
        self.count = 0
        self.context: Any = None
        self.payload: dict[str, Any] = {}


class _Edge:
    """Calls from one deployment to another. ``errors`` counts those that raised an error in the caller."""

    __slots__ = ("calls", "errors", "latency")

    def __init__(self) -> None:
        self.calls = self.errors = 0
        self.latency: dict[int, int] = {}


class _Process:
    """Data since the last report of this process. ``deployment`` is "" if the process is not a replica."""

    def __init__(self) -> None:
        self.deployment = self.application = self.name = ""
        self.began_ns, self.reported_s = time.time_ns(), time.monotonic()
        self.slowest: list[tuple[int, int, _Hop]] = []
        self.failed: list[_Hop] = []
        #: Number of hops that were slow or failed.
        self.notable = 0
        self.edges: dict[tuple[str, str], _Edge] = {}


_process = _Process()
_order = itertools.count()
_hop: ContextVar[_Hop | None] = ContextVar("rayscope_serve_hop", default=None)
_call: ContextVar[_Call | None] = ContextVar("rayscope_serve_call", default=None)


def install(guard: Guard) -> None:
    """Trace Ray Serve once it is loaded. ``guard`` wraps our functions so that they never raise."""
    state.every_second.append(_report)
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
        if hasattr(module, "gRPCReplicaResult"):  # older versions of Ray do not have it
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
        outcome = "OK" if error is None else "CANCELLED" if cancelled else "ERROR"
        hop.payload = {
            "id": request.internal_request_id,
            "q": request.request_id[:_MAX_ID],
            "r": request.route[:_MAX_ROUTE],
            "m": (request._http_method or request.call_method)[:_MAX_WORD],
            "s": (status or outcome)[:_MAX_WORD],
        }
        if hop.failed:
            # Ray wraps an error of a nested call in a class named after the original one.
            name = type(error).__name__.removeprefix("RayTaskError(").removesuffix(")")
            hop.payload |= {"f": 1, "err": name[:_MAX_WORD]}


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
                # Close the original generator now: an abandoned request must end as it would without us.
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
    """End the hop of a proxy. ``status`` is the last message, or None if the request ended without one."""
    hop.end_ns = time.time_ns()
    context, before = _serve_context(), hop.context
    hop.context = None
    hop.failed = bool(getattr(status, "is_error", False))
    # Health checks and unknown routes have no context.
    if context is None or context is before or not context._internal_request_id or not _is_kept(hop):
        return
    code = getattr(status, "code", "")
    hop.payload = {
        "id": context._internal_request_id,
        "q": context.request_id[:_MAX_ID],
        "r": context.route[:_MAX_ROUTE],
        "m": str(request.method)[:_MAX_WORD],
        "s": str(getattr(code, "name", code))[:_MAX_WORD],
        "app": context.app_name,
    }
    if hop.failed:
        hop.payload["f"] = 1
    if parent := _traceparent(request):
        hop.payload["w"] = parent


def _traceparent(request: Any) -> str:
    """The client's span (W3C Trace Context), or "" if it names none. Requests of gRPC are not looked at."""
    headers = getattr(request, "scope", {}).get("headers", ())
    return next(
        (value[:MAX_TRACEPARENT].decode("latin-1") for name, value in headers if name == b"traceparent"), ""
    )


def _serve_context() -> Any:
    return sys.modules["ray.serve.context"]._serve_request_context.get()


def _assign_request(guard: Guard) -> Hook:
    begin, end, follow = guard(_begin_call), guard(_end_call), guard(_follow)

    def wrap(original: Callable[..., Coroutine[Any, Any, Any]]) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def assign_request(call: _Call, assigned: Coroutine[Any, Any, Any]) -> Any:
            _call.set(call)  # this coroutine runs in its own asyncio task
            try:
                result = await assigned
            except BaseException as error:
                end(call, not isinstance(error, asyncio.CancelledError))
                raise
            follow(call, result, end)
            return result

        # Here we are in the caller's thread and context. The coroutine runs in the router's.
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
        if len(hop.calls) < _MAX_RECORDED_CALLS:
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
    """Called when a replica has accepted the call."""
    call.queue_ns = max(0, time.time_ns() - call.begin_ns - call.resolve_ns)
    if call.caller:
        result._rayscope_call = call
        # Ray calls this in another thread, and its argument does not show whether the call failed.
        result.add_done_callback(lambda _: ended(call, False))


def _end_call(call: _Call, failed: bool) -> None:
    """Count a call that has ended. ``failed``: no replica accepted it."""
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
    """The edge of a call. Beyond the limit, all further callees of a caller share one edge."""
    key = (call.caller, call.callee)
    if key not in _process.edges and len(_process.edges) >= _MAX_EDGES:
        key = (call.caller, "")
    return _process.edges.setdefault(key, _Edge())


def _take_with(guard: Guard) -> Hook:
    """Wrap the methods that return a call's result to the caller, or raise its error."""
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
    # These errors mean that the caller stopped waiting or canceled the call. A TimeoutError that the callee
    # raised has another class.
    name = type(error).__name__
    if name not in ("GetTimeoutError", "RequestCancelledError") and type(error) is not TimeoutError:
        _fail(call)


def latency_bucket(ns: int) -> int:
    """Index of the latency bucket of ``ns``, from its highest four bits: eight buckets per power of two."""
    ns = max(ns, 8)
    bits = ns.bit_length()
    return bits * 8 + (ns >> (bits - 4) & 7)


def _name(deployment: Any) -> str:
    return f"{deployment.app_name}#{deployment.name}"


def _watch() -> None:
    if not state.watching and emit.ready():
        emit.watch()


def _is_kept(hop: _Hop) -> bool:
    """Keep an ended hop if it is one of the first that failed or one of the slowest so far.

    Returns whether it is kept.
    """
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


def _report() -> None:
    """Send a report if the interval has passed."""
    now = time.monotonic()
    if now - _process.reported_s < INTERVAL_S:
        return
    began_ns, now_ns = _process.began_ns, time.time_ns()
    with state.lock:
        slowest, _process.slowest = _process.slowest, []
        failed, _process.failed = _process.failed, []
        notable, _process.notable = _process.notable, 0
        edges, _process.edges = _process.edges, {}
        _process.began_ns, _process.reported_s = now_ns, now
    payload = _payload(slowest, failed, notable, edges)
    if payload:
        actor = state.core.get_actor_id().binary()
        payload |= {"k": began_ns, "e": now_ns}
        emit.report_always("rayscope.serve", payload, Task(_CREATION + actor, 0, 0))


def _payload(
    slowest: list[tuple[int, int, _Hop]],
    failed: list[_Hop],
    notable: int,
    edges: dict[tuple[str, str], _Edge],
) -> dict[str, Any]:
    ordered = [hop for _, _, hop in sorted(slowest, key=lambda entry: entry[:2], reverse=True)]
    kept = failed + [hop for at, hop in enumerate(ordered) if _is_notable(hop) or at < SLOWEST]
    payload: dict[str, Any] = {}
    hops = [_hop_payload(hop) for hop in kept if hop.payload]
    if hops:
        payload["hops"] = hops
    left_out = notable - sum(map(_is_notable, kept))
    if left_out:
        payload["n"] = left_out
    if edges:
        payload["edges"] = [
            {
                "from": caller,
                "to": callee,
                "n": edge.calls,
                "x": edge.errors,
                "l": [number for pair in edge.latency.items() for number in pair],
            }
            for (caller, callee), edge in edges.items()
        ]
    return payload


def _hop_payload(hop: _Hop) -> dict[str, Any]:
    # Calls that are still open, or ended after their hop, count until the end of the hop.
    calls = [(call, min(call.end_ns or hop.end_ns, hop.end_ns)) for call in hop.calls]
    longest = sorted(calls, key=lambda entry: entry[0].begin_ns - entry[1])[:_MAX_REPORTED_CALLS]
    payload = {**hop.payload, "k": hop.begin_ns, "e": hop.end_ns}
    if hop.deployment:
        payload |= {"app": _process.application, "dep": _process.name}
        payload["d"] = _union_ns((call.begin_ns, end_ns) for call, end_ns in calls)
    if calls:
        payload["n"] = hop.count
        payload["c"] = [
            [
                call.callee,
                call.begin_ns,
                end_ns,
                end_ns - call.begin_ns if call.queue_ns < 0 else call.queue_ns,
                int(call.failed),
            ]
            for call, end_ns in longest
        ]
    return payload


def _union_ns(spans: Any) -> int:
    """Total time covered by at least one of the spans, ns."""
    total = until = 0
    for begin_ns, end_ns in sorted(spans):
        total += max(0, end_ns - max(begin_ns, until))
        until = max(until, end_ns)
    return total
