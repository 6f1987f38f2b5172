"""A WebSocket client (RFC 6455) of the standard library alone, for a connection to the Rayscope server."""

from __future__ import annotations

import base64
import contextlib
import os
import socket
import ssl
import struct
from collections.abc import Iterator
from urllib.parse import urlsplit

TEXT = 1
BINARY = 2
_CLOSE = 8
_PING = 9
_PONG = 10
_FINAL = 0x80
_MASKED = 0x80
_MAX_HEAD_BYTES = 16 << 10
#: Maximum size of a message from the server, in bytes.
_MAX_MESSAGE_BYTES = 1 << 20
_READ_BYTES = 64 << 10


class WebSocket:
    """An open connection. All methods raise OSError if it is broken or closed."""

    def __init__(self, url: str, timeout_s: float) -> None:
        """Connect to an ``http`` or ``https`` URL, without a proxy. ``timeout_s`` also limits each read and
        write.
        """
        parts = urlsplit(url)
        is_secure = parts.scheme == "https"
        port = parts.port or (443 if is_secure else 80)
        connection = socket.create_connection((parts.hostname or "", port), timeout_s)
        try:
            if is_secure:
                context = ssl.create_default_context()
                connection = context.wrap_socket(connection, server_hostname=parts.hostname)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket = connection
            self._buffer = bytearray()
            self._parts = bytearray()
            self._kind = 0
            self._upgrade(parts.netloc.rpartition("@")[2], parts.path)
        except BaseException:
            connection.close()
            raise

    def fileno(self) -> int:
        """The file descriptor, to wait for messages."""
        return self._socket.fileno()

    def close(self) -> None:
        """Close the connection."""
        close_socket(self._socket)

    def send(self, kind: int, payload: bytes) -> None:
        """Send a message. ``kind``: :data:`TEXT` or :data:`BINARY`."""
        size = len(payload)
        if size < 126:
            head = struct.pack("!BB", _FINAL | kind, _MASKED | size)
        elif size < 1 << 16:
            head = struct.pack("!BBH", _FINAL | kind, _MASKED | 126, size)
        else:
            head = struct.pack("!BBQ", _FINAL | kind, _MASKED | 127, size)
        mask = os.urandom(4)
        self._socket.sendall(head + mask + _apply(mask, payload))

    def receive(self) -> Iterator[tuple[int, bytes]]:
        """Read once, and return the messages that are complete: their kind and content."""
        data = self._socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionError("the server closed the connection")
        self._buffer += data
        while isinstance(self._socket, ssl.SSLSocket) and self._socket.pending():
            self._buffer += self._socket.recv(_READ_BYTES)
        return self.messages()

    def messages(self) -> Iterator[tuple[int, bytes]]:
        """The messages that have been read."""
        while (frame := self._take_frame()) is not None:
            first, payload = frame
            code = first & 0x0F
            if code == _CLOSE:
                raise ConnectionError("the server closed the connection")
            if code == _PING:
                self.send(_PONG, payload)
            elif code in (0, TEXT, BINARY):
                self._kind = code or self._kind
                self._parts += payload
                if len(self._parts) > _MAX_MESSAGE_BYTES:
                    raise ConnectionError("the server's message is too large")
                if first & _FINAL:
                    message, self._parts = bytes(self._parts), bytearray()
                    yield self._kind, message

    def _take_frame(self) -> tuple[int, bytes] | None:
        """The first byte and the payload of a frame, None if it is not complete yet."""
        buffer = self._buffer
        if len(buffer) < 2:
            return None
        size, begin = buffer[1] & 0x7F, 2
        if size >= 126:
            begin = 4 if size == 126 else 10
            if len(buffer) < begin:
                return None
            size = int.from_bytes(buffer[2:begin], "big")
        if size > _MAX_MESSAGE_BYTES:
            raise ConnectionError("the server's message is too large")
        if len(buffer) < begin + size:
            return None
        first, payload = buffer[0], bytes(buffer[begin : begin + size])
        del buffer[: begin + size]
        return first, payload

    def _upgrade(self, host: str, path: str) -> None:
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        while b"\r\n\r\n" not in self._buffer:
            data = self._socket.recv(_READ_BYTES)
            if not data or len(self._buffer) > _MAX_HEAD_BYTES:
                raise ConnectionError("the server did not respond")
            self._buffer += data
        head, _, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        status = head.split(b" ", 2)[1:2]
        if status != [b"101"]:
            raise ConnectionRefusedError(head.partition(b"\r\n")[0].decode("latin-1"))
        self._buffer = bytearray(rest)


def close_socket(connection: socket.socket) -> None:
    """Close a connection, also if a forked child has a copy of its file descriptor."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()


def _apply(mask: bytes, payload: bytes) -> bytes:
    size = len(payload)
    key = (mask * (size // 4 + 1))[:size]
    return (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(size, "big")
