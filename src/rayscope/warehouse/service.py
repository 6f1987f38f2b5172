"""The warehouse of a running server: tells it what comes here, and learns what comes to other servers.

Every server keeps a record of its own of each session that it records or that somebody opened on it, so that
all views work as they do without a warehouse.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Protocol

from rayscope.archive.tables import PARTS
from rayscope.model import RecordBatch
from rayscope.periodic import PeriodicTask
from rayscope.storage.about import About
from rayscope.storage.catalog import RECORD, Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.rows import Tables
from rayscope.warehouse import migrate
from rayscope.warehouse.client import Warehouse, connect, parse_url
from rayscope.warehouse.deletions import Deletions
from rayscope.warehouse.follower import Follower, Merger
from rayscope.warehouse.news import make_record
from rayscope.warehouse.reporter import Reporter
from rayscope.warehouse.servers import BEAT_S, Beats, Teller, keeper, watermark_ns
from rayscope.warehouse.sessions import Sessions

log = logging.getLogger("rayscope.server")

_MAX_PAUSE_S = 30.0
#: How long somebody who deletes a session waits for that.
_DELETION_S = 15.0


class Writer(Merger, Protocol):
    """Who writes the records, see :class:`rayscope.ingest.writer.Writer`."""

    on_merge: Callable[[About, RecordBatch, Tables], None] | None


class WarehouseService:
    """Keeps a data directory and a warehouse in step. :meth:`start` before use, :meth:`stop` at the end.

    ``server``: the name of this one. ``is_live``, ``polled`` and ``max_age_days``: see
    :class:`rayscope.warehouse.sessions.Sessions`; ``delete`` and ``position``: see
    :class:`rayscope.warehouse.deletions.Deletions`. ``work``: a folder for what is made and thrown away.
    Raises StoreError for what is no URL of a warehouse.
    """

    files: Collection[str] = tuple(part.file for part in PARTS.values())
    name = "warehouse"
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
        delete: Callable[[str], bool],
        position: Path,
        work: Path,
        memory_limit: str,
        max_age_days: float | None = None,
    ) -> None:
        #: Without a password.
        self.shown_url = parse_url(url).shown
        self._url = url
        self._catalog = catalog
        self._work = work
        self._memory_limit = memory_limit
        self._sessions = Sessions(server, catalog, is_live=is_live, polled=polled, max_age_days=max_age_days)
        self._teller = Teller(server)
        self._beats = Beats(self._teller, url, self._sessions.watched)
        self._reporter = Reporter(
            self._sessions, self._teller, flush=writer.flush, watermark_ns=self._watermark_ns, work=work
        )
        writer.on_merge = self._reporter.note
        self._follower = Follower(self._sessions, writer, watermark_ns=self._watermark_ns)
        self._deletions = Deletions(
            self._sessions,
            self._teller,
            watermark_ns=self._watermark_ns,
            delete=delete,
            position=position,
            url=self.shown_url,
        )
        self._open = ExitStack()
        self._warehouse: Warehouse | None = None
        self._failures = 0
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
            "waiting_rows": self._reporter.waiting,
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
        if not self._sessions.is_own(session):
            return False
        watching = {member.server for member in members if session in member.watches}
        known = self._sessions.known.get(session)
        found = keeper(members, watching or (known.told_by if known else ()))
        return not is_sure or found in (None, server)

    # Sessions that others recorded.

    def has(self, session: str) -> bool:
        """Whether the warehouse has a session, as far as is known."""
        return session in self._sessions.known and session not in self._sessions.deleted

    def is_sealed(self, session: str) -> bool:
        """Whether the warehouse has all of a session's record that is here."""
        return self._sessions.is_sealed(session)

    def bring(self, session: str, file: str) -> None:
        """Make a session's record, if others have recorded it. Raises StoreError."""
        if file != RECORD or not self.has(session):
            return
        began = time.monotonic()
        about = self._catalog.about(session)
        try:
            with connect(self._url) as warehouse:
                path = self._catalog.path_of(session)
                until_ns = make_record(warehouse, about, path, self._work, self._memory_limit)
        except FileExistsError:  # the session has come to this server meanwhile, which follows the rest
            return
        except OSError as error:
            raise StoreError(
                f"{session} cannot be brought from the warehouse: {error.strerror or error}.",
                "Free some space on the server's disk, and try again.",
                "full",
            ) from error
        try:
            self._catalog.about(session).followed_ns = until_ns
        except NotFound:  # deleted meanwhile
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        self._catalog.save_about(session)
        log.info("brought %s from the warehouse in %.1f s", session, time.monotonic() - began)

    def remove(self, session: str) -> bool:
        """Have a session deleted by all servers, and from the warehouse. Raises StoreError.

        Returns whether this server has done so within some seconds; else it goes on.
        """
        with connect(self._url) as warehouse:
            migrate.check(warehouse)
            deleted_ns = self._deletions.ask(warehouse, session)
        deadline = time.monotonic() + _DELETION_S
        while not (is_done := self._deletions.is_done(session, deleted_ns)) and time.monotonic() < deadline:
            self._task.wake()
            time.sleep(0.2)
        return is_done

    # The service's own thread.

    def _turn(self) -> float | None:
        try:
            warehouse = self._connected()
            for session in self._deletions.follow(warehouse):
                self._reporter.forget(session)
                self._follower.forget(session)
            self._reporter.tell(warehouse)
            self._follower.list(warehouse)
            self._follower.follow(warehouse, self._is_stopping)
            self._reporter.tell_whole(warehouse, self._is_stopping)
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
            self._follower.begin()
        self._beats.wait()
        return self._warehouse

    def _disconnect(self) -> None:
        self._warehouse = None
        self._open.close()

    def _is_stopping(self) -> bool:
        return self._task.is_stopping

    def _watermark_ns(self) -> int:
        return watermark_ns(self._beats.members)
