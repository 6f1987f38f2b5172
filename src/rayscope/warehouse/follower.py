"""Learns from a warehouse what other servers record: which sessions there are, and what came to them."""

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

#: How long a merge of what others told may take; then it is read again.
_FLUSH_S = 30.0
#: Batches of at most 65,000 rows that may wait for it.
_BATCHES = 4
#: How soon what fails for one session is tried again.
_AGAIN_S = 60.0
#: How often all sessions are listed, also those of which nothing new was told: some may be gone.
_LIST_ALL_S = 300.0
_LIST_AFTER_DELETION_S = 60.0
#: How long one that is deleted is not listed.
_UNLISTED_S = 10.0
_SESSIONS = (
    "SELECT session, told_ns, told_by, account.complete_ns, last_ns, account.about, "
    "label.set_ns, label.name, label.note, label.tags "
    "FROM (SELECT session, told_ns, told_by, account, last_ns, label FROM raw_sessions FINAL) "
    "WHERE told_ns > {since_ns:Int64}"
)


class Merger(Protocol):
    """Who writes the records, see :class:`rayscope.ingest.writer.Writer`."""

    def submit_told(self, batch: RecordBatch, tables: Tables) -> None:
        """Take what another server told."""

    def flush(self, timeout_s: float) -> bool:
        """Write all that was submitted. Returns whether that was done in time."""

    def end_session(self, session: str, end_ns: int | None) -> None:
        """A session has ended, or (None) lives after all."""


class Follower:
    """Keeps the list of sessions, and the records on this disk, in step with what others tell.

    ``watermark_ns()``: all that any server told up to then is stored.
    """

    def __init__(self, sessions: Sessions, writer: Merger, *, watermark_ns: Callable[[], int]) -> None:
        self._sessions = sessions
        self._catalog = sessions.catalog
        self._writer = writer
        self._watermark_ns = watermark_ns
        #: Up to when the sessions of the warehouse were listed, and when all are listed again (monotonic s).
        self._listed_ns, self._next_listing = 0, 0.0
        self._not_listed_before: dict[str, float] = {}
        #: Until when all are listed each time (monotonic s).
        self._all_until = 0.0
        #: Session -> when it may be followed again (monotonic s).
        self._not_before: dict[str, float] = {}

    def begin(self) -> None:
        """The warehouse can be used again: what it lists may be another."""
        self._next_listing = 0.0

    def forget(self, session: str) -> None:
        """Forget what the warehouse had of a session that is deleted.

        The others may have told something of it meanwhile, and are about to delete that: it is not listed at
        first.
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
        """Learn what the warehouse has of sessions, and list those that are not here. Raises StoreError."""
        known_of = self._sessions.known
        until_ns = self._watermark_ns()
        now = time.monotonic()
        is_all = now >= self._next_listing or now < self._all_until
        found = warehouse.rows(_SESSIONS, {"since_ns": 0 if is_all else self._listed_ns})
        if is_all:
            self._next_listing = now + _LIST_ALL_S
            for session in known_of.keys() - {session for session, *_ in found}:
                self._forget(session)
                self._catalog.forget(session)
        for session, told_ns, told_by, complete_ns, last_ns, content, set_ns, name, note, tags in found:
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
            known = Known(told_ns, frozenset(told_by), complete_ns, last_ns or 0, about, label)
            if known_of.get(session) != known:
                known_of[session] = known
                try:
                    self._note(session, known)
                except (StoreError, OSError) as error:
                    del known_of[session]  # and again, once all are listed
                    log.warning("session %s could not be listed: %s", session, error)
        self._listed_ns = until_ns

    def _note(self, session: str, known: Known) -> None:
        """Let the list of sessions know what others told."""
        about = self._sessions.about(session)
        if not self._sessions.is_told_by_others(session):
            if about is not None:
                self._catalog.set_label(session, known.label)
            return
        if about is not None and (self._sessions.is_here(session) or about.heard_ns):
            about.last_ns = max(about.last_ns, min(known.last_ns, time.time_ns()))
            self._learn_end(about, known)
            self._catalog.set_label(session, known.label)
            return
        told = known.about
        last_ns = min(max(told.last_ns, known.last_ns), time.time_ns())
        # Its address is the other server's to ask.
        made = msgspec.structs.replace(
            told,
            gcs_address=None,
            last_ns=last_ns,
            label=Label(),
            **dict.fromkeys(("heard_ns", "told_ns", "followed_ns"), 0),
            has_untold=False,
        )
        folder = self._catalog.folder / session
        folder.mkdir(parents=True, exist_ok=True)
        write_about(folder, made, sync=False)
        self._catalog.load(session)
        self._catalog.set_label(session, known.label)

    def _learn_end(self, about: About, known: Known) -> None:
        """Take over from others that a session has ended, unless it is heard here, or that it lives."""
        session, ended_ns = about.session, known.about.ended_ns
        if session in self._sessions.polled():
            return
        if ended_ns is not None and about.ended_ns is None and about.heard_ns < ended_ns + STRAGGLERS_NS:
            self._writer.end_session(session, ended_ns)
        elif ended_ns is None and known.last_ns > (about.ended_ns or known.last_ns) + STRAGGLERS_NS:
            self._writer.end_session(session, None)

    def follow(self, warehouse: Warehouse, is_stopping: Callable[[], bool]) -> None:
        """Merge what others told of the sessions that are on this disk. Raises StoreError."""
        until_ns = self._watermark_ns()
        for session, known in list(self._sessions.known.items()):
            if is_stopping():
                return
            about = self._sessions.about(session)
            if about is None or not self._sessions.is_here(session):
                continue
            # A record that begins anew lacks also what was told from here.
            is_new = not about.followed_ns
            is_told = is_new or self._sessions.is_told_by_others(session)
            if about.followed_ns >= known.told_ns or not is_told:
                continue
            if time.monotonic() < self._not_before.get(session, 0.0):
                continue
            server = "" if is_new else self._sessions.server
            if not self._merge_news(warehouse, session, about.followed_ns, server):
                self._not_before[session] = time.monotonic() + _AGAIN_S
                return
            about.followed_ns = until_ns
            self._catalog.save_about(session)

    def _merge_news(self, warehouse: Warehouse, session: str, since_ns: int, server: str) -> bool:
        """Returns whether all of it is on record; else it is read again."""
        waiting = 0
        for batch, tables in read_news(warehouse, session, since_ns, server):
            self._writer.submit_told(batch, tables)
            waiting += 1
            if waiting == _BATCHES:  # they wait in memory
                if not self._writer.flush(_FLUSH_S):
                    return False
                waiting = 0
        return not waiting or self._writer.flush(_FLUSH_S)
