"""The series of one session: the newest samples in memory, a day of samples and a month of minutes on disk.

Readers see a single store. Recent values come from memory, older ones from the file. For a range that is
longer than six hours, or older than a day, one value per minute is returned (gauges: the average; counters:
the last).
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rayscope.api.schemas import ErrorDetail
from rayscope.files import set_aside
from rayscope.metrics.tsdb.blocks import Block, Grid, Part, joined
from rayscope.metrics.tsdb.file import MINUTE_NS, MetricsFile
from rayscope.metrics.tsdb.matching import matching
from rayscope.metrics.tsdb.memory import Memory, points_of
from rayscope.metrics.tsdb.ring import Times, Values
from rayscope.metrics.tsdb.target_labels import TargetLabels
from rayscope.model.metric import Family, Labels, Matcher, Sample
from rayscope.storage.errors import StoreError

__all__ = ["Latest", "Matcher", "Selected", "Series", "SeriesStore"]

log = logging.getLogger("rayscope.metrics")

_HOUR_NS = 3600 * 10**9
_RAW_NS = 24 * _HOUR_NS
#: For ranges longer than this, in ns, one value per minute is returned, except for the part in memory.
_FINE_NS = 6 * _HOUR_NS
#: Maximum age of a "latest" value, ns. The same as PromQL's look-back.
LOOK_BACK_NS = 300 * 10**9
_TRIM_NS = _HOUR_NS
#: Maximum number of series that are read at once to see whether they have a value.
_ROWS = 1000


class Series(NamedTuple):
    """Samples of one series, in ascending order. NaN: the series ended (Prometheus' stale marker)."""

    labels: dict[str, str]
    times_ns: Times
    values: Values


class Selected(NamedTuple):
    """Selected series. ``left_out``: number of other matching ones; ``resolution_ns``: the coarsest step."""

    series: list[Series]
    left_out: int
    resolution_ns: int


class Blocks(NamedTuple):
    """Like :class:`Selected`, with series grouped by equal times."""

    blocks: list[Block]
    left_out: int
    resolution_ns: int


class Latest(NamedTuple):
    """The newest value of a series."""

    name: str
    labels: dict[str, str]
    value: float
    time_ns: int


class SeriesStore:
    """All series of a session. Thread-safe, but only one thread may call :meth:`flush` and :meth:`close`.

    Args:
        path: the file, or None to use only memory.
        step_s: interval of the samples, s.
        full_s: how long samples stay in memory, s.
        keep_days: how long values per minute are stored.
        max_series: maximum number of series with a value in memory. ``left_out`` counts the others.
        min_free_bytes: disk space to leave free.
        read_only: for an ended session, which has nothing in memory.
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
        #: Why the file cannot be read or written, or None if it can. ``note``: how damage was handled.
        self.problem: StoreError | None = None
        self.note: ErrorDetail | None = None
        #: Adds labels to the series in expressions that use these labels.
        self.target_labels: TargetLabels | None = None
        self._step_ns = int(step_s * 1e9)
        self._keep_ns = int(keep_days * 86400e9)
        self._min_free_bytes = min_free_bytes
        self._read_only = read_only
        #: Metric -> its series in memory, its series on disk, and the number of values of each label in both.
        self._distinct: dict[str, tuple[list[Labels], list[tuple[int, Labels]], dict[str, int]]] = {}
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
        """Open the file. A damaged one is set aside first. Raises StoreError."""
        if self.path is None or self._file is not None or (self._read_only and not self.path.exists()):
            return
        try:
            file = MetricsFile(self.path, read_only=self._read_only)
        except StoreError as error:
            if error.code != "corrupt" or self._read_only:
                raise
            aside = set_aside(self.path, ".wal")
            message = f"The metrics file was damaged and is kept as {aside.name}; a new one was started."
            self.note = {
                "code": "metrics_damaged",
                "message": message,
                "remedy": "",
                "params": {"file": aside.name},
            }
            log.warning("%s: %s", self.path, message)
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
        """Add samples of one time. Several calls may use the same time. Returns the number of samples added.

        ``source``: the collector, which always provides all of its series. A series that it provided the last
        time but not now has ended. NaN samples, and samples older than any in memory, are ignored.
        """
        with self._lock:
            samples = list(samples)
            unknown = {each.name for each in samples} - self._families.keys()
            for family in (*map(Family, unknown), *families):
                known = self._families.get(family.name, family)
                family = family._replace(collector=known.collector or source or "")
                if self._families.get(family.name) != family:
                    self._families[family.name] = self._new_families[family.name] = family
            return self._memory.take(time_ns, samples, source)

    def flush(self) -> bool:
        """Write new samples to disk. Returns whether that succeeded (see ``problem``).

        Samples that could not be written stay in memory for the next time.
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
                    f"Less than {self._min_free_bytes >> 20} MiB free on the disk of {self.path}.",
                    "Free some space. Until then, metrics are kept in memory; writing resumes automatically.",
                    "full",
                    what="metrics",
                    mib=self._min_free_bytes >> 20,
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
        """Write the remaining samples and close the file."""
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
        """Like :meth:`blocks`, as separate series sorted by labels."""
        found = self.blocks(name, matchers, start_ns, end_ns, max_series, take=take)
        each = sorted(
            (
                (labels, block.times_ns, values)
                for block in found.blocks
                for labels, values in zip(block.labels, block.values, strict=True)
            ),
            key=lambda entry: entry[0],
        )
        series = [Series(dict(labels), times_ns, values) for labels, times_ns, values in each]
        return Selected(series, found.left_out, found.resolution_ns)

    def blocks(
        self,
        name: str,
        matchers: Sequence[Matcher],
        start_ns: int,
        end_ns: int,
        max_series: int = 2000,
        *,
        take: str | None = None,
    ) -> Blocks:
        """The series of a metric that match and have a sample in [start, end].

        ``take``: which value per minute to return (``avg``, ``min``, ``max``, or ``last``). Raises BadQuery
        for an invalid pattern, and StoreError if the file cannot be read.
        """
        with self._lock:
            known = self._memory.of_name(name)[0]
            first_ns = self._memory.ring.first_ns
        boundary_ns = end_ns + 1 if first_ns is None else min(first_ns, end_ns + 1)
        file = self._file if start_ns < boundary_ns else None
        if file is not None and first_ns is not None and file.oldest_ns >= first_ns:
            file = None  # the session began within the range, and memory has everything that the file has
        on_disk: dict[Labels, list[int]] = defaultdict(list)
        for number, labels in [] if file is None else file.series_of(name):
            on_disk[labels].append(number)
        chosen = known if on_disk.keys() <= set(known) else sorted({*known, *on_disk})
        chosen = matching(chosen, matchers) if matchers else chosen
        parts: list[Part] = []
        resolution_ns = self._step_ns
        rows = {number: row for row, labels in enumerate(chosen) for number in on_disk.get(labels, ())}
        if file is not None and rows:
            take = take or ("last" if self._families.get(name, Family(name)).is_cumulative else "avg")
            fine_ns = file.bounds()[0] if end_ns - start_ns <= _FINE_NS else file.rolled_ns
            # The values of a minute are stored at the time of its last sample. Read the minute at memory's
            # boundary as samples.
            fine_ns = max(start_ns, min(fine_ns, boundary_ns // MINUTE_NS * MINUTE_NS))
            parts.append(_part(file, rows, fine_ns, boundary_ns, None)[0])
            minutes, step_ns = _part(file, rows, start_ns, min(fine_ns, boundary_ns), take)
            if len(minutes.rows):
                parts.append(minutes)
                resolution_ns = max(step_ns, self._step_ns)
        with self._lock:
            grid = Grid(*self._memory.read(name, chosen, start_ns, end_ns))
        blocks, left_out = joined(chosen, grid, parts, max_series)
        return Blocks(blocks, left_out, resolution_ns)

    def latest(self, names: Iterable[str] | None = None) -> list[Latest]:
        """The newest value of each series that has not ended, sorted by name and labels.

        ``names``: the metrics, or None for all. Only values that are at most five minutes older than the
        newest value of all are returned.
        """
        return self.newest(names)[0]

    def newest(
        self,
        names: Iterable[str] | None = None,
        limit: int | None = None,
        having: Sequence[tuple[str, str]] = (),
        after: tuple[str, Labels] | None = None,
    ) -> tuple[list[Latest], int]:
        """Like :meth:`latest`, but only for series with the labels ``having``.

        Returns the first ``limit`` series after the series ``after``, and the total number of series.
        Rayscope's own names come first.
        """
        if not self._memory.series and self._file is not None:
            return self._newest_on_disk(
                self._file, None if names is None else set(names), limit, having, after
            )
        found: list[Latest] = []
        total = 0
        with self._lock:
            since_ns = self._memory.ring.newest_ns - LOOK_BACK_NS
            for name in sorted(self._memory.counts() if names is None else set(names), key=_ours_first):
                labels, values, times_ns = self._memory.latest(name, since_ns)
                rows = [row for row, each in enumerate(labels) if not having or _has(each, having)]
                total += len(rows)
                rows = [row for row in rows if _is_after(name, labels[row], after)]
                for row in rows if limit is None else rows[: max(0, limit - len(found))]:
                    found.append(Latest(name, dict(labels[row]), float(values[row]), int(times_ns[row])))
        return found, total

    @staticmethod
    def _newest_on_disk(
        file: MetricsFile,
        names: set[str] | None,
        limit: int | None,
        having: Sequence[tuple[str, str]],
        after: tuple[str, Labels] | None,
    ) -> tuple[list[Latest], int]:
        newest = sorted(
            (
                each
                for each in file.latest(file.bounds()[1] - LOOK_BACK_NS)
                if (names is None or each[0] in names) and _has(each[1], having)
            ),
            key=lambda each: (_ours_first(each[0]), each[1]),
        )
        rest = [each for each in newest if _is_after(each[0], each[1], after)]
        page = [Latest(name, dict(labels), value, at) for name, labels, value, at in rest[:limit]]
        return page, len(newest)

    def stamp(self, names: Iterable[str]) -> tuple[tuple[int, int], ...]:
        """A value that changes whenever a series of the given metrics gets newer data in memory."""
        with self._lock:
            return tuple(self._memory.stamp(name) for name in sorted(names))

    def families(self) -> dict[str, Family]:
        """Descriptions of all metrics, by name."""
        with self._lock:
            return dict(self._families)

    def counts(self) -> dict[str, int]:
        """Name of a metric -> number of its series, including ended ones."""
        file = self._file
        counts = {} if file is None else file.counts()
        with self._lock:
            for name, count in self._memory.counts().items():
                counts[name] = max(counts.get(name, 0), count)
        return counts

    def names(self) -> list[str]:
        """The sorted names of all metrics that have or had a series."""
        return sorted(self.counts())

    def labels(self, name: str) -> dict[str, int]:
        """The labels of a metric's series, with the number of values of each label."""
        return self._distinct_of(name)

    def all_labels(self, names: Iterable[str]) -> dict[str, dict[str, int]]:
        """Like :meth:`labels`, for several metrics."""
        return {name: self._distinct_of(name) for name in names}

    def label_values(self, label: str, names: Iterable[str]) -> list[str]:
        """The sorted values that a label has or had in the series of the given metrics."""
        return sorted(
            {
                value
                for name in names
                for series in (self._known(name), (labels for _, labels in self._known_on_disk(name)))
                for labels in series
                for each, value in labels
                if each == label
            }
        )

    def series_between(
        self, names: Collection[str], start_ns: int, end_ns: int
    ) -> Iterator[tuple[str, set[Labels]]]:
        """For each metric, its name and some of its series with a value in [start, end], or for those on disk
        in these minutes.

        Raises StoreError if the file cannot be read.
        """
        found: dict[str, set[Labels]] = defaultdict(set)
        if self._file is not None:
            for name, labels in self._file.series_between(names, start_ns, end_ns):
                found[name].add(labels)
        yield from found.items()
        for name in names:
            known = self._known(name)
            for first in range(0, len(known), _ROWS):
                some = known[first : first + _ROWS]
                with self._lock:
                    rows, _, values, there = self._memory.read(name, some, start_ns, end_ns)
                yield name, {some[row] for row in rows[(there & ~np.isnan(values)).any(axis=1)]}

    def _known(self, name: str) -> list[Labels]:
        with self._lock:
            return self._memory.of_name(name)[0]

    def _known_on_disk(self, name: str) -> list[tuple[int, Labels]]:
        return [] if self._file is None else self._file.series_of(name)

    def _distinct_of(self, name: str) -> dict[str, int]:
        in_memory, on_disk = self._known(name), self._known_on_disk(name)
        known = self._distinct.get(name)
        if known is None or known[0] is not in_memory or known[1] is not on_disk:
            found = _distinct({*in_memory, *(labels for _, labels in on_disk)})
            known = self._distinct[name] = in_memory, on_disk, found
        return known[2]

    # State.

    @property
    def series(self) -> int:
        """Number of series in memory."""
        return self._memory.series

    @property
    def left_out(self) -> int:
        """Number of series beyond ``max_series`` that the collectors last provided."""
        return self._memory.left_out

    @property
    def lost(self) -> int:
        """Number of samples dropped because memory was full while the disk could not be written to."""
        return self._memory.lost

    @property
    def newest_ns(self) -> int:
        """Time of the newest sample, ns, or 0 if there is none."""
        newest_ns, file = self._memory.ring.newest_ns, self._file
        return newest_ns if newest_ns or file is None else file.bounds()[1]


def _part(
    file: MetricsFile, row_of: dict[int, int], begin: int, end: int, take: str | None
) -> tuple[Part, int]:
    """The file's samples of some series (number -> row) in [begin, end), and their interval, ns."""
    if begin >= end:
        return Part(np.empty(0, np.intp), np.empty(0, np.int64), np.empty(0)), 0
    found = file.points(list(row_of), begin, end, take)
    numbers = np.array(sorted(row_of), np.int64)
    places = np.array([row_of[number] for number in numbers.tolist()], np.intp)
    rows = places[np.searchsorted(numbers, found.series)]
    order = np.argsort(rows, kind="stable")
    return Part(rows[order], found.times_ns[order], found.values[order]), found.step_ns


def _ours_first(name: str) -> tuple[bool, str]:
    """Sort key for metric names: Rayscope's own come first, because Ray has hundreds."""
    return not name.startswith("rayscope_"), name


def _is_after(name: str, labels: Labels, after: tuple[str, Labels] | None) -> bool:
    return after is None or (_ours_first(name), labels) > (_ours_first(after[0]), after[1])


def _has(labels: Labels, conditions: Iterable[tuple[str, str]]) -> bool:
    """Whether labels have the given values. A missing label counts as empty."""
    values = dict(labels)
    return all(values.get(name, "") == value for name, value in conditions)


def _distinct(series: Iterable[Labels]) -> dict[str, int]:
    seen: dict[str, set[str]] = defaultdict(set)
    for labels in series:
        for label, value in labels:
            seen[label].add(value)
    return {label: len(values) for label, values in sorted(seen.items())}
