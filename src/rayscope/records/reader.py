"""Reads recorded sessions: lists them, checks whether they are live, and queries them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

import duckdb

from rayscope.records import schemas
from rayscope.records.response_cache import ResponseCache
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_names import find_session
from rayscope.storage.sql import sessions as sql

T = TypeVar("T")


class SessionReader:
    """Reads all sessions, and caches the results.

    ``flush`` writes data that has just arrived. ``is_live`` returns whether a session's cluster recently gave
    a sign of life.
    """

    def __init__(self, catalog: Catalog, flush: Callable[[], None], is_live: Callable[[str], bool]) -> None:
        self._catalog = catalog
        self.flush = flush
        self.is_live = is_live
        self._cache = ResponseCache()
        catalog.on_remove.append(self.forget)

    def resolve(self, session: str | None) -> str:
        """Return the ID of a session (see :func:`find_session`), or of the most recent one.

        Raises NotFound if no session matches, and BadQuery if several do.
        """
        if session:
            return find_session(self._catalog, session)
        names = self._catalog.names()
        if not names:
            raise NotFound("Nothing is recorded yet.", "Record a script: rayscope run SCRIPT", what="record")
        return names[0]

    def live_here(self) -> list[str]:
        """Return the live sessions whose records are on this disk. This server does not watch any others."""
        return [
            name
            for name in self._catalog.names()
            if self.is_live(name) and self._catalog.path_of(name).exists()
        ]

    def last_ns(self, session: str) -> int:
        """Return the time (ns) until which running attempts count: now for a live session, else its end or
        last data.
        """
        if self.is_live(session):
            return time.time_ns()
        about = self._catalog.about(session)
        return about.ended_ns or about.last_ns

    def dropped(self, session: str) -> schemas.Dropped:
        """Return what is missing from a session's record, and what was recovered from the GCS."""
        about = self._catalog.about(session)
        return {
            **self.read_cached(session, "dropped", sql.dropped),
            "repaired_total": about.repaired_total,
            "repaired_ns": about.repaired_ns or None,
            "repaired_partly": about.repaired_partly,
        }

    def read(self, session: str, function: Callable[[SessionFile], T], *, flush: bool = True) -> T:
        """Return the result of ``function`` on a session's record.

        With ``flush``, data that has just arrived is written first, because a user waits for the result.
        Internal reads do not need this. Raises the errors of :meth:`reading`.
        """
        if flush:
            self.flush()
        with self.reading(session) as file:
            return function(file)

    @contextlib.contextmanager
    def reading(self, session: str) -> Iterator[SessionFile]:
        """Open a session's record for one query. Raises StoreError, also if DuckDB reports a broken file."""
        try:
            with self._catalog.reading(session) as file:
                yield file
        except duckdb.Error as error:
            raise StoreError(
                f"Could not read the record of {session}: {str(error).splitlines()[0][:300]}",
                "Try again. If it keeps failing, see the server's log.",
                "unreadable",
                what="record",
                session=session,
                reason=str(error).splitlines()[0][:300],
            ) from error

    def read_cached(
        self, session: str, key: str, function: Callable[[SessionFile], T], *, flush: bool = True
    ) -> T:
        """Return the result of :meth:`read`, shared with other requests; see :class:`ResponseCache`.

        ``key`` identifies the result within the session. It must contain everything that the result
        depends on.
        """
        return self.read_with_age(session, key, function, flush=flush)[0]

    def read_with_age(
        self, session: str, key: str, function: Callable[[SessionFile], T], *, flush: bool = True
    ) -> tuple[T, float]:
        """Like :meth:`read_cached`, but also return the result's age in seconds."""
        if flush:
            self.flush()
        stamp = None
        if not self.is_live(session):
            stamp = self.read(session, lambda file: file.written, flush=False)
        return self._cache.get(session, key, stamp, lambda: self.read(session, function, flush=False))

    def call_cached(self, session: str, key: str, make: Callable[[], T]) -> T:
        """Return the shared result of a call that does not read the record, such as a call to the live
        cluster.
        """
        return self._cache.get(session, key, None, make)[0]

    def forget(self, session: str) -> None:
        """Drop the cached results of a session, so that the next request sees its end."""
        self._cache.forget(session)

    def drop_unused(self) -> None:
        """Drop cached results that were not used for a while."""
        self._cache.drop_unused()
