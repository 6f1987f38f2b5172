"""The request bodies of batches while they arrive."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Request

from rayscope.api.provide import provide
from rayscope.api.responses import Json, error
from rayscope.storage.errors import no_memory

#: Size in bytes above which bodies are ingested one at a time. Typical bodies are 1 to 4 MB.
SMALL_BYTES = 8 << 20
#: Maximum number of smaller bodies that are ingested at once.
_AT_ONCE = 16
#: Maximum total size of the bodies that are being read or waiting, in bytes. The maximum size of a body is
#: added to this.
_MAX_BYTES = 256 << 20


def cut_off() -> Json[Any]:
    """Return the response to an incomplete body. The client is usually gone."""
    return error(400, "cut_off", "The body is incomplete.", "Send it again.")


class Busy(Exception):
    """The bodies that are arriving exceed the memory limit."""


class _Body:
    """A body that is still arriving."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.dropped = False


class Bodies:
    """All bodies currently in memory, up to a limit.

    Beyond the limit, the oldest unfinished body is dropped, because its sender is probably stalled.
    """

    def __init__(self, max_batch_bytes: int) -> None:
        self._limit = _MAX_BYTES + max_batch_bytes
        #: Limits how many bodies are ingested at once: after an outage, all agents of a cluster send
        #: megabytes at once.
        self.small = asyncio.Semaphore(_AT_ONCE)
        self.large = asyncio.Semaphore(1)
        self._size = 0
        self._unfinished: dict[_Body, None] = {}

    @contextlib.asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """Yield the complete body. It counts toward the limit until the end of the ``with`` block.

        Raises :class:`Busy`, or SpoolFull if there is not enough memory.
        """
        body = _Body()
        self._unfinished[body] = None
        try:
            async for chunk in request.stream():
                if not body.dropped:
                    body.chunks.append(chunk)
                    body.size += len(chunk)
                    self._size += len(chunk)
                    self._keep_limit()
                if body.dropped:
                    raise Busy
            if body.dropped:
                raise Busy
            del self._unfinished[body]
            try:
                whole = b"".join(body.chunks)
            except MemoryError as error:
                raise no_memory("A batch cannot be taken in") from error
            body.chunks = []
            yield whole
        finally:
            self._drop(body)

    def _keep_limit(self) -> None:
        while self._size > self._limit and self._unfinished:
            self._drop(next(iter(self._unfinished)))

    def _drop(self, body: _Body) -> None:
        self._unfinished.pop(body, None)
        self._size -= body.size
        body.chunks, body.size, body.dropped = [], 0, True


CurrentBodies = Annotated[Bodies, provide(Bodies)]
