"""Makes the rollups of large sessions once they have ended, so that the first look at them is quick."""

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

#: A session of fewer attempts is summed up anew each time: that takes some hundredths of a second.
LARGE = 200_000
#: How often we look for sessions that have ended, s, and how long we wait for our thread's end.
_LOOK_S = 3.0
_STOP_S = 5.0
#: Sums of a whole session, from the record and from when what never ended counts as ended.
Make = Callable[[SessionFile, int], Any]
T = TypeVar("T")


class Rollups:
    """The rollups that views ask for, each by its name. :meth:`start` before use, :meth:`stop` at the end."""

    def __init__(self, records: SessionReader) -> None:
        self._records = records
        self._makers: dict[str, Make] = {}
        self._live: set[str] = set()
        self._requested: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._task = PeriodicTask("rayscope-rollups", _LOOK_S, self._make_due, at_once=True)
        #: What our thread reads now.
        self._reading: SessionFile | None = None

    def add(self, name: str, make: Make) -> None:
        """Make a rollup of that name of each large session that has ended."""
        self._makers[name] = make

    def start(self) -> None:
        """Begin to make them."""
        self._task.start()

    def stop(self) -> None:
        """End that, in the midst of it."""
        self._task.stop(_STOP_S, self._interrupt)

    def _interrupt(self) -> None:
        if (file := self._reading) is not None:
            file.interrupt()

    def read(self, file: SessionFile, session: str, name: str, decoder: msgspec.json.Decoder[T]) -> T | None:
        """The sums of a whole session that has ended, or None; then they are made if the session is large."""
        if self._records.is_live(session):
            return None
        body = read_rollup(file, name, self._records.last_ns(session))
        if body is None:
            self._requested.put(session)
            return None
        return decoder.decode(body)

    def make_missing(self, session: str) -> None:
        """Make those that a session lacks, if it is large and has ended. Raises StoreError."""
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
            except StoreError as error:  # a session that retention has just dropped, for one
                log.info("no rollups of %s: %s", session, error)
            except Exception:  # who asks is told
                log.exception("no rollups of %s", session)

    def _due(self) -> set[str]:
        """The sessions that have ended since the last look, and those that were asked for."""
        live = set(self._records.live_here())
        due, self._live = self._live - live, live
        while not self._requested.empty():
            due.add(self._requested.get())
        return due
