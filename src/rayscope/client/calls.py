"""A request as a value, described once for both clients, and the descriptors that make methods of it."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload
from urllib.parse import quote

from rayscope.client.errors import RayscopeError

if TYPE_CHECKING:
    from rayscope.client.http import AsyncClient, Client
    from rayscope.client.rows import AsyncRows, Rows

P = ParamSpec("P")
T = TypeVar("T")
#: ns since the epoch, or a datetime (of this machine's zone, if it has none).
Time = int | datetime


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, and what is taken of its answer. ``acts``: it needs the operator's role."""

    method: str
    path: str
    params: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    timeout_s: float | None = None
    acts: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    pick: Callable[[Any], T] | None = None


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list that comes in pages. ``shape``: the TypedDict of its rows; ``limit``: at most so many rows.

    ``of_session``: the list is of one session, which stays the same for all pages.
    """

    path: str
    params: Mapping[str, Any]
    shape: type[T]
    limit: int | None = None
    of_session: bool = True


class asked(Generic[P, T]):
    """A method that answers: plainly in Client, awaited in AsyncClient."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._describe
        bound = self._describe.__get__(client)

        @functools.wraps(bound)
        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client.ask(bound(*args, **options))

        return method


class listed(Generic[P, T]):
    """A method that gives the rows of a list: Rows in Client, AsyncRows in AsyncClient."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Listing[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Listing[T]]: ...
    @overload
    def __get__(self, client: Client, owner: type) -> Callable[P, Rows[T]]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type) -> Callable[P, AsyncRows[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._describe
        bound = self._describe.__get__(client)

        @functools.wraps(bound)
        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client.rows(bound(*args, **options))

        return method


def params(
    shape: type | None = None, filters: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """Parameters of a request. None is left out, times become ns, several values are joined by commas.

    Raises TypeError for filters that are no fields of ``shape``: the server would ignore them.
    """
    unknown = set(filters or ()) - set(shape.__annotations__ if shape is not None else ())
    if unknown:
        known = ", ".join(shape.__annotations__ if shape is not None else ())
        raise TypeError(f"There is no filter {min(unknown)!r}. Filters: {known}.")
    given = {**(filters or {}), **more}
    return {name: _plain(value) for name, value in given.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return int(value.timestamp() * 1_000_000) * 1000
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str) and isinstance(value, Iterable):
        return ",".join(map(str, value))
    return value


def part(identity: str) -> str:
    """An id as one part of a path. Raises RayscopeError for what would lead elsewhere."""
    if not isinstance(identity, str) or identity.strip() in ("", ".", "..") or "/" in identity:
        raise RayscopeError("bad_request", f"{identity!r} is no id.", "Take it from one of the lists.")
    return quote(identity, safe="")
