"""HTTP/1.1 over a persistent connection, at a third of the CPU cost of ``http.client``.

Responses are parsed by ``httptools``, the parser of uvicorn and Node.js. The size of each response and the
total time of each request are limited, however slowly the response arrives.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

import httptools

_CHUNK = 1 << 18
#: Maximum size of a response's head, bytes.
_HEAD = 64 << 10


class Reply(NamedTuple):
    """A response. ``length``: its Content-Length, if any. For HEAD requests ``body`` is empty."""

    status: int
    length: int | None
    body: bytes


class _Reading:
    """Parser state of one response."""

    def __init__(self, *, has_body: bool) -> None:
        self.parts: list[bytes] = []
        self.length: int | None = None
        self.chunked = self.closes = False
        self.head_done = False
        self.done = False
        self._has_body = has_body

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"content-length" and value.isdigit():
            self.length = int(value[:18])
        elif name == b"transfer-encoding":
            self.chunked = True
        elif name == b"connection":
            self.closes = value.lower() == b"close"

    def on_headers_complete(self) -> None:
        self.head_done = True
        self.done = not self._has_body

    def on_body(self, data: bytes) -> None:
        self.parts.append(data)

    def on_message_complete(self) -> None:
        self.done = True


class PersistentHttp:
    """A connection to one server. Thread-safe, one request at a time. Call :meth:`close` after use."""

    def __init__(
        self, host: str, port: int, headers: Mapping[str, str] | None = None, *, max_bytes: int = 32 << 20
    ) -> None:
        self._address = (host, port)
        self._max_bytes = max_bytes
        named = f"[{host}]" if ":" in host else host
        self._rest = _lines({"Host": f"{named}:{port}", **(headers or {})})
        self._socket: socket.socket | None = None
        self._lock = threading.Lock()

    def request(
        self, method: str, path: str, timeout_s: float, headers: Mapping[str, str] | None = None
    ) -> Reply:
        """Send a request and read its response within ``timeout_s``. ``path`` must be quoted. Raises OSError.

        ``headers`` are sent in addition to those of the connection. Reconnects if the server has closed an
        idle connection.
        """
        deadline = time.monotonic() + timeout_s
        first = f"{method} {path} HTTP/1.1\r\n{_lines(headers or {})}"
        if not self._lock.acquire(timeout=timeout_s):
            raise TimeoutError("others are asking")
        try:
            fresh = self._socket is None
            try:
                return self._request(first, deadline, has_body=method != "HEAD")
            except ConnectionError:
                self._drop()
                if fresh:
                    raise
                return self._request(first, deadline, has_body=method != "HEAD")
        except TimeoutError:
            self._drop()
            raise TimeoutError(f"it took longer than {timeout_s:g} s") from None
        except OSError:
            self._drop()
            raise
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection. The next request opens a new one."""
        with self._lock:
            self._drop()

    def _drop(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.close()
            self._socket = None

    def _request(self, first: str, deadline: float, *, has_body: bool) -> Reply:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=_left(deadline))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.settimeout(_left(deadline))
        self._socket.sendall(f"{first}{self._rest}\r\n".encode("latin-1"))
        reading = _Reading(has_body=has_body)
        parser = httptools.HttpResponseParser(reading)
        size = 0
        while not reading.done:
            self._socket.settimeout(_left(deadline))
            data = self._socket.recv(_CHUNK)
            if not data:
                if not reading.head_done or reading.chunked or reading.length is not None:
                    raise ConnectionResetError("it closed the connection")
                break  # the end of the connection is the end of the body
            size += len(data)
            try:
                parser.feed_data(data)
            except httptools.HttpParserError as error:
                if not reading.done:
                    raise OSError(f"what it answers is no HTTP: {str(error)[:100]}") from None
            if size > (self._max_bytes if reading.head_done else 0) + _HEAD:
                raise OSError(f"its text is longer than {self._max_bytes >> 20} MiB")
        reply = Reply(parser.get_status_code(), reading.length, b"".join(reading.parts))
        if reading.closes or not reading.done or parser.get_http_version() != "1.1":
            self._drop()
        return reply


def _lines(headers: Mapping[str, str]) -> str:
    return "".join(f"{name}: {value}\r\n" for name, value in headers.items())


def _left(deadline: float) -> float:
    """Seconds until the deadline. Raises TimeoutError if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
