"""Answers that several people, or one person again and again, ask for: made once, and shared."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from rayscope.storage.errors import Busy
from rayscope.storage.interruption import Work, current_work, working

#: The size of all answers together, bytes, and what one takes besides its body.
MAX_BYTES = 64 << 20
_ENTRY_BYTES = 1_000
#: Answers at most: the size of those that are no bytes is not known.
MAX_ENTRIES = 1_000
#: An answer about a live session is given for ten times as long as it took to make, within these bounds (s).
#: So at most a tenth of the time goes into each question, however many people ask it.
_COST_FACTOR = 10
_MIN_TTL_S, _MAX_TTL_S = 0.5, 60.0
#: Requests that wait for others, each with one of the server's 40 threads.
_MAX_WAITING = 16
#: How long a request waits for another that is making the same answer, s.
_WAIT_S = 60.0


@dataclass(frozen=True)
class _Entry:
    value: Any
    stamp: Hashable
    begun_s: float
    expires_s: float
    size: int


class _Computation:
    """An answer that is being made, and how many wait for it. It ends when the last of them has left."""

    def __init__(self) -> None:
        self.work = Work()
        self.done = threading.Event()
        self._waiting = 0
        self._lock = threading.Lock()

    def join(self) -> None:
        """Count the current request in, until its client has left. Who cannot leave waits to the end."""
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
    """The answers that were given last, up to ``max_bytes`` in all.

    Equal questions at the same time are answered by one computation, which is interrupted once all who
    asked have left.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._entries: OrderedDict[tuple[str, str], _Entry] = OrderedDict()
        self._bytes = 0
        self._in_progress: dict[tuple[str, str], _Computation] = {}
        self._waiting = threading.BoundedSemaphore(_MAX_WAITING)
        self._lock = threading.Lock()

    def get(self, session: str, question: str, stamp: Hashable, make: Callable[[], Any]) -> tuple[Any, float]:
        """The answer to a question about a session, and its age in seconds.

        ``stamp`` names the state that the answer was made from: as long as it is the same, the answer holds
        and its age is 0. None stands for a live session, whose answers expire. ``make`` computes the answer;
        what it raises goes to the caller, and nothing is kept. Raises Busy if too many wait for others.
        """
        key = (session, question)
        deadline = time.monotonic() + _WAIT_S
        while True:
            with self._lock:
                now = time.monotonic()
                entry = self._entries.get(key)
                if entry is not None and (
                    entry.stamp == stamp if stamp is not None else now < entry.expires_s
                ):
                    self._entries.move_to_end(key)
                    return entry.value, 0.0 if stamp is not None else now - entry.begun_s
                computation = self._in_progress.get(key)
                if computation is None:
                    computation = self._in_progress[key] = _Computation()
                    computation.join()  # before anybody else can join and leave
                    break
            if not self._waiting.acquire(blocking=False):
                raise Busy(f"{_MAX_WAITING} requests are already waiting for answers that others asked for.")
            try:
                computation.join()
                is_done = computation.done.wait(deadline - now)
            finally:
                self._waiting.release()
            if not is_done:
                return make(), 0.0
            if (mine := current_work()) is not None:
                mine.check()
        try:
            with working(computation.work):
                value = make()
            self._store(key, value, stamp, now)
        finally:
            with self._lock:
                del self._in_progress[key]
            computation.done.set()
        return value, 0.0

    def forget(self, session: str) -> None:
        """Drop all answers about a session."""
        with self._lock:
            for key in [key for key in self._entries if key[0] == session]:
                self._bytes -= self._entries.pop(key).size

    def _store(self, key: tuple[str, str], value: Any, stamp: Hashable, begun_s: float) -> None:
        ended_s = time.monotonic()
        ttl_s = min(_MAX_TTL_S, max(_MIN_TTL_S, _COST_FACTOR * (ended_s - begun_s)))
        size = _ENTRY_BYTES + sum(map(len, key)) + (len(value) if isinstance(value, bytes) else 0)
        with self._lock:
            before = self._entries.pop(key, None)
            if before is not None:
                self._bytes -= before.size
            if size <= self._max_bytes:
                self._entries[key] = _Entry(value, stamp, begun_s, ended_s + ttl_s, size)
                self._bytes += size
            while self._bytes > self._max_bytes or len(self._entries) > MAX_ENTRIES:
                _, oldest = self._entries.popitem(last=False)
                self._bytes -= oldest.size
