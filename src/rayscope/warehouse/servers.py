"""The servers that share a warehouse: which of them live, what each has told, and who does what only one may.

Each server says every few seconds that it lives. The ages of these words are told by the warehouse's clock,
so those of the servers need not agree; when a row was told, and up to when a server's rows are stored, are
told by one clock as well: that server's.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from typing import NamedTuple

import pyarrow as pa

from rayscope.warehouse.client import Warehouse
from rayscope.warehouse.schema import SERVERS

#: A server that has said nothing for longer is taken for gone.
GONE_S = 30.0
#: So long after its last word a server is still sure that no other one has taken over.
SURE_S = 15.0
#: How often a server says that it lives, also while it loads a large record.
BEAT_S = 2.0


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
        """Whether it was heard from just now."""
        return self.age_s <= GONE_S


class Teller:
    """Inserts rows in the name of one server, and says how far it has come. One thread at a time.

    ``url``: where people reach the server; '' for a command, which shares no work.
    """

    def __init__(self, warehouse: Warehouse, server: str, url: str = "") -> None:
        self.warehouse = warehouse
        self.server = server
        self._url = url
        self._began_ns = time.time_ns()
        self._watches: list[str] = []
        self._next_beat = 0.0
        #: When the last row was told (ns).
        self.told_ns = 0
        #: When it last said that it lives (monotonic s).
        self.beat_s = float("-inf")

    def insert(self, table: str, rows: pa.Table) -> None:
        """Insert rows. Raises StoreError."""
        # Readers wait for all servers that live, so they have to know this one first.
        if time.monotonic() - self.beat_s > SURE_S:
            self.beat(self._watches)
        while True:
            began = time.monotonic()
            self.told_ns = max(time.time_ns(), self.told_ns + 1)
            told = {
                "told_ns": pa.repeat(pa.scalar(self.told_ns, pa.int64()), rows.num_rows),
                "told_by": pa.repeat(pa.scalar([self.server], pa.list_(pa.string())), rows.num_rows),
            }
            self.warehouse.insert(
                table, pa.table([*rows.columns, *told.values()], [*rows.column_names, *told])
            )
            # Readers do not wait for a server that is silent. What came so late they might not look for.
            if time.monotonic() - began < SURE_S:
                break
        if time.monotonic() >= self._next_beat:
            self.beat(self._watches)

    def beat(self, watches: Collection[str]) -> None:
        """Say that the server lives, and that all that it has told is stored. Raises StoreError."""
        began = time.monotonic()
        self._watches = sorted(watches)
        stored_ns = max(self.told_ns, time.time_ns() - 1)
        row = {
            "server": [self.server],
            "url": [self._url],
            "began_ns": [self._began_ns],
            "stored_ns": [stored_ns],
            "watches": pa.array([self._watches], pa.list_(pa.string())),
        }
        self.warehouse.insert(SERVERS, pa.table(row))
        self.told_ns = stored_ns
        self.beat_s = began
        self._next_beat = began + BEAT_S


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


def stored_ns(members: Sequence[Member]) -> int:
    """All that was told before is stored, whoever told it."""
    return min((member.stored_ns for member in members if member.is_alive), default=0)


def keeper(members: Sequence[Member], among: Collection[str] | None = None) -> str | None:
    """The one server that does what is done once: of those that live, and are ``among`` these (None: of all),
    the one that has run longest. None if there is none.
    """
    for member in members:
        if member.is_alive and member.url and (among is None or member.server in among):
            return member.server
    return None
