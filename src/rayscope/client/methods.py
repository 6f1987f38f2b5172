"""Descriptors that turn the described requests into methods of both clients, synchronous and asynchronous."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from rayscope.client.calls import AsyncCaller, Call, Listing, SyncCaller
from rayscope.client.rows import AsyncRows, Rows

P = ParamSpec("P")
T = TypeVar("T")


class request(Generic[P, T]):
    """A method that returns a response: directly in Client, and as an awaitable in AsyncClient."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Call[T]]: ...
    @overload
    def __get__(self, client: SyncCaller, owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AsyncCaller, owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._describe
        bound = self._describe.__get__(client)

        @functools.wraps(bound)
        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client.ask(bound(*args, **options))

        return method


class paged(Generic[P, T]):
    """A method that returns the rows of a list, as Rows in Client and as AsyncRows in AsyncClient."""

    def __init__(self, describe: Callable[Concatenate[Any, P], Listing[T]]) -> None:
        self._describe = describe
        self.__doc__ = describe.__doc__

    @overload
    def __get__(self, client: None, owner: type) -> Callable[Concatenate[Any, P], Listing[T]]: ...
    @overload
    def __get__(self, client: SyncCaller, owner: type) -> Callable[P, Rows[T]]: ...
    @overload
    def __get__(self, client: AsyncCaller, owner: type) -> Callable[P, AsyncRows[T]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self._describe
        bound = self._describe.__get__(client)

        @functools.wraps(bound)
        def method(*args: P.args, **options: P.kwargs) -> Any:
            return client.rows(bound(*args, **options))

        return method
