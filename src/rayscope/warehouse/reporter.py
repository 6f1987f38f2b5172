"""Publishes a server's records to a warehouse: changes as they arrive, and whole records after sessions end.

Whole records are also published if some changes could not be published, or if the server was killed before it
published them.
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
from rayscope.warehouse.client import SHARED_ERRORS, Warehouse
from rayscope.warehouse.load import cluster_name, label_row, load, session_row
from rayscope.warehouse.servers import Publisher
from rayscope.warehouse.sessions import Sessions

log = logging.getLogger("rayscope.server")

#: An ended session is published as a whole once nothing has arrived for this long, in ns.
_QUIET_NS = 60 * 10**9
#: Time limit for writing submitted data to the records, in seconds.
_FLUSH_S = 30.0
#: Minimum interval between publications of a whole session, in seconds.
_RETRY_S = 60.0
#: Interval at which a quiet session is reported to be alive, in seconds.
_ALIVE_S = 10.0


class Reporter:
    """Publishes a server's data. The writer's thread calls :meth:`note`, one other thread everything else.

    Args:
        sessions: the sessions of this server.
        publisher: inserts the rows.
        flush: writes everything submitted, within a timeout (s). Returns whether that finished in time.
        watermark_ns: returns the time up to which everything published by any server is stored.
        work: folder for copies.
    """

    def __init__(
        self,
        sessions: Sessions,
        publisher: Publisher,
        *,
        flush: Callable[[float], bool],
        watermark_ns: Callable[[], int],
        work: Path,
    ) -> None:
        self._sessions = sessions
        self._catalog = sessions.catalog
        self._publisher = publisher
        self._flush = flush
        self._watermark_ns = watermark_ns
        self._work = work
        self._changes = Changes()
        #: Session -> its summary when it was last published, and the time (monotonic, s).
        self._summaries: dict[str, tuple[object, float]] = {}
        #: Session -> entity -> hash of what was last published, because clusters repeat the same reports.
        self._entities: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        #: Session -> when it may be published as a whole again (monotonic, s).
        self._not_before: dict[str, float] = {}
        self._is_caught_up = False

    @property
    def waiting(self) -> int:
        """Number of rows that have not been published yet."""
        return self._changes.waiting

    def note(self, about: About, batch: RecordBatch, tables: Tables) -> None:
        """Called when data that came to this server was merged."""
        if self._changes.note(about, batch, tables):
            # Save that there is unpublished data before the batch leaves the spool, so that a server that is
            # killed publishes it after its restart.
            self._catalog.save_about(about.session)

    def forget(self, session: str) -> None:
        """Forget what was published about a deleted session. A later record of it is published as a whole."""
        self._changes.mark_behind(session)
        for of_session in (self._summaries, self._entities, self._not_before):
            of_session.pop(session, None)

    def publish(self, warehouse: Warehouse) -> None:
        """Publish changes and the states of sessions. After a failure, sessions are later published as a
        whole.

        Raises StoreError.
        """
        taken = self._changes.take()
        try:
            for session in list(taken):
                self._publish_change(warehouse, session, taken[session])
                del taken[session]
        finally:
            for session in taken:
                self._changes.mark_behind(session)
        self._publish_summaries(warehouse)

    def _publish_change(self, warehouse: Warehouse, session: str, change: Change) -> None:
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
                self._publisher.insert(warehouse, table, rows)
                is_news = True
        except BaseException:
            known.clear()
            raise
        if is_news:
            self._publish_summary(warehouse, about)
        self._changes.mark_published(about)

    def _publish_summaries(self, warehouse: Warehouse) -> None:
        """Publish which sessions have ended, which are alive although they are quiet, and new labels."""
        polled = self._sessions.polled()
        for session in list(self._summaries):
            about = self._sessions.about(session)
            if about is None:
                continue
            summary, published_s = self._summaries[session]
            is_due = session in polled and time.monotonic() - published_s > _ALIVE_S
            if is_due or summary != _summary(about):
                self._publish_summary(warehouse, about)
        for session, known in list(self._sessions.known.items()):
            about = self._sessions.about(session)
            if about is not None and about.label > known.label:
                # Publish it without this server's name, because this server may have no data about the
                # session.
                self._publisher.insert(
                    warehouse, "raw_sessions", label_row(session, about.label), publishers=()
                )

    def _publish_summary(self, warehouse: Warehouse, about: About) -> None:
        summary = _summary(about)
        # Report only what was heard here: servers that repeat each other would keep a session alive forever.
        heard_ns = time.time_ns() if about.session in self._sessions.polled() else about.heard_ns
        self._publisher.insert(warehouse, "raw_sessions", session_row(about, heard_ns))
        about.published_ns = self._publisher.published_ns
        self._summaries[about.session] = (summary, time.monotonic())

    def publish_whole(self, warehouse: Warehouse, is_stopping: Callable[[], bool]) -> None:
        """Publish sessions as a whole that have ended, or some of whose changes could not be published.

        Failures of single sessions are logged and retried a minute later. Raises StoreError.
        """
        if not self._is_caught_up:  # an earlier process may have stopped before it published everything
            for session in self._catalog.names():
                if self._sessions.is_own(session) and not self._sessions.is_sealed(session):
                    self._changes.mark_behind(session)
            self._is_caught_up = True
        due = self._changes.behind | {name for name in self._catalog.names() if self._is_due(name)}
        for session in sorted(due):
            if is_stopping():
                return
            if time.monotonic() < self._not_before.get(session, 0.0):
                continue
            self._not_before[session] = time.monotonic() + _RETRY_S
            try:
                self._publish_session(warehouse, session)
            except (StoreError, OSError) as error:
                self._changes.mark_behind(session)
                if isinstance(error, StoreError) and error.code in SHARED_ERRORS:
                    raise
                log.warning("session %s could not be published to the warehouse: %s", session, error)

    def _is_due(self, session: str) -> bool:
        """Whether a session recorded here has ended and is not yet published as a whole."""
        sessions, about = self._sessions, self._sessions.about(session)
        is_quiet = about is not None and about.quiet_ns(time.time_ns()) >= _QUIET_NS
        if not is_quiet or not sessions.is_own(session) or sessions.is_live(session):
            return False
        return sessions.is_here(session) and not sessions.is_sealed(session)

    def _publish_session(self, warehouse: Warehouse, session: str) -> None:
        self._changes.clear(session)
        path, about = self._catalog.path_of(session), self._sessions.about(session)
        if about is None:
            return
        if not path.exists() or self._sessions.is_too_old(about):
            self._changes.mark_published(about)
            return
        if not self._flush(_FLUSH_S):
            raise StoreError(
                f"The record of {session} is not written yet.",
                "Rayscope retries automatically.",
                "busy",
                what="unwritten",
            )
        known = self._sessions.known.get(session)
        is_lacking = (
            known is not None
            and self._sessions.is_published_by_others(session)
            and about.followed_ns < known.published_ns
        )
        is_whole = not is_lacking and not self._sessions.is_live(session)
        # The record includes what this server published.
        complete_ns = max(self._watermark_ns(), about.published_ns) if is_whole else 0
        self._work.mkdir(parents=True, exist_ok=True)
        result = load(
            warehouse,
            self._publisher,
            path,
            about,
            again=True,
            complete_ns=complete_ns,
            # If several servers have the complete record, the last one takes precedence.
            as_of_ns=max(known.last_ns, known.about.ended_ns or 0) if known is not None else 0,
            work=self._work,
        )
        if not complete_ns:
            about.published_ns = self._publisher.published_ns
        self._changes.mark_published(about)
        self._catalog.save_about(session)
        self._summaries[session] = (_summary(about), time.monotonic())
        self._entities.pop(session, None)
        if result is not None:
            log.info(
                "published %s to the warehouse: %d attempts, %.1f s", session, result.attempts, result.seconds
            )


def _summary(about: About) -> object:
    """A value that changes whenever there is news of a session other than that it is alive."""
    return about.ended_ns, about.attempts, about.states
