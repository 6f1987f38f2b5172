"""Valid and invalid answers of servers."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Callable, Iterable, Iterator

import pytest

from rayscope.ray.agents.persistent_http import PersistentHttp

OK = b"HTTP/1.1 200 OK\r\n"
Answer = Callable[[bytes], Iterator[bytes]]


class Scripted:
    """A server that answers each question with pieces; ``connections``: how many were opened."""

    def __init__(self, answer: Answer) -> None:
        self.connections = 0
        self.closing = threading.Event()
        self._answer = answer
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection = self._socket.accept()[0]
                self.connections += 1
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while request := connection.recv(65536):
                for piece in self._answer(request):
                    connection.sendall(piece)
                    if self.closing.wait(0.001):
                        return
                if b"/last" in request:
                    return

    def close(self) -> None:
        self.closing.set()
        self._socket.close()


@pytest.fixture
def serve() -> Iterable[Callable[[Answer], Scripted]]:
    servers: list[Scripted] = []

    def start(answer: Answer) -> Scripted:
        servers.append(Scripted(answer))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def test_every_framing_of_a_body_over_one_connection(
    serve: Callable[[Answer], Scripted],
) -> None:
    def answer(request: bytes) -> Iterator[bytes]:
        if request.startswith(b"HEAD"):
            yield OK + b"Content-Length: 1234\r\n\r\n"
        elif b"/chunked" in request:
            yield from (OK + b"Transfer-Encoding: chunked\r\n\r\n3\r", b"\nabc\r\n0\r\n\r\n")
        elif b"/last" in request:
            yield from (OK + b"\r\n", b"until ", b"the end")
        else:
            yield from (b"HTTP/1.1 404 No\r\nContent-Le", b"ngth: 4\r\n\r\n", b"no", b"ne")

    server = serve(answer)
    http = PersistentHttp("127.0.0.1", server.port)
    for _ in range(2):
        assert http.request("HEAD", "/file", 5) == (200, 1234, b"")
        assert http.request("GET", "/none", 5) == (404, 4, b"none")
        assert http.request("GET", "/chunked", 5) == (200, None, b"abc")
    assert server.connections == 1
    for _ in range(2):  # a server that closed the connection gets a new one
        assert http.request("GET", "/last", 5).body == b"until the end"
    assert server.connections == 2
    http.close()


def test_a_connection_closed_while_idle_is_opened_again(serve: Callable[[Answer], Scripted]) -> None:
    server = serve(lambda request: iter([OK + b"Content-Length: 2\r\n\r\nok"]))
    http = PersistentHttp("127.0.0.1", server.port, {"Authorization": "Bearer x"})
    assert http.request("GET", "/last", 5).body == b"ok"  # the other side closes now, and does not say so
    assert http.request("GET", "/", 5).body == b"ok"
    assert server.connections == 2
    http.close()


@pytest.mark.parametrize("head", [OK, OK + b"Content-Length: 999999\r\n\r\n"])
def test_an_endless_slow_answer_is_abandoned_in_time(
    serve: Callable[[Answer], Scripted], head: bytes
) -> None:
    server = serve(lambda request: itertools.chain([head], itertools.repeat(b"X-More: 1\r\n")))
    http = PersistentHttp("127.0.0.1", server.port)
    with pytest.raises(OSError, match=r"longer than 0.3 s"):
        http.request("GET", "/", 0.3)
    http.close()


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([OK, *[b"X-More: " + b"x" * 1000 + b"\r\n"] * 100], "longer than 0 MiB"),
        ([OK + b"Content-Length: 400000\r\n\r\n", *[b"x" * 4000] * 100], "longer than 0 MiB"),
        ([b"SSH-2.0-OpenSSH\r\n"], "no HTTP"),
        ([OK + b"Content-Length: 100\r\n\r\n/last"], "closed the connection"),
    ],
)
def test_invalid_answers_are_errors(
    serve: Callable[[Answer], Scripted], pieces: list[bytes], said: str
) -> None:
    server = serve(lambda request: iter(pieces))
    http = PersistentHttp("127.0.0.1", server.port, max_bytes=100_000)
    with pytest.raises(OSError, match=said):
        http.request("GET", "/last", 5)
    http.close()


def test_an_unused_port_is_an_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        PersistentHttp("127.0.0.1", port).request("GET", "/", 1)
