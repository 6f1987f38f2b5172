"""The tracer's reports about a proxy and a replica of Ray Serve, which must not notice it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import aside

from rayscope.tracer import serve
from rayscope.tracer.emit import state
from rayscope.tracer.libraries import wrap_methods

MS = 10**6


class GetTimeoutError(TimeoutError):
    """What Ray raises where a caller waits no longer."""


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> serve._Process:
    """A process of Serve whose tracer is on, without the check every second."""
    fresh = serve._Process()
    monkeypatch.setattr(serve, "_process", fresh)
    monkeypatch.setattr(state, "on", True)
    monkeypatch.setattr(serve, "_watch", lambda: None)
    context = SimpleNamespace(_serve_request_context=SimpleNamespace(get=lambda: None))
    monkeypatch.setitem(sys.modules, "ray.serve.context", context)
    return fresh


def unguarded(function: Callable[..., Any]) -> Callable[..., Any]:
    return function


class ActorReplicaResult:
    """The answer of a replica that has taken a call."""

    def __init__(self) -> None:
        self.done: list[Callable[[Any], None]] = []
        self.error: BaseException | None = None

    def add_done_callback(self, callback: Callable[[Any], None]) -> None:
        self.done.append(callback)

    def get(self, timeout_s: float | None = None) -> str:
        if self.error is not None:
            raise self.error
        return "value"

    async def get_async(self) -> str:
        return self.get()

    __next__, __anext__ = get, get_async


serve._wrap_results(unguarded)(SimpleNamespace(ActorReplicaResult=ActorReplicaResult))


async def take(result: ActorReplicaResult, error: BaseException | None = None) -> None:
    """The call ends, and its caller takes its result twice."""
    result.done[0](None)
    result.error = error
    for _ in range(2):
        if error is None:
            assert await result.get_async() == result.get() == "value"
            continue
        with pytest.raises(type(error)):
            await result.get_async()
        with pytest.raises(type(error)):
            result.get(1.0)


def router(name: str, *, takes_s: float = 0.0, error: BaseException | None = None) -> Any:
    class AsyncioRouter:
        deployment_id = SimpleNamespace(name=name, app_name="shop")

        async def assign_request(self, value: str) -> ActorReplicaResult:
            await self._resolve_request_arguments()
            await asyncio.sleep(takes_s)
            if error is not None:
                raise error
            assert value == "it"
            return ActorReplicaResult()

        async def _resolve_request_arguments(self) -> None:
            await asyncio.sleep(0.05)

    module = SimpleNamespace(AsyncioRouter=AsyncioRouter)
    hooks = {"assign_request": serve._assign_request(unguarded), "_resolve_request_arguments": serve._resolve}
    wrap_methods("AsyncioRouter", hooks)(module)
    return AsyncioRouter()


def replica(name: str) -> Any:
    class Replica:
        _deployment_id = SimpleNamespace(name=name, app_name="shop")

        def _wrap_request(self, request: Any) -> str:
            return "wrapped"

        def _record_errors_and_metrics(self, *args: Any) -> str:
            return "recorded"

    hooks = {
        "_wrap_request": serve._begin_with(unguarded),
        "_record_errors_and_metrics": serve._end_with(unguarded),
    }
    wrap_methods("Replica", hooks)(SimpleNamespace(Replica=Replica))
    return Replica()


def request(identity: str) -> Any:
    return SimpleNamespace(
        internal_request_id=identity, request_id="x" * 999, route="/r", _http_method="GET", call_method="f"
    )


def payload(process: serve._Process) -> dict[str, Any]:
    return serve._payload(process.slowest, process.failed, process.notable, process.edges)


def test_a_replica_reports_a_request_and_its_calls(process: serve._Process) -> None:
    async def answer() -> None:
        front, model = replica("Front"), router("Model", takes_s=0.02)
        assert front._wrap_request(request("i")) == "wrapped"
        # Each in a task of its own, as Serve's routers do.
        one, other = await asyncio.gather(
            *(asyncio.create_task(model.assign_request("it")) for _ in range(2))
        )
        await asyncio.sleep(0.05)
        await take(one, KeyError("mine"))
        await take(other)
        with pytest.raises(ValueError, match="full"):
            await asyncio.create_task(router("Full", error=ValueError("full")).assign_request("it"))
        late = await asyncio.create_task(model.assign_request("it"))
        await take(late, GetTimeoutError())
        assert front._record_errors_and_metrics(KeyError("secret"), "500", 1.0, request("i")) == "recorded"
        # Whatever the request has left behind is not part of it any more, but it is a call.
        await take(await asyncio.create_task(model.assign_request("it")))

    aside(asyncio.run, answer())
    found = payload(process)
    (hop,) = found["hops"]
    whole = hop["e"] - hop["k"]
    assert (hop["id"], hop["app"], hop["dep"], hop["r"], hop["m"]) == ("i", "shop", "Front", "/r", "GET")
    assert (hop["s"], hop["f"], hop["err"], len(hop["q"])) == ("500", 1, "KeyError", 100)
    assert "secret" not in str(found)
    assert (hop["n"], len(hop["c"])) == (4, 4)
    # Two of them at the same time count once.
    assert 200 * MS <= hop["d"] <= whole
    assert hop["d"] < sum(end - begin for _, begin, end, _, _ in hop["c"]) - 80 * MS
    longest, second, *_ = hop["c"]
    assert {longest[0], second[0]} == {"shop#Model"}
    assert {longest[4], second[4]} == {0, 1}
    # The time in which the arguments were made is not that of the queue.
    for name, begin, end, queue, _ in hop["c"]:
        assert name != "shop#Model" or 15 * MS <= queue <= end - begin - 49 * MS
    edges = {one["to"]: (one["from"], one["n"], one["x"]) for one in found["edges"]}
    assert edges == {"shop#Model": ("shop#Front", 4, 1), "shop#Full": ("shop#Front", 1, 1)}
    assert [sum(one["l"][1::2]) for one in found["edges"]] == [4, 1]


def test_a_proxy_passes_messages_on_and_reports_its_requests(
    process: serve._Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[bool] = []
    context: dict[str, Any] = {"now": None}
    monkeypatch.setattr(serve, "_serve_context", lambda: context["now"])

    class GenericProxy:
        async def proxy_request(self, proxy_request: Any) -> AsyncIterator[Any]:
            if proxy_request.routed:
                context["now"] = SimpleNamespace(
                    _internal_request_id="i", request_id="q", route="/shop", app_name="shop"
                )
            try:
                await asyncio.create_task(router("Front").assign_request("it"))
                yield "a"
                yield SimpleNamespace(code="500", is_error=True)
            finally:
                closed.append(True)

    wrap_methods("GenericProxy", {"proxy_request": serve._proxy_request(unguarded)})(
        SimpleNamespace(GenericProxy=GenericProxy)
    )
    asked = SimpleNamespace(method="GET", routed=True)

    async def ask(leaves: bool) -> list[Any]:
        found = []
        answer: Any = GenericProxy().proxy_request(proxy_request=asked)
        async for message in answer:
            found.append(message)
            if leaves:
                break
        await answer.aclose()
        return found

    aside(asyncio.run, ask(leaves=True))
    assert closed == [True]
    (first,) = payload(process)["hops"]
    assert (first["s"], "f" in first) == ("", False)
    process.slowest.clear()
    context["now"] = None
    assert aside(asyncio.run, ask(leaves=False))[0] == "a"
    found = payload(process)
    (hop,) = found["hops"]
    assert "edges" not in found
    assert {name: hop.get(name) for name in ("id", "q", "r", "m", "s", "app", "f", "dep", "d")} == {
        "id": "i",
        "q": "q",
        "r": "/shop",
        "m": "GET",
        "s": "500",
        "app": "shop",
        "f": 1,
        "dep": None,
        "d": None,
    }
    assert [name for name, *_ in hop["c"]] == ["shop#Front"]
    # A health check leaves the context as it was.
    process.failed.clear()
    process.notable = 0
    asked.routed = False
    assert len(aside(asyncio.run, ask(leaves=False))) == 2
    assert payload(process) == {}


def test_only_the_slowest_are_reported_and_the_rest_is_counted(process: serve._Process) -> None:
    def end(took_ns: int) -> None:
        hop = serve._Hop("shop#Front")
        hop.end_ns = hop.begin_ns + took_ns
        if serve._is_kept(hop):
            hop.payload = {"id": str(took_ns)}

    for at in range(1000):
        end(at)
    assert [hop["id"] for hop in payload(process)["hops"]] == ["999", "998", "997"]
    for at in range(50):
        end(serve.SLOW_NS + at)
    found = payload(process)
    assert [int(hop["id"]) - serve.SLOW_NS for hop in found["hops"]] == list(range(49, 29, -1))
    assert found["n"] == 30


def test_failed_requests_are_reported_however_fast_they_failed(process: serve._Process) -> None:
    def end(took_ns: int, *, failed: bool) -> None:
        hop = serve._Hop("shop#Front")
        hop.end_ns, hop.failed = hop.begin_ns + took_ns, failed
        if serve._is_kept(hop):
            hop.payload = {"id": str(took_ns)}

    for at in range(serve.MAX_FAILED + 5):
        end(at, failed=True)
        end(1000 + at, failed=False)
    found = payload(process)
    first = list(map(str, range(serve.MAX_FAILED)))
    assert [hop["id"] for hop in found["hops"]] == [*first, "1024", "1023", "1022"]
    assert found["n"] == 5


def test_nothing_is_noted_where_the_tracer_is_off(process: serve._Process) -> None:
    state.on = False

    async def answer() -> None:
        front = replica("Front")
        front._wrap_request(request("i"))
        result = await asyncio.create_task(router("Model").assign_request("it"))
        assert result.done == []
        front._record_errors_and_metrics(None, None, 1.0, request("i"))

    aside(asyncio.run, answer())
    assert payload(process) == {}


def test_buckets_of_latency_are_in_order_and_narrow() -> None:
    buckets = [serve.latency_bucket(ns) for ns in range(8, 5000)]
    assert buckets == sorted(buckets)
    assert serve.latency_bucket(0) == serve.latency_bucket(8)
    for ns in (1000, 10**6, 10**9, 10**12):
        assert serve.latency_bucket(ns) != serve.latency_bucket(int(ns * 1.125) + 1)
