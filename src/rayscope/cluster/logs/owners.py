"""Finds the ranges of log files that belong to a task, an actor, a worker or a job."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable
from typing import NamedTuple

from rayscope.cluster.logs import sql
from rayscope.cluster.logs.files import Logs
from rayscope.cluster.tasks import sql as tasks_sql
from rayscope.model import Kind
from rayscope.ray.agents.client import AgentError
from rayscope.ray.agents.logs import driver_file, read_name, rotations
from rayscope.ray.gcs.client import GcsError
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.sql.entities import find_id
from rayscope.storage.sql.pages import Row

#: Maximum number of workers of a job or actor whose files are listed.
_MAX_WORKERS = 20


class Part(NamedTuple):
    """A range of a file from ``begin`` up to ``end``, in bytes. If ``end`` is None, it is the end of the
    file.
    """

    node_id: str
    name: str
    stream: str
    begin: int = 0
    end: int | None = None


class Owned(NamedTuple):
    """Ranges of files, and codes for anything unexpected about them (see docs/reference/logs.md)."""

    parts: list[Part]
    notes: list[str]
    left_out: int = 0


class Owners:
    """Finds the files of one session's entities. Raises NotFound or BadQuery for invalid requests."""

    def __init__(self, records: SessionReader, logs: Logs, session: str) -> None:
        self._records = records
        self._logs = logs
        self._session = session
        self._names: dict[str, list[str]] = {}

    def task(self, task_id: str, attempt: int | None) -> Owned:
        """The lines of an attempt, or of the last attempt if None, by the offsets that Ray recorded."""
        last_ns = self._records.last_ns(self._session)
        task = self._records.read(
            self._session, lambda file: tasks_sql.get_task(file, task_id, last_ns=last_ns)
        )
        attempts = task["attempts"]
        row = next((row for row in attempts if row["attempt"] == attempt), None)
        if attempt is not None and row is None:
            raise NotFound(
                f"Task {task_id[:80]} has no attempt {attempt}.",
                "See the attempts of the task.",
                what="attempt",
                id=str(attempt),
            )
        row = row or attempts[-1]
        node, worker = row["node_id"], row["worker_id"]
        if node is None or worker is None:
            return Owned([], ["not_started"])
        parts = []
        is_rotated = False
        for stream, path, begin, end in (
            ("out", row["stdout_file"], row["stdout_start"], row["stdout_end"]),
            ("err", row["stderr_file"], row["stderr_start"], row["stderr_end"]),
        ):
            name = str(path or "").rpartition("/")[2]
            if name and begin is not None and name in self._of(node):
                is_rotated |= any(other.startswith(f"{name}.") for other in self._of(node))
                if end is not None:
                    end = None if end <= 0 and row["end_ns"] is None else max(end, begin)
                parts.append(Part(node, name, stream, max(0, begin), end))
        if is_rotated:  # the offsets refer to a file that has been renamed since
            return self._of_workers([(worker, node)])._replace(notes=["rotated"])
        if parts:
            return Owned(parts, [])
        noted = row["stdout_start"] is not None or row["stderr_start"] is not None
        if noted:
            return Owned([], ["gone"])
        found = self._of_workers([(worker, node)])
        return found._replace(notes=["actor_task" if row["actor_id"] else "no_offsets", *found.notes])

    def worker(self, worker_id: str) -> Owned:
        """The output of a worker."""
        worker_id = self._whole("worker", worker_id)
        job = self._records.read(self._session, lambda file: sql.job_of_driver(file, worker_id))
        if job is not None:
            return self._of_driver(self._places(job))
        node = self._records.read(self._session, lambda file: sql.node_of_worker(file, worker_id))
        return self._of_workers([(worker_id, node)])

    def actor(self, actor_id: str) -> Owned:
        """The output of the workers that ran an actor, the last one first."""
        actor_id = self._whole("actor", actor_id)
        workers = self._records.read(self._session, lambda file: sql.workers_of_actor(file, actor_id))
        return self._of_workers(workers) if workers else Owned([], ["not_started"])

    def job(self, job_id: str) -> Owned:
        """The output of a job's driver and workers."""
        jobs = self._places(self._whole("job", job_id))
        parts, notes, _ = self._of_driver(jobs)
        workers: list[tuple[str, str]] = []
        for row in jobs:
            of_job = functools.partial(sql.workers_of_job, job_id=row["job_id"])
            workers += self._records.read(self._session, of_job)
        found_too = self._of_workers(workers)
        left_out = found_too.left_out
        return Owned(
            [*parts, *found_too.parts], [*notes, *(n for n in found_too.notes if not parts)], left_out
        )

    def _places(self, job_id: str) -> list[Row]:
        rows: list[Row] = self._records.read(self._session, lambda file: sql.job_places(file, job_id))
        return rows

    def _of_driver(self, jobs: list[Row]) -> Owned:
        parts, notes = [], []
        names = {driver_file(row["job_id"]): [row["driver_node_id"]] for row in jobs}
        for row in jobs:
            if row["submission_id"]:
                names.setdefault(f"job-driver-{row['submission_id']}.log", []).append(row["driver_node_id"])
        for name, node_ids in names.items():
            # While the node is unknown, try some nodes: those on one machine may share the folder, so that
            # each of them has the file.
            nodes = [node for node in node_ids if node] or [each["node_id"] for each in self._nodes()[:10]]
            parts += [Part(node, name, "driver") for node in nodes if name in self._of(node)][:1]
        if not parts:
            notes.append("gone" if any(row["submission_id"] for row in jobs) else "driver_terminal")
        return Owned(parts, notes)

    def _whole(self, kind: Kind, begin: str) -> str:
        return str(self._records.read(self._session, lambda file: find_id(file, kind, begin)))

    def _of_workers(self, workers: list[tuple[str, str]]) -> Owned:
        parts = []
        for worker, node in workers[:_MAX_WORKERS]:
            for name in sorted(self._of(node), key=rotations, reverse=True):  # the oldest piece first
                parsed = read_name(name)
                if parsed.worker_id == worker and parsed.kind.startswith("worker_"):
                    parts.append(Part(node, name, parsed.kind.removeprefix("worker_")))
        parts.sort(key=lambda part: part.stream == "err")  # stdout first; the sort is stable
        notes = [] if parts or not workers else ["gone"]
        return Owned(parts, notes, max(0, len(workers) - _MAX_WORKERS))

    def _nodes(self) -> list[Row]:
        rows: list[Row] = self._records.read_cached(self._session, "nodes with logs", sql.log_nodes)
        return rows

    def _of(self, node_id: str) -> Iterable[str]:
        """The files of a node: those that it lists, and copies."""
        known = self._names.get(node_id)
        if known is None:
            names: set[str] = set()
            store = self._logs.store(self._session)
            if store is not None:
                names = store.names(node_id)
            # If the node is gone, only copies remain.
            with contextlib.suppress(AgentError, GcsError, StoreError):
                names.update(self._logs.names(self._session, node_id))
            known = self._names[node_id] = sorted(names)
        return known
