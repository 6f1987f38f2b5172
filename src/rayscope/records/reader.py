"""Reading the sessions on record: which there are, whether they live, and what is asked of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import duckdb

from rayscope.records.response_cache import ResponseCache
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_names import find_session
from rayscope.storage.sql import sessions as sql


class SessionReader:
    """Reads all sessions, and caches the answers.

    ``flush``: writes what has just arrived. ``is_live``: whether a session's cluster gave a sign of life just
    now.
    """

    def __init__(self, catalog: Catalog, flush: Callable[[], None], is_live: Callable[[str], bool]) -> None:
        self._catalog = catalog
        self.flush = flush
        self.is_live = is_live
        self._cache = ResponseCache()
        catalog.on_remove = self.forget

    def resolve(self, session: str | None) -> str:
        """The ID of a session, see :func:`find_session`; without a text the one heard from last.

        Raises NotFound, and BadQuery if several sessions match.
        """
        if session:
            return find_session(self._catalog, session)
        names = self._catalog.names()
        if not names:
            raise NotFound("Nothing is recorded yet.", "Record a script: rayscope run SCRIPT")
        return names[0]

    def live_here(self) -> list[str]:
        """The live sessions whose records are on this disk. What nobody opened here is not watched here."""
        return [
            name
            for name in self._catalog.names()
            if self.is_live(name) and self._catalog.path_of(name).exists()
        ]

    def last_ns(self, session: str) -> int:
        """Until when a running attempt has run: now while the session lives, else its last sign of life."""
        if self.is_live(session):
            return time.time_ns()
        about = self._catalog.about(session)
        return about.ended_ns or about.last_ns

    def dropped(self, session: str) -> dict[str, Any]:
        """What is missing from a session's record, and up to where it was read again from the GCS."""
        about = self._catalog.about(session)
        return {
            **self.read_cached(session, sql.dropped),
            "repaired_total": about.repaired_total,
            "repaired_ns": about.repaired_ns or None,
            "repaired_partly": about.repaired_partly,
        }

    def read(self, session: str, function: Callable[[SessionFile], Any], *, flush: bool = True) -> Any:
        """What ``function`` finds in a session's record.

        ``flush``: somebody waits for the answer, so what has just come is written first; without, the
        question is our own. Raises StoreError, also for what DuckDB says of a broken file.
        """
        if flush:
            self.flush()
        try:
            with self._catalog.reading(session) as file:
                return function(file)
        except duckdb.Error as error:
            raise StoreError(
                f"Could not read the record of {session}: {str(error).splitlines()[0][:300]}",
                "Try again. If it keeps failing, see the server's log.",
                "unreadable",
            ) from error

    def read_cached(
        self, session: str, function: Callable[[SessionFile], Any], *parameters: str, flush: bool = True
    ) -> Any:
        """The same for what many ask: see :class:`ResponseCache`.

        ``parameters``: what tells apart the questions that one ``function`` answers about a session.
        """
        return self.read_with_age(session, _question(function, parameters), function, flush=flush)[0]

    def read_with_age(
        self, session: str, question: str, function: Callable[[SessionFile], Any], *, flush: bool = True
    ) -> tuple[Any, float]:
        """The same for a question in words (a URL), with the answer's age (s)."""
        if flush:
            self.flush()
        stamp = None
        if not self.is_live(session):
            stamp = self.read(session, lambda file: file.written, flush=False)
        return self._cache.get(session, question, stamp, lambda: self.read(session, function, flush=False))

    def call_cached(self, session: str, make: Callable[[], Any]) -> Any:
        """The same for what is not read from the record: an answer of the live cluster."""
        return self._cache.get(session, _question(make, ()), None, make)[0]

    def forget(self, session: str) -> None:
        """Drop what is cached about a session: who asks next wants the end of it."""
        self._cache.forget(session)


def _question(function: Callable[..., Any], parameters: tuple[str, ...]) -> str:
    """What an answer is cached under: the function that makes it, so that no two can have the same."""
    line = function.__code__.co_firstlineno  # a function may hold several lambdas
    return " ".join((function.__module__, function.__qualname__, str(line), *parameters))
