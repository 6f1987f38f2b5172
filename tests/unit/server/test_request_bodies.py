"""Bodies of requests that are too large or never come whole."""

from __future__ import annotations

import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from tests.waiting import TIMEOUT_S

from rayscope.api import security
from rayscope.ingest import bodies as ingest_bodies
from rayscope.server import http_protocol
from rayscope.server.runner import Server

MORE_THAN_ALLOWED = 1_100_000


def begin_body(url: str, length: int = 1000, sent: bytes = b"[") -> socket.socket:
    """A POST whose head promises ``length`` bytes, followed only by ``sent``."""
    parts = urlsplit(url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=TIMEOUT_S)
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode() + sent)
    return connection


def test_agents_that_stall_do_not_stop_ingest(fresh: Any, bodies: list[bytes]) -> None:
    """More of them than batches that are taken in at a time."""
    with ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(closing(begin_body(fresh.server.ingest_url)))
        assert fresh.client.post(fresh.server.ingest_url, content=bodies[0]).status_code == 204


def test_a_body_that_does_not_come_is_given_up(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(security, "BODY_IDLE_S", 0.2)
    server = serve()
    for url in (server.ingest_url, f"{server.url}/api/v1/sql"):
        with closing(begin_body(url)) as connection:
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 408 ")
        assert b'"too_slow"' in answer
    assert httpx.get(f"{server.url}/api/health").json()["stalled_bodies"] == 2


def test_a_body_that_drips_is_given_up(serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(security, "BODY_TIMEOUT_S", 0.5)
    server = serve()
    with closing(begin_body(server.ingest_url)) as connection:
        connection.settimeout(0.1)
        answer = b""
        while not answer:
            connection.sendall(b" ")
            try:
                answer = connection.recv(65536)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")


def test_stalled_bodies_make_room_for_those_that_come(
    serve: Callable[..., Server], bodies: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest_bodies, "_MAX_BYTES", 0)  # room for one of the largest
    server = serve(max_batch_bytes=100_000)
    with ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(closing(begin_body(server.ingest_url, 90_000, b"[" + b" " * 50_000)))
        assert httpx.post(server.ingest_url, content=bodies[0]).status_code == 204


@pytest.mark.parametrize("path", ["/api/v1/login", "/api/v1/sql", "/api/v1/nothing", "/api/v1/alerts/test"])
@pytest.mark.parametrize("declared", [True, False])
def test_a_large_body_is_refused(running: Any, path: str, declared: bool) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(MORE_THAN_ALLOWED // 1000):
            yield b" " * 1000

    content = b" " * MORE_THAN_ALLOWED if declared else pieces()
    answer = running.client.post(path, content=content, headers={"Content-Type": "application/json"})
    if path == "/api/v1/nothing" and not declared:
        assert answer.status_code == 404  # it is not read
    else:
        assert running.error(answer, 413)["code"] == "too_large"


def test_bodies_of_a_login_are_limited(serve: Callable[..., Server]) -> None:
    server = serve(token="a-long-token-of-the-tests")
    rest = len(b'{"token":""}')
    for size, status in ((16 << 10, 422), ((16 << 10) + 1, 413)):  # (No token is that long.)
        answer = httpx.post(f"{server.url}/api/v1/login", json={"token": "x" * (size - rest)})
        assert int(answer.request.headers["Content-Length"]) == size
        assert answer.status_code == status


@pytest.mark.parametrize(("size", "status"), [(100 << 20, 403), ((100 << 20) + 1, 413)])
def test_the_folder_of_a_job_has_a_bound(running: Any, size: int, status: int) -> None:
    """A head that declares too much is refused at once; one that does not needs the operator's token."""
    with closing(begin_body(f"{running.server.url}/api/v1/jobs/folder", size)) as connection:
        assert connection.recv(65536).startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b'{"sql": "\xff"}', b"\xff\xfe", b'{"sql":', b"1e999999"]
)
@pytest.mark.parametrize("path", ["/api/v1/sql", "/api/v1/alerts/test", "/api/v1/operator"])
def test_a_body_that_cannot_be_decoded_is_reported(running: Any, path: str, content: bytes) -> None:
    answer = running.client.post(path, content=content[:16_000], headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    running.error(answer, answer.status_code)


def test_more_connections_than_there_may_be_are_closed_and_the_others_are_answered(
    serve: Callable[..., Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_protocol, "max_connections", lambda: 20)
    server = serve()
    port = int(server.url.rpartition(":")[2])
    with ExitStack() as held:
        connections = [held.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(30)]
        for connection in connections[20:]:
            connection.settimeout(TIMEOUT_S)
            assert connection.recv(1) == b""
        connections[0].sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        connections[0].settimeout(TIMEOUT_S)
        assert connections[0].recv(100).startswith(b"HTTP/1.1 200")


def test_agents_are_answered_while_others_send_garbage(fresh: Any, bodies: list[bytes]) -> None:
    """64 MB of numbers or objects, each packed into 65 kB."""
    event = b'{"sessionName": "session_2026-01-01_00-00-00_000000_1", "eventType": "TASK_DEFINITION_EVENT"}'
    garbage = [b"[" + b"1," * (31 << 20), b"[" + event + b",1" * (8 << 20) + b"]", b"[" + b"{}," * (20 << 20)]
    statuses: list[int] = []

    def post(body: bytes) -> None:
        headers = {"Content-Encoding": "deflate"}
        answer = httpx.post(fresh.server.ingest_url, content=body, headers=headers, timeout=300)
        statuses.append(answer.status_code)

    threads = [threading.Thread(target=post, args=(zlib.compress(body, 1),)) for body in garbage]
    for thread in threads:
        thread.start()
    for body in bodies:
        assert fresh.client.post(fresh.server.ingest_url, content=body).status_code == 204
    for thread in threads:
        thread.join()
    assert statuses == [413] * len(threads)
    assert not list((fresh.folder / "rejected").iterdir())
    fresh.ingest()
    assert fresh.get("/api/health")["rejected_batches"] == len(threads)
    assert fresh.get("/api/v1/summary")["tasks"] > 0
