"""The messages of the debug adapter protocol, which debugpy and editors speak."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

_HEAD = b"content-length:"
_MAX_HEAD_BYTES = 4096
#: Larger messages are skipped, such as variables with very long values. In bytes.
MAX_MESSAGE_BYTES = 8 << 20

Message = dict[str, Any]
_decode = msgspec.json.Decoder(Message).decode


class ProtocolError(ValueError):
    """A peer sent something other than messages of the protocol."""


def encode(message: Message) -> bytes:
    """A message as it is sent."""
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


class MessageReader:
    """Splits a stream into messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._size: int | None = None
        self._skipped = 0

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that ``data`` completes. Raises ProtocolError."""
        self._buffer += data
        while True:
            if self._skipped:
                size = min(self._skipped, len(self._buffer))
                del self._buffer[:size]
                self._skipped -= size
                if self._skipped:
                    return
            if self._size is None:
                head, found, _ = self._buffer.partition(b"\r\n\r\n")
                if not found:
                    if len(self._buffer) > _MAX_HEAD_BYTES:
                        raise ProtocolError("a message has no length")
                    return
                self._size = _length(bytes(head))
                del self._buffer[: len(head) + 4]
            if self._size > MAX_MESSAGE_BYTES:
                self._skipped, self._size = self._size, None
                continue
            if len(self._buffer) < self._size:
                return
            body = bytes(self._buffer[: self._size])
            del self._buffer[: self._size]
            self._size = None
            try:
                yield _decode(body)
            except msgspec.DecodeError as error:
                raise ProtocolError(str(error)) from error


def _length(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        if line.lower().startswith(_HEAD):
            text = line[len(_HEAD) :].strip()
            if text.isdigit() and len(text) < 12:
                return int(text)
    raise ProtocolError("a message has no valid length")
