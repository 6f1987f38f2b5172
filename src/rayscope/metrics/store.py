"""The series of one session: the newest in memory, a day of samples and a month of minutes on disk.

A reader sees one thing: what memory has comes from there, what is older from the file; a range of more than
six hours, and what is older than a day, comes in minutes (gauges: the average; counters: the last value).
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayscope.metrics.matching import matching
from rayscope.metrics.memory import Memory, points_of
from rayscope.metrics.ring import Times, Values
from rayscope.model.metric import Family, Labels, Matcher, Sample
from rayscope.store.errors import StoreError
from rayscope.store.metrics_file import MINUTE_NS, MetricsFile, set_aside

__all__ = ["Latest", "Matcher", "Selected", "Series", "SeriesStore"]

log = logging.getLogger("rayscope.metrics")

_HOUR_NS = 3600 * 10**9
_RAW_NS = 24 * _HOUR_NS
#: A longer range is answered in minutes, as far as memory does not have it.
_FINE_NS = 6 * _HOUR_NS
#: What was last seen longer ago is no "latest" value (PromQL's look-back too).
LOOK_BACK_NS = 300 * 10**9
_TRIM_NS = _HOUR_NS
#: How old an account of all labels may be, s.
_LABELS_S = 10.0

_Parts = dict[Labels, list[tuple[Times, Values]]]


class Series(NamedTuple):
    """Samples of one series, ascending. A value NaN: the series ended here (Prometheus' stale marker)."""

    labels: dict[str, str]
    times_ns: Times
    values: Values


class Selected(NamedTuple):
    """``left_out``: how many more series matched; ``resolution_ns``: the coarsest step among the samples."""

    series: list[Series]
    left_out: int
    resolution_ns: int


class Latest(NamedTuple):
    """The newest value of a series."""

    name: str
    labels: dict[str, str]
    value: float
    time_ns: int


class SeriesStore:
    """All series of a session. Thread-safe; one thread calls :meth:`flush` and :meth:`close`.

    ``path``: the file; None keeps memory alone. ``read_only``: an ended session, of which there is nothing
    in memory. ``step_s`` and ``full_s`` say how many times memory holds. At most ``max_series`` series that
    had a value within that time are taken; ``left_out`` counts what came beyond.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        step_s: float = 5.0,
        full_s: float = 3600.0,
        keep_days: float = 30.0,
        max_series: int = 20_000,
        min_free_bytes: int = 0,
        read_only: bool = False,
    ) -> None:
        self.path = path
        self.max_series = max_series
        #: Why the file cannot be read or written now, None while it can; ``note``: what happened to it.
        self.problem: StoreError | None = None
        self.note: str | None = None
        self._step_ns = int(step_s * 1e9)
        self._keep_ns = int(keep_days * 86400e9)
        self._min_free_bytes = min_free_bytes
        self._read_only = read_only
        self._labels: tuple[float, dict[str, dict[str, int]]] = (0.0, {})
        self._lock = threading.RLock()
        self._file_lock = threading.Lock()
        times = max(2, round(full_s / step_s) + 1)
        self._memory = Memory(times, self._step_ns, max_series, keeps=path is not None)
        self._families: dict[str, Family] = {}
        self._new_families: dict[str, Family] = {}
        self._trimmed_ns = 0
        self._file: MetricsFile | None = None
        try:
            self._open()
        except StoreError as error:
            self.problem = error

    def _open(self) -> None:
        """Raises StoreError; a damaged file is set aside first."""
        if self.path is None or self._file is not None or (self._read_only and not self.path.exists()):
            return
        try:
            file = MetricsFile(self.path, read_only=self._read_only)
        except StoreError as error:
            if error.code != "corrupt" or self._read_only:
                raise
            aside = set_aside(self.path)
            self.note = f"The metrics file was damaged and is kept as {aside.name}; a new one has begun."
            log.warning("%s: %s", self.path, self.note)
            file = MetricsFile(self.path)
        try:
            newest, families = file.newest_series(self.max_series), file.families()
        except StoreError:
            file.close()
            raise
        with self._lock:
            self._memory.follow(newest)
            self._families = {family.name: family for family in families} | self._families
            self._file = file

    # Writing.

    def append(
        self,
        time_ns: int,
        samples: Iterable[Sample],
        *,
        source: str | None = None,
        families: Iterable[Family] = (),
    ) -> int:
        """Add samples of one time; several calls may share it. Returns how many were taken.

        ``source``: what tells these series and always tells all of them; a series that it told the last
        time and does not tell now has ended. NaN is no value. A sample older than all of memory is left out.
        """
        with self._lock:
            for family in families:
                if self._families.get(family.name) != family:
                    self._families[family.name] = self._new_families[family.name] = family
            return self._memory.take(time_ns, samples, source)

    def flush(self) -> bool:
        """Write to disk what has come since the last time. Returns whether that went well (see ``problem``).

        What could not be written waits in memory for the next time.
        """
        with self._file_lock:
            newest_ns = self._memory.ring.newest_ns
            with self._lock:
                self._memory.reclaim(newest_ns)
            if self.path is None or self._read_only:
                return True
            try:
                self._check_room()
                self._open()
                if self._file is not None:
                    self._write(self._file)
                    self._keep_house(self._file, newest_ns)
            except StoreError as error:
                if self.problem is None or self.problem.message != error.message:
                    log.warning("metrics: %s", error.message)
                self.problem = error
                return False
            self.problem = None
            return True

    def _check_room(self) -> None:
        if self.path is None or not self._min_free_bytes:
            return
        with contextlib.suppress(OSError):
            if shutil.disk_usage(self.path.parent).free < self._min_free_bytes:
                raise StoreError(
                    f"Less than {self._min_free_bytes >> 20} MiB are free where {self.path} is.",
                    "Free some space; metrics are kept in memory meanwhile, and written again by themselves.",
                    "full",
                )

    def _write(self, file: MetricsFile) -> None:
        with self._lock:
            new, waiting = self._memory.drain()
            families, self._new_families = self._new_families, {}
        if not (new or waiting or families):
            return
        try:
            file.write(new, families.values(), points_of(waiting))
        except StoreError:
            with self._lock:
                self._memory.put_back(new, waiting)
                self._new_families = families | self._new_families
            raise

    def _keep_house(self, file: MetricsFile, newest_ns: int) -> None:
        if not newest_ns:
            return
        file.roll(newest_ns)
        if newest_ns >= self._trimmed_ns + _TRIM_NS:
            self._trimmed_ns = newest_ns
            file.trim(newest_ns - _RAW_NS, newest_ns - self._keep_ns)

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        with self._file_lock:
            file, self._file = self._file, None
            if file is not None:
                newest_ns = self._memory.ring.newest_ns
                if not self._read_only and newest_ns:
                    with contextlib.suppress(StoreError):
                        file.roll(newest_ns, all_of_it=True)
                file.close()

    # Reading.

    def select(
        self,
        name: str,
        matchers: Sequence[Matcher],
        start_ns: int,
        end_ns: int,
        max_series: int = 2000,
        *,
        take: str | None = None,
    ) -> Selected:
        """The series of a name that match and have a sample in [start, end], by their labels.

        ``take``: which value of a minute is meant (``avg``, ``min``, ``max``, ``last``) where minutes are
        answered. Raises BadQuery for a pattern that is none, StoreError when the file cannot be read.
        """
        with self._lock:
            in_memory = set(self._memory.of_name(name))
            first_ns = self._memory.ring.first_ns
        boundary_ns = end_ns + 1 if first_ns is None else min(first_ns, end_ns + 1)
        file = self._file if start_ns < boundary_ns else None
        if file is not None and not file.rolled_ns and first_ns is not None and file.bounds()[0] >= first_ns:
            file = None  # a session younger than what is looked back at: the file has no more than memory
        on_disk: dict[Labels, list[int]] = defaultdict(list)
        if file is not None:
            for number, labels in file.series_of(name):
                on_disk[labels].append(number)
        chosen = matching(in_memory | on_disk.keys(), matchers)
        parts: _Parts = defaultdict(list)
        resolution_ns = self._step_ns
        ids = {number: labels for labels in chosen for number in on_disk.get(labels, ())}
        if file is not None and ids:
            counts = self._families.get(name, Family(name)).type in ("counter", "histogram")
            take = take or ("last" if counts else "avg")
            fine_ns = file.bounds()[0] if end_ns - start_ns <= _FINE_NS else file.rolled_ns
            # A minute is told at its last sample: the one that memory's beginning cuts is read in full.
            fine_ns = max(start_ns, min(fine_ns, boundary_ns // MINUTE_NS * MINUTE_NS))
            _add(parts, file, ids, fine_ns, boundary_ns, None)
            if start_ns < fine_ns and _add(parts, file, ids, start_ns, min(fine_ns, boundary_ns), take):
                resolution_ns = max(MINUTE_NS, self._step_ns)
        with self._lock:
            for labels in chosen:
                part = self._memory.read(name, labels, start_ns, end_ns)
                if part is not None:
                    parts[labels].append(part)
        found = [labels for labels in chosen if any(not np.isnan(v).all() for _, v in parts.get(labels, ()))]
        return Selected(
            [Series(dict(labels), *_joined(parts[labels])) for labels in found[:max_series]],
            max(0, len(found) - max_series),
            resolution_ns,
        )

    def latest(self, names: Iterable[str] | None = None) -> list[Latest]:
        """The newest value of each series that has not ended, of some names or of all, by name and labels.

        A value counts if it is at most five minutes older than the newest of all.
        """
        wanted = None if names is None else set(names)
        with self._lock:
            in_memory = self._memory.series
            found = self._memory.latest(self._memory.ring.newest_ns - LOOK_BACK_NS, wanted)
        file = self._file
        if not in_memory and file is not None:
            told = file.latest(file.bounds()[1] - LOOK_BACK_NS)
            found = [each for each in told if wanted is None or each[0] in wanted]
        return [Latest(name, dict(labels), value, at) for name, labels, value, at in sorted(found)]

    def families(self) -> dict[str, Family]:
        """What is known of each name, by name."""
        with self._lock:
            return dict(self._families)

    def counts(self) -> dict[str, int]:
        """How many series each name has or had."""
        file = self._file
        counts = {} if file is None else file.counts()
        with self._lock:
            for name, count in self._memory.counts().items():
                counts[name] = max(counts.get(name, 0), count)
        return counts

    def names(self) -> list[str]:
        """All names that have or had a series, sorted."""
        return sorted(self.counts())

    def labels(self, name: str) -> dict[str, int]:
        """The labels of a name's series: how many values each has."""
        with self._lock:
            series = set(self._memory.of_name(name))
        file = self._file
        if file is not None:
            series.update(labels for _, labels in file.series_of(name))
        return _distinct(series)

    def all_labels(self, names: Iterable[str]) -> dict[str, dict[str, int]]:
        """The same of all names, at most 10 s old. ``names``: those that must be among them."""
        made_s, known = self._labels
        if time.monotonic() - made_s < _LABELS_S and known.keys() >= set(names):
            return known
        with self._lock:
            series = {name: set(self._memory.of_name(name)) for name in self._memory.counts()}
        file = self._file
        for name, labels in [] if file is None else file.all_series():
            series.setdefault(name, set()).add(labels)
        found = {name: _distinct(each) for name, each in series.items()}
        self._labels = (time.monotonic(), found)
        return found

    # How it goes.

    @property
    def series(self) -> int:
        """How many series memory has now."""
        return self._memory.series

    @property
    def left_out(self) -> int:
        """Series beyond ``max_series`` that the sources told the last time."""
        return self._memory.left_out

    @property
    def lost(self) -> int:
        """Samples that found no room while the disk could not be written."""
        return self._memory.lost

    @property
    def memory_bytes(self) -> int:
        """What the values in memory take."""
        return self._memory.ring.nbytes

    @property
    def newest_ns(self) -> int:
        """When the newest sample is from, ns; 0 without any."""
        newest_ns, file = self._memory.ring.newest_ns, self._file
        return newest_ns if newest_ns or file is None else file.bounds()[1]


def _add(
    parts: _Parts, file: MetricsFile, ids: dict[int, Labels], begin: int, end: int, take: str | None
) -> bool:
    """Add what the file has in [begin, end) to ``parts``. Returns whether that is anything."""
    if begin >= end:
        return False
    found = file.points(list(ids), begin, end, take)
    for low, high in itertools.pairwise(np.flatnonzero(np.diff(found.series, prepend=-1, append=-1))):
        labels = ids[int(found.series[low])]
        parts[labels].append((found.times_ns[low:high], found.values[low:high]))
    return len(found.series) > 0


def _joined(parts: list[tuple[Times, Values]]) -> tuple[Times, Values]:
    if len(parts) == 1:
        return parts[0]
    times = np.concatenate([times for times, _ in parts])
    values = np.concatenate([values for _, values in parts])
    times, first = np.unique(times, return_index=True)
    return times, values[first]


def _distinct(series: Iterable[Labels]) -> dict[str, int]:
    seen: dict[str, set[str]] = defaultdict(set)
    for labels in series:
        for label, value in labels:
            seen[label].add(value)
    return {label: len(values) for label, values in sorted(seen.items())}
