"""The warehouse of a running server: tells it what comes here, and learns what comes to other servers.

Every server keeps a record of its own of each session that it records or that somebody opened on it, so that
all views work as they do without a warehouse. What comes here is told as it comes. A session that has ended
is told once more from its record, as a whole, with what only a whole record knows (call paths, ends that were
inferred). So is one of which something could not be told.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rayscope.archive.tables import PARTS
from rayscope.model import RecordBatch
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.periodic import PeriodicTask
from rayscope.storage.about import About, write_about
from rayscope.storage.catalog import RECORD, SESSION_NAME, STRAGGLERS_NS, Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.rows import Tables
from rayscope.warehouse import migrate
from rayscope.warehouse.changes import Change, Changes
from rayscope.warehouse.client import Warehouse, connect, parse_url
from rayscope.warehouse.follow import make_record, read_news
from rayscope.warehouse.load import cluster_name, load, session_row
from rayscope.warehouse.schema import TABLES, on_cluster, stored_name, text
from rayscope.warehouse.servers import BEAT_S, Beats, Teller, keeper, watermark_ns

log = logging.getLogger("rayscope.server")

#: A session is told as a whole once nothing has come for so long.
_QUIET_NS = 60 * 10**9
#: How long a merge of what others told may take; then it is read again.
_FLUSH_S = 30.0
#: Batches of at most 65,000 rows that may wait for it.
_BATCHES = 4
_MAX_PAUSE_S = 30.0
#: How often what fails for one session is tried again, and a session is told as a whole at most.
_AGAIN_S = 60.0
#: How often the others are told of a quiet session that it lives.
_SAY_AGAIN_S = 10.0
#: How often all sessions are listed, also those of which nothing new was told: some may be gone.
_LIST_ALL_S = 300.0
_DAY_NS = 86400 * 10**9
#: Errors that are not of one session.
_OF_ALL = frozenset({"unreachable", "login", "locked", "no_warehouse", "older", "newer"})
_SESSIONS = (
    "SELECT session, told_ns, told_by, account.complete_ns, last_ns, account.about "
    "FROM (SELECT session, told_ns, told_by, account, last_ns FROM raw_sessions FINAL) "
    "WHERE told_ns > {since_ns:Int64}"
)


class Writer(Protocol):
    """Who writes the records, see :class:`rayscope.ingest.writer.Writer`."""

    on_merge: Callable[[About, RecordBatch, Tables], None] | None

    def submit_told(self, batch: RecordBatch, tables: Tables) -> None:
        """Take what another server told."""

    def flush(self, timeout_s: float) -> bool:
        """Write all that was submitted. Returns whether that was done in time."""

    def end_session(self, session: str, end_ns: int | None) -> None:
        """A session has ended, or (None) lives after all."""


class _Known(msgspec.Struct):
    """What the warehouse has of a session."""

    told_ns: int
    told_by: frozenset[str]
    complete_ns: int
    last_ns: int
    about: About


class WarehouseService:
    """Keeps a data directory and a warehouse in step. :meth:`start` before use, :meth:`stop` at the end.

    ``server``: the name of this one. ``is_live``: whether a session's cluster lives; ``polled()``: the
    sessions whose clusters this server asks. ``max_age_days``: what began before is not told. Raises
    StoreError for what is no URL of a warehouse.
    """

    files: Collection[str] = tuple(part.file for part in PARTS.values())
    continues = False

    def __init__(
        self,
        url: str,
        server: str,
        catalog: Catalog,
        writer: Writer,
        *,
        is_live: Callable[[str], bool],
        polled: Callable[[], Collection[str]],
        work: Path,
        memory_limit: str,
        max_age_days: float | None = None,
    ) -> None:
        #: Without a password.
        self.shown_url = parse_url(url).shown
        self._url = url
        self._catalog = catalog
        self._writer = writer
        self._is_live = is_live
        self._polled = polled
        self._work = work
        self._memory_limit = memory_limit
        self._max_age_days = max_age_days
        self._changes = Changes()
        writer.on_merge = self._note_change
        self._teller = Teller(server)
        self._beats = Beats(self._teller, url, self._watched)
        self._open = ExitStack()
        self._warehouse: Warehouse | None = None
        #: Up to when the sessions of the warehouse were listed, and when all are listed again (monotonic s).
        self._listed_ns, self._next_listing = 0, 0.0
        self._known: dict[str, _Known] = {}
        #: Session -> the gist of it when it was told last, and when that was (monotonic s).
        self._gists: dict[str, tuple[object, float]] = {}
        #: Session -> entity -> what was told of it last: clusters say the same again and again.
        self._entities: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        #: Session -> when it may be told as a whole, or followed, again (monotonic s).
        self._not_whole_before: dict[str, float] = {}
        self._not_followed_before: dict[str, float] = {}
        self._failures = 0
        self._is_caught_up = False
        self._lock = threading.Lock()
        #: Sessions that people deleted, which the thread still has to forget.
        self._deleted: set[str] = set()
        self._task = PeriodicTask("rayscope-warehouse", BEAT_S, self._turn, at_once=True)
        #: Why the warehouse cannot be used now, None if it can.
        self.problem: StoreError | None = None
        shutil.rmtree(work, ignore_errors=True)  # of a server that was killed

    def start(self, own_url: str) -> None:
        """Begin. ``own_url``: the address that people reach this server at."""
        self._teller.url = own_url
        self._beats.start()
        self._task.start()

    def stop(self) -> None:
        """End. What is not told yet is told from the record after the next start."""
        self._task.stop(timeout_s=5.0)
        self._beats.stop()
        self._open.close()

    def status(self) -> dict[str, Any]:
        """What ``/api/health`` says."""
        return {
            "url": self.shown_url,
            "server": self._teller.server,
            "waiting_rows": self._changes.waiting,
            "servers": [
                {
                    "server": member.server,
                    "url": member.url,
                    "is_alive": member.is_alive,
                    "age_s": round(member.age_s, 1),
                    "sessions": len(member.watches),
                }
                for member in self._beats.members
                if member.url
            ],
        }

    # What only one server does.

    def is_keeper(self, session: str | None = None) -> bool:
        """Whether this server does what is done once: for a session, or (None) for all of them.

        Alerts must not fall silent with the warehouse: without it, each server is on its own.
        """
        server, members, is_sure = self._teller.server, self._beats.members, self._teller.is_sure
        if session is None:
            return is_sure and keeper(members) == server
        if not self._is_own(session):
            return False
        watching = {member.server for member in members if session in member.watches}
        known = self._known.get(session)
        found = keeper(members, watching or (known.told_by if known else ()))
        return not is_sure or found in (None, server)

    def _is_own(self, session: str) -> bool:
        """Whether anything of a session came to this server itself."""
        about = self._catalog.about(session)
        # What was recorded by a Rayscope without several servers has none of these times.
        is_old = not about.followed_ns and self._catalog.path_of(session).exists()
        return bool(about.heard_ns) or is_old

    def _is_told_by_others(self, known: _Known) -> bool:
        return not known.told_by <= {self._teller.server}

    def _watched(self) -> set[str]:
        """The live sessions that are recorded here."""
        polled = set(self._polled())
        return {
            name
            for name in self._catalog.names()
            if name in polled or (self._catalog.about(name).heard_ns and self._is_live(name))
        }

    # Sessions that others recorded.

    def has(self, session: str) -> bool:
        """Whether the warehouse has a session, as far as is known."""
        return session in self._known

    def is_sealed(self, session: str) -> bool:
        """Whether the warehouse has all of a session's record that is here."""
        known, about = self._known.get(session), self._catalog.about(session)
        if self._is_too_old(about):  # the warehouse keeps it no longer, and nor does this disk
            return True
        if known is None or not self._is_own(session):
            return known is not None
        return bool(known.complete_ns) and not about.has_untold and known.complete_ns >= about.told_ns

    def _is_too_old(self, about: About) -> bool:
        days = self._max_age_days
        return days is not None and about.first_ns < time.time_ns() - days * _DAY_NS

    def bring(self, session: str, file: str) -> None:
        """Make a session's record, if others have recorded it. Raises StoreError."""
        if file != RECORD or session not in self._known:
            return
        began = time.monotonic()
        about = self._catalog.about(session)
        try:
            with connect(self._url) as warehouse:
                path = self._catalog.path_of(session)
                until_ns = make_record(warehouse, about, path, self._work, self._memory_limit)
        except OSError as error:
            raise StoreError(
                f"{session} cannot be brought from the warehouse: {error.strerror or error}.",
                "Free some space on the server's disk, and try again.",
                "full",
            ) from error
        about.followed_ns = until_ns
        self._catalog.save_about(session)
        log.info("brought %s from the warehouse in %.1f s", session, time.monotonic() - began)

    def remove(self, session: str) -> None:
        """Delete a session from the warehouse. Raises StoreError."""
        with self._lock:
            self._deleted.add(session)
        self._changes.forget(session)
        with connect(self._url) as warehouse:
            layout = migrate.check(warehouse)
            for table in TABLES:
                name = f"{stored_name(table, layout)}{on_cluster(layout)}"
                warehouse.run(f"DELETE FROM {name} WHERE session = {text(session)}")

    # The writer's thread.

    def _note_change(self, about: About, batch: RecordBatch, tables: Tables) -> None:
        if self._changes.note(about, batch, tables):
            # Before the batch leaves the spool: what a killed server has not told, it tells when it is back.
            self._catalog.save_about(about.session)

    # The service's own thread.

    def _turn(self) -> float | None:
        try:
            warehouse = self._connected()
            self._forget_deleted()
            self._tell(warehouse)
            self._tell_gists(warehouse)
            self._list(warehouse)
            self._follow(warehouse)
            self._tell_whole(warehouse)
        except StoreError as error:
            self._disconnect()
            if self.problem is None or self.problem.message != error.message:
                log.warning("%s %s", error.message, error.remedy)
            self.problem = error
            self._failures += 1
            return min(_MAX_PAUSE_S, float(BEAT_S * 2 ** min(self._failures, 10)))
        if self.problem is not None:
            log.info("the warehouse at %s can be used again", self.shown_url)
        self.problem, self._failures = None, 0
        return None

    def _connected(self) -> Warehouse:
        if self._warehouse is None:
            opened: AbstractContextManager[Warehouse] = connect(self._url)
            warehouse = self._open.enter_context(opened)
            migrate.check(warehouse)
            self._warehouse = warehouse
            self._next_listing = 0.0
        self._beats.wait()
        return self._warehouse

    def _disconnect(self) -> None:
        self._warehouse = None
        self._open.close()

    def _forget_deleted(self) -> None:
        with self._lock:
            deleted, self._deleted = self._deleted, set()
        for session in deleted:
            for of_session in (self._known, self._gists, self._entities):
                of_session.pop(session, None)

    def _tell(self, warehouse: Warehouse) -> None:
        """Tell what has come. What cannot be told is told from the record, later."""
        taken = self._changes.take()
        try:
            for session in list(taken):
                self._tell_change(warehouse, session, taken[session])
                del taken[session]
        finally:
            for session in taken:
                self._changes.tell_whole(session)

    def _tell_change(self, warehouse: Warehouse, session: str, change: Change) -> None:
        try:
            about = self._catalog.about(session)
        except NotFound:  # removed meanwhile
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
        """Tell what became of sessions: that they have ended, are named otherwise, or live though quiet."""
        polled = self._polled()
        for session in list(self._gists):
            try:
                about = self._catalog.about(session)
            except NotFound:
                del self._gists[session]
                continue
            gist, said_s = self._gists[session]
            is_due = session in polled and time.monotonic() - said_s > _SAY_AGAIN_S
            if is_due or gist != _gist(about):
                self._tell_gist(warehouse, about)

    def _tell_gist(self, warehouse: Warehouse, about: About) -> None:
        gist = _gist(about)
        # Only what is known here: servers that repeat each other would let a session live forever.
        heard_ns = time.time_ns() if about.session in self._polled() else about.heard_ns
        self._teller.insert(warehouse, "raw_sessions", session_row(about, heard_ns))
        about.told_ns = self._teller.told_ns
        self._gists[about.session] = (gist, time.monotonic())

    def _list(self, warehouse: Warehouse) -> None:
        """Learn what the warehouse has of sessions, and list those that are not here."""
        until_ns = watermark_ns(self._beats.members)
        is_all = time.monotonic() >= self._next_listing
        found = warehouse.rows(_SESSIONS, {"since_ns": 0 if is_all else self._listed_ns})
        if is_all:
            self._next_listing = time.monotonic() + _LIST_ALL_S
            for session in self._known.keys() - {session for session, *_ in found}:
                del self._known[session]
                self._catalog.forget(session)
        for session, told_ns, told_by, complete_ns, last_ns, content in found:
            if not SESSION_NAME.fullmatch(session):
                continue
            try:
                about = msgspec.json.decode(content, type=About)
            except DECODE_ERRORS:
                about = About(session)
            about.session = session
            known = _Known(told_ns, frozenset(told_by), complete_ns, last_ns or 0, about)
            if self._known.get(session) != known:
                self._known[session] = known
                self._note(session, known)
        self._listed_ns = until_ns

    def _note(self, session: str, known: _Known) -> None:
        """Let the list of sessions know what others told."""
        if not self._is_told_by_others(known):
            return
        is_here = self._catalog.path_of(session).exists()
        try:
            about = self._catalog.about(session)
        except NotFound:
            about = None
        if about is not None and (is_here or about.heard_ns):
            about.last_ns = max(about.last_ns, min(known.last_ns, time.time_ns()))
            self._learn_end(about, known)
            return
        told = known.about
        last_ns = min(max(told.last_ns, known.last_ns), time.time_ns())
        # Its address is the other server's to ask.
        made = msgspec.structs.replace(
            told,
            gcs_address=None,
            last_ns=last_ns,
            **dict.fromkeys(("heard_ns", "told_ns", "followed_ns"), 0),
            has_untold=False,
        )
        folder = self._catalog.folder / session
        folder.mkdir(parents=True, exist_ok=True)
        write_about(folder, made, sync=False)
        self._catalog.load(session)

    def _learn_end(self, about: About, known: _Known) -> None:
        """Take over from others that a session has ended, unless it is heard here, or that it lives."""
        session, ended_ns = about.session, known.about.ended_ns
        if session in self._polled():
            return
        if ended_ns is not None and about.ended_ns is None and about.heard_ns < ended_ns + STRAGGLERS_NS:
            self._writer.end_session(session, ended_ns)
        elif ended_ns is None and known.last_ns > (about.ended_ns or known.last_ns) + STRAGGLERS_NS:
            self._writer.end_session(session, None)

    def _follow(self, warehouse: Warehouse) -> None:
        """Merge what others told of the sessions that are on this disk."""
        until_ns = watermark_ns(self._beats.members)
        for session, known in list(self._known.items()):
            if self._task.is_stopping:
                return
            if not self._catalog.path_of(session).exists():
                continue
            about = self._catalog.about(session)
            # A record that begins anew lacks also what was told from here.
            is_new = not about.followed_ns
            if about.followed_ns >= known.told_ns or not (is_new or self._is_told_by_others(known)):
                continue
            if time.monotonic() < self._not_followed_before.get(session, 0.0):
                continue
            server = "" if is_new else self._teller.server
            if not self._merge_news(warehouse, session, about.followed_ns, server):
                self._not_followed_before[session] = time.monotonic() + _AGAIN_S
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

    def _tell_whole(self, warehouse: Warehouse) -> None:
        """Tell the sessions as a whole that have ended, and those of which something is not told."""
        if not self._is_caught_up:  # what an earlier process of this server may not have told
            for session in self._catalog.names():
                if self._is_own(session) and not self.is_sealed(session):
                    self._changes.tell_whole(session)
            self._is_caught_up = True
        due = self._changes.behind | {name for name in self._catalog.names() if self._is_due(name)}
        for session in sorted(due):
            if self._task.is_stopping:
                return
            if time.monotonic() < self._not_whole_before.get(session, 0.0):
                continue
            self._not_whole_before[session] = time.monotonic() + _AGAIN_S
            try:
                self._tell_session(warehouse, session)
            except (StoreError, OSError) as error:
                self._changes.tell_whole(session)
                if isinstance(error, StoreError) and error.code in _OF_ALL:
                    raise
                log.warning("session %s could not be told to the warehouse: %s", session, error)

    def _tell_session(self, warehouse: Warehouse, session: str) -> None:
        self._changes.take_behind(session)
        try:
            path, about = self._catalog.path(session), self._catalog.about(session)
        except NotFound:  # removed meanwhile
            return
        if not path.exists() or self._is_too_old(about):
            self._changes.set_told(about)
            return
        if not self._writer.flush(_FLUSH_S):
            raise StoreError(f"The record of {session} is not written yet.", "It goes on by itself.", "busy")
        known = self._known.get(session)
        lacks = known is not None and self._is_told_by_others(known) and about.followed_ns < known.told_ns
        is_whole = not lacks and not self._is_live(session)
        # What was told from here is in the record, too.
        complete_ns = max(watermark_ns(self._beats.members), about.told_ns) if is_whole else 0
        self._work.mkdir(parents=True, exist_ok=True)
        made = load(
            warehouse, self._teller, path, about, again=True, complete_ns=complete_ns, work=self._work
        )
        if not complete_ns:
            about.told_ns = self._teller.told_ns
        self._changes.set_told(about)
        self._catalog.save_about(session)
        self._gists[session] = (_gist(about), time.monotonic())
        self._entities.pop(session, None)
        if made is not None:
            log.info("told %s to the warehouse: %d attempts, %.1f s", session, made.attempts, made.seconds)

    def _is_due(self, session: str) -> bool:
        """Whether a session that was recorded here has ended and is not told as a whole."""
        about = self._catalog.about(session)
        is_quiet = about.quiet_ns(time.time_ns()) >= _QUIET_NS
        if not is_quiet or not self._is_own(session) or self._is_live(session):
            return False
        return self._catalog.path_of(session).exists() and not self.is_sealed(session)


def _gist(about: About) -> object:
    """Another value once there is more to say of a session than that it lives."""
    return about.ended_ns, about.label, about.attempts, about.states
