"""The log files of recorded clusters: from the agents of live nodes, and from copies.

Bytes that were copied already are not fetched again. A file exists if its node's agent lists it or a copy is
kept. Other files are not found.
"""

from __future__ import annotations

import functools
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from datetime import datetime
from typing import Annotated, Any

from rayscope.api.provide import provide
from rayscope.api.responses import error_info
from rayscope.api.schemas import ErrorDetail
from rayscope.cluster.logs import sql
from rayscope.cluster.logs.clocks import Clock, Life, clock_of, local_clock
from rayscope.cluster.logs.lines import moments_of
from rayscope.cluster.logs.marks import Marks
from rayscope.ingest.clusters import Clusters
from rayscope.ray.agents.client import AgentError
from rayscope.ray.agents.logs import LogAgent, LogName, is_name, read_name
from rayscope.ray.gcs.client import GcsError
from rayscope.records.reader import SessionReader
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import BadQuery, NotFound, StoreError
from rayscope.storage.log_archive import FILE_NAME, KeptFile, LogStore

_NODE = re.compile(r"[0-9a-f]{1,64}")
#: How long a node's list of files is valid, in seconds.
_LIST_S = 3.0
#: How long a file's size is valid, in seconds.
_SIZE_S = 1.0
#: How long no requests are sent to a node that did not answer, s. Otherwise each of its files would wait for
#: it.
_RETRY_S = 5.0
#: Maximum number of stores that stay open; the least recently used one is closed.
_MAX_STORES = 64
#: Number of bytes fetched per call to an agent.
_BYTES_PER_CALL = 4 << 20
#: Number of bytes read at once for a download.
_PIECE_BYTES = 1 << 20
#: Number of bytes at each end of a file that are searched for times.
_PROBE_BYTES = 16 << 10
_AGENTS = 4096
#: Maximum number of nodes whose files are requested for one answer.
_MAX_NODES_ASKED = 64
#: How long an answer waits for nodes to list their files, in seconds.
_ASK_S = 4.0


class Source:
    """A log file: its copy, and the rest from its node if that is alive.

    ``size``: the known size, bytes. ``live``: whether more may come. ``problem``: why its node cannot be
    read.
    """

    def __init__(
        self,
        node_id: str,
        name: str,
        copy: KeptFile | None,
        store: LogStore | None,
        agent: LogAgent | None,
        problem: ErrorDetail | None,
        size: int | None = None,
        *,
        grows: bool = False,
        life: Callable[[], Life | None] = lambda: None,
    ) -> None:
        self.node_id = node_id
        self.name = name
        self.kept = copy
        self.problem = problem
        self._store = store if copy is not None else None
        self._agent = agent
        self.size = (copy.seen if copy else 0) if size is None else size
        self._grows = grows
        self._life = life
        self._clock: Clock | None = None

    def clock(self, moment: datetime) -> float | None:
        """Convert a time without a time zone in this file to seconds since the epoch, None if impossible."""
        if self._clock is None:
            self._clock = self._find_clock()
        return self._clock(moment)

    def _find_clock(self) -> Clock:
        life = self._life()
        if life is None:
            return local_clock
        ends = [(0, min(_PROBE_BYTES, self.size)), (max(_PROBE_BYTES, self.size - _PROBE_BYTES), self.size)]
        pieces = [data for begin, end in ends for _, data in self.read(begin, end)]
        return clock_of([moment for data in pieces for moment in moments_of(data)], life)

    @property
    def live(self) -> bool:
        """Whether more bytes may come: from the node's agent, or from a program that sends its output."""
        return self._agent is not None or self._grows

    def read(self, begin: int, end: int) -> list[tuple[int, bytes]]:
        """The available (offset, bytes) pairs between two offsets, in order. Raises StoreError."""
        end = min(end, self.size)
        if end <= begin:
            return []
        kept = self._store.read(self.node_id, self.name, begin, end) if self._store else []
        found: list[tuple[int, bytes]] = []
        at = begin
        for first, data in [*kept, (end, b"")]:
            if first > at:
                found += self._fetch(at, first)
            if data:
                found.append((first, data))
            at = first + len(data)
        return _join(found)

    def pieces(self, begin: int, end: int) -> Iterator[bytes]:
        """The bytes between two offsets, some at a time. A line marks each gap and has the number of missing
        bytes.
        """
        at = begin
        while at < end:
            stop = min(at + _PIECE_BYTES, end)
            for offset, data in self.read(at, stop):
                if offset > at:
                    yield _gap(offset - at)
                yield data
                at = offset + len(data)
            if at < stop:
                yield _gap(stop - at)
                at = stop

    def _fetch(self, begin: int, end: int) -> Iterable[tuple[int, bytes]]:
        at = begin
        while self._agent is not None and at < end:
            try:
                data = self._agent.read(self.name, at, min(end, at + _BYTES_PER_CALL))
            except AgentError as error:
                self._agent, self.problem = None, error_info(error)
                return
            if not data:
                return
            yield at, data
            at += len(data)

    def offset_at(self, time_ns: int) -> int | None:
        """The offset of the first bytes that were copied at that time or later."""
        return self._store.offset_at(self.node_id, self.name, time_ns) if self._store else None


def _gap(size: int) -> bytes:
    return f"\n[rayscope: {size} bytes are missing here]\n".encode()


class Logs:
    """All log files. Thread-safe. Call :meth:`stop` at the end."""

    def __init__(
        self, settings: Settings, catalog: Catalog, records: SessionReader, clusters: Clusters
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._records = records
        self._clusters = clusters
        self._lock = threading.RLock()
        self._stores: dict[str, LogStore] = {}
        self._agents: dict[tuple[str, str], LogAgent] = {}
        self._names: dict[tuple[str, str], tuple[float, list[str]]] = {}
        self._failed: dict[tuple[str, str], tuple[float, AgentError]] = {}
        #: By session, the node of each worker.
        self._homes: dict[str, dict[str, str]] = {}
        self._sizes: dict[tuple[str, str, str], tuple[float, int]] = {}
        self.marks = Marks()
        self._pool = ThreadPoolExecutor(8, "rayscope-logs")

    def stop(self) -> None:
        """Close all connections and files."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for agent in self._agents.values():
                agent.close()
            for store in self._stores.values():
                store.close()
            self._agents.clear()
            self._stores.clear()

    def store(self, session: str, *, make: bool = False) -> LogStore | None:
        """The copied logs of a session, or None if there are none yet. Raises StoreError or NotFound."""
        path = self._catalog.local_file(session, FILE_NAME)
        with self._lock:
            known = self._stores.get(session)
            if known is not None and path.exists():
                self._stores[session] = self._stores.pop(session)
                return known
            if known is not None:  # deleted with its session
                self._stores.pop(session).close()
            if not make and not path.exists():
                return None
            while len(self._stores) >= _MAX_STORES:
                self._stores.pop(next(iter(self._stores))).close()
            made = self._stores[session] = LogStore(path, self._settings.max_log_bytes)
            return made

    def agent(self, session: str, node_id: str) -> LogAgent:
        """The connection to a node's agent. Raises AgentError, GcsError, or BadQuery while not connected."""
        gcs = self._clusters.gcs_of(session)
        if gcs is None:
            live = self._records.is_live(session)
            raise BadQuery(
                "The cluster is not connected." if live else "The cluster has ended.",
                "Attach to it: rayscope attach HOST:PORT." if live else "Read the kept copy of its logs.",
                what="not_connected" if live else "ended",
            )
        key = (session, node_id)
        with self._lock:
            known = self._agents.get(key)
            if known is not None:
                return known
        made = LogAgent(gcs, node_id)
        with self._lock:
            while len(self._agents) >= _AGENTS:
                self._agents.pop(next(iter(self._agents))).close()
            known = self._agents.setdefault(key, made)
        if known is not made:
            made.close()
        return known

    def forget(self, session: str, node_id: str) -> None:
        """Close the connection to a failed agent. The next use opens it again."""
        with self._lock:
            agent = self._agents.pop((session, node_id), None)
        if agent is not None:
            agent.close()

    def forget_session(self, session: str) -> None:
        """Close the copied logs of a deleted session and the connections to its agents, and forget its files.

        An open file would still take disk space.
        """
        with self._lock:
            agents = [self._agents.pop(key) for key in list(self._agents) if key[0] == session]
            store = self._stores.pop(session, None)
            self._homes.pop(session, None)
            by_file: tuple[dict[Any, Any], ...] = (self._names, self._failed, self._sizes)
            for known in by_file:
                for key in [key for key in list(known) if key[0] == session]:  # other threads add to it
                    known.pop(key, None)
            self.marks.forget(session)
        for agent in agents:
            agent.close()
        if store is not None:
            store.close()

    def names(self, session: str, node_id: str, max_age_s: float = _LIST_S) -> list[str]:
        """The files that a node's agent lists. Raises AgentError, GcsError or BadQuery.

        Files of workers on other nodes are left out, because nodes on one machine may share the folder.
        """
        key = (session, node_id)
        known, failed = self._names.get(key), self._failed.get(key)
        if known is not None and time.monotonic() - known[0] < max_age_s:
            return known[1]
        if failed is not None and time.monotonic() - failed[0] < _RETRY_S:
            raise failed[1]
        try:
            all_names = self.agent(session, node_id).names()
            homes = self.homes(session, (read_name(name).worker_id for name in all_names))
            names = [n for n in all_names if homes.get(read_name(n).worker_id or "", node_id) == node_id]
        except AgentError as error:
            self.forget(session, node_id)
            if len(self._failed) > 2000:
                self._failed.clear()
            self._failed[key] = (time.monotonic(), error)
            raise
        if len(self._names) > 2000:
            self._names.clear()
        self._names[key] = (time.monotonic(), names)
        return names

    def homes(self, session: str, worker_ids: Iterable[str | None]) -> dict[str, str]:
        """The nodes of known workers by worker ID. The result may include workers that were not requested."""
        with self._lock:
            known = self._homes[session] = self._homes.pop(session, {})
            while len(self._homes) > _MAX_STORES:
                del self._homes[next(iter(self._homes))]
        asked = {worker for worker in worker_ids if worker is not None and worker not in known}
        if asked:
            if len(known) > 200_000:
                known.clear()
            known.update(
                self._records.read(session, lambda file: sql.nodes_of_workers(file, asked), flush=False)
            )
        return known

    def size(
        self, session: str, node_id: str, name: str, at_least: int = 0, max_age_s: float = _SIZE_S
    ) -> int:
        """The size of a live file, bytes. Raises AgentError, GcsError or BadQuery."""
        key = (session, node_id, name)
        known = self._sizes.get(key)
        if known is not None and time.monotonic() - known[0] < max_age_s:
            return known[1]
        size = self.agent(session, node_id).size(name, at_least)
        if len(self._sizes) > 20_000:
            self._sizes.clear()
        self._sizes[key] = (time.monotonic(), size)
        return size

    def known_size(self, session: str, node_id: str, name: str) -> int | None:
        """The last known size of a live file in bytes, or None if it is unknown."""
        known = self._sizes.get((session, node_id, name))
        return None if known is None else known[1]

    def source(self, session: str, node_id: str, name: str) -> Source:
        """A file to read. Raises NotFound if its node does not list it and no copy is kept."""
        if not _NODE.fullmatch(node_id) or not is_name(name):
            raise NotFound(
                "Not a valid log file name.",
                "GET /api/v1/logs lists the files of each node.",
                what="log_file_name",
            )
        store = self.store(session)
        kept = store.file(node_id, name) if store else None
        about = read_name(name)
        life = functools.partial(self._life, session, about)
        # The output of a program that `rayscope run` started is not a file of the node.
        if kept is not None and about.kind == "driver" and about.submission_id is None:
            grows = self._clusters.gcs_of(session) is not None
            return Source(node_id, name, kept, store, None, None, grows=grows, life=life)
        problem: ErrorDetail
        try:
            names = self.names(session, node_id)
            if name not in names and kept is None:
                names = self.names(session, node_id, 0)  # the list may be a few seconds old
            if name in names:
                at_least = kept.seen if kept else 0
                size = self.size(session, node_id, name, at_least)
                if kept is not None and size < kept.seen:
                    size = self.size(session, node_id, name, at_least, 0)  # the size may be a second old
                    kept = kept if size >= kept.seen else None  # truncated: the copy is of an earlier file
                agent = self.agent(session, node_id)
                return Source(node_id, name, kept, store, agent, None, size, life=life)
            problem = {
                "code": "gone",
                "message": "The file no longer exists on the node.",
                "remedy": "Showing the kept copy.",
                "params": {"what": "log_file"},
            }
        except (AgentError, GcsError, BadQuery) as error:
            problem = error_info(error)
        if kept is None:
            if problem["code"] == "gone":
                raise NotFound(
                    f"The node no longer has the log file {name[:120]}, and no copy was kept.",
                    "Choose another file. RAYSCOPE_KEEP_LOGS says which logs are kept.",
                    what="log_file",
                    id=name[:120],
                )
            raise NotFound(
                f"No copy of the log file {name[:120]} was kept, and its node cannot be read: "
                f"{problem['message']}",
                problem["remedy"],
                what="unread_log",
                id=name[:120],
            )
        return Source(node_id, name, kept, store, None, problem, life=life)

    def _life(self, session: str, about: LogName) -> Life | None:
        """When the worker of a file began and ended. None for files without a worker, or if the start is
        unknown.
        """
        if about.worker_id is None:
            return None
        worker_id = about.worker_id
        times = self._records.read(session, lambda file: sql.life_of_worker(file, worker_id), flush=False)
        if times is None or times[0] is None:
            return None
        end_ns = times[1] or (
            time.time_ns() if self._records.is_live(session) else self._records.last_ns(session)
        )
        return Life(times[0] / 1e9, end_ns / 1e9)

    def list_nodes(
        self, session: str, node_ids: Iterable[str]
    ) -> dict[str, tuple[list[str] | None, ErrorDetail | None]]:
        """For each node, the files that its agent lists, or why they are unknown. Recent lists are reused."""
        nodes = list(node_ids)
        jobs = {node: self._pool.submit(self.names, session, node, 10.0) for node in nodes[:_MAX_NODES_ASKED]}
        wait(jobs.values(), _ASK_S)
        found: dict[str, tuple[list[str] | None, ErrorDetail | None]] = {}
        for node in nodes:
            job = jobs.get(node)
            if job is None or not job.done():
                known = self._names.get((session, node))
                late: ErrorDetail = {
                    "code": "not_asked",
                    "message": "This node's files have not been listed yet.",
                    "remedy": "Choose the node to list its files.",
                }
                found[node] = (known[1], None) if known else (None, late)
                continue
            try:
                found[node] = (job.result(), None)
            except (AgentError, GcsError, StoreError) as error:
                found[node] = (None, error_info(error))
        return found

    def look_up_sizes(self, session: str, files: Iterable[tuple[str, str]], for_s: float = 1.0) -> None:
        """Request the unknown sizes of files (node, name), for at most ``for_s`` seconds."""
        end = time.monotonic() + for_s

        def ask(node_id: str, name: str) -> None:
            if time.monotonic() < end:
                try:
                    self.size(session, node_id, name, max_age_s=30.0)
                except (AgentError, GcsError, StoreError):
                    return

        wait([self._pool.submit(ask, *file) for file in files], for_s)


def _join(pieces: list[tuple[int, bytes]]) -> list[tuple[int, bytes]]:
    """Join adjacent pieces."""
    found: list[tuple[int, list[bytes], int]] = []
    for at, data in pieces:
        if found and found[-1][2] == at:
            found[-1][1].append(data)
            found[-1] = (found[-1][0], found[-1][1], at + len(data))
        else:
            found.append((at, [data], at + len(data)))
    return [(at, b"".join(parts)) for at, parts, _ in found]


CurrentLogs = Annotated[Logs, provide(Logs)]
