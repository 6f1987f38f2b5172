"""Ends a query once nobody waits for its answer any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import duckdb


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Work:
    """What is done to answer a question, and the queries that it runs just now."""

    def __init__(self) -> None:
        self.abandoned = False
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def abandon(self) -> None:
        """Interrupt its queries; those that it begins later raise :class:`Abandoned`."""
        with self._lock:
            if self.abandoned:
                return
            self.abandoned = True
            for cursor in self._cursors:
                cursor.interrupt()
        for callback in self._callbacks:
            callback()

    def when_abandoned(self, callback: Callable[[], None]) -> None:
        """Call back when it is abandoned, or at once if it was."""
        with self._lock:
            if not self.abandoned:
                self._callbacks.append(callback)
                return
        callback()

    def check(self) -> None:
        """Raise :class:`Abandoned` if it is."""
        if self.abandoned:
            raise Abandoned

    @contextmanager
    def querying(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Let ``cursor`` be interrupted while the context lasts."""
        with self._lock:
            self.check()
            self._cursors.add(cursor)
        try:
            yield
        except duckdb.InterruptException as error:
            if self.abandoned:
                raise Abandoned from error
            raise
        finally:
            with self._lock:
                self._cursors.discard(cursor)


_current: ContextVar[Work | None] = ContextVar("work", default=None)


def current_work() -> Work | None:
    """What this thread or coroutine works on, if anybody can give it up."""
    return _current.get()


@contextmanager
def working(work: Work) -> Iterator[None]:
    """Make ``work`` the current one while the context lasts."""
    token = _current.set(work)
    try:
        yield
    finally:
        _current.reset(token)
