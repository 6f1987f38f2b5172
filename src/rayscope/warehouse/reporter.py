"""Tells a warehouse what a server records: as it comes, and as a whole once a session has ended.

As a whole is also told of which something could not be told, or was not because the server was killed.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec

from rayscope.model import RecordBatch
from rayscope.storage.about import About
from rayscope.storage.errors import StoreError
from rayscope.storage.rows import Tables
from rayscope.warehouse.changes import Change, Changes
from rayscope.warehouse.client import OF_ALL, Warehouse
from rayscope.warehouse.load import cluster_name, label_row, load, session_row
from rayscope.warehouse.servers import Teller
from rayscope.warehouse.sessions import Sessions

log = logging.getLogger("rayscope.server")

#: A session is told as a whole once nothing has come for so long.
_QUIET_NS = 60 * 10**9
#: How long it may take to write what has come.
_FLUSH_S = 30.0
#: How often a session is told as a whole at most.
_AGAIN_S = 60.0
#: How often the others are told of a quiet session that it lives.
_SAY_AGAIN_S = 10.0


class Reporter:
    """What is to be told. :meth:`note` is for the writer's thread, all else for one thread of its own.

    ``flush(timeout_s)`` writes all that was submitted, and says whether that was done in time.
    ``watermark_ns()``: all that any server told up to then is stored. ``work``: a folder for copies.
    """

    def __init__(
        self,
        sessions: Sessions,
        teller: Teller,
        *,
        flush: Callable[[float], bool],
        watermark_ns: Callable[[], int],
        work: Path,
    ) -> None:
        self._sessions = sessions
        self._catalog = sessions.catalog
        self._teller = teller
        self._flush = flush
        self._watermark_ns = watermark_ns
        self._work = work
        self._changes = Changes()
        #: Session -> the gist of it when it was told last, and when that was (monotonic s).
        self._gists: dict[str, tuple[object, float]] = {}
        #: Session -> entity -> what was told of it last: clusters say the same again and again.
        self._entities: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        #: Session -> when it may be told as a whole again (monotonic s).
        self._not_before: dict[str, float] = {}
        self._is_caught_up = False

    @property
    def waiting(self) -> int:
        """Rows that wait to be told."""
        return self._changes.waiting

    def note(self, about: About, batch: RecordBatch, tables: Tables) -> None:
        """Something was merged that came to this server."""
        if self._changes.note(about, batch, tables):
            # Before the batch leaves the spool: what a killed server has not told, it tells when it is back.
            self._catalog.save_about(about.session)

    def forget(self, session: str) -> None:
        """Forget what was told of a session that is deleted. What came later is told as a whole."""
        self._changes.tell_whole(session)
        for of_session in (self._gists, self._entities, self._not_before):
            of_session.pop(session, None)

    def tell(self, warehouse: Warehouse) -> None:
        """Tell what has come, and what became of sessions. What cannot be told is told as a whole, later.

        Raises StoreError.
        """
        taken = self._changes.take()
        try:
            for session in list(taken):
                self._tell_change(warehouse, session, taken[session])
                del taken[session]
        finally:
            for session in taken:
                self._changes.tell_whole(session)
        self._tell_gists(warehouse)

    def _tell_change(self, warehouse: Warehouse, session: str, change: Change) -> None:
        about = self._sessions.about(session)
        if about is None:
            return
        known, fresh = self._entities[session], []
        for entity in change.entities:
            content = hash(
                msgspec.json.encode([entity.fields, list(entity.transitions.items()), entity.observed])
            )
            if known.get((entity.kind, entity.id)) != content:
                known[entity.kind, entity.id] = content
                fresh.append(entity)
        change.entities = fresh
        is_news = False
        try:
            for table, rows in change.rows(session, cluster_name(about)):
                self._teller.insert(warehouse, table, rows)
                is_news = True
        except BaseException:
            known.clear()
            raise
        if is_news:
            self._tell_gist(warehouse, about)
        self._changes.set_told(about)

    def _tell_gists(self, warehouse: Warehouse) -> None:
        """Tell what became of sessions: that they have ended, or live though quiet; and their names."""
        polled = self._sessions.polled()
        for session in list(self._gists):
            about = self._sessions.about(session)
            if about is None:
                continue
            gist, said_s = self._gists[session]
            is_due = session in polled and time.monotonic() - said_s > _SAY_AGAIN_S
            if is_due or gist != _gist(about):
                self._tell_gist(warehouse, about)
        for session, known in list(self._sessions.known.items()):
            about = self._sessions.about(session)
            if about is not None and about.label > known.label:
                # Not in the name of this server, which may have nothing of the session.
                self._teller.insert(warehouse, "raw_sessions", label_row(session, about.label), told_by=())

    def _tell_gist(self, warehouse: Warehouse, about: About) -> None:
        gist = _gist(about)
        # Only what is known here: servers that repeat each other would let a session live forever.
        heard_ns = time.time_ns() if about.session in self._sessions.polled() else about.heard_ns
        self._teller.insert(warehouse, "raw_sessions", session_row(about, heard_ns))
        about.told_ns = self._teller.told_ns
        self._gists[about.session] = (gist, time.monotonic())

    def tell_whole(self, warehouse: Warehouse, is_stopping: Callable[[], bool]) -> None:
        """Tell the sessions as a whole that have ended, and those of which something is not told.

        What fails for one session is logged, and tried again in a minute. Raises StoreError.
        """
        if not self._is_caught_up:  # what an earlier process of this server may not have told
            for session in self._catalog.names():
                if self._sessions.is_own(session) and not self._sessions.is_sealed(session):
                    self._changes.tell_whole(session)
            self._is_caught_up = True
        due = self._changes.behind | {name for name in self._catalog.names() if self._is_due(name)}
        for session in sorted(due):
            if is_stopping():
                return
            if time.monotonic() < self._not_before.get(session, 0.0):
                continue
            self._not_before[session] = time.monotonic() + _AGAIN_S
            try:
                self._tell_session(warehouse, session)
            except (StoreError, OSError) as error:
                self._changes.tell_whole(session)
                if isinstance(error, StoreError) and error.code in OF_ALL:
                    raise
                log.warning("session %s could not be told to the warehouse: %s", session, error)

    def _is_due(self, session: str) -> bool:
        """Whether a session that was recorded here has ended and is not told as a whole."""
        sessions, about = self._sessions, self._sessions.about(session)
        is_quiet = about is not None and about.quiet_ns(time.time_ns()) >= _QUIET_NS
        if not is_quiet or not sessions.is_own(session) or sessions.is_live(session):
            return False
        return sessions.is_here(session) and not sessions.is_sealed(session)

    def _tell_session(self, warehouse: Warehouse, session: str) -> None:
        self._changes.take_behind(session)
        path, about = self._catalog.path_of(session), self._sessions.about(session)
        if about is None:
            return
        if not path.exists() or self._sessions.is_too_old(about):
            self._changes.set_told(about)
            return
        if not self._flush(_FLUSH_S):
            raise StoreError(f"The record of {session} is not written yet.", "It goes on by itself.", "busy")
        known = self._sessions.known.get(session)
        is_lacking = (
            known is not None
            and self._sessions.is_told_by_others(session)
            and about.followed_ns < known.told_ns
        )
        is_whole = not is_lacking and not self._sessions.is_live(session)
        # What was told from here is in the record, too.
        complete_ns = max(self._watermark_ns(), about.told_ns) if is_whole else 0
        self._work.mkdir(parents=True, exist_ok=True)
        made = load(
            warehouse,
            self._teller,
            path,
            about,
            again=True,
            complete_ns=complete_ns,
            # The last of several servers to have all of it has the last word.
            as_of_ns=max(known.last_ns, known.about.ended_ns or 0) if known is not None else 0,
            work=self._work,
        )
        if not complete_ns:
            about.told_ns = self._teller.told_ns
        self._changes.set_told(about)
        self._catalog.save_about(session)
        self._gists[session] = (_gist(about), time.monotonic())
        self._entities.pop(session, None)
        if made is not None:
            log.info("told %s to the warehouse: %d attempts, %.1f s", session, made.attempts, made.seconds)


def _gist(about: About) -> object:
    """Another value once there is more to say of a session than that it lives."""
    return about.ended_ns, about.attempts, about.states
