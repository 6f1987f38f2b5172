"""HTTP/1.1 as uvicorn speaks it, with the limits for a request's head that uvicorn lacks."""

from __future__ import annotations

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_TIMEOUT_S = 10.0
_MAX_HEAD_BYTES = 64 << 10


def max_connections() -> int:
    """How many connections may be open: half of what may be open at all.

    The rest is for files: DuckDB ends the process when it cannot open one.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else max(16, limit // 2)


class HttpProtocol(HttpToolsProtocol):
    """One connection. It is closed if a head takes too long or is too large, or if there are too many."""

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
