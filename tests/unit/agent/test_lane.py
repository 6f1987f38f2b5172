"""The lane between Ray's own collector and a server: nothing is lost, whatever the server answers.

The collector, its ring and its JSON publisher are Ray's; the server is aiohttp's with answers of our choice.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from ray.core.generated import events_event_aggregator_service_pb2 as service
from ray.dashboard.modules.aggregator import aggregator_agent
from tests.waiting import TIMEOUT_S

from rayscope.agent import lane
from rayscope.agent.report import Reporter

PATH = "/api/ingest/key/ray-events"


def request(first: int, count: int, *, dropped: int = 0) -> Any:
    """``AddEvents`` of task events whose ids are numbers from ``first`` on, a second apart."""
    made = service.AddEventsRequest()
    for number in range(first, first + count):
        event = made.events_data.events.add(
            event_id=str(number).encode(), session_name="session_x", event_type=2
        )
        event.timestamp.seconds = 1_000 + number
        event.task_lifecycle_event.task_id = number.to_bytes(24, "big")
    for number in range(dropped):
        made.events_data.task_events_metadata.dropped_task_attempts.add(task_id=bytes([number] * 24))
    return made


#: No answer at all.
SILENCE = 0


class Server:
    """Keeps the requests that it gets. ``answers``: the status of each next POST (or SILENCE), then 204."""

    def __init__(self, answers: list[int]) -> None:
        self.answers = answers
        self.kinds: list[str] = []
        self.ids: list[int] = []
        self.json_ids: list[int] = []
        self.sizes: list[int] = []
        self.attempts = 0

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.kinds.append(request.content_type)
        status = self.answers.pop(0) if self.answers else 204
        if status == SILENCE:
            await asyncio.Event().wait()
        if status < 300:
            if request.content_type == "application/json":
                self.json_ids += [int(e["taskLifecycleEvent"]["workerPid"]) for e in json.loads(body)]
            else:
                data = service.RayEventsData.FromString(body)
                self.sizes.append(len(body))
                self.ids += [int(event.event_id) for event in data.events]
                self.attempts += len(data.task_events_metadata.dropped_task_attempts)
        return web.Response(status=status)


class Agent:
    """The used parts of Ray's ``AggregatorAgent``: its two methods, its ring and its HTTP publisher."""

    def __init__(self, url: str, module: Any) -> None:
        self._event_processing_enabled = True
        self._events_received_metric_name = "received"
        self._events_failed_to_add_metric_name = "failed"
        self._common_tags: dict[str, str] = {}
        self._open_telemetry_metric_recorder = SimpleNamespace(set_metric_value=lambda *_: None)
        self._executor = ThreadPoolExecutor(1)
        self._event_buffer = aggregator_agent.MultiConsumerEventBuffer(max_size=1000, max_batch_size=100)
        self._http_endpoint_publisher = aggregator_agent.RayEventPublisher(
            name="http_service",
            publish_client=aggregator_agent.AsyncHttpPublisherClient(endpoint=url, executor=self._executor),
            event_buffer=self._event_buffer,
        )
        self._gcs_publisher = aggregator_agent.NoopPublisher()
        self._dashboard_head_publisher = aggregator_agent.NoopPublisher()


class Collector(Agent):
    AddEvents = aggregator_agent.AggregatorAgent.AddEvents
    run = aggregator_agent.AggregatorAgent.run


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "INTERVAL_S", 0.01)
    monkeypatch.setattr(lane, "_BACKOFF_S", (0.001, 0.02))
    client = "ray.dashboard.modules.aggregator.publisher.async_publisher_client"
    monkeypatch.setattr(f"{client}.HTTP_EXPOSABLE_EVENT_TYPES", "ALL")


def in_a_loop(work: Coroutine[Any, Any, None]) -> None:
    """Run it in a thread of its own: in this one a browser of other tests may have a loop."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, work).result()


def played(
    story: Callable[[Any, Server, Reporter], Awaitable[None]],
    answers: list[int],
    *,
    on_class: Callable[[Any], None] = lambda _: None,
) -> tuple[Server, Reporter]:
    """Run ``story`` with an agent in the fast lane."""
    server, reporter = Server(answers), Reporter()

    async def main() -> None:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_post(PATH, server.take)
        runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        kind = type("Collector", (Collector,), dict(vars(Collector)))
        module = SimpleNamespace(**{**vars(aggregator_agent), "AggregatorAgent": kind})
        lane.take_over(module, reporter)
        on_class(kind)
        agent = kind(f"http://127.0.0.1:{port}{PATH}", module)
        running = asyncio.ensure_future(agent.run(None))
        try:
            await asyncio.sleep(0)
            await asyncio.wait_for(story(agent, server, reporter), TIMEOUT_S)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await runner.cleanup()

    in_a_loop(main())
    return server, reporter


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_events_arrive_in_order_and_attempts_that_workers_dropped_are_reported() -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        for number in range(5):
            await agent.AddEvents(request(number * 10, 10, dropped=2), None)
        await until(lambda: reporter.report()["sent"] == 50)  # counted once the answer is here

    server, reporter = played(story, [])
    assert server.ids == list(range(50))
    assert set(server.kinds) == {"application/x-protobuf"}
    assert server.attempts == 10
    said = reporter.report()
    assert (said["lane"], said["received"], said["sent"], said["dropped_attempts"]) == ("fast", 50, 50, 10)
    assert said["raw_bytes"] == said["sent_bytes"] == sum(server.sizes)


def test_names_of_dropped_attempts_wait_for_events_that_name_the_session() -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        await agent.AddEvents(request(0, 0, dropped=3), None)
        await asyncio.sleep(0.1)
        assert server.kinds == []
        await agent.AddEvents(request(0, 1), None)
        await until(lambda: len(server.ids) == 1)

    server, reporter = played(story, [])
    assert server.attempts == reporter.report()["dropped_attempts"] == 3


def test_a_server_that_is_away_gets_everything_when_it_is_back() -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        await agent.AddEvents(request(0, 30), None)
        await until(lambda: len(server.ids) == 30)

    server, reporter = played(story, [503, 500, 404, 503])
    assert server.ids == list(range(30))
    assert reporter.report()["lane"] == "fast"
    assert reporter.report()["refused"] == 4


def test_a_body_that_is_too_large_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        for number in range(8):
            await agent.AddEvents(request(number, 1), None)
        await until(lambda: len(server.ids) == 8)

    server, reporter = played(story, [413, 413])
    assert server.ids == list(range(8))
    assert len(server.sizes) > 1
    assert reporter.report()["lane"] == "fast"


@pytest.mark.parametrize("status", [400, 415])
def test_a_server_that_cannot_read_the_binary_form_gets_json(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        for number in range(0, 3000, 500):  # three times what Ray's ring holds
            await agent.AddEvents(numbered(number, 500), None)
        await until(lambda: not agent._rayscope_lane.open)
        await agent.AddEvents(numbered(3000, 50), None)
        await until(lambda: len(server.json_ids) >= 3050)

    def numbered(first: int, count: int) -> Any:
        made = request(first, count)
        for offset, event in enumerate(made.events_data.events):
            event.task_lifecycle_event.worker_pid = first + offset
        return made

    server, reporter = played(story, [status])
    assert sorted(server.json_ids) == list(range(3050))
    assert server.ids == []
    assert reporter.report()["lane"] == "json"
    assert str(status) in reporter.report()["reason"]


@pytest.mark.parametrize("where", ["SerializeToString", "post", "take"])
def test_a_fault_of_ours_hands_everything_to_ray(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise RuntimeError("injected")

    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        first = request(0, 1)
        await agent.AddEvents(first, None)
        await until(lambda: len(server.ids) == 1)
        if where == "SerializeToString":
            monkeypatch.setattr(lane, "Piece", fails)
        elif where == "post":
            monkeypatch.setattr(lane.Lane, "_send", fails)
        else:
            original = lane.Buffer.take
            monkeypatch.setattr(lane.Buffer, "take", fails)
            asyncio.get_running_loop().call_later(0.2, monkeypatch.setattr, lane.Buffer, "take", original)
        made = request(1, 20)
        for event in made.events_data.events:
            event.task_lifecycle_event.worker_pid = int(event.event_id)
        for _ in range(3):
            await agent.AddEvents(made, None)
            await asyncio.sleep(0.1)
        await until(lambda: set(server.json_ids) == set(range(1, 21)))

    _, reporter = played(story, [])
    assert reporter.report()["lane"] == "json"
    assert "injected" in reporter.report()["reason"]


def test_others_who_read_rays_ring_still_get_the_events() -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        await agent._event_buffer.register_consumer("ray_gcs")
        await agent.AddEvents(request(0, 10), None)
        batch = await agent._event_buffer.wait_for_batch("ray_gcs", 0.1)
        assert [int(event.event_id) for event in batch] == list(range(10))
        await until(lambda: len(server.ids) == 10)

    server, _ = played(story, [])
    assert server.json_ids == []


def test_others_do_not_get_again_what_waited_when_the_lane_is_left() -> None:
    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        await agent._event_buffer.register_consumer("ray_gcs")
        await agent.AddEvents(request(1, 10), None)
        await until(lambda: len(server.json_ids) >= 10)
        await asyncio.sleep(0.1)
        assert len(await agent._event_buffer.wait_for_batch("ray_gcs", 0.1)) == 10

    played(story, [415])


@pytest.mark.parametrize("status", [503, 500, 404, SILENCE])
def test_the_oldest_events_go_first_and_are_counted_by_kind_with_their_times(
    status: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    one = len(request(0, 10).events_data.SerializeToString())
    monkeypatch.setenv("RAYSCOPE_AGENT_BUFFER_BYTES", str(one * 4))
    monkeypatch.setattr(lane, "TIMEOUT_S", 0.2)

    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        for number in range(10):
            await agent.AddEvents(request(number * 10, 10), None)
        await until(lambda: reporter.report()["refused"] > 2)
        assert agent._rayscope_lane.buffer.bytes <= one * 4
        server.answers.clear()
        await until(lambda: 99 in server.ids)

    server, reporter = played(story, [status] * 1000)
    assert len([1 for record in caplog.records if "sent again" in record.message]) == 1
    assert ("key" in caplog.text) == (status == 404)
    (lost,) = reporter.report()["lost"]
    assert lost["event_type"] == "TASK_LIFECYCLE_EVENT"
    assert lost["count"] + len(server.ids) == 100
    assert lost["first_ns"] == 1_000 * 10**9
    assert lost["last_ns"] == (1_000 + lost["count"] - 1) * 10**9
    assert server.ids == list(range(lost["count"], 100))


def test_a_remote_server_gets_packed_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane, "_is_local", lambda _: False)
    seen: list[str] = []

    async def story(agent: Any, server: Server, reporter: Reporter) -> None:
        await agent.AddEvents(request(0, 100), None)
        await until(lambda: reporter.report()["sent"] == 100)
        said = reporter.report()
        assert 0 < said["sent_bytes"] < said["raw_bytes"] / 2

    take = Server.take

    async def unpacking(self: Server, request: web.Request) -> web.Response:
        seen.append(request.headers["Content-Encoding"])
        return await take(self, request)  # aiohttp unpacks by itself

    monkeypatch.setattr(Server, "take", unpacking)
    played(story, [])
    assert set(seen) == {"deflate"}


def test_which_servers_are_on_this_machine() -> None:
    local = [lane._is_local(f"http://{host}:1/") for host in ("127.0.0.1", "localhost", "[::1]", "127.9.9.9")]
    away = [lane._is_local(f"http://{host}:1/") for host in ("10.0.0.1", "rayscope.example", "[2001:db8::1]")]
    assert all(local)
    assert not any(away)


@given(
    sizes=st.lists(st.integers(1, 50), max_size=30),
    limit=st.integers(1, 300),
    moves=st.lists(st.tuples(st.integers(1, 200), st.booleans()), max_size=30),
)
def test_a_buffer_keeps_the_order_and_its_limit(
    sizes: list[int], limit: int, moves: list[tuple[int, bool]]
) -> None:
    """Whatever is added, taken and given back: what is left is the newest, in order, within the limit."""
    dropped: list[bytes] = []

    class Message:
        @staticmethod
        def FromString(data: bytes) -> Any:
            dropped.append(data)
            return SimpleNamespace(events=[])

    async def main() -> None:
        buffer = lane.Buffer(limit, Message, Reporter())
        sent: list[bytes] = []
        steps = iter(moves)
        for number, size in enumerate(sizes):
            buffer.add(lane.Piece(number.to_bytes(2, "big") + bytes(size), 1))
            most, works = next(steps, (0, True))
            if most:
                pieces = buffer.take(most)
                if works:
                    sent += [piece.data for piece in pieces]
                else:
                    buffer.restore(pieces)
            assert 0 <= buffer.bytes <= limit
        while pieces := buffer.take(10):
            sent += [piece.data for piece in pieces]
        assert buffer.bytes == 0
        assert not buffer.filled.is_set()
        numbers = [int.from_bytes(data[:2], "big") for data in sent]
        assert numbers == sorted(numbers)
        gone = [int.from_bytes(data[:2], "big") for data in dropped]
        assert sorted(numbers + gone) == list(range(len(sizes)))

    in_a_loop(main())
