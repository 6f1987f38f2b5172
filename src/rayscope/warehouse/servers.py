"""The servers that share a warehouse: which of them live, what each has told, and who does what only one may.

Each server says every two seconds that it lives. How long ago that was is told by the warehouse's clock, so
those of the servers need not agree. When rows are told is counted by a clock that all servers move on
together: none is behind what it has seen of the others.
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

#: A server that has said nothing for longer is taken for gone.
GONE_S = 30.0
#: So long after its last word a server is still sure that no other one takes it for gone.
SURE_S = 15.0
#: How often a server says that it lives.
BEAT_S = 2.0
#: How long the first word to the others may take.
_BEGIN_S = 10.0
#: What a server says last: it will tell nothing more.
_FAREWELL_NS = (1 << 63) - 1
#: When anything was told last. Sessions are told of after what came to them.
_LATEST = (
    "SELECT max(told_ns) FROM "
    "(SELECT max(told_ns) AS told_ns FROM raw_sessions UNION ALL SELECT max(told_ns) FROM raw_deletions)"
)


class Member(NamedTuple):
    """A server, as it last told of itself ``age_s`` ago. ``watches``: the sessions that it records."""

    server: str
    url: str
    began_ns: int
    stored_ns: int
    watches: frozenset[str]
    age_s: float

    @property
    def is_alive(self) -> bool:
        """Whether it was heard from just now, and has not said that it ends."""
        return self.age_s <= GONE_S and self.stored_ns != _FAREWELL_NS


class Teller:
    """Tells rows in the name of one server, and says that it lives. Thread-safe; each thread brings its own
    connection.

    ``url``: where people reach the server; '' for a command, which shares no work.
    """

    def __init__(self, server: str, url: str = "") -> None:
        self.server = server
        self.url = url
        self._began_ns = time.time_ns()
        self._lock = threading.Lock()
        #: When the last rows were told, and those that are being stored now.
        self.told_ns = 0
        self._storing: set[int] = set()
        self._beat_s = float("-inf")
        #: How often the others may have taken this one for gone.
        self._lapses = 0

    @property
    def is_sure(self) -> bool:
        """Whether no other server takes this one for gone."""
        return time.monotonic() - self._beat_s < SURE_S

    def insert(
        self, warehouse: Warehouse, table: str, rows: pa.Table, *, told_by: Sequence[str] | None = None
    ) -> int:
        """Insert rows. ``told_by``: the servers that have what the rows describe, this one unless told.

        Returns when they were told, by the servers' clock. Raises StoreError; then it is not known whether
        they are there.
        """
        # Readers wait for the servers that they know.
        self.check_sure()
        lapses = self._lapses
        with self._lock:
            told_ns = self.told_ns = max(time.time_ns(), self.told_ns + 1)
            self._storing.add(told_ns)
        told = {
            "told_ns": pa.repeat(pa.scalar(told_ns, pa.int64()), rows.num_rows),
            "told_by": pa.repeat(
                pa.scalar([self.server] if told_by is None else list(told_by), pa.list_(pa.string())),
                rows.num_rows,
            ),
        }
        try:
            warehouse.insert(table, pa.table([*rows.columns, *told.values()], [*rows.column_names, *told]))
            self.check_sure(lapses)
        finally:
            with self._lock:
                self._storing.discard(told_ns)
        return told_ns

    def check_sure(self, lapses: int | None = None) -> None:
        """Raises StoreError if other servers may take this one for gone, or might have since ``lapses``."""
        if not self.is_sure or lapses not in (None, self._lapses):
            raise StoreError(
                "The other servers have not heard from this one for a while.",
                "It goes on by itself.",
                "unreachable",
            )

    def beat(self, warehouse: Warehouse, watches: Collection[str], *, is_last: bool = False) -> list[Member]:
        """Say that the server lives, and up to when what it told is stored. Returns all servers.

        ``is_last``: that it ends. Raises StoreError.
        """
        began = time.monotonic()
        if not self.told_ns:  # a clock may have gone back since this server told something
            ((latest_ns,),) = warehouse.rows(_LATEST)
            self.told_ns = latest_ns
        with self._lock:
            self._lapses += not self.is_sure
            self.told_ns = max(self.told_ns, time.time_ns() - 1)
            stored_ns = min(self._storing, default=self.told_ns + 1) - 1
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
            self.told_ns = max(self.told_ns, *others, 0)
            self._beat_s = float("-inf") if is_last else began
        return members


class Beats:
    """Says again and again that a server lives, in a thread and by a connection of its own.

    ``watches()``: the sessions that it records.
    """

    def __init__(self, teller: Teller, url: str, watches: Callable[[], Collection[str]] = tuple) -> None:
        self._teller = teller
        self._url = url
        self._watches = watches
        self._open = ExitStack()
        self._warehouse: Warehouse | None = None
        self._task = PeriodicTask("rayscope-warehouse-beat", BEAT_S, self._turn, at_once=True)
        #: All servers, as they told of themselves last.
        self.members: list[Member] = []

    def start(self) -> None:
        """Begin."""
        self._task.start()

    def wait(self) -> None:
        """Wait for the first word, and until the servers are known. Raises StoreError."""
        deadline = time.monotonic() + _BEGIN_S
        while not (self._teller.is_sure and self.members) and time.monotonic() < deadline:
            time.sleep(0.01)
        self._teller.check_sure()
        if not self.members:
            raise StoreError("The servers are not known yet.", "It goes on by itself.", "unreachable")

    def stop(self) -> None:
        """Say farewell, so that nobody waits for this server."""
        self._task.stop(timeout_s=5.0)
        with contextlib.suppress(StoreError):
            if self._warehouse is not None and not self._task.is_alive:
                self._teller.beat(self._warehouse, (), is_last=True)
        self._open.close()

    def _turn(self) -> None:
        try:
            if self._warehouse is None:
                self._warehouse = self._open.enter_context(connect(self._url))
                check(self._warehouse)
            self.members = self._teller.beat(self._warehouse, self._watches())
        except StoreError as error:
            # Whoever tells something says what the matter is.
            log.debug("%s", error.message)
            self._warehouse = None
            self._open.close()


@contextlib.contextmanager
def telling(server: str, url: str) -> Iterator[Teller]:
    """A teller for the time of a command. Raises StoreError."""
    teller = Teller(server)
    beats = Beats(teller, url)
    beats.start()
    try:
        beats.wait()
        yield teller
    finally:
        beats.stop()


def read_members(warehouse: Warehouse) -> list[Member]:
    """All servers that were heard from within a day, those that have run longest first. Raises StoreError."""
    found = warehouse.rows(
        "SELECT server, url, began_ns, stored_ns, watches, dateDiff('millisecond', seen, now64(3)) / 1000 "
        f"FROM {SERVERS} FINAL WHERE seen > now64(3) - toIntervalDay(1) ORDER BY began_ns, server"
    )
    return [
        Member(server, url, began_ns, stored_ns, frozenset(watches), float(age_s))
        for server, url, began_ns, stored_ns, watches, age_s in found
    ]


def watermark_ns(members: Sequence[Member]) -> int:
    """All that was told up to then is stored, whoever told it."""
    return min((member.stored_ns for member in members if member.is_alive), default=0)


def keeper(members: Sequence[Member], among: Collection[str] | None = None) -> str | None:
    """The one server that does what is done once: of those that live, and are ``among`` these (None: of all),
    the one that has run longest. None if there is none.
    """
    for member in members:
        if member.is_alive and member.url and (among is None or member.server in among):
            return member.server
    return None
