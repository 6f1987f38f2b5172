"""The servers that share a warehouse: which are alive, what each has published, and which one runs the jobs
that must run only once.

Each server sends a heartbeat every two seconds. The age of a heartbeat is measured by the warehouse's clock,
so the servers' clocks need not agree. Publications are timestamped by a logical clock that all servers
advance together: no server's clock is behind a time that the server has seen from another.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import pyarrow as pa

from rayscope.periodic import PeriodicTask
from rayscope.storage.errors import StoreError
from rayscope.warehouse.client import Warehouse, connect
from rayscope.warehouse.migrate import check
from rayscope.warehouse.schema import SERVERS

log = logging.getLogger("rayscope.server")

#: A server that sends no heartbeat for longer than this is considered gone, in seconds.
PEER_TIMEOUT_S = 30.0
#: For how long after a heartbeat a server can be sure that no other considers it gone, in seconds.
LEASE_S = 15.0
#: Interval between heartbeats, in seconds.
HEARTBEAT_S = 2.0
#: Time limit for the first heartbeat, in seconds.
_BEGIN_S = 10.0
#: ``stored_ns`` of a server that has ended and will publish nothing more.
_FAREWELL_NS = (1 << 63) - 1
#: Query for the time of the latest publication. The tables of data are not needed, because the row of a
#: session is published after its data.
_LATEST = (
    "SELECT max(told_ns) FROM "
    "(SELECT max(told_ns) AS told_ns FROM raw_sessions UNION ALL SELECT max(told_ns) FROM raw_deletions)"
)


class Member(NamedTuple):
    """A server as of its last heartbeat, ``age_s`` ago. ``watches``: the sessions that the server records."""

    server: str
    url: str
    began_ns: int
    stored_ns: int
    watches: frozenset[str]
    age_s: float

    @property
    def is_alive(self) -> bool:
        """Whether the server's last heartbeat is recent and was not a farewell."""
        return self.age_s <= PEER_TIMEOUT_S and self.stored_ns != _FAREWELL_NS


class Publisher:
    """Publishes rows in the name of one server, and sends its heartbeats. Thread-safe: each thread uses its
    own connection.

    ``url``: the address at which users reach the server, '' for a command, which never runs shared jobs.
    """

    def __init__(self, server: str, url: str = "") -> None:
        self.server = server
        self.url = url
        self._began_ns = time.time_ns()
        self._lock = threading.Lock()
        #: Time of the latest publication, and the times of the publications that are being stored now.
        self.published_ns = 0
        self._storing: set[int] = set()
        self._heartbeat_s = float("-inf")
        #: Number of times that others may have considered this server gone.
        self._lapses = 0

    @property
    def has_lease(self) -> bool:
        """Whether it is certain that no other server considers this one gone."""
        return time.monotonic() - self._heartbeat_s < LEASE_S

    def insert(
        self, warehouse: Warehouse, table: str, rows: pa.Table, *, publishers: Sequence[str] | None = None
    ) -> int:
        """Insert rows. Returns the time of publication by the servers' logical clock. Raises StoreError.

        ``publishers``: names of the servers that have the underlying data, by default this one. The rows may
        be stored even if StoreError is raised.
        """
        # Readers wait only for servers that they consider alive.
        self.check_lease()
        lapses = self._lapses
        with self._lock:
            published_ns = self.published_ns = max(time.time_ns(), self.published_ns + 1)
            self._storing.add(published_ns)
        extra = {
            "told_ns": pa.repeat(pa.scalar(published_ns, pa.int64()), rows.num_rows),
            "told_by": pa.repeat(
                pa.scalar([self.server] if publishers is None else list(publishers), pa.list_(pa.string())),
                rows.num_rows,
            ),
        }
        try:
            warehouse.insert(table, pa.table([*rows.columns, *extra.values()], [*rows.column_names, *extra]))
            self.check_lease(lapses)
        finally:
            with self._lock:
                self._storing.discard(published_ns)
        return published_ns

    def check_lease(self, lapses: int | None = None) -> None:
        """Raise StoreError if others may consider this server gone, or may have since ``lapses`` was read."""
        if not self.has_lease or lapses not in (None, self._lapses):
            raise StoreError(
                "The other servers have not heard from this one for a while.",
                "Rayscope retries automatically.",
                "unreachable",
                what="heartbeat",
            )

    def heartbeat(
        self, warehouse: Warehouse, watches: Collection[str], *, is_last: bool = False
    ) -> list[Member]:
        """Send a heartbeat with the time up to which publications are stored. Returns all servers.

        ``watches``: the sessions that this server records. ``is_last``: whether the server is about to end.
        Raises StoreError.
        """
        began = time.monotonic()
        if not self.published_ns:  # the clock may have been set back since this server last published
            ((latest_ns,),) = warehouse.rows(_LATEST)
            self.published_ns = latest_ns
        with self._lock:
            self._lapses += not self.has_lease
            self.published_ns = max(self.published_ns, time.time_ns() - 1)
            stored_ns = min(self._storing, default=self.published_ns + 1) - 1
        row = {
            "server": [self.server],
            "url": [self.url],
            "began_ns": [self._began_ns],
            "stored_ns": [_FAREWELL_NS if is_last else stored_ns],
            "watches": pa.array([sorted(watches)], pa.list_(pa.string())),
        }
        warehouse.insert(SERVERS, pa.table(row))
        members = read_members(warehouse)
        with self._lock:
            others = (member.stored_ns for member in members if member.is_alive)
            self.published_ns = max(self.published_ns, *others, 0)
            self._heartbeat_s = float("-inf") if is_last else began
        return members


class Heartbeat:
    """Sends a server's heartbeats, in a thread and over a connection of its own.

    ``watches`` returns the sessions that the server records.
    """

    def __init__(
        self, publisher: Publisher, url: str, watches: Callable[[], Collection[str]] = tuple
    ) -> None:
        self._publisher = publisher
        self._url = url
        self._watches = watches
        self._open = ExitStack()
        self._warehouse: Warehouse | None = None
        self._task = PeriodicTask("rayscope-warehouse-beat", HEARTBEAT_S, self._turn, at_once=True)
        #: All servers, as of their last heartbeats.
        self.members: list[Member] = []

    def start(self) -> None:
        """Start the thread."""
        self._task.start()

    def wait(self) -> None:
        """Wait for the first heartbeat and the list of servers. Raises StoreError."""
        deadline = time.monotonic() + _BEGIN_S
        while not (self._publisher.has_lease and self.members) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._publisher.check_lease()
        if not self.members:
            raise StoreError(
                "The servers are not known yet.",
                "Rayscope retries automatically.",
                "unreachable",
                what="servers",
            )

    def stop(self) -> None:
        """Send a farewell, so that no server waits for this one."""
        self._task.stop(timeout_s=5.0)
        with contextlib.suppress(StoreError):
            if self._warehouse is not None and not self._task.is_alive:
                self._publisher.heartbeat(self._warehouse, (), is_last=True)
        self._open.close()

    def _turn(self) -> None:
        try:
            if self._warehouse is None:
                self._warehouse = self._open.enter_context(connect(self._url))
                check(self._warehouse)
            self.members = self._publisher.heartbeat(self._warehouse, self._watches())
        except StoreError as error:
            # The next publication reports the error to the user.
            log.debug("%s", error.message)
            self._warehouse = None
            self._open.close()


@contextlib.contextmanager
def publishing(server: str, url: str) -> Iterator[Publisher]:
    """A publisher for the duration of a command. Raises StoreError."""
    publisher = Publisher(server)
    heartbeat = Heartbeat(publisher, url)
    heartbeat.start()
    try:
        heartbeat.wait()
        yield publisher
    finally:
        heartbeat.stop()


def read_members(warehouse: Warehouse) -> list[Member]:
    """All servers heard from within a day, the longest running first. Raises StoreError."""
    found = warehouse.rows(
        "SELECT server, url, began_ns, stored_ns, watches, dateDiff('millisecond', seen, now64(3)) / 1000 "
        f"FROM {SERVERS} FINAL WHERE seen > now64(3) - toIntervalDay(1) ORDER BY began_ns, server"
    )
    return [
        Member(server, url, began_ns, stored_ns, frozenset(watches), float(age_s))
        for server, url, began_ns, stored_ns, watches, age_s in found
    ]


def watermark_ns(members: Sequence[Member]) -> int:
    """The time up to which everything published by any server is stored."""
    return min((member.stored_ns for member in members if member.is_alive), default=0)


def keeper(members: Sequence[Member], among: Collection[str] | None = None) -> str | None:
    """The server that runs a job that must run only once, or None if there is none.

    It is the longest running server that is alive and, unless ``among`` is None, is one of the servers in it.
    """
    for member in members:
        if member.is_alive and member.url and (among is None or member.server in among):
            return member.server
    return None
