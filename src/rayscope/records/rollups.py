"""Computes the rollups of large sessions once they have ended, so that opening them is fast."""

from __future__ import annotations

import logging
import queue
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from rayscope.periodic import PeriodicTask
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import StoreError
from rayscope.storage.rollups import read_rollup, stored_attempts, write_rollup
from rayscope.storage.session_file import SessionFile

log = logging.getLogger("rayscope.server")

#: Minimum number of attempts for rollups. Smaller sessions are summed in a few hundredths of a second.
LARGE = 200_000
#: Interval for finding sessions that have ended, in seconds.
_LOOK_S = 3.0
#: Time limit for stopping the thread, in seconds.
_STOP_S = 5.0
#: Computes sums over a whole session from its record. Attempts without an end last until the given time (ns).
Make = Callable[[SessionFile, int], Any]
T = TypeVar("T")


class Rollups:
    """The rollups of views, by name. Call :meth:`start` before use, and :meth:`stop` at the end."""

    def __init__(self, records: SessionReader) -> None:
        self._records = records
        self._makers: dict[str, Make] = {}
        self._live: set[str] = set()
        self._requested: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._task = PeriodicTask("rayscope-rollups", _LOOK_S, self._make_due, at_once=True)
        #: The file that the thread is reading.
        self._reading: SessionFile | None = None

    def add(self, name: str, make: Make) -> None:
        """Register a rollup for every large session that has ended."""
        self._makers[name] = make

    def start(self) -> None:
        """Start computing rollups."""
        self._task.start()

    def stop(self) -> None:
        """Stop, interrupting the current computation."""
        self._task.stop(_STOP_S, self._interrupt)

    def _interrupt(self) -> None:
        if (file := self._reading) is not None:
            file.interrupt()

    def read(self, file: SessionFile, session: str, name: str, decoder: msgspec.json.Decoder[T]) -> T | None:
        """Return the sums of an ended session, or None if there are none yet. A large session is then
        queued.
        """
        if self._records.is_live(session):
            return None
        body = read_rollup(file, name, self._records.last_ns(session))
        if body is None:
            self._requested.put(session)
            return None
        return decoder.decode(body)

    def make_missing(self, session: str) -> None:
        """Compute a session's missing rollups if it is large and has ended. Raises StoreError."""
        if self._records.is_live(session):
            return
        last_ns = self._records.last_ns(session)

        def make(file: SessionFile) -> None:
            if file.read_only or stored_attempts(file) < LARGE:
                return
            self._reading = file
            try:
                for name, make in self._makers.items():
                    if not self._task.is_stopping and read_rollup(file, name, last_ns) is None:
                        writes = file.writes
                        write_rollup(file, name, last_ns, writes, msgspec.json.encode(make(file, last_ns)))
            finally:
                self._reading = None

        self._records.read(session, make, flush=False)

    def _make_due(self) -> None:
        for session in self._due():
            try:
                self.make_missing(session)
            except StoreError as error:  # such as when retention has just deleted the session
                log.info("no rollups of %s: %s", session, error)
            except Exception:  # the request that needs the rollup reports the error
                log.exception("no rollups of %s", session)

    def _due(self) -> set[str]:
        """Return the sessions that have ended since the last call, and those that were requested."""
        live = set(self._records.live_here())
        due, self._live = self._live - live, live
        while not self._requested.empty():
            due.add(self._requested.get())
        return due
