"""The queue of items to merge: spooled batches (some of them also in memory) and other records.

A flush waits until all items queued before it are written, which is tracked by counting items.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from rayscope.model import RecordBatch
from rayscope.ray.events.batch import Batch
from rayscope.storage.rows import Tables

#: Maximum total size of queued batches in memory, in bytes. Further batches wait only in the spool.
_MAX_QUEUED_BYTES = 32 << 20
#: Total size of the batches that are decoded together, in bytes. Larger groups cost less per event but need
#: more memory.
DECODE_BYTES = 8 << 20
#: Interval for retrying items that could not be merged, in seconds.
_TRY_AGAIN_S = 2.0


@dataclass(frozen=True)
class Spooled:
    """A batch in the spool, its size in bytes, and its content if there is room in memory."""

    name: str
    size: int
    batch: Batch | None = None


@dataclass(frozen=True)
class Records:
    """Records that are not in the spool. ``recording`` is their source, and ``tables`` holds those that
    arrived as tables.
    """

    batch: RecordBatch
    recording: str
    tables: Tables = field(default_factory=dict)


@dataclass(frozen=True)
class End:
    """The end of a session. ``end_ns`` is None if it is alive after all."""

    session: str
    end_ns: int | None


@dataclass
class Removal:
    """A request to delete a session, and its result."""

    session: str
    is_gone: bool = False
    #: The caller has stopped waiting.
    is_given_up: bool = False
    done: threading.Event = field(default_factory=threading.Event)


Item: TypeAlias = Spooled | Records | End | Removal


class Queue:
    """The items in order of arrival. Thread-safe. The only consumer is the writer's thread.

    ``changed`` is the lock of the whole queue. Hold it while checking whether to wait.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._items: deque[Item] = deque()
        #: Items that could not be merged, and when they may be queued again (monotonic, s).
        self._set_back: list[Spooled | Records] = []
        self._next_try = 0.0
        #: Total size of the queued batches, and of the ones among them that are in memory, in bytes.
        self.waiting_bytes = self._queued_bytes = 0
        #: Number of items taken and not set back, number of items that were requested to be written, and
        #: number of items written. All count from the start.
        self.taken = self._asked = self._written = 0
        #: Number of items not taken yet, including those that were set back. It is read without the lock.
        self.pending = 0

    def __len__(self) -> int:
        """Return the number of items that can be taken."""
        return len(self._items)

    def _count(self) -> None:
        self.pending = len(self._items) + len(self._set_back)

    def put(self, item: Item) -> None:
        """Append an item. If a batch exceeds the memory limit, its content is dropped and later read from the
        spool.
        """
        with self.changed:
            if isinstance(item, Spooled):
                self.waiting_bytes += item.size
                if item.batch is not None and self._queued_bytes + item.size <= _MAX_QUEUED_BYTES:
                    self._queued_bytes += item.size
                else:
                    item = replace(item, batch=None)
            self._items.append(item)
            self._count()
            self.changed.notify()

    def take(self) -> list[Spooled] | Records | End | Removal:
        """Remove and return the next item, or all batches to decode together. Raises IndexError if the queue
        is empty.
        """
        with self.changed:
            item = self._items.popleft()
            if not isinstance(item, Spooled):
                self.taken += 1
                self._count()
                return item
            batches, size = [item], item.size
            while self._items and size < DECODE_BYTES and isinstance(item := self._items[0], Spooled):
                batches.append(item)
                size += item.size
                self._items.popleft()
            self.taken += len(batches)
            self.waiting_bytes -= size
            self._queued_bytes -= sum(item.size for item in batches if item.batch is not None)
            self._count()
            return batches

    def set_back(self, item: Spooled | Records) -> None:
        """Keep an item that cannot be merged now for :meth:`retry`, without blocking the others."""
        with self.changed:
            self._set_back.append(replace(item, batch=None) if isinstance(item, Spooled) else item)
            self.taken -= 1
            self._count()

    def retry(self) -> bool:
        """Queue the items that were set back, at most every 2 s. Returns whether any were queued."""
        now = time.monotonic()
        with self.changed:
            if not self._set_back or now < self._next_try:
                return False
            self._next_try = now + _TRY_AGAIN_S
            for item in self._set_back:
                self.put(item)
            self._set_back = []
            self._count()
            return True

    def ask(self) -> int:
        """Request that all queued items are written. Returns the count to pass to :meth:`wait_written`."""
        with self.changed:
            self._asked = self.taken + self.pending
            self.changed.notify_all()
            return self._asked

    @property
    def is_asked(self) -> bool:
        """Whether an item that was requested to be written has not been written yet."""
        return self._written < self._asked

    def set_written(self, count: int) -> None:
        """Record how many of the taken items are written."""
        with self.changed:
            self._written = count
            self.changed.notify_all()

    def wait_written(self, count: int, timeout_s: float) -> bool:
        """Wait until ``count`` items are written. Returns whether that was done in time."""
        with self.changed:
            return self.changed.wait_for(lambda: self._written >= count, timeout_s)
