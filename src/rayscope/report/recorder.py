"""Asks the server's own API, and keeps the answers for a report."""

from __future__ import annotations

import asyncio
import time
import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import msgspec

from rayscope.errors import RayscopeError

#: Returns the status and the body of the answer to a GET request.
Ask = Callable[[str, Mapping[str, str]], Awaitable[tuple[int, bytes]]]
#: A request that the server is too busy for is sent so often, with this pause in seconds.
_ATTEMPTS = 5
_PAUSE_S = 1.0
_BUSY = 503


class Extent(msgspec.Struct):
    """How much of something a report contains."""

    what: str
    shown: int
    total: int


class Recorder:
    """Keeps answers of up to ``max_bytes`` after compression, and sends requests for ``max_s`` seconds."""

    def __init__(self, ask: Ask, max_bytes: int, max_s: float) -> None:
        self._ask = ask
        self._left_bytes = max_bytes
        self._until_s = time.monotonic() + max_s
        self._asked = 0
        #: Path below /api/v1, query, status, and body of each answer, as web/src/base/report.ts reads them.
        self.answers: list[tuple[str, list[tuple[str, str]], int, msgspec.Raw]] = []
        self._parts: dict[str, Extent] = {}

    async def need(self, path: str, **params: Any) -> Any:
        """Return the answer to a request that the report cannot do without.

        Raises the server's error as RayscopeError.
        """
        status, body = await self._answer(path, _query(params))
        answer = msgspec.json.decode(body)
        if status != 200:
            error = answer["error"]
            problem = RayscopeError(error["message"], error["remedy"], error["code"], status=status)
            raise problem.with_params(error.get("params") or {})
        return answer

    async def add(self, path: str, *, shorten: Callable[[Any], Any] | None = None, **params: Any) -> Any:
        """Return the answer to a request and keep it, or what ``shorten`` makes of it.

        Returns None if there is no time or room left, or if the server refuses. Its reason is kept, unless it
        is busy.
        """
        query = _query(params)
        self._asked += 1
        if time.monotonic() > self._until_s:
            return None
        status, body = await self._answer(path, query)
        if status == 200 and shorten is not None:
            body = msgspec.json.encode(shorten(msgspec.json.decode(body)))
        if status == _BUSY or not await self._keep(path, query, status, body) or status != 200:
            return None
        return msgspec.json.decode(body)

    async def put(self, path: str, answer: Any, **params: Any) -> None:
        """Keep a changed answer to a request."""
        self._asked += 1
        await self._keep(path, _query(params), 200, msgspec.json.encode(answer))

    async def _keep(self, path: str, query: Mapping[str, str], status: int, body: bytes) -> bool:
        """Keep an answer, and return whether there was room for it."""
        size = len(await asyncio.to_thread(zlib.compress, body, 1))
        if size > self._left_bytes:
            return False
        self._left_bytes -= size
        self.answers.append((path, sorted(query.items()), status, msgspec.Raw(body)))
        return True

    async def _answer(self, path: str, query: Mapping[str, str]) -> tuple[int, bytes]:
        for attempt in range(_ATTEMPTS):
            if attempt:
                await asyncio.sleep(_PAUSE_S)
            status, body = await self._ask(path, query)
            if status != _BUSY or time.monotonic() > self._until_s:
                break
        return status, body

    def count(self, what: str, shown: int, total: int) -> None:
        """Remember that the report contains ``shown`` of ``total``, unless these are all."""
        if shown < total:
            self._parts[what] = Extent(what, shown, total)

    @property
    def parts(self) -> list[Extent]:
        """The lists and views of which the report contains only a part."""
        self.count("answers", len(self.answers), self._asked)
        return list(self._parts.values())


def _query(params: Mapping[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in params.items() if value is not None}
