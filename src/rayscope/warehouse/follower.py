"""Reads from a warehouse what other servers record: their sessions, and new data about each session."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Protocol

import msgspec

from rayscope.model import RecordBatch
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.storage.about import About, Label, decode_about, write_about
from rayscope.storage.catalog import SESSION_NAME, STRAGGLERS_NS
from rayscope.storage.errors import StoreError
from rayscope.storage.rows import Tables
from rayscope.warehouse.client import Warehouse
from rayscope.warehouse.news import read_news
from rayscope.warehouse.sessions import Known, Sessions

log = logging.getLogger("rayscope.server")

#: Time limit for merging other servers' data, in seconds. After that, the data is read again.
_FLUSH_S = 30.0
#: Maximum number of batches held in memory. Each has at most 65,000 rows.
_BATCHES = 4
#: Pause before a failed session is retried, in seconds.
_RETRY_S = 60.0
#: Interval at which all sessions are listed, not only changed ones, to notice deleted sessions, in seconds.
_LIST_ALL_S = 300.0
#: For how long after a deletion every listing covers all sessions, in seconds.
_LIST_AFTER_DELETION_S = 60.0
#: How long a deleted session is ignored, in seconds.
_UNLISTED_S = 10.0
_SESSIONS = (
    "SELECT session, told_ns, told_by, account.complete_ns, last_ns, account.about, "
    "label.set_ns, label.name, label.note, label.tags "
    "FROM (SELECT session, told_ns, told_by, account, last_ns, label FROM raw_sessions FINAL) "
    "WHERE told_ns > {since_ns:Int64}"
)


class Merger(Protocol):
    """Writes the records, see :class:`rayscope.ingest.writer.Writer`."""

    def submit_from_peer(self, batch: RecordBatch, tables: Tables) -> None:
        """Accept data published by another server."""

    def flush(self, timeout_s: float) -> bool:
        """Write everything submitted so far. Returns whether that finished in time."""

    def end_session(self, session: str, end_ns: int | None) -> None:
        """Mark a session as ended, or as alive if ``end_ns`` is None."""


class Follower:
    """Keeps the list of sessions, and the records on this disk, up to date with what others publish.

    ``watermark_ns`` returns the time up to which everything published by any server is stored.
    """

    def __init__(self, sessions: Sessions, writer: Merger, *, watermark_ns: Callable[[], int]) -> None:
        self._sessions = sessions
        self._catalog = sessions.catalog
        self._writer = writer
        self._watermark_ns = watermark_ns
        #: Time up to which sessions were listed (ns), and when all are listed again (monotonic, s).
        self._listed_ns, self._next_listing = 0, 0.0
        self._not_listed_before: dict[str, float] = {}
        #: Until when every listing covers all sessions (monotonic, s).
        self._all_until = 0.0
        #: Session -> when it may be followed again (monotonic, s).
        self._not_before: dict[str, float] = {}

    def begin(self) -> None:
        """Start over: after a reconnect, the warehouse may list other sessions."""
        self._next_listing = 0.0

    def forget(self, session: str) -> None:
        """Forget a deleted session.

        It is not listed for a while, because other servers may have published data of it that they are about
        to delete.
        """
        self._forget(session)
        self._catalog.forget(session)
        now = time.monotonic()
        self._not_listed_before = {
            name: until for name, until in self._not_listed_before.items() if until > now
        }
        self._not_listed_before[session] = now + _UNLISTED_S
        self._all_until = now + _LIST_AFTER_DELETION_S

    def _forget(self, session: str) -> None:
        for of_session in (self._sessions.known, self._not_before):
            of_session.pop(session, None)

    def list(self, warehouse: Warehouse) -> None:
        """Read the list of the warehouse's sessions, and add those missing here. Raises StoreError."""
        known_of = self._sessions.known
        until_ns = self._watermark_ns()
        now = time.monotonic()
        is_all = now >= self._next_listing or now < self._all_until
        rows = warehouse.rows(_SESSIONS, {"since_ns": 0 if is_all else self._listed_ns})
        if is_all:
            self._next_listing = now + _LIST_ALL_S
            for session in known_of.keys() - {session for session, *_ in rows}:
                self._forget(session)
                self._catalog.forget(session)
        for (
            session,
            published_ns,
            publishers,
            complete_ns,
            last_ns,
            content,
            set_ns,
            name,
            note,
            tags,
        ) in rows:
            if not SESSION_NAME.fullmatch(session) or session in self._sessions.deleted:
                continue
            if now < self._not_listed_before.get(session, 0.0):
                continue
            try:
                about = decode_about(content)
            except DECODE_ERRORS:
                about = About(session)
            about.session = session
            label = Label(set_ns, name, note, tuple(tags))
            known = Known(published_ns, frozenset(publishers), complete_ns, last_ns or 0, about, label)
            if known_of.get(session) != known:
                known_of[session] = known
                try:
                    self._note(session, known)
                except (StoreError, OSError) as error:
                    del known_of[session]  # retry when all are listed again
                    log.warning("session %s could not be listed: %s", session, error)
        self._listed_ns = until_ns

    def _note(self, session: str, known: Known) -> None:
        """Add what other servers published about a session to the session list."""
        about = self._sessions.about(session)
        if not self._sessions.is_published_by_others(session):
            if about is not None:
                self._catalog.set_label(session, known.label)
            return
        if about is not None and (self._sessions.is_here(session) or about.heard_ns):
            about.last_ns = max(about.last_ns, min(known.last_ns, time.time_ns()))
            self._learn_end(about, known)
            self._catalog.set_label(session, known.label)
            return
        remote = known.about
        last_ns = min(max(remote.last_ns, known.last_ns), time.time_ns())
        # Leave out the cluster's address, because the other server polls the cluster.
        copy = msgspec.structs.replace(
            remote,
            gcs_address=None,
            last_ns=last_ns,
            label=Label(),
            **dict.fromkeys(("heard_ns", "published_ns", "followed_ns"), 0),
            has_unpublished=False,
        )
        folder = self._catalog.folder / session
        folder.mkdir(parents=True, exist_ok=True)
        write_about(folder, copy, sync=False)
        self._catalog.load(session)
        self._catalog.set_label(session, known.label)

    def _learn_end(self, about: About, known: Known) -> None:
        """Mark a session as ended or alive if others noticed that, unless this server polls it itself."""
        session, ended_ns = about.session, known.about.ended_ns
        if session in self._sessions.polled():
            return
        if ended_ns is not None and about.ended_ns is None and about.heard_ns < ended_ns + STRAGGLERS_NS:
            self._writer.end_session(session, ended_ns)
        elif ended_ns is None and known.last_ns > (about.ended_ns or known.last_ns) + STRAGGLERS_NS:
            self._writer.end_session(session, None)

    def follow(self, warehouse: Warehouse, is_stopping: Callable[[], bool]) -> None:
        """Merge data published by others into the records on this disk. Raises StoreError."""
        until_ns = self._watermark_ns()
        for session, known in list(self._sessions.known.items()):
            if is_stopping():
                return
            about = self._sessions.about(session)
            if about is None or not self._sessions.is_here(session):
                continue
            # A new record also lacks what this server itself published.
            is_new = not about.followed_ns
            is_wanted = is_new or self._sessions.is_published_by_others(session)
            if about.followed_ns >= known.published_ns or not is_wanted:
                continue
            if time.monotonic() < self._not_before.get(session, 0.0):
                continue
            server = "" if is_new else self._sessions.server
            if not self._merge_news(warehouse, session, about.followed_ns, server):
                self._not_before[session] = time.monotonic() + _RETRY_S
                return
            about.followed_ns = until_ns
            self._catalog.save_about(session)

    def _merge_news(self, warehouse: Warehouse, session: str, since_ns: int, server: str) -> bool:
        """Merge what others published. Returns whether all was written. Otherwise it must be read again."""
        waiting = 0
        for batch, tables in read_news(warehouse, session, since_ns, server):
            self._writer.submit_from_peer(batch, tables)
            waiting += 1
            if waiting == _BATCHES:  # limit the memory that the batches use
                if not self._writer.flush(_FLUSH_S):
                    return False
                waiting = 0
        return not waiting or self._writer.flush(_FLUSH_S)
