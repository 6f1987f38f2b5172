"""The bodies of batches while they come."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Request
from fastapi.responses import Response

from rayscope.api.parameters import error
from rayscope.api.provide import provide
from rayscope.storage.errors import no_memory

#: Larger bodies are taken in one at a time, bytes. Real ones have 1 to 4 MB.
SMALL_BYTES = 8 << 20
#: How many other bodies are taken in at a time.
_AT_ONCE = 16
#: Bodies that are read or wait to be taken in may have so many bytes together, besides one of the largest.
_MAX_BYTES = 256 << 20


def cut_off() -> Response:
    """The answer to an incomplete body, which nobody reads."""
    return error(400, "cut_off", "The body is incomplete.", "Send it again.")


class Busy(Exception):
    """More bodies come at once than memory holds."""


class _Body:
    """A body as far as it has come."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.dropped = False


class Bodies:
    """All bodies that are held now, at most ``limit`` bytes together.

    Beyond that the unfinished one that began first is dropped: it is the one whose sender stalls.
    """

    def __init__(self, max_batch_bytes: int) -> None:
        self._limit = _MAX_BYTES + max_batch_bytes
        #: After an outage all agents of a cluster come at once, each with megabytes.
        self.small = asyncio.Semaphore(_AT_ONCE)
        self.large = asyncio.Semaphore(1)
        self._size = 0
        self._unfinished: dict[_Body, None] = {}

    @contextlib.asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytes]:
        """The whole body; its memory counts until the end of the block.

        Raises :class:`Busy`, and SpoolFull if there is no memory for it.
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
