"""Requests as values that both clients can send."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any, Generic, TypeVar, cast
from urllib.parse import quote

from rayscope.errors import RayscopeError

T = TypeVar("T")
#: ns since the epoch, or a datetime. A datetime without a time zone is in this machine's time zone.
Time = int | datetime


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and what to return from its response. ``needs_operator``: send the operator token.

    ``body`` is sent as JSON, and ``content`` unchanged. ``pick`` extracts the result from the response.
    """

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    timeout_s: float | None = None
    needs_operator: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    pick: Callable[[Any], T] | None = None
    content: bytes | IO[bytes] | AsyncIterable[bytes] | None = None


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A paged list. ``shape`` names the TypedDict of its rows. ``limit`` is the maximum number of rows.

    ``of_session``: the list belongs to one session, which must stay the same for all pages.
    """

    path: str
    params: Mapping[str, Any]
    shape: str
    limit: int | None = None
    of_session: bool = True

    def row_type(self) -> type[T]:
        """Return the TypedDict of the rows.

        It is imported late, because its module is slow to load and rarely needed.
        """
        from rayscope.client import types

        return cast("type[T]", getattr(types, self.shape))


class SyncCaller(ABC):
    """Sends calls and waits for their responses."""

    @abstractmethod
    def ask(self, call: Call[T]) -> T:
        """Send a request. Raises RayscopeError."""


class AsyncCaller(ABC):
    """Like :class:`SyncCaller`, for asyncio."""

    @abstractmethod
    async def ask(self, call: Call[T]) -> T:
        """Send a request. Raises RayscopeError."""


def params(
    shape: type | None = None, filters: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Return the parameters of a request. None is left out, times become ns, and lists are joined by commas.

    Raises TypeError for filters that are not fields of ``shape``, because the server would ignore them.
    """
    unknown = set(filters or ()) - set(shape.__annotations__ if shape is not None else ())
    if unknown:
        known = ", ".join(shape.__annotations__ if shape is not None else ())
        raise TypeError(f"Unknown filter {min(unknown)!r}. Known filters: {known}.")
    query = {**(filters or {}), **more}
    return {name: _plain(value) for name, value in query.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return int(value.timestamp() * 1_000_000) * 1000
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str) and isinstance(value, Iterable):
        return ",".join(map(str, value))
    return value


def part(identity: str) -> str:
    """Return an ID as one segment of a path. Raises RayscopeError if the ID would change the path."""
    if not isinstance(identity, str) or identity.strip() in ("", ".", "..") or "/" in identity:
        raise RayscopeError(f"{identity!r} is not an ID.", "Copy one from a list.", "bad_request")
    return quote(identity, safe="")
