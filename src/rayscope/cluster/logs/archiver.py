"""Copies the log files of live clusters, so that they remain available when a node or the cluster has ended.

The load is limited: only new bytes are read, quiet files are read less and less often, a node gets only a few
calls per second, and nothing is copied while the disk is nearly full.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from rayscope.api.schemas import ErrorDetail
from rayscope.cluster.logs import schemas, sql
from rayscope.cluster.logs.files import Logs
from rayscope.ingest.clusters import Clusters
from rayscope.periodic import PeriodicTask
from rayscope.ray.agents.client import AgentError
from rayscope.ray.agents.logs import USER_KINDS, read_name, rotations
from rayscope.ray.gcs.client import GcsError
from rayscope.records.reader import SessionReader
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import StoreError

log = logging.getLogger("rayscope.server")

#: The pause between two rounds, in seconds.
_TURN_S = 1.0
#: The maximum time that a round waits for its readers, in seconds.
_MAX_TURN_S = 3.0
#: The pause between two lists of a node's files, in seconds.
_LIST_S = 4.0
#: Maximum number of lists of files that are read per second, over all nodes together.
_LISTS_PER_S = 25.0
#: Maximum number of files that a node lists per second, on average.
_FILES_PER_S = 500
#: How long a list of live nodes is valid, in seconds.
_NODES_S = 3.0
#: How long the file of a worker waits until the worker's node is recorded, in seconds.
_HOME_S = 10.0
#: The pause before a file that had new lines is read again, s. It doubles each time that there is nothing
#: new.
_SOON_S = 2.0
#: The maximum pause before a file of user code is read again, in seconds.
_LATE_S = 30.0
#: The maximum pause before one of Ray's own files is read again, in seconds.
_OWN_LATE_S = 60.0
#: Maximum number of files that are read per node in one round.
_FILES_PER_TURN = 8
#: Maximum number of bytes per read.
_BYTES_PER_READ = 2 << 20
#: If the copy of a file is more than this many bytes behind, the older bytes are skipped and the gap is
#: recorded.
_FAR_BEHIND = 32 << 20
#: Number of bytes that are copied from the end of a file if older ones are skipped.
_AGAIN_FROM = 4 << 20
#: Number of bytes at the beginning of a file by which it is recognized after a rotation.
_HEAD_BYTES = 4096
#: After this many reads without new lines, a file is checked for truncation.
_CHECK_EVERY_READS = 5
#: The maximum share of a CPU core that copying may use.
LOAD = 0.05
#: CPU time that may be used at once after a quiet period, in seconds.
_AT_ONCE_S = 1.0
#: How often the pauses are adjusted, in seconds.
_ADJUST_S = 5.0
#: Pauses are multiplied by up to this factor to limit the load.
_MAX_SLOWDOWN = 60.0


@dataclass
class _File:
    is_user: bool
    offset: int = 0
    due: float = 0.0
    pause_s: float = _SOON_S
    quiet: int = 0
    #: Whether the last read returned any data.
    said: bool = False
    #: Whether the file waits until the node of its worker is known.
    waits: bool = False


@dataclass
class _Node:
    files: dict[str, _File] = field(default_factory=dict)
    list_due: float = 0.0
    #: When the list of files, or a file, is to be read next (monotonic, s).
    due: float = 0.0
    failed: int = 0
    #: Whether a read has been requested. It starts as soon as a reader is free.
    waits: bool = False
    busy: threading.Lock = field(default_factory=threading.Lock)


def _original(name: str) -> str | None:
    """The original name of a rotated file (``a.out`` for ``a.out.2``). None if it is not rotated."""
    return name.rpartition(".")[0] if rotations(name) else None


def _with_originals(files: dict[str, _File], names: list[str]) -> list[str]:
    """Return ``names`` with the original file inserted before each rotated one. Only the original shows a new
    rotation.
    """
    ordered: dict[str, None] = {}
    for name in names:
        base = _original(name)
        if base in files:
            ordered[base] = None
        ordered[name] = None
    return list(ordered)


class LogArchiver:
    """Copies logs in a thread. ``error``: why this is not possible at present, or None."""

    def __init__(
        self, settings: Settings, catalog: Catalog, records: SessionReader, clusters: Clusters, logs: Logs
    ) -> None:
        self._settings = settings
        self._catalog = catalog
        self._records = records
        self._clusters = clusters
        self._logs = logs
        self._nodes: dict[tuple[str, str], _Node] = {}
        self._alive_nodes: dict[str, tuple[float, list[str]]] = {}
        self._task = PeriodicTask("rayscope-log-archiver", _TURN_S, self._turn_or_set_error)
        self._pool = ThreadPoolExecutor(4, "rayscope-log-reader")
        self._counting = threading.Lock()
        self._cpu_s, self._adjusted, self._slow = 0.0, time.monotonic(), 1.0
        #: The CPU seconds that may be used now, and when they were last topped up.
        self._purse, self._filled = _AT_ONCE_S, time.monotonic()
        self.error: ErrorDetail | None = None

    @property
    def mode(self) -> schemas.LogKeeping:
        """Which files are copied: ``workers``, ``all`` or ``none``."""
        return self._settings.keep_logs

    def start(self) -> None:
        """Start the thread, unless there is nothing to copy."""
        if self.mode != "none":
            self._task.start()

    def stop(self) -> None:
        """Stop the thread. Copies are kept."""
        self._task.stop(_MAX_TURN_S + 1)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def archive_now(self, session: str, timeout_s: float) -> None:
        """Copy everything new in a cluster's files. Call this before the cluster is stopped."""
        if self.mode == "none" or self._task.is_stopping or self.is_short_of_disk():
            return
        end = time.monotonic() + timeout_s
        jobs = [
            self._pool.submit(self._look_at, session, node, end)
            for node in self._alive(session)[:100]
            if self._clusters.gcs_of(session) is not None
        ]
        wait(jobs, timeout_s)

    def _turn_or_set_error(self) -> None:
        try:
            self._turn()
        except Exception as error:
            self.error = {
                "code": "logs_not_kept",
                "message": f"Keeping logs failed: {error}",
                "remedy": "See the server's log.",
                "params": {"reason": str(error)},
            }
            raise

    def _turn(self) -> None:
        if self.is_short_of_disk():
            return
        wanted: set[tuple[str, str]] = set()
        for session in self._catalog.names()[:20]:
            if self._clusters.gcs_of(session) is not None:
                with contextlib.suppress(StoreError):
                    wanted |= {(session, node) for node in self._alive(session)}
        for gone in [key for key in self._nodes if key not in wanted]:
            self._nodes.pop(gone)
            self._logs.forget(*gone)
        for session in self._alive_nodes.keys() - {session for session, _ in wanted}:
            self._alive_nodes.pop(session, None)
        list_s = max(_LIST_S, len(wanted) / _LISTS_PER_S)
        jobs = []
        self._fill()
        nodes = [(key, self._nodes.setdefault(key, _Node())) for key in wanted]
        for key, node in sorted(nodes, key=lambda each: each[1].due):
            now = time.monotonic()
            if self._purse <= 0:
                break
            if node.waits or node.busy.locked():
                continue  # slow nodes must not delay the others
            if now >= node.due:
                node.waits = True
                jobs.append(self._pool.submit(self._look, key, node, list_s, _FILES_PER_TURN))
        wait(jobs, _MAX_TURN_S)
        self._adjust_pauses()

    def _fill(self) -> None:
        with self._counting:
            now = time.monotonic()
            self._purse = min(_AT_ONCE_S, self._purse + LOAD * (now - self._filled))
            self._filled = now

    def _pay(self, began: float) -> None:
        """Charge the CPU time that this thread has used since ``began`` (the thread's CPU time at that point,
        s).
        """
        with self._counting:
            used_s = time.thread_time() - began
            self._cpu_s += used_s
            self._purse -= used_s

    def _adjust_pauses(self) -> None:
        """Adjust the pauses so that copying stays within its share of a CPU core."""
        now = time.monotonic()
        if now - self._adjusted < _ADJUST_S:
            return
        with self._counting:
            share, self._cpu_s = self._cpu_s / (now - self._adjusted), 0.0
        self._adjusted = now
        factor = self._slow * (0.5 + 0.5 * share / LOAD)
        self._slow = min(_MAX_SLOWDOWN, max(1.0, factor))

    def _alive(self, session: str) -> list[str]:
        known = self._alive_nodes.get(session)
        if known is None or time.monotonic() > known[0]:
            rows = self._records.read(session, sql.log_nodes, flush=False)
            alive = [row["node_id"] for row in rows if row["state"] == "ALIVE"]
            known = self._alive_nodes[session] = (time.monotonic() + _NODES_S, alive)
        return known[1]

    def is_short_of_disk(self) -> bool:
        """Whether the disk is too full to copy logs. Sets ``error`` if it is."""
        min_free = self._settings.min_free_bytes
        with contextlib.suppress(OSError):
            if shutil.disk_usage(self._catalog.folder).free < min_free + (64 << 20):
                self.error = {
                    "code": "logs_disk",
                    "message": "The disk is nearly full, so no logs are kept.",
                    "remedy": "Free some space; keeping logs resumes automatically.",
                }
                return True
        self.error = None
        return False

    def _look_at(self, session: str, node_id: str, end: float) -> None:
        """Read all files of a node now."""
        node = self._nodes.setdefault((session, node_id), _Node())
        self._alive_nodes.pop(session, None)
        node.list_due = node.due = 0.0
        with node.busy:
            for file in node.files.values():
                file.due = 0.0
        if time.monotonic() < end:
            self._look((session, node_id), node, _LIST_S, 10_000, end)

    def _look(
        self, key: tuple[str, str], node: _Node, list_s: float, max_files: int, end: float = float("inf")
    ) -> None:
        """List a node's files if it is time, and read those that are due."""
        began = time.thread_time()
        with node.busy:
            node.waits = False
            try:
                if time.monotonic() >= node.list_due:
                    count = self._list(key, node)
                    # Reading a long list costs the agent time, too.
                    node.list_due = time.monotonic() + max(list_s, count / _FILES_PER_S)
                now = time.monotonic()
                due = sorted((file.due, name) for name, file in node.files.items() if file.due <= now)
                names = _with_originals(node.files, [name for _, name in due[:max_files]])
                is_last = end < float("inf")
                skip_at = (now + end) / 2
                while names:
                    for name in names:
                        if self._task.is_stopping or time.monotonic() > end:
                            return
                        if self._purse <= 0 and not is_last:
                            break
                        is_late = time.monotonic() > skip_at
                        self._follow(key, name, node.files, _BYTES_PER_READ if is_late else _FAR_BEHIND)
                        self._pay(began)
                        began = time.thread_time()
                    # Before the cluster ends, files are read to their ends.
                    names = [n for n in names if is_last and n in node.files and node.files[n].pause_s == 0]
                node.failed = 0
            except (AgentError, GcsError, StoreError) as error:
                node.failed += 1
                node.list_due = time.monotonic() + min(60.0, list_s * 2 ** min(node.failed, 5))
                for file in node.files.values():
                    file.due = max(file.due, node.list_due)
                self._logs.forget(*key)
                log.debug("could not read the logs of %s: %s", key[1], error)
            finally:
                node.due = min((file.due for file in node.files.values()), default=node.list_due)
                node.due = min(node.due, node.list_due)
                self._pay(began)

    def _list(self, key: tuple[str, str], node: _Node) -> int:
        """Update the files to follow. Returns the number of files that the node lists."""
        store = self._logs.store(key[0])
        names = self._logs.names(*key, 1.0)
        homes = self._logs.homes(key[0], ())
        for name in node.files.keys() - set(names):
            del node.files[name]
        for name in names:
            parsed = read_name(name)
            at_home = parsed.worker_id is None or parsed.worker_id in homes
            known = node.files.get(name)
            if known is not None:
                if known.waits and at_home:
                    known.waits, known.due = False, 0.0
                continue
            is_user = parsed.kind in USER_KINDS
            if is_user or self.mode == "all":
                kept = store.file(key[1], name) if store else None
                due = 0.0 if at_home else time.monotonic() + _HOME_S
                node.files[name] = _File(is_user, kept.seen if kept else 0, due, waits=not at_home)
                store = store or self._logs.store(key[0], make=True)
        return len(names)

    def _follow(self, key: tuple[str, str], name: str, files: dict[str, _File], far: int) -> None:
        """Read a file's next bytes. If more than ``far`` bytes are left, skip to the last ones."""
        session, node_id = key
        file = files.setdefault(name, _File(read_name(name).kind in USER_KINDS))
        agent = self._logs.agent(session, node_id)
        try:
            head = self._head(key, name) if f"{name}.1" in files else b""
            if head and agent.read(name, 0, len(head)) != head:
                self._restart_file(key, name, files)
                file = files[name]
            # Requesting the size costs a tenth as much as reading, and most files have nothing new.
            reported = None if file.said else agent.reported_size(name)
            if reported is None or reported > file.offset:
                data = agent.read(name, file.offset, file.offset + _BYTES_PER_READ)
            else:
                data = b""
            anew = (
                file.quiet % _CHECK_EVERY_READS == _CHECK_EVERY_READS - 1
                if reported is None
                else reported < file.offset
            )
            if (anew and not data) or len(data) == _BYTES_PER_READ:
                size = agent.size(name, file.offset)
                if size < file.offset:
                    self._restart_file(key, name, files)
                    file = files[name]
                    data = b""
                elif size - file.offset > far:
                    file.offset = size - min(_AGAIN_FROM, far)
                    data = agent.read(name, file.offset, file.offset + _BYTES_PER_READ)
        except AgentError as error:
            if error.code != "gone":
                raise
            data = b""
        file.said = bool(data)
        if data:
            self._store(session).append(
                node_id, name, file.offset, data, time.time_ns(), is_user=file.is_user
            )
            file.offset += len(data)
            file.quiet, file.pause_s = 0, (0.0 if len(data) == _BYTES_PER_READ else _SOON_S)
        else:
            file.quiet += 1
            file.pause_s = min(max(file.pause_s, 1.0) * 2, _LATE_S if file.is_user else _OWN_LATE_S)
        if not file.is_user:
            file.pause_s = max(file.pause_s, 15.0)  # each request adds a line to the agent's own log
        file.due = time.monotonic() + file.pause_s * self._slow

    def _restart_file(self, key: tuple[str, str], name: str, files: dict[str, _File]) -> None:
        """Follow a file from its beginning. If Ray rotated it, rename the copies accordingly."""
        session, node_id = key
        store, agent = self._store(session), self._logs.agent(session, node_id)
        pieces = sorted((other for other in files if _original(other) == name), key=rotations)
        head, turns = self._head(key, name), 0
        # The list of files may be older than the rotation.
        for turn in range(1, len(pieces) + 2) if head else ():
            try:
                if agent.read(f"{name}.{turn}", 0, len(head)) == head:
                    turns = turn
                    break
            except AgentError as error:
                if error.code != "gone":
                    raise
        if turns:
            for old in (*reversed(pieces), name):
                new = f"{name}.{rotations(old) + turns}"
                store.rename(node_id, old, new)
                files[new] = files.pop(old)
                files[new].due = 0.0
        else:
            store.restart(node_id, name)
        files[name] = _File(read_name(name).kind in USER_KINDS)

    def _head(self, key: tuple[str, str], name: str) -> bytes:
        """The copied first bytes of a file, by which it is recognized."""
        kept = self._store(key[0]).read(key[1], name, 0, _HEAD_BYTES)
        return kept[0][1] if kept and kept[0][0] == 0 else b""

    def _store(self, session: str) -> Any:
        return self._logs.store(session, make=True)
