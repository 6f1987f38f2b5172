"""Limits how many costly requests run at a time, so that the server can still answer all others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rayscope.storage.errors import Busy

#: How often a request that waits checks whether its client is still there, s.
_CHECK_S = 0.5


class Slots:
    """At most ``count`` requests run at a time, and ``waiting`` more wait ``wait_s`` for a slot.

    Any beyond that are refused: each that waits holds one of the server's threads. ``busy`` is the
    message of their error. Thread-safe.
    """

    def __init__(self, count: int, busy: str, *, waiting: int = 0, wait_s: float = 0.0) -> None:
        self._busy = busy
        self._wait_s = wait_s
        self._admitted = threading.BoundedSemaphore(count + waiting)
        self._running = threading.BoundedSemaphore(count)

    @contextmanager
    def take(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold a slot for the block. Raises :class:`Busy`, and what ``check`` raises while it waits."""
        if not self._admitted.acquire(blocking=False):
            raise Busy(self._busy)
        try:
            deadline = time.monotonic() + self._wait_s
            while not self._running.acquire(timeout=max(0.0, min(_CHECK_S, deadline - time.monotonic()))):
                if time.monotonic() >= deadline:
                    raise Busy(self._busy)
                check()
            try:
                yield
            finally:
                self._running.release()
        finally:
            self._admitted.release()
