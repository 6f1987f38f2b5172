"""HTTP/1.1 and WebSocket protocols of uvicorn, with limits of time and size that uvicorn lacks."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

HEAD_TIMEOUT_S = 10.0
#: A connection is cut after its client has read nothing for this long, in seconds. WebSocket pings alone are
#: not enough: a WebSocket that does not answer one is closed with a reason, which can only be sent after all
#: data that is still unsent.
STALLED_S = 60.0
_MAX_HEAD_BYTES = 64 << 10


def max_connections() -> int:
    """Return the maximum number of connections: half of the file descriptors.

    The other half is for files, because DuckDB ends the process if it cannot open a file.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else max(16, limit // 2)


class _StallLimit(asyncio.Protocol):
    """Cuts a connection whose client reads nothing, and pauses writing while there is unsent data."""

    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    _stall_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.set_write_buffer_limits(high=0)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._await_progress()

    def resume_writing(self) -> None:
        self._stop_waiting()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_progress(self) -> None:
        unsent = self.transport.get_write_buffer_size()

        def check() -> None:
            if self.transport.get_write_buffer_size() < unsent:
                self._await_progress()
            else:
                self.transport.abort()

        self._stall_timer = self.loop.call_later(STALLED_S, check)

    def _stop_waiting(self) -> None:
        if self._stall_timer is not None:
            self._stall_timer.cancel()
            self._stall_timer = None


class WebSocketProtocol(_StallLimit, WebSocketsSansIOProtocol):
    """A WebSocket connection."""


class HttpProtocol(_StallLimit, HttpToolsProtocol):
    """An HTTP connection. It is closed if its head is slow or large, or if there are too many connections."""

    _timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()
        if len(self.connections) > max_connections():
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._timer is not None:
            self._head_bytes += len(data)
            if self._head_bytes > _MAX_HEAD_BYTES:
                self.transport.close()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> Any:
        self._head_is_here()
        return super().on_headers_complete()

    def _await_head(self) -> None:
        if self._timer is None:
            self._head_bytes = 0
            self._timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.close)

    def _head_is_here(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
