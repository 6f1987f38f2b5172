"""Live push: over real WSs of a real server."""

from __future__ import annotations

import itertools
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.story import JOB, SESSION, Story
from tests.waiting import TIMEOUT_S
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from rayscope.api.security import cookie_value
from rayscope.model.usage import NodeStats, Usage
from rayscope.server import http_protocol, runner
from rayscope.server.push import realtime
from rayscope.server.push.merge_patch import merge_patch, merged
from rayscope.server.push.realtime import MAX_SUBSCRIPTIONS, WINDOW
from rayscope.server.runner import Server

TOKEN = "a-long-token-of-the-tests"

documents = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(st.sampled_from("abcd"), documents, max_size=4)


@given(objects, objects)
def test_a_patch_turns_one_document_into_the_other(before: Any, after: Any) -> None:
    assert merged(before, merge_patch(before, after)) == after
    assert merge_patch(after, after) == {}


class Watcher:
    """A client that keeps the latest data of each topic."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.latest: dict[str, Any] = {}

    def send(self, **message: Any) -> None:
        self.connection.send(json.dumps(message))

    def next(self, timeout: float = TIMEOUT_S) -> dict[str, Any]:
        """The next message that is of a topic."""
        while True:
            message: dict[str, Any] = json.loads(self.connection.recv(timeout))
            if message["kind"] == "alive":
                continue
            if message["kind"] == "state":
                self.latest[message["topic"]] = message["data"]
            elif message["kind"] == "change":
                self.latest[message["topic"]] = merged(self.latest[message["topic"]], message["data"])
            return message


@pytest.fixture
def watch(fresh: Any) -> Iterator[Callable[..., Watcher]]:
    """``watch()``: another connection to the server, whose interval is 0.1 s."""
    fresh.server.services.realtime.interval_s = 0.1
    with ExitStack() as stack:
        yield lambda: Watcher(
            stack.enter_context(connect(fresh.server.url.replace("http", "ws") + "/ws/realtime"))
        )


@pytest.fixture
def probe(fresh: Any) -> list[int]:
    """A topic ``probe`` that publishes the one number in this list; the session has to exist."""
    fresh.record(story())
    value = [1]
    fresh.server.services.realtime.provide("probe", lambda _, __: {"value": value[0], "text": "x" * 500})
    return value


def story() -> Story:
    started = Story()
    started.task("load", 0, 1, 5)
    return started


def test_first_the_state_then_what_changes(fresh: Any, watch: Callable[..., Watcher]) -> None:
    fresh.record(story())
    client = watch()
    client.send(subscribe=[{"topic": "tasks", "session": SESSION}, {"topic": "job", "job_id": JOB}])
    first = {message["topic"]: message for message in (client.next(), client.next())}
    assert {message["kind"] for message in first.values()} == {"state"}
    assert first["tasks"]["session"] == SESSION
    assert first["job"]["params"] == {"job_id": JOB}
    (function,) = client.latest["job"]["functions"]
    assert (function["func_name"], function["states"]) == ("load", {"FINISHED": 1})
    more = Story(_made=1)
    more.task("save", 5, 6, 9, failed=True)
    fresh.record(more)
    while (
        min(client.latest[topic]["attempts"] for topic in ("job", "tasks")) < 2
        or not client.latest["tasks"]["failures"]
    ):
        changed = client.next()
        assert changed["seq"] > 1
    for topic, params in (("tasks", {}), ("job", {"job_id": JOB})):
        by_http = fresh.get("/api/v1/realtime", topic=topic, **params)
        assert client.latest[topic] == merged({}, by_http["data"])
    assert client.latest["tasks"]["states"] == {"FINISHED": 1, "FAILED": 1}


def test_many_clients_cost_one_look_and_get_the_same_text(
    fresh: Any, watch: Callable[..., Watcher], probe: list[int]
) -> None:
    services = fresh.server.services
    clients = [watch() for _ in range(10)]
    for client in clients:
        client.send(subscribe=[{"topic": "probe"}])
        assert client.next()["data"]["value"] == 1
    looks = services.realtime.looks
    probe[0] = 2
    texts = {client.connection.recv(10) for client in clients}
    assert len(texts) == 1
    (text,) = texts
    assert json.loads(text)["data"] == {"value": 2}  # the change alone, not the 500 letters
    assert services.realtime.looks - looks <= 3


def test_topics_without_subscribers_are_not_evaluated(
    fresh: Any, watch: Callable[..., Watcher], probe: list[int], wait_for: Callable[..., Any]
) -> None:
    services = fresh.server.services
    client = watch()
    client.send(subscribe=[{"topic": "probe"}])
    client.next()
    client.send(unsubscribe=[{"topic": "probe"}])
    wait_for(lambda: services.realtime.stats()["feeds"] == 0, "the feed goes")
    looks = services.realtime.looks
    probe[0] = 2
    with pytest.raises(TimeoutError):
        client.next(0.5)
    assert services.realtime.looks == looks
    client.connection.close()
    wait_for(lambda: services.realtime.stats()["clients"] == 0, "the client goes")


def test_a_slow_client_gets_the_newest_state_and_delays_no_other(
    fresh: Any, watch: Callable[..., Watcher], probe: list[int], wait_for: Callable[..., Any]
) -> None:
    slow, quick = watch(), watch()
    slow.send(subscribe=[{"topic": "probe"}], acks=True)
    quick.send(subscribe=[{"topic": "probe"}])
    last = 3 * WINDOW
    for number in range(2, last + 1):
        while quick.next()["data"].get("value") != number - 1:
            pass
        probe[0] = number
    wait_for(lambda: quick.latest["probe"]["value"] == last or quick.next(), "the quick one has it")
    kinds = [slow.next()["kind"] for _ in range(WINDOW)]
    assert kinds == ["state"] + ["change"] * (WINDOW - 1)
    with pytest.raises(TimeoutError):
        slow.next(0.5)
    slow.send(ack=WINDOW)
    message = slow.next()
    # The messages in between are gone, so it gets the whole state.
    assert (message["kind"], message["data"]["value"], message["seq"]) == ("state", last, last)


def test_a_client_may_want_less(fresh: Any, watch: Callable[..., Watcher], probe: list[int]) -> None:
    client = watch()
    client.send(interval_s=1.5)
    client.send(subscribe=[{"topic": "probe"}])
    client.next()
    began = time.monotonic()
    probe[0] = 2
    client.next()
    assert time.monotonic() - began > 1


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"Host": "evil.example"}, 403, "bad_host"),
        ({"Origin": "http://evil.example"}, 403, "bad_origin"),
        ({"Origin": "null"}, 403, "bad_origin"),
        ({}, 401, "unauthorized"),
        ({"Authorization": "Bearer wrong"}, 401, "unauthorized"),
        ({"Cookie": "rayscope_token=wrong"}, 401, "unauthorized"),
        ({"Authorization": f"Bearer {TOKEN}"}, 101, ""),
        ({"Cookie": f"rayscope_token={cookie_value(TOKEN)}"}, 101, ""),
    ],
)
def test_which_clients_are_accepted(
    serve: Callable[..., Server], headers: dict[str, str], status: int, code: str
) -> None:
    server = serve(token=TOKEN)
    port = int(server.url.rpartition(":")[2])
    given = {"Host": f"127.0.0.1:{port}", **headers}
    lines = [f"{name}: {value}" for name, value in given.items()]
    lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    lines += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    with socket.create_connection(("127.0.0.1", port), 10) as raw:
        raw.sendall("\r\n".join(["GET /ws/realtime HTTP/1.1", *lines, "", ""]).encode())
        answer = raw.recv(65536).decode()
        while "\r\n\r\n" not in answer or (status != 101 and not answer.endswith("}")):
            answer += raw.recv(65536).decode()
    assert answer.startswith(f"HTTP/1.1 {status} ")
    assert code in answer


def test_a_client_without_a_choice_gets_the_newest_session(
    fresh: Any, watch: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(realtime, "_GREET_S", 0.1)
    client = watch()
    client.connection.send("ping")  # asks for nothing: the topics come nevertheless
    assert client.next()["kind"] == "pong"
    fresh.record(story())
    first = [client.next() for _ in range(4)]
    assert {message["topic"] for message in first} == {"cluster", "metrics", "tasks", "actors"}
    assert {message["session"] for message in first} == {SESSION}
    client.send(subscribe=[{"topic": "job", "job_id": JOB}])
    while client.next()["topic"] != "job":
        pass
    (_,) = [key.topic for key in fresh.server.services.realtime._feeds]


@pytest.mark.parametrize("message", ["ping", '"ping"', '{"type": "ping"}', '{"ping": 1}'])
def test_a_ping_is_answered(watch: Callable[..., Watcher], message: str) -> None:
    client = watch()
    client.connection.send(message)
    assert client.next()["kind"] == "pong"


@pytest.mark.parametrize("message", ["no json", "[]", '{"subscribe": [{}]}', '{"shutdown": true}', '"x"'])
def test_an_unreadable_message_is_answered_and_the_tenth_ends_the_connection(
    watch: Callable[..., Watcher], message: str
) -> None:
    client = watch()
    for _ in range(9):
        client.connection.send(message)
        answer = client.next()
        assert answer["kind"] == "error"
        assert '{"subscribe":' in answer["error"]["remedy"]
    client.connection.send(message)
    with pytest.raises(ConnectionClosed) as closed:
        client.next()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4400


def test_topic_metrics_has_the_nodes_and_how_many_are_left_out(
    fresh: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.record(story())
    nodes = {f"{n:02d}": NodeStats(node_id=f"{n:02d}", time_ns=1, cpu_percent=float(n)) for n in range(52)}
    monkeypatch.setattr(fresh.server.services.clusters, "usage", lambda _: Usage(nodes=nodes))
    data = fresh.get("/api/v1/realtime", topic="metrics")["data"]
    assert list(data["nodes"]) == sorted(nodes)[:50]
    assert data["nodes"]["07"]["cpu_percent"] == 7
    assert data["nodes_left_out"] == 2


def test_limits(fresh: Any, watch: Callable[..., Watcher], monkeypatch: pytest.MonkeyPatch) -> None:
    many_jobs = story()
    for number in range(MAX_SUBSCRIPTIONS + 1):
        many_jobs.task("f", 0, 1, 2, job=f"{number:08x}")
    fresh.record(many_jobs)
    client = watch()
    client.send(subscribe=[{"topic": "weather"}, {"topic": "job"}, {"topic": "tasks", "session": "none"}])
    refused = [client.next() for _ in range(3)]
    assert [message["error"]["code"] for message in refused] == ["bad_query", "bad_query", "not_found"]
    client.send(subscribe=[{"topic": "job", "job_id": f"{n:08x}"} for n in range(MAX_SUBSCRIPTIONS + 1)])
    answers = [client.next() for _ in range(MAX_SUBSCRIPTIONS + 1)]
    assert [message["kind"] for message in answers].count("error") == 1
    monkeypatch.setattr(realtime, "MAX_CLIENTS", 1)
    with pytest.raises(InvalidStatus):
        watch()


def test_by_http_a_bad_question_is_answered(fresh: Any) -> None:
    fresh.record(story())
    error = fresh.error(fresh.client.get("/api/v1/realtime", params={"topic": "weather"}), 400)
    assert "cluster" in error["remedy"]


def test_clients_that_answer_no_ping_are_dropped(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, wait_for: Callable[..., Any]
) -> None:
    monkeypatch.setattr(runner, "_PING_S", 0.3)
    server = serve()
    assert server.services is not None
    with deaf_client(server):
        services = server.services
        wait_for(lambda: services.realtime.stats()["clients"] == 1, "it is there")
        wait_for(lambda: services.realtime.stats()["clients"] == 0, "it is forgotten")


@contextmanager
def deaf_client(server: Server) -> Iterator[socket.socket]:
    """A WebSocket of which only the handshake has been read, with little room for what is not read."""
    port = int(server.url.rpartition(":")[2])
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.settimeout(TIMEOUT_S)
        raw.connect(("127.0.0.1", port))
        raw.sendall(
            f"GET /ws/realtime HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
        )
        assert raw.recv(4096).startswith(b"HTTP/1.1 101")
        yield raw


def provide_much(server: Server) -> None:
    """A topic ``probe`` of which each message has 1 MB or more, and which changes at each check."""
    assert server.services is not None
    server.services.writer.submit_records(story().batch, "events")
    assert server.services.writer.flush(60)
    numbers = itertools.count()
    server.services.realtime.interval_s = 0.1
    server.services.realtime.provide("probe", lambda *_: {"text": str(next(numbers)) * (1 << 20)})


def subscribe(raw: socket.socket) -> None:
    content = b'{"subscribe": [{"topic": "probe"}]}'
    raw.sendall(bytes([0x81, 0x80 | len(content)]) + b"\0\0\0\0" + content)


def connections(server: Server) -> list[Any]:
    assert server._server is not None
    return list(server._server.server_state.connections)


def test_clients_that_do_not_read_are_closed_with_a_reason(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, wait_for: Callable[..., Any]
) -> None:
    monkeypatch.setattr(runner, "_PING_S", 2.0)
    server = serve()
    provide_much(server)
    with deaf_client(server) as raw:
        subscribe(raw)
        wait_for(lambda: all(one.transport.is_closing() for one in connections(server)), "it is closed")
        last = b""
        while piece := raw.recv(1 << 20):  # what was sent before is not lost
            last = (last + piece)[-100:]
        assert last.endswith(b"\x03\xf3keepalive ping timeout")  # code 1011


def test_clients_that_never_read_are_cut_off_and_cost_one_message(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, wait_for: Callable[..., Any]
) -> None:
    monkeypatch.setattr(http_protocol, "STALLED_S", 1.0)
    server = serve()
    provide_much(server)
    assert server.services is not None
    stats = server.services.realtime.stats
    with deaf_client(server) as raw:
        subscribe(raw)
        unsent = 0

        def is_cut() -> bool:
            nonlocal unsent
            unsent = max([unsent, *(one.transport.get_write_buffer_size() for one in connections(server))])
            return stats()["clients"] == 0

        wait_for(lambda: stats()["clients"] == 1, "it is there")
        wait_for(is_cut, "it is cut")
        assert 0 < unsent < 4 << 20  # one message of those with numbers below 1,000
        wait_for(lambda: not connections(server), "its connection is gone")


def test_http_clients_that_read_nothing_are_cut(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch, wait_for: Callable[..., Any]
) -> None:
    monkeypatch.setattr(http_protocol, "STALLED_S", 0.5)
    server = serve()
    port = int(server.url.rpartition(":")[2])
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(("127.0.0.1", port))
        raw.sendall(f"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode() * 100)
        wait_for(lambda: connections(server), "it is there")
        wait_for(lambda: not connections(server), "it is cut")
