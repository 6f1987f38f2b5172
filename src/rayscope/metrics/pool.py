"""A pool of threads shared by the collectors of all sessions."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

log = logging.getLogger(__name__)

SIZE = 8
_IDLE_CLOSE_S = 60.0
_CLOSE_S = 1.0


class _Job(NamedTuple):
    key: object
    name: str
    run: Callable[[], None]


class CollectorPool:
    """At most ``size`` threads, not counting those that are stuck in a job (see :meth:`release`)."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._changed = threading.Condition()
        self._jobs: deque[_Job] = deque()
        self._threads: set[threading.Thread] = set()
        self._idle = 0
        #: Key of a running job -> its thread. Does not contain released jobs.
        self._running: dict[object, threading.Thread] = {}
        self._closed = False

    def submit(self, key: object, name: str, run: Callable[[], None]) -> None:
        """Call ``run`` when a thread is free. ``key`` identifies the job for :meth:`release`."""
        with self._changed:
            self._jobs.append(_Job(key, name, run))
            self._add_threads()
            self._changed.notify()

    def release(self, key: object) -> None:
        """Free the slot of a long-running job, so that another thread can start.

        The job's own thread ends after the job.
        """
        with self._changed:
            thread = self._running.pop(key, None)
            if thread is not None:
                self._threads.discard(thread)
                self._add_threads()

    def close(self) -> None:
        """Stop the threads. Busy ones stop after their jobs."""
        with self._changed:
            self._closed = True
            self._jobs.clear()
            self._changed.notify_all()
            threads = list(self._threads)
        deadline = time.monotonic() + _CLOSE_S
        for thread in threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _add_threads(self) -> None:
        while self._idle < len(self._jobs) and len(self._threads) < self._size and not self._closed:
            thread = threading.Thread(target=self._work, name="rayscope-collect", daemon=True)
            self._threads.add(thread)
            self._idle += 1
            thread.start()

    def _work(self) -> None:
        me = threading.current_thread()
        while (job := self._next(me)) is not None:
            me.name = f"rayscope-collect-{job.name}"[:60]
            try:
                job.run()
            except BaseException:  # a plug-in may raise anything, and the thread is shared
                log.exception("collector %s", job.name)
            me.name = "rayscope-collect"
            key = job.key
            del job  # otherwise a thread without work keeps the last session in memory
            with self._changed:
                if self._running.pop(key, None) is None:
                    return  # another thread has replaced this one
                self._idle += 1

    def _next(self, me: threading.Thread) -> _Job | None:
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._closed, _IDLE_CLOSE_S)
            self._idle -= 1
            if not self._jobs:
                self._threads.discard(me)
                return None
            job = self._jobs.popleft()
            self._running[job.key] = me
            return job
