"""The warehouse of a running server: tells it what comes here, and learns what comes to other servers.

Every server keeps a record of its own of each session that somebody opened on it, so that all views work as
they do without a warehouse. What comes here is told as it comes. A session that has ended is told once more
from its record, as a whole, with what only a whole record knows (call paths, ends that were inferred).
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import msgspec

from rayscope.files import replace_file
from rayscope.ingest.writer import STRAGGLERS_NS, TOLD, Writer
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.periodic import PeriodicTask
from rayscope.storage.about import About, Label, seal
from rayscope.storage.catalog import RECORD, SESSION_NAME, Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.warehouse import migrate
from rayscope.warehouse.changes import Change, Changes
from rayscope.warehouse.client import Warehouse, connect, parse_url
from rayscope.warehouse.follow import make_record, read_news
from rayscope.warehouse.load import cluster_name, load, session_row
from rayscope.warehouse.schema import TABLES, on_cluster, stored_name, text
from rayscope.warehouse.servers import (
    BEAT_S,
    SURE_S,
    Member,
    Teller,
    keeper,
    read_members,
    stored_ns,
)

log = logging.getLogger("rayscope.server")

#: A session is told as a whole once nothing has come for so long.
_QUIET_NS = 60 * 10**9
#: How long a merge of what others told may take; then it is read again.
_FLUSH_S = 30.0
#: Batches of at most 65,000 rows that may wait for it.
_BATCHES = 4
_MAX_PAUSE_S = 30.0
#: How often the others are told of a quiet session that it lives.
_SAY_AGAIN_S = 10.0
#: How often all sessions are listed, also those of which nothing new was told: some may be gone.
_LIST_ALL_S = 300.0
_SESSIONS = (
    "SELECT session, told_ns, told_by, account.complete_ns, last_ns, account.about "
    "FROM (SELECT session, told_ns, told_by, account, last_ns FROM raw_sessions FINAL) "
    "WHERE told_ns > {since_ns:Int64}"
)


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
    sessions whose clusters this server asks.
    """

    files: Collection[str] = (RECORD,)

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
    ) -> None:
        self._url = url
        self.server = server
        self._catalog = catalog
        self._writer = writer
        self._is_live = is_live
        self._polled = polled
        self._work = work
        self._memory_limit = memory_limit
        self._changes = Changes()
        writer.on_merge = self._changes.note
        self._open = ExitStack()
        self._teller: Teller | None = None
        self._members: list[Member] = []
        #: Up to when the sessions of the warehouse were listed, and when all are listed again (monotonic s).
        self._listed_ns, self._next_listing = 0, 0.0
        self._known: dict[str, _Known] = {}
        #: Session -> when this server told something of it last.
        self._told: dict[str, int] = {}
        #: Session -> the gist of it when it was told last, and when that was (monotonic s).
        self._said_of: dict[str, tuple[object, float]] = {}
        #: Session -> the gist of it when it was told as a whole.
        self._whole: dict[str, object] = {}
        #: Session -> entity -> what was told of it last: clusters say the same again and again.
        self._said: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
        self._failures = 0
        self._is_caught_up = False
        self._lock = threading.Lock()
        self._bringing: dict[str, threading.Lock] = {}
        self._task = PeriodicTask("rayscope-warehouse", BEAT_S, self._turn, at_once=True)
        #: The address that others reach this server at, once it is known.
        self.own_url = ""
        #: Why the warehouse cannot be used now, None if it can.
        self.problem: StoreError | None = None
        shutil.rmtree(work, ignore_errors=True)  # of a server that was killed

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def stop(self) -> None:
        """End. What is not told yet is told from the record after the next start."""
        self._task.stop(timeout_s=5.0)
        self._open.close()

    def status(self) -> dict[str, Any]:
        """What ``/api/health`` says."""
        return {
            "url": self.shown_url,
            "server": self.server,
            "waiting_rows": self._changes.waiting,
            "servers": [
                {
                    "server": member.server,
                    "url": member.url,
                    "is_alive": member.is_alive,
                    "age_s": round(member.age_s, 1),
                    "sessions": len(member.watches),
                }
                for member in self._members
                if member.url
            ],
        }

    @property
    def shown_url(self) -> str:
        """Where the warehouse is, without a password."""
        return parse_url(self._url).shown

    # What only one server does.

    def is_keeper(self, session: str | None = None) -> bool:
        """Whether this server does what is done once: for a session, or (None) for all of them.

        Alerts must not fall silent with the warehouse: without it, each server is on its own.
        """
        teller = self._teller
        is_sure = teller is not None and time.monotonic() - teller.beat_s < SURE_S
        if session is None:
            return is_sure and keeper(self._members) == self.server
        if not self._is_own(session):
            return False
        watching = {member.server for member in self._members if session in member.watches}
        known = self._known.get(session)
        found = keeper(self._members, watching or (known.told_by if known else ()))
        return not is_sure or found in (None, self.server)

    def _is_own(self, session: str) -> bool:
        """Whether anything of a session came to this server itself."""
        known = self._known.get(session)
        return known is None or self.server in known.told_by or session in self._told

    def _watched(self) -> set[str]:
        """The live sessions that are recorded here."""
        polled = set(self._polled())
        return {
            name
            for name in self._catalog.names()
            if name in polled or (name in self._told and self._is_live(name))
        }

    # Opening sessions that others recorded.

    def is_sealed(self, session: str) -> bool:
        """Whether the warehouse has all of a session's record."""
        known = self._known.get(session)
        if known is None or not self._is_own(session):
            return known is not None
        return bool(known.complete_ns) and known.complete_ns >= self._told.get(session, 0)

    def bring(self, session: str, file: str) -> None:
        """Make a session's record, if others have recorded it. Raises StoreError."""
        known, path = self._known.get(session), self._catalog.path_of(session)
        if file != RECORD or known is None or path.exists():
            return
        with self._lock:
            bringing = self._bringing.setdefault(session, threading.Lock())
        with bringing:
            if path.exists():
                return
            began = time.monotonic()
            try:
                with connect(self._url) as warehouse:
                    until_ns = make_record(
                        warehouse, self._catalog.about(session), path, self._work, self._memory_limit
                    )
            except OSError as error:
                raise StoreError(
                    f"{session} cannot be brought from the warehouse: {error.strerror or error}.",
                    "Free some space on the server's disk, and try again.",
                    "full",
                ) from error
            self._catalog.about(session).followed_ns = until_ns
            self._catalog.save_about(session)
            log.info("brought %s from the warehouse in %.1f s", session, time.monotonic() - began)

    def remove(self, session: str) -> None:
        """Delete a session from the warehouse. Raises StoreError."""
        with connect(self._url) as warehouse:
            layout = migrate.check(warehouse)
            for table in TABLES:
                name = f"{stored_name(table, layout)}{on_cluster(layout)}"
                warehouse.run(f"DELETE FROM {name} WHERE session = {text(session)}")
        self._changes.forget(session)
        for known in (self._known, self._told, self._said, self._said_of, self._whole):
            known.pop(session, None)

    # The thread.

    def _turn(self) -> float | None:
        try:
            teller = self._connected()
            self._tell(teller)
            self._tell_abouts(teller)
            teller.beat(self._watched())
            self._members = read_members(teller.warehouse)
            self._list(teller.warehouse)
            self._follow(teller.warehouse)
            if not self._is_caught_up:
                self._find_untold()
            self._tell_whole(teller)
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

    def _connected(self) -> Teller:
        if self._teller is None:
            opened: AbstractContextManager[Warehouse] = connect(self._url)
            warehouse = self._open.enter_context(opened)
            migrate.check(warehouse)
            self._teller = Teller(warehouse, self.server, self.own_url)
            self._next_listing = 0.0
        return self._teller

    def _disconnect(self) -> None:
        self._teller = None
        self._open.close()
        self._open = ExitStack()

    def _tell(self, teller: Teller) -> None:
        """Tell what has come. What cannot be told is told from the record, later."""
        taken = self._changes.take()
        try:
            for session in list(taken):
                self._tell_change(teller, session, taken[session])
                del taken[session]
        finally:
            for session in taken:
                self._changes.leave_out(session)

    def _tell_change(self, teller: Teller, session: str, change: Change) -> None:
        try:
            about = self._catalog.about(session)
        except NotFound:  # removed meanwhile
            return
        said, fresh = self._said[session], []
        for entity in change.entities:
            accounts = [entity.fields, list(entity.transitions.items()), entity.observed]
            content = hash(msgspec.json.encode(accounts))
            if said.get((entity.kind, entity.id)) != content:
                said[entity.kind, entity.id] = content
                fresh.append(entity)
        change.entities = fresh
        told = False
        try:
            for table, rows in change.rows(session, cluster_name(about)):
                teller.insert(table, rows)
                told = True
        except BaseException:
            said.clear()
            raise
        if told:
            self._tell_about(teller, about)

    def _tell_abouts(self, teller: Teller) -> None:
        """Tell what became of sessions: that they have ended, are named otherwise, or live though quiet."""
        for session in list(self._told):
            try:
                about = self._catalog.about(session)
            except NotFound:
                del self._told[session]
                continue
            said, said_s = self._said_of.get(session, (None, 0.0))
            is_old = time.monotonic() - said_s > _SAY_AGAIN_S and session in self._polled()
            if is_old or said != _gist(about):
                self._tell_about(teller, about)

    def _tell_about(self, teller: Teller, about: About) -> None:
        gist = _gist(about)
        # Only what is known here: servers that repeat each other would let a session live forever.
        heard_ns = self._changes.heard_ns.get(about.session, about.first_ns)
        if about.session in self._polled():
            heard_ns = time.time_ns()
        teller.insert("raw_sessions", session_row(about, heard_ns))
        self._told[about.session] = teller.told_ns
        self._said_of[about.session] = (gist, time.monotonic())

    def _list(self, warehouse: Warehouse) -> None:
        """Learn what the warehouse has of sessions, and list those that are not here."""
        until_ns = stored_ns(self._members)
        is_all = time.monotonic() >= self._next_listing
        found = warehouse.rows(_SESSIONS, {"since_ns": 0 if is_all else self._listed_ns})
        if is_all:
            self._next_listing = time.monotonic() + _LIST_ALL_S
            self._forget(set(self._known) - {session for session, *_ in found})
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
        if known.told_by <= {self.server}:
            return
        is_listed = session in self._catalog.names()
        if is_listed and (self._catalog.path_of(session).exists() or self._is_own(session)):
            about = self._catalog.about(session)
            about.last_ns = max(about.last_ns, min(known.last_ns, time.time_ns()))
            self._learn_end(about, known)
            return
        folder = self._catalog.folder / session
        told = known.about
        about = msgspec.structs.replace(
            told, label=Label(), last_ns=max(told.last_ns, known.last_ns), followed_ns=0
        )
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / "about.json", seal(msgspec.json.encode(about)), sync=False)
        if told.label != Label():
            replace_file(folder / "label.json", msgspec.json.encode(told.label), sync=False)
        self._catalog.load(session)

    def _learn_end(self, about: About, known: _Known) -> None:
        """Take over from others that a session has ended, unless it is heard here, or that it lives."""
        session, ended_ns = about.session, known.about.ended_ns
        if session in self._polled():
            return
        heard_ns = self._changes.heard_ns.get(session, 0)
        if ended_ns is not None and about.ended_ns is None and heard_ns < ended_ns + STRAGGLERS_NS:
            self._writer.end_session(session, ended_ns)
        elif ended_ns is None and known.last_ns > (about.ended_ns or known.last_ns) + STRAGGLERS_NS:
            self._writer.end_session(session, None)

    def _forget(self, sessions: Collection[str]) -> None:
        """What the warehouse has no more, and this disk neither, is listed no more."""
        for session in sessions:
            del self._known[session]
            if not self._catalog.path_of(session).exists():
                with contextlib.suppress(NotFound):
                    self._catalog.remove(session)

    def _follow(self, warehouse: Warehouse) -> None:
        """Merge what others told of the sessions that are on this disk."""
        until_ns = stored_ns(self._members)
        for session in list(self._known):
            known = self._known[session]
            if self._task.is_stopping:
                return
            if known.told_by <= {self.server} or not self._catalog.path_of(session).exists():
                continue
            about = self._catalog.about(session)
            if about.followed_ns >= known.told_ns:
                continue
            if self._merge_news(warehouse, session, about.followed_ns):
                about.followed_ns = until_ns
                self._catalog.save_about(session)

    def _merge_news(self, warehouse: Warehouse, session: str, since_ns: int) -> bool:
        """Returns whether all of it is on record; else it is read again."""
        waiting = 0
        for batch, tables in read_news(warehouse, session, since_ns, self.server):
            self._writer.submit_records(batch, TOLD, tables)
            waiting += 1
            if waiting == _BATCHES:  # they wait in memory
                if not self._writer.flush(_FLUSH_S):
                    return False
                waiting = 0
        return not waiting or self._writer.flush(_FLUSH_S)

    def _find_untold(self) -> None:
        """What an earlier process of this server may not have told is told as a whole."""
        for session in self._catalog.names():
            is_here = self._catalog.path_of(session).exists()
            if is_here and self._is_own(session) and not self.is_sealed(session):
                self._changes.leave_out(session)
        self._is_caught_up = True

    def _tell_whole(self, teller: Teller) -> None:
        """Tell the sessions as a whole that have ended, and those of which something is not told."""
        for session in self._changes.take_behind() | {
            name for name in self._catalog.names() if self._is_due(name)
        }:
            if self._task.is_stopping:
                return
            try:
                path, about = self._catalog.path(session), self._catalog.about(session)
                if not path.exists():
                    continue
                known = self._known.get(session)
                is_all = not self._is_live(session) and (
                    known is None or known.told_by <= {self.server} or about.followed_ns >= known.told_ns
                )
                # What was told from here is in the record, too.
                complete_ns = max(stored_ns(self._members), self._told.get(session, 0)) if is_all else 0
                self._whole[session] = _gist(about)
                made = load(teller, path, about, again=True, complete_ns=complete_ns)
            except StoreError as error:
                self._whole.pop(session, None)
                self._changes.leave_out(session)
                # A damaged record is of one session; a warehouse that is away is of all.
                if error.code not in ("not_found", "corrupt", "newer", "older", "unusable"):
                    raise
                log.warning("session %s could not be told to the warehouse: %s", session, error)
                continue
            if made is not None:
                log.info(
                    "told session %s to the warehouse: %d attempts in %.1f s",
                    session,
                    made.attempts,
                    made.seconds,
                )
            self._said.pop(session, None)

    def _is_due(self, session: str) -> bool:
        """Whether a session that was recorded here has ended and is not told as a whole."""
        about = self._catalog.about(session)
        if not self._is_own(session) or self._whole.get(session) == _gist(about):
            return False
        quiet_ns = time.time_ns() - max(about.last_ns, about.ended_ns or 0)
        if quiet_ns < _QUIET_NS or self._is_live(session) or not self._catalog.path_of(session).exists():
            return False
        return not self.is_sealed(session)


def _gist(about: About) -> object:
    """Another value once there is more to say of a session than that it lives."""
    return about.ended_ns, about.label, about.attempts, about.states
