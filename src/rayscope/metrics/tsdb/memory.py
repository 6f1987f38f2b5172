"""The series in memory, their numbers on disk, and the data that is not on disk yet."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from rayscope.metrics.tsdb.file import Points
from rayscope.metrics.tsdb.ring import STALE, Bools, Indices, Ring, Times, Values
from rayscope.model.metric import Labels, Sample

#: A numbered series: (number, name, labels).
Numbered = tuple[int, str, Labels]
_Waiting = tuple[int, NDArray[np.int64], Values]
#: Maximum number of unwritten samples kept in memory while the disk cannot be written to.
_MAX_WAITING = 2_000_000
_RECLAIM_NS = 600 * 10**9


class Memory:
    """The newest values of a session's series, at most ``max_series``. Not thread-safe.

    ``keeps``: whether to collect new data for writing to disk (:meth:`drain`).
    """

    def __init__(self, times: int, step_ns: int, max_series: int, *, keeps: bool) -> None:
        self.ring = Ring(times)
        #: Number of samples dropped because memory was full while the disk could not be written to.
        self.lost = 0
        self._step_ns = step_ns
        self._max_series = max_series
        self._keeps = keeps
        self._index: dict[str, dict[Labels, int]] = {}
        self._named: dict[int, tuple[str, Labels]] = {}
        self._sorted: dict[str, tuple[list[Labels], Indices]] = {}
        self._number = np.zeros(0, np.int64)
        self._next = 1
        self._known: dict[tuple[str, Labels], int] = {}
        self._of_source: dict[str, Indices] = {}
        self._refused: dict[str, int] = {}
        self._new: list[Numbered] = []
        self._waiting: list[_Waiting] = []
        self._reclaimed_ns = 0

    # Writing.

    def take(self, time_ns: int, samples: Iterable[Sample], source: str | None) -> int:
        """Add the samples of one time, and mark the series that ``source`` no longer provides as ended.

        Returns the number of samples added.
        """
        indices: list[int] = []
        values: list[float] = []
        refused = 0
        for name, labels, value in samples:
            if value != value:
                continue
            of_name = self._index.get(name)
            at = None if of_name is None else of_name.get(labels)
            if at is None:
                at = self._admit(name, labels, time_ns)
                if at is None:
                    refused += 1
                    continue
            indices.append(at)
            values.append(value)
        columns, numbers = np.asarray(indices, np.intp), np.asarray(values, np.float64)
        if source is not None:
            self._refused[source] = refused
            before = self._of_source.get(source)
            now = self._of_source[source] = np.unique(columns)
            if before is not None:
                ended = np.setdiff1d(before, now, assume_unique=True)
                columns = np.concatenate([columns, ended])
                numbers = np.concatenate([numbers, np.full(len(ended), STALE)])
        if len(columns):
            self.ring.put(time_ns, columns, numbers)
            if self._keeps:
                self._waiting.append((time_ns, self._number[columns], numbers))
        return len(indices)

    def _admit(self, name: str, labels: Labels, time_ns: int) -> int | None:
        if len(self._named) >= self._max_series:
            self.reclaim(time_ns, every_ns=self._step_ns)
            if len(self._named) >= self._max_series:
                return None
        at = self.ring.add()
        if at >= len(self._number):
            self._number = np.concatenate([self._number, np.zeros(at + 256 - len(self._number), np.int64)])
        known = self._known.pop((name, labels), None)
        if known is None:
            known, self._next = self._next, self._next + 1
            if self._keeps:
                self._new.append((known, name, labels))
        self._number[at] = known
        self._index.setdefault(name, {})[labels] = at
        self._sorted.pop(name, None)
        self._named[at] = (name, labels)
        return at

    def reclaim(self, time_ns: int, *, every_ns: int = _RECLAIM_NS) -> None:
        """Forget series without values in memory. Runs at most once per ``every_ns``."""
        if self._reclaimed_ns <= time_ns < self._reclaimed_ns + every_ns:
            return
        self._reclaimed_ns = time_ns
        gone = self.ring.outdated(np.fromiter(self._named, np.intp, len(self._named)))
        for at in gone.tolist():
            name, labels = self._named.pop(at)
            of_name = self._index[name]
            del of_name[labels]
            self._sorted.pop(name, None)
            if not of_name:
                del self._index[name]
            self.ring.drop(at)
        if len(gone):
            for source, columns in self._of_source.items():
                self._of_source[source] = np.setdiff1d(columns, gone)

    # Writing to disk.

    def follow(self, newest: list[Numbered]) -> None:
        """Continue the series numbers of a file. ``newest``: its newest series, newest first."""
        first = newest[0][0] if newest else 0
        if first and self._next > 1:  # series were numbered before the file could be opened
            self._number += first
            self._new = [(number + first, name, labels) for number, name, labels in self._new]
            self._waiting = [(at, numbers + first, values) for at, numbers, values in self._waiting]
        self._next += first
        self._known = {(name, labels): number for number, name, labels in reversed(newest)}

    def drain(self) -> tuple[list[Numbered], list[_Waiting]]:
        """Take out the data that is not on disk yet: new series, and samples."""
        drained = (self._new, self._waiting)
        self._new, self._waiting = [], []
        return drained

    def put_back(self, new: list[Numbered], waiting: list[_Waiting]) -> None:
        """Put back drained data that could not be written."""
        self._new = new + self._new
        self._waiting = waiting + self._waiting
        held = sum(len(numbers) for _, numbers, _ in self._waiting)
        while held > _MAX_WAITING:
            gone = len(self._waiting.pop(0)[1])
            held, self.lost = held - gone, self.lost + gone

    # Reading.

    def of_name(self, name: str) -> tuple[list[Labels], Indices]:
        """The series of a metric, sorted, and their indices in the ring. Do not modify them."""
        found = self._sorted.get(name)
        if found is None:
            of_name = self._index.get(name, {})
            labels = sorted(of_name)
            places = np.fromiter(map(of_name.__getitem__, labels), np.intp, len(labels))
            found = labels, places
            if of_name:
                self._sorted[name] = found
        return found

    def counts(self) -> dict[str, int]:
        """Name of a metric -> number of its series."""
        return {name: len(of_name) for name, of_name in self._index.items()}

    def read(
        self, name: str, series: list[Labels], start_ns: int, end_ns: int
    ) -> tuple[Indices, Times, Values, Bools]:
        """Read samples of some series. Returns which series are in memory, and the result of ``Ring.read``
        for them.
        """
        labels, places = self.of_name(name)
        if series is not labels:
            of_name = self._index.get(name, {})
            places = np.fromiter((of_name.get(each, -1) for each in series), np.intp, len(series))
        here = np.flatnonzero(places >= 0)
        return here, *self.ring.read(places[here], start_ns, end_ns)

    def stamp(self, name: str) -> tuple[int, int]:
        """A value that changes whenever a series of a metric appears, disappears or gets a newer sample."""
        places = self.of_name(name)[1]
        return len(places), int(self.ring.last_ns[places].sum())

    def latest(self, name: str, since_ns: int) -> tuple[list[Labels], Values, Times]:
        """The series of a metric that have not ended, sorted, with their last values and times (ns)."""
        labels, places = self.of_name(name)
        last, last_ns = self.ring.last[places], self.ring.last_ns[places]
        there = np.flatnonzero((last_ns >= since_ns) & ~np.isnan(last))
        return [labels[row] for row in there], last[there], last_ns[there]

    @property
    def series(self) -> int:
        """Number of series."""
        return len(self._named)

    @property
    def left_out(self) -> int:
        """Number of series for which there was no room when their sources last provided them."""
        return sum(self._refused.values())


def points_of(waiting: list[_Waiting]) -> Points | None:
    """Convert samples to rows."""
    if not waiting:
        return None
    return Points(
        np.concatenate([numbers for _, numbers, _ in waiting]),
        np.repeat([at for at, _, _ in waiting], [len(numbers) for _, numbers, _ in waiting]),
        np.concatenate([values for _, _, values in waiting]),
    )
