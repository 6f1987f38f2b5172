"""Interrupts queries once no request waits for their result any more."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import duckdb


class Abandoned(Exception):
    """No request waits for the result any more."""


class Work:
    """The work for one request, with its running queries."""

    def __init__(self) -> None:
        self.abandoned = False
        self._cursors: set[duckdb.DuckDBPyConnection] = set()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    def abandon(self) -> None:
        """Interrupt the running queries. Later ones raise :class:`Abandoned`."""
        with self._lock:
            if self.abandoned:
                return
            self.abandoned = True
            for cursor in self._cursors:
                cursor.interrupt()
        for callback in self._callbacks:
            callback()

    def when_abandoned(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the work is abandoned, or immediately if it already is."""
        with self._lock:
            if not self.abandoned:
                self._callbacks.append(callback)
                return
        callback()

    def check(self) -> None:
        """Raise :class:`Abandoned` if the work was abandoned."""
        if self.abandoned:
            raise Abandoned

    @contextmanager
    def querying(self, cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Let :meth:`abandon` interrupt ``cursor`` inside the context."""
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
    """The work of this thread or coroutine, or None if it cannot be abandoned."""
    return _current.get()


@contextmanager
def working(work: Work) -> Iterator[None]:
    """Make ``work`` the current one inside the context."""
    token = _current.set(work)
    try:
        yield
    finally:
        _current.reset(token)
