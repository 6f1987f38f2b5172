"""Processes that wait for a debugger, and debuggers, that do not keep to the rules."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

import msgspec
import pytest
from tests.running import Running
from tests.waiting import wait_until
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

PAUSE = {"id": "0123456789abcdef", "task_id": "ab" * 24, "attempt": 0, "since_ns": 10**18, "line": 3}
OPERATOR = "X-Rayscope-Operator"


@pytest.fixture
def on(fresh: Running, bodies: list[bytes]) -> Running:
    """A server that lets debuggers in, and has the sample on record."""
    fresh.ingest(*bodies)
    services: Any = fresh.server.services
    services.debuggees.limit_s = 60.0
    return fresh


def address(running: Running, path: str) -> str:
    return f"{running.server.url.replace('http', 'ws', 1)}{path}"


def process(running: Running) -> ClientConnection:
    url = running.server.ingest_url.replace("http", "ws", 1).replace("/ray-events", "/debugger")
    return connect(url, proxy=None)


def pauses(running: Running) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = running.get("/api/v1/paused-tasks")["items"]
    return items


def report(running: Running, **values: Any) -> str:
    session = running.get("/api/v1/sessions")["items"][0]["session"]
    return str(msgspec.json.encode({"session": session, "paused": [PAUSE], **values}), "utf-8")


def token(running: Running) -> dict[str, str]:
    services: Any = running.server.services
    return {OPERATOR: services.secrets.operator_token}


def test_a_process_is_listed_while_it_is_connected(on: Running) -> None:
    with process(on) as connection:
        assert msgspec.json.decode(connection.recv()) == {"limit_s": 60.0}
        connection.send(report(on))
        (item,) = wait_until(lambda: pauses(on), "the pause")
        assert (item["pause_id"], item["state"], item["line"]) == (PAUSE["id"], "waiting", 3)
        assert item["release_ns"] is not None
        connection.send(report(on, paused=[]))
        wait_until(lambda: not pauses(on), "its end")
        connection.send(report(on))
        wait_until(lambda: pauses(on), "another pause")
    wait_until(lambda: not pauses(on), "the end of its connection")


@pytest.mark.parametrize(
    "text",
    [
        "no JSON",
        "[]",
        '{"paused": 3}',
        '{"paused": [{}]}',
        msgspec.json.encode({"paused": [{**PAUSE, "id": "../x"}]}).decode(),
        msgspec.json.encode({"paused": [{**PAUSE, "line": -1}]}).decode(),
        msgspec.json.encode({"paused": [PAUSE] * 101}).decode(),
        msgspec.json.encode({"paused": [{**PAUSE, "file": "x" * 301}]}).decode(),
        "[" * 60_000,
    ],
)
def test_an_invalid_report_ends_the_connection(on: Running, text: str) -> None:
    with process(on) as connection:
        connection.recv()
        connection.send(text)
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv(30)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4400
    assert on.client.get("/api/health").status_code == 200


def test_a_wrong_key_and_a_wrong_token(on: Running) -> None:
    with pytest.raises(InvalidStatus):
        connect(address(on, "/api/ingest/wrong/debugger"), proxy=None)
    with process(on) as connection:
        connection.recv()
        connection.send(report(on))
        wait_until(lambda: pauses(on), "the pause")
        path = address(on, f"/ws/debugger/{PAUSE['id']}")
        for headers in ({}, {OPERATOR: "wrong"}):
            with pytest.raises(InvalidStatus):
                connect(path, additional_headers=headers, proxy=None)
        with pytest.raises(InvalidStatus):
            connect(address(on, "/ws/debugger/fedcba9876543210"), additional_headers=token(on), proxy=None)
        with contextlib.suppress(TimeoutError):  # none of them reached the process
            raise AssertionError(connection.recv(0.2))


def test_a_process_whose_debugger_does_not_answer(on: Running) -> None:
    with process(on) as connection:
        connection.recv()
        connection.send(report(on))
        wait_until(lambda: pauses(on), "the pause")
        url = f"/api/v1/paused-tasks/{PAUSE['id']}"
        connection.send(msgspec.json.encode({"attached": False}).decode())  # nobody asked
        assert pauses(on)

        def answer() -> None:
            assert msgspec.json.decode(connection.recv()) == {"attach": 1}
            connection.send(msgspec.json.encode({"attached": True, "number": 0}).decode())  # of another
            answer = {"attached": False, "number": 1, "reason": "refused"}
            connection.send(msgspec.json.encode(answer).decode())

        thread = threading.Thread(target=answer)
        thread.start()
        error = on.error(on.client.post(f"{url}/stack", headers=token(on)), 409)
        thread.join()
        assert error["code"] == "debugger_unreachable"
        assert on.error(on.client.post(f"{url}/variables", json={}, headers=token(on)), 404)
