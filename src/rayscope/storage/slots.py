"""Limits how many costly requests run at once, so that the server can still respond to all others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rayscope.storage.errors import Busy

#: Interval at which a waiting request checks whether its client is still connected, in seconds.
_CHECK_S = 0.5


class Slots:
    """Lets at most ``count`` requests run at once. Up to ``waiting`` more wait for a slot, for up to
    ``wait_s``.

    Further requests are rejected, because each waiting one occupies a thread of the server. ``busy`` is the
    message of the error. Thread-safe.
    """

    def __init__(self, count: int, busy: str, *, waiting: int = 0, wait_s: float = 0.0) -> None:
        self._busy = busy
        self._wait_s = wait_s
        self._admitted = threading.BoundedSemaphore(count + waiting)
        self._running = threading.BoundedSemaphore(count)

    @contextmanager
    def take(self, check: Callable[[], None] = lambda: None) -> Iterator[None]:
        """Hold a slot inside the context. Raises :class:`Busy`, or any error of ``check``, which is called
        while waiting.
        """
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
