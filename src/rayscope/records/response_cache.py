"""Caches results, so that several requests for the same result share one computation."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from rayscope.storage.errors import Busy
from rayscope.storage.interruption import Work, current_work, working

T = TypeVar("T")
#: Maximum size of all results, in bytes.
MAX_BYTES = 64 << 20
#: Estimated overhead of a result, in bytes.
_ENTRY_BYTES = 1_000
#: Maximum number of results. It is needed because only the size of ``bytes`` results is known.
MAX_ENTRIES = 1_000
#: A result about a live session is kept for this many times as long as it took to compute. So computing it
#: takes at most a tenth of the time, regardless of the number of clients.
_COST_FACTOR = 10
#: Minimum time that a result about a live session is kept, in seconds.
_MIN_TTL_S = 0.5
#: Maximum time that a result about a live session is kept, in seconds.
_MAX_TTL_S = 60.0
#: Time without use after which a result is dropped, in seconds.
_IDLE_S = 600.0
#: A result that took long to compute is kept for at least this many times as long.
_IDLE_FACTOR = 100
#: Maximum number of requests that wait for the result of another request. Each occupies one of the server's
#: 40 threads.
_MAX_WAITING = 16
#: How long a request waits for another request that computes the same result, in seconds.
_WAIT_S = 60.0
#: The time (``time.monotonic()``) of the oldest result that the current computation has used.
_as_of_s: ContextVar[float] = ContextVar("as_of_s", default=math.inf)


def _note_use(as_of_s: float) -> None:
    _as_of_s.set(min(_as_of_s.get(), as_of_s))


def _compute(make: Callable[[], T], now: float) -> tuple[T, float]:
    """Compute a result. Returns it with the time of the oldest cached result that it used, or ``now`` if
    none.
    """
    outer = _as_of_s.set(now)
    try:
        return make(), _as_of_s.get()
    finally:
        _as_of_s.reset(outer)


@dataclass
class _Entry:
    """A cached result. ``as_of_s``: when its computation or, if earlier, that of the oldest result it used
    began. ``used_s``: when it was last used. ``max_idle_s``: it is dropped if it was not used for this time.
    """

    value: Any
    stamp: Hashable
    as_of_s: float
    expires_s: float
    size: int
    used_s: float
    max_idle_s: float


class _Computation:
    """A result being computed, and the number of requests that wait for it. When the last one leaves, it is
    canceled.
    """

    def __init__(self) -> None:
        self.work = Work()
        self.done = threading.Event()
        self._waiting = 0
        self._lock = threading.Lock()

    def join(self) -> None:
        """Count the current request as waiting until its client leaves. A request without a client waits to
        the end.
        """
        with self._lock:
            self._waiting += 1
        work = current_work()
        if work is not None:
            work.when_abandoned(self._leave)

    def _leave(self) -> None:
        with self._lock:
            self._waiting -= 1
            abandoned = self._waiting == 0
        if abandoned:
            self.work.abandon()


class ResponseCache:
    """The most recently used results, up to ``max_bytes`` in total.

    Equal requests at the same time share one computation, which is interrupted once all clients have left.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._bytes = 0
        self._in_progress: dict[tuple[str, str], _Computation] = {}
        self._waiting = threading.BoundedSemaphore(_MAX_WAITING)
        self._lock = threading.Lock()

    def get(self, session: str, name: str, stamp: Hashable, make: Callable[[], T]) -> tuple[T, float]:
        """Return a session's result with this name, and its age in seconds.

        ``stamp`` identifies the content that the result was computed from. While the stamp is the same, the
        result stays valid and its age is 0. None stands for a live session, whose results expire. ``make``
        computes the result. A result that uses an older cached result is considered equally old. Errors
        propagate to the caller and are not cached. Raises Busy if too many requests wait for others.
        """
        key = (session, name)
        deadline = time.monotonic() + _WAIT_S
        while True:
            with self._lock:
                now = time.monotonic()
                entry = self._entries.get(key)
                if entry is not None and (
                    entry.stamp == stamp if stamp is not None else now < entry.expires_s
                ):
                    self._entries.move_to_end(key)
                    entry.used_s = now
                    _note_use(entry.as_of_s if stamp is None else now)
                    return entry.value, 0.0 if stamp is not None else now - entry.as_of_s
                computation = self._in_progress.get(key)
                if computation is None:
                    computation = self._in_progress[key] = _Computation()
                    computation.join()  # before another request can join and leave
                    break
            if not self._waiting.acquire(blocking=False):
                raise Busy(f"{_MAX_WAITING} requests are already waiting for answers that others asked for.")
            try:
                computation.join()
                is_done = computation.done.wait(deadline - now)
            finally:
                self._waiting.release()
            if not is_done:
                value, as_of_s = _compute(make, now)
                return value, now - as_of_s
            if (mine := current_work()) is not None:
                mine.check()
        try:
            with working(computation.work):
                value, as_of_s = _compute(make, now)
            if stamp is not None:
                as_of_s = now
            self._store(key, value, stamp, now, as_of_s)
        finally:
            with self._lock:
                del self._in_progress[key]
            computation.done.set()
        _note_use(as_of_s)
        return value, now - as_of_s

    def forget(self, session: str) -> None:
        """Drop all results about a session."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == session]:
                self._bytes -= self._entries.pop(key).size

    def drop_unused(self) -> None:
        """Drop results that were not used for a while, such as those about sessions that nobody looks at."""
        with self._lock:
            now = time.monotonic()
            for key in [key for key, one in self._entries.items() if now - one.used_s > one.max_idle_s]:
                self._bytes -= self._entries.pop(key).size

    def _store(
        self, key: tuple[str, str], value: Any, stamp: Hashable, begun_s: float, as_of_s: float
    ) -> None:
        ended_s = time.monotonic()
        cost_s = ended_s - begun_s
        ttl_s = min(_COST_FACTOR * cost_s, _MAX_TTL_S)
        if as_of_s < begun_s:  # Do not extend the life of an older result that this one used.
            ttl_s = min(ttl_s, as_of_s + _MAX_TTL_S - ended_s)
        size = _ENTRY_BYTES + sum(map(len, key)) + (len(value) if isinstance(value, bytes) else 0)
        with self._lock:
            before = self._entries.pop(key, None)
            if before is not None:
                self._bytes -= before.size
            if size <= self._max_bytes:
                expires_s, max_idle_s = ended_s + max(_MIN_TTL_S, ttl_s), max(_IDLE_S, _IDLE_FACTOR * cost_s)
                self._entries[key] = _Entry(value, stamp, as_of_s, expires_s, size, ended_s, max_idle_s)
                self._bytes += size
            while self._bytes > self._max_bytes or len(self._entries) > MAX_ENTRIES:
                _, oldest = self._entries.popitem(last=False)
                self._bytes -= oldest.size
