"""What waits to be merged: batches in the spool, a bounded part of them in memory too, and what has no batch.

Who asks for a flush waits until all that was put before is written: that is told by counts of items.
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

#: Bytes of batches that may wait in memory; what comes beyond waits in the spool alone.
_MAX_QUEUED_BYTES = 32 << 20
#: Bytes of batches that are decoded together. The more, the less an event costs, but it takes memory.
DECODE_BYTES = 8 << 20
#: What could not be merged is tried again so often.
_TRY_AGAIN_S = 2.0


@dataclass(frozen=True)
class Spooled:
    """A batch in the spool, with its size in bytes; and the batch itself if there is room in memory."""

    name: str
    size: int
    batch: Batch | None = None


@dataclass(frozen=True)
class Records:
    """Records without a batch, from source ``recording``. ``tables``: what of them is in tables."""

    batch: RecordBatch
    recording: str
    tables: Tables = field(default_factory=dict)


@dataclass(frozen=True)
class End:
    """A session that has ended, and when; None: it lives after all."""

    session: str
    end_ns: int | None


@dataclass
class Removal:
    """A session to be deleted, and what came of it."""

    session: str
    is_gone: bool = False
    #: Nobody waits for it any more.
    is_given_up: bool = False
    done: threading.Event = field(default_factory=threading.Event)


Item: TypeAlias = Spooled | Records | End | Removal


class Queue:
    """Items in order of arrival. Thread-safe, with one thread that takes: the writer's.

    ``changed`` is the lock of all of it; hold it to look before you wait.
    """

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self._items: deque[Item] = deque()
        #: What could not be merged, and when it is queued again (monotonic s).
        self._set_back: list[Spooled | Records] = []
        self._next_try = 0.0
        #: Bytes of the batches that can be taken, and of those that are in memory.
        self.waiting_bytes = self._queued_bytes = 0
        #: How many items were taken and not set back, and how many are asked to be written, and are written.
        self.taken = self._asked = self._written = 0
        #: Items that are not taken yet, also those that are set back. Read without the lock.
        self.pending = 0

    def __len__(self) -> int:
        """Items that can be taken."""
        return len(self._items)

    def _count(self) -> None:
        self.pending = len(self._items) + len(self._set_back)

    def put(self, item: Item) -> None:
        """Append an item. A batch for which there is no room in memory is read again from the spool."""
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
        """The next item, or as many batches as are decoded together. Raises IndexError if nothing waits."""
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
        """Keep what was taken and cannot be merged just now for :meth:`retry`. The others go on."""
        with self.changed:
            self._set_back.append(replace(item, batch=None) if isinstance(item, Spooled) else item)
            self.taken -= 1
            self._count()

    def retry(self) -> bool:
        """Put what was set back into the queue again, at most each 2 s. Returns whether anything was."""
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
        """Ask that all that was put is written. Returns the number to wait for with :meth:`wait_written`."""
        with self.changed:
            self._asked = self.taken + self.pending
            self.changed.notify_all()
            return self._asked

    @property
    def is_asked(self) -> bool:
        """Whether somebody asked for what is not written yet."""
        return self._written < self._asked

    def set_written(self, count: int) -> None:
        """So many of the items that were taken are written."""
        with self.changed:
            self._written = count
            self.changed.notify_all()

    def wait_written(self, count: int, timeout_s: float) -> bool:
        """Wait until so many items are written. Returns whether they are."""
        with self.changed:
            return self.changed.wait_for(lambda: self._written >= count, timeout_s)
