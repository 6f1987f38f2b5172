"""Metrics of live clusters, whose collectors run at each step, and of ended sessions, from their files."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import psutil

from rayscope.api.provide import provide
from rayscope.api.responses import error_info
from rayscope.api.schemas import ErrorDetail
from rayscope.ingest.clusters import Clusters
from rayscope.ingest.writer import Writer
from rayscope.metrics import schemas
from rayscope.metrics.collector import Cluster, Collector, load
from rayscope.metrics.pool import CollectorPool
from rayscope.metrics.ray_text import RayText, Texts
from rayscope.metrics.runner import Runner
from rayscope.metrics.tsdb.file import FILE_NAME, looks_damaged
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.metrics.tsdb.target_labels import TargetLabels, read_targets
from rayscope.model.metric import Family, Sample
from rayscope.periodic import PeriodicTask
from rayscope.ray.gcs.client import GcsError
from rayscope.ray.gcs.node_table import NodeAddress, read_node_addresses
from rayscope.records.reader import SessionReader
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.spool import Spool

log = logging.getLogger("rayscope.server")

#: Interval at which samples in memory are written to disk, s. A killed server loses at most this much.
_WRITE_S = 10.0
_CHECK_S = 1.0
#: Time after a session's last sign of life at which its file is closed, s. It is opened again for reading.
_IDLE_CLOSE_S = 60.0
_OPEN_READERS = 4
#: How long a shutdown waits for running collectors, in seconds.
_STOP_S = 3.0

#: A collector: its name, ``module:Class``, and factory.
CollectorFactory = tuple[str, str, Callable[[], Collector]]


class _Live:
    """A cluster whose metrics are collected."""

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        records: SessionReader,
        clusters: Clusters,
        server_figures: Callable[[], Mapping[str, float]],
        session: str,
        collectors: Sequence[CollectorFactory],
        store: SeriesStore,
        pool: CollectorPool,
    ) -> None:
        self.session = session
        self.store = store
        self.seen = time.monotonic()
        self.runner = Runner(collectors, settings.metrics_interval_s, self._append, pool)
        self._catalog = catalog
        self._records = records
        self._clusters = clusters
        self._server_figures = server_figures
        self._text = RayText(settings.metrics_interval_s, settings.metrics_max_series, session)
        self._lock = threading.Lock()
        self._nodes: tuple[int, list[NodeAddress]] = (0, [])

    def _append(self, time_ns: int, samples: list[Sample], source: str | None, families: list[Family]) -> int:
        return self.store.append(time_ns, samples, source=source, families=families)

    def tick(self, time_ns: int) -> None:
        """Run the collectors that are due."""
        self.runner.tick(lambda: self._cluster(time_ns), time_ns)

    def _cluster(self, time_ns: int) -> Cluster:
        clusters, records, session = self._clusters, self._records, self.session

        def nodes() -> list[NodeAddress]:
            return self._nodes_at(time_ns)

        def text() -> Texts:
            return self._text.read(time_ns, nodes())

        def record(look: Callable[[SessionFile], Any], key: str | None = None) -> Any:
            return records.read_cached(session, key or f"collector {look.__code__}", look, flush=False)

        return Cluster(
            session,
            time_ns,
            nodes=nodes,
            usage=lambda: clusters.usage(session),
            resources=lambda: clusters.resources(session),
            text=text,
            record=record,
            figures=self.figures,
        )

    def _nodes_at(self, time_ns: int) -> list[NodeAddress]:
        """The node table, read once per step for all collectors. Raises GcsError."""
        with self._lock:
            if self._nodes[0] < time_ns:
                client = self._clusters.gcs_of(self.session)
                if client is None:
                    raise GcsError(
                        f"The GCS of {self.session} is not being read.",
                        "Give its address: rayscope attach ADDRESS",
                        "unreachable",
                        what="metrics",
                        id=self.session,
                    )
                self._nodes = (time_ns, read_node_addresses(client))
            return self._nodes[1]

    def addresses(self) -> list[NodeAddress]:
        """The node table, at most 30 s old. Empty if the GCS cannot be read."""
        with contextlib.suppress(GcsError):
            return self._nodes_at(time.time_ns() - 30 * 10**9)
        return []

    def figures(self) -> dict[str, float]:
        """Our own metrics of this session and of the server."""
        about = self._catalog.about(self.session)
        return {
            "rayscope_events_received_total": about.events,
            "rayscope_batches_received_total": about.batches,
            "rayscope_events_dropped_total": about.dropped_total,
            "rayscope_attempts": about.attempts,
            "rayscope_session_bytes": self._catalog.disk_bytes(self.session),
            "rayscope_metrics_series": self.store.series,
            "rayscope_metrics_left_out": self.store.left_out,
            **self._server_figures(),
        }

    def close(self) -> None:
        """Write the remaining samples and close the file."""
        self._text.close()
        self.store.close()


class Metrics:
    """The series of all sessions. Call :meth:`start` before use, and :meth:`stop` at the end.

    ``push_clients``: returns the number of open WebSockets of the live push.
    """

    def __init__(
        self,
        settings: Settings,
        catalog: Catalog,
        records: SessionReader,
        clusters: Clusters,
        writer: Writer,
        spool: Spool,
        push_clients: Callable[[], int],
    ) -> None:
        self.push_clients = push_clients
        self._settings = settings
        self._catalog = catalog
        self._records = records
        self._clusters = clusters
        self._writer = writer
        self._spool = spool
        self._lock = threading.RLock()
        self._live: dict[str, _Live] = {}
        self._read: OrderedDict[str, SeriesStore] = OrderedDict()
        self._collectors: list[CollectorFactory] = []
        self._extra: list[CollectorFactory] = []
        self._running = False
        #: Session -> lock held while its file is opened or closed. ``_lock`` is not held during that time.
        self._opening: dict[str, threading.RLock] = {}
        self._process = psutil.Process()
        self._pool = CollectorPool()
        self._next_ns = 0
        self._ticker = PeriodicTask("rayscope-metrics", _CHECK_S, self._collect_due, at_once=True)
        self._flusher = PeriodicTask("rayscope-metrics-write", _WRITE_S, self._write_all)

    def register(self, name: str, make: Callable[[], Collector]) -> None:
        """Add a collector to the installed ones, for clusters that are attached from now on."""
        self._extra.append((name, f"{make.__module__}:{make.__qualname__}", make))

    def start(self) -> None:
        """Load the collectors, and start collecting and writing."""
        self._collectors = [(name, target, make) for name, (target, make) in load().items()]
        self._running = True
        self._ticker.start()
        self._flusher.start()

    def stop(self) -> None:
        """Stop collecting, write the remaining samples, and close all files."""
        self._running = False
        self._ticker.stop()
        self._flusher.stop()
        deadline = time.monotonic() + _STOP_S
        with self._lock:
            lives = list(self._live.values())
        while any(live.runner.busy() for live in lives) and time.monotonic() < deadline:
            time.sleep(0.02)
        self._pool.close()
        with self._lock:
            for live in lives:
                live.close()
            for store in self._read.values():
                store.close()
            self._live.clear()
            self._read.clear()

    # Reading.

    def store(self, session: str) -> SeriesStore:
        """A session's series, from its file if it has ended.

        Raises NotFound, and StoreError if the file of an ended session cannot be read.
        """
        self._catalog.about(session)
        live = self._start_measuring(session)
        if live is not None:
            return live.store
        with self._lock:
            store = self._read.get(session)
            if store is not None:
                self._read.move_to_end(session)
                return store
        with self._opening_of(session):
            with self._lock:
                other = self._live.get(session)
                store = other.store if other is not None else self._read.get(session)
            return store or self._reader(session)

    def _reader(self, session: str) -> SeriesStore:
        """Open the series of an ended session. Raises StoreError."""
        store = self._open_store(session, read_only=True)
        if store.problem is not None:
            store.close()
            raise store.problem
        if store.path is not None and not store.path.exists():
            return store  # not cached: there is no data yet, but there may be some later
        with self._lock:
            self._read[session] = store
            gone = [self._read.popitem(last=False)[1] for _ in range(len(self._read) - _OPEN_READERS)]
        for each in gone:
            each.close()
        return store

    def _opening_of(self, session: str) -> threading.RLock:
        with self._lock:
            return self._opening.setdefault(session, threading.RLock())

    def collectors(self, session: str) -> list[schemas.CollectorItem]:
        """The state of a session's collectors, or an empty list if its cluster is gone."""
        with self._lock:
            live = self._live.get(session)
        return [] if live is None else live.runner.statuses()

    def state(self, session: str) -> schemas.MetricsState:
        """The state of a session's collectors and store."""
        store = self.store(session)
        return {
            "left_out": store.left_out,
            "problem": self.problem(session),
            "note": store.note,
            "collectors": self.collectors(session),
        }

    def problem(self, session: str) -> ErrorDetail | None:
        """Why a session's metrics cannot be stored, or None if they can."""
        with self._lock:
            live = self._live.get(session)
        return None if live is None else error_info(live.store.problem)

    def damage(self, session: str) -> str | None:
        """Damage to a session's metrics file, or None if none is known."""
        if aside := [name for name in self._catalog.damaged_files(session) if name.startswith("metrics.")]:
            return f"The metrics were damaged and are kept as {aside[-1]}; a new file continues from there."
        if (problem := self.problem(session)) is not None:
            return f"{problem['message']} {problem['remedy']}"
        if session not in self.live() and looks_damaged(self._catalog.path(session).with_name(FILE_NAME)):
            return f"{FILE_NAME} is damaged, so the metrics of this session cannot be read."
        return None

    def live(self) -> dict[str, SeriesStore]:
        """The sessions whose metrics are collected, with their series."""
        with self._lock:
            return {name: live.store for name, live in self._live.items()}

    def addresses(self, session: str) -> list[NodeAddress]:
        """The nodes of a session, or an empty list if its metrics are not being collected."""
        with self._lock:
            live = self._live.get(session)
        return [] if live is None else live.addresses()

    def server_figures(self) -> Mapping[str, float]:
        """Our own metrics that are the same for all sessions (see ``FIGURES``)."""
        writer, process = self._writer, self._process
        with process.oneshot():
            cpu, memory = process.cpu_times(), process.memory_info().rss
        return {
            "rayscope_spool_bytes": self._spool.pending_bytes,
            "rayscope_batches_waiting": writer.pending_batches,
            "rayscope_batches_rejected_total": writer.rejected,
            "rayscope_behind_seconds": writer.behind_ns() / 1e9,
            "rayscope_store_failing": writer.error is not None,
            "rayscope_process_cpu_seconds_total": cpu.user + cpu.system,
            "rayscope_process_resident_bytes": memory,
            "rayscope_process_open_files": process.num_fds(),
        }

    # Background work.

    def _open_store(self, session: str, *, read_only: bool) -> SeriesStore:
        settings = self._settings
        store = SeriesStore(
            self._catalog.local_file(session, FILE_NAME),
            step_s=settings.metrics_interval_s,
            full_s=settings.metrics_full_h * 3600,
            keep_days=settings.metrics_keep_days,
            max_series=settings.metrics_max_series,
            min_free_bytes=settings.min_free_bytes,
            read_only=read_only,
        )
        store.target_labels = TargetLabels(
            session, lambda: self._records.read_cached(session, "targets", read_targets, flush=False)
        )
        return store

    def _start_measuring(self, session: str) -> _Live | None:
        """A live session's collection of metrics, started if necessary. None if the session is not live."""
        with self._lock:
            live = self._live.get(session)
        if live is not None or not self._running or not self._records.is_live(session):
            return live
        with self._opening_of(session):
            with self._lock:
                live = self._live.get(session)
                reader = self._read.pop(session, None)
            if live is not None or not self._running:
                return live
            if reader is not None:
                reader.close()
            store = self._open_store(session, read_only=False)
            live = _Live(
                self._settings,
                self._catalog,
                self._records,
                self._clusters,
                self.server_figures,
                session,
                [*self._collectors, *self._extra],
                store,
                self._pool,
            )
            with self._lock:
                if self._running:
                    self._live[session] = live
                    return live
            live.close()  # the server is stopping
            return None

    def _collect_due(self) -> float:
        """Start a step if it is due. Returns the seconds until the next check."""
        step_ns, now_ns = int(self._settings.metrics_interval_s * 1e9), time.time_ns()
        if not self._next_ns - 2 * step_ns <= now_ns < self._next_ns + step_ns:
            # The server has just started, the clock was set, or the machine was suspended.
            self._next_ns = now_ns // step_ns * step_ns + step_ns
        if now_ns >= self._next_ns:
            self._tick(self._next_ns)
            self._next_ns += step_ns
        with self._lock:
            lives = list(self._live.values())
        for live in lives:
            live.runner.check()
        return min(_CHECK_S, max(0.0, (self._next_ns - time.time_ns()) / 1e9))

    def _tick(self, time_ns: int) -> None:
        names = set(self._catalog.names())
        for name in self._records.live_here():
            try:
                live = self._start_measuring(name)
                if live is not None:
                    live.seen = time.monotonic()
                    live.tick(time_ns)
            except (NotFound, StoreError, OSError) as error:
                log.info("metrics of %s: %s", name, error)
        self._end_some(names)

    def forget(self, session: str) -> None:
        """Close the files of a deleted session."""
        self._end_some({*self._live, *self._read} - {session})

    def _end_some(self, names: set[str]) -> None:
        """Close the files of sessions that ended or were deleted. Open files would still take disk space."""
        with self._lock:
            now = time.monotonic()
            live = {name for name, each in self._live.items() if now - each.seen > _IDLE_CLOSE_S}
            gone = live | (self._live.keys() | self._read.keys()) - names
        for name in gone:
            # Nobody may open a file before it is closed.
            with self._opening_of(name):
                with self._lock:
                    files = [each.pop(name) for each in (self._live, self._read) if name in each]
                for file in files:
                    file.close()
        with self._lock:
            for name in self._opening.keys() - names - self._live.keys():
                del self._opening[name]

    def _write_all(self) -> None:
        for store in self.live().values():
            try:
                store.flush()
            except Exception:
                log.exception("metrics could not be written")


CurrentMetrics = Annotated[Metrics, provide(Metrics)]
