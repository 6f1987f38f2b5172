"""Keeps a running server and its warehouse in sync: publishes what arrives here, and reads what others
publish.

Every server keeps its own record of each session that it records, or that a user opened on it, so all views
work as they do without a warehouse.
"""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Protocol

from rayscope.archive.tables import PARTS
from rayscope.model import RecordBatch
from rayscope.periodic import PeriodicTask
from rayscope.storage.about import About
from rayscope.storage.catalog import RECORD, Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.rows import Tables
from rayscope.warehouse import migrate, schemas
from rayscope.warehouse.client import Warehouse, connect, parse_url
from rayscope.warehouse.deletions import Deletions
from rayscope.warehouse.follower import Follower, Merger
from rayscope.warehouse.news import make_record
from rayscope.warehouse.reporter import Reporter
from rayscope.warehouse.servers import HEARTBEAT_S, Heartbeat, Publisher, keeper, watermark_ns
from rayscope.warehouse.sessions import Sessions

log = logging.getLogger("rayscope.server")

_MAX_PAUSE_S = 30.0
#: How long a request to delete a session waits for completion, in seconds.
_DELETION_S = 15.0


class Writer(Merger, Protocol):
    """The writer of records, see :class:`rayscope.ingest.writer.Writer`."""

    on_merge: Callable[[About, RecordBatch, Tables], None] | None


class Exchange(Protocol):
    """Shares other data than records, see :class:`rayscope.runs.exchange.RunExchange`."""

    def begin(self) -> None:
        """Start over after a reconnect."""

    def forget(self, session: str) -> None:
        """Forget a deleted session."""

    def follow(
        self,
        warehouse: Warehouse,
        publisher: Publisher,
        until_ns: int,
        deleted: Collection[str],
        is_stopping: Callable[[], bool],
    ) -> None:
        """Read what others published until ``until_ns``, and publish what changed. Raises StoreError."""


class WarehouseService:
    """Keeps a data directory and a warehouse in sync. Call :meth:`start` before use, :meth:`stop` at the end.

    Args:
        url: the warehouse, see :func:`rayscope.warehouse.client.parse_url`.
        server: name of this server.
        catalog: the sessions on this disk.
        writer: writes the records.
        is_live: see :class:`rayscope.warehouse.sessions.Sessions`, also for ``polled`` and ``max_age_days``.
        delete: see :class:`rayscope.warehouse.deletions.Deletions`, also for ``position``.
        work: folder for temporary files.
        memory_limit: DuckDB's memory limit while it creates a record.

    Raises:
        StoreError: the URL is invalid.
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
        #: The URL without the password.
        self.shown_url = parse_url(url).shown
        self._url = url
        self._catalog = catalog
        self._work = work
        self._memory_limit = memory_limit
        self._sessions = Sessions(server, catalog, is_live=is_live, polled=polled, max_age_days=max_age_days)
        self._publisher = Publisher(server)
        self._heartbeat = Heartbeat(self._publisher, url, self._sessions.watched)
        self._reporter = Reporter(
            self._sessions, self._publisher, flush=writer.flush, watermark_ns=self._watermark_ns, work=work
        )
        writer.on_merge = self._reporter.note
        self._follower = Follower(self._sessions, writer, watermark_ns=self._watermark_ns)
        self._deletions = Deletions(
            self._sessions,
            self._publisher,
            watermark_ns=self._watermark_ns,
            delete=delete,
            position=position,
            url=self.shown_url,
        )
        self.exchanges: list[Exchange] = []
        self._open = ExitStack()
        self._warehouse: Warehouse | None = None
        self._failures = 0
        self._task = PeriodicTask("rayscope-warehouse", HEARTBEAT_S, self._turn, at_once=True)
        #: Why the warehouse cannot be used at the moment, None if it can.
        self.problem: StoreError | None = None
        shutil.rmtree(work, ignore_errors=True)  # left by a server that was killed

    def start(self, own_url: str) -> None:
        """Start the threads. ``own_url``: the address at which users reach this server."""
        self._publisher.url = own_url
        self._heartbeat.start()
        self._task.start()

    def stop(self) -> None:
        """Stop the threads. Unpublished changes are published from the record after the next start."""
        self._task.stop(timeout_s=5.0)
        self._heartbeat.stop()
        self._open.close()

    def status(self) -> schemas.WarehouseStatus:
        """The warehouse's part of ``/api/health``."""
        return {
            "url": self.shown_url,
            "server": self._publisher.server,
            "waiting_rows": self._reporter.waiting,
            "servers": [
                {
                    "server": member.server,
                    "url": member.url,
                    "is_alive": member.is_alive,
                    "age_s": round(member.age_s, 1),
                    "sessions": len(member.watches),
                }
                for member in self._heartbeat.members
                if member.url
            ],
        }

    # Jobs that only one server may run.

    def is_keeper(self, session: str | None = None) -> bool:
        """Whether this server runs the jobs that must run only once: for a session, or if None for all.

        Alerts must not stop if the warehouse fails: without it, each server runs them for its own sessions.
        """
        server, members, has_lease = (
            self._publisher.server,
            self._heartbeat.members,
            self._publisher.has_lease,
        )
        if session is None:
            return has_lease and keeper(members) == server
        if not self._sessions.is_own(session):
            return False
        watching = {member.server for member in members if session in member.watches}
        known = self._sessions.known.get(session)
        found = keeper(members, watching or (known.publishers if known else ()))
        return not has_lease or found in (None, server)

    # Sessions recorded by other servers.

    def has(self, session: str) -> bool:
        """Whether the warehouse is known to have a session."""
        return session in self._sessions.known and session not in self._sessions.deleted

    def is_sealed(self, session: str) -> bool:
        """Whether the warehouse has the complete local record of a session."""
        return self._sessions.is_sealed(session)

    def fetch(self, session: str, file: str) -> None:
        """Create a session's record from what others have recorded. Raises StoreError."""
        if file != RECORD or not self.has(session):
            return
        began = time.monotonic()
        about = self._catalog.about(session)
        try:
            with connect(self._url) as warehouse:
                path = self._catalog.path_of(session)
                until_ns = make_record(warehouse, about, path, self._work, self._memory_limit)
        except FileExistsError:  # its data has begun to arrive here, so the follower adds the rest
            return
        except OSError as error:
            raise StoreError(
                f"{session} cannot be brought from the warehouse: {error.strerror or error}.",
                "Free some space on the server's disk, and try again.",
                "full",
                what="warehouse",
                id=session,
                reason=error.strerror or str(error),
            ) from error
        try:
            self._catalog.about(session).followed_ns = until_ns
        except NotFound:  # it was deleted in the meantime
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        self._catalog.save_about(session)
        log.info("brought %s from the warehouse in %.1f s", session, time.monotonic() - began)

    def remove(self, session: str) -> bool:
        """Delete a session from all servers and the warehouse. Raises StoreError.

        Returns whether this server has finished within a few seconds. Otherwise the deletion continues.
        """
        with connect(self._url) as warehouse:
            migrate.check(warehouse)
            deleted_ns = self._deletions.request(warehouse, session)
        deadline = time.monotonic() + _DELETION_S
        while not (is_done := self._deletions.is_done(session, deleted_ns)) and time.monotonic() < deadline:
            self._task.wake()
            time.sleep(0.2)
        return is_done

    # Run by the service's own thread.

    def _turn(self) -> float | None:
        try:
            warehouse = self._connected()
            for session in self._deletions.follow(warehouse):
                self._reporter.forget(session)
                self._follower.forget(session)
                for exchange in self.exchanges:
                    exchange.forget(session)
            self._reporter.publish(warehouse)
            self._follower.list(warehouse)
            self._follower.follow(warehouse, self._is_stopping)
            self._reporter.publish_whole(warehouse, self._is_stopping)
            for exchange in self.exchanges:
                deleted = self._sessions.deleted
                exchange.follow(warehouse, self._publisher, self._watermark_ns(), deleted, self._is_stopping)
        except StoreError as error:
            self._disconnect()
            if self.problem is None or self.problem.message != error.message:
                log.warning("%s %s", error.message, error.remedy)
            self.problem = error
            self._failures += 1
            return min(_MAX_PAUSE_S, float(HEARTBEAT_S * 2 ** min(self._failures, 10)))
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
            for exchange in self.exchanges:
                exchange.begin()
        self._heartbeat.wait()
        return self._warehouse

    def _disconnect(self) -> None:
        self._warehouse = None
        self._open.close()

    def _is_stopping(self) -> bool:
        return self._task.is_stopping

    def _watermark_ns(self) -> int:
        return watermark_ns(self._heartbeat.members)
