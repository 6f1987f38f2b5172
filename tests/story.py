"""Executions with known numbers: described in a few lines, recorded, and queried again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from rayscope.model import Annotation, Attempt, Edge, Entity, Kind, RecordBatch, Span, TaskError
from rayscope.model.entity import Value

#: Times of a story are ms since this (ns since the epoch).
ORIGIN_NS = 1_760_000_000_000_000_000
MS = 1_000_000
JOB = "01000000"
DRIVER = "f" * 40 + JOB
SESSION = "session_2025-10-09_08-53-20_000000_1"


@dataclass
class Story:
    """Tasks of one job, each in a line. Times are ms after :data:`ORIGIN_NS`."""

    batch: RecordBatch = field(default_factory=lambda: RecordBatch(SESSION))
    _made: int = 0

    def task(
        self,
        func_name: str,
        created: float,
        started: float | None = None,
        ended: float | None = None,
        *,
        parent: str = DRIVER,
        attempt: int = 0,
        task_id: str | None = None,
        actor: str | None = None,
        node: str = "a" * 56,
        worker: str = "b" * 56,
        queued: float | None = None,
        failed: bool = False,
        job: str = JOB,
        resources: str | None = None,
    ) -> str:
        """A task submitted at ``created``; running and ended if these are given. Returns its id.

        ``queued``: when it was handed to its worker. With ``started`` alone it runs still.
        """
        self._made += 1
        task_id = task_id or f"{self._made:016x}" + (actor or "f" * 24) + job
        kind = "NORMAL_TASK"
        if actor is not None:
            kind = "ACTOR_CREATION_TASK" if func_name.endswith(".__init__") else "ACTOR_TASK"
        made = Attempt(
            task_id,
            attempt,
            name=func_name,
            func_name=func_name,
            type=kind,
            job_id=job,
            parent_task_id=parent,
            actor_id=None if actor is None else actor + job,
            required_resources=resources,
        )
        made.states = {"PENDING_ARGS_AVAIL": at(created), "PENDING_NODE_ASSIGNMENT": at(created)}
        if queued is not None:
            made.states["SUBMITTED_TO_WORKER"] = at(queued)
        if started is not None:
            made.states["RUNNING"] = at(started)
            made.node_id, made.worker_id, made.worker_pid = node, worker, 100
        if ended is not None:
            made.states["FAILED" if failed else "FINISHED"] = at(ended)
            if failed:
                made.error = TaskError(at(ended), "TASK_EXECUTION_EXCEPTION", "ValueError: it is a story")
        self.batch.attempts.append(made)
        return task_id

    def get(self, by: str, of: str | list[str], begin: float, end: float, *, attempt: int = 0) -> None:
        """``by`` is blocked in ray.get on the values of the tasks ``of``."""
        self.batch.spans.append(Span(by, attempt, "ray.get", at(begin), at(end)))
        for task_id in [of] if isinstance(of, str) else of:
            self.batch.edges.append(Edge(by, attempt, "get", task_id, 1, 100, at(begin), at(end)))

    def times_out(self, by: str, of: str, begin: float, end: float) -> None:
        """``by`` is blocked in ray.get on ``of``, and stops waiting at ``end``."""
        self.batch.spans.append(Span(by, 0, "ray.get", at(begin), at(end)))
        self.batch.edges.append(Edge(by, 0, "wait", of, 1, None, at(begin), at(end)))

    def blocks(self, by: str, of: str, since: float, *, attempt: int = 0) -> None:
        """``by`` is blocked in ray.get on ``of`` since then, with no recorded end."""
        self.batch.edges.append(Edge(by, attempt, "blocked:ray.get", of, 1, None, at(since), at(since)))

    def awaits(self, by: str, begin: float, end: float, awaited: float | None = None) -> None:
        """The coroutine ``by`` was suspended, and awaited no value; ``awaited`` of this time in several times."""
        summed = {"calls": 9, "objects": 0, "bytes": 0, "blocked_ns": round((awaited or 0) * MS)}
        extra = "" if awaited is None else json.dumps(summed, separators=(",", ":"))
        self.batch.spans.append(Span(by, 0, "awaiting", at(begin), at(end), extra))

    def suspended(self, by: str, since: float) -> None:
        """The coroutine ``by`` is suspended since then. No end of this is recorded."""
        self.batch.edges.append(Edge(by, 0, "awaiting", by, 2**32 - 1, None, at(since), at(since)))

    def argument(self, of: str, made_by: str, size: int = 100, *, when: float = 0) -> None:
        """``of`` was called with the value that ``made_by`` returned."""
        self.batch.edges.append(Edge(of, -1, "argument", made_by, 1, size, at(when), at(when)))

    def fetched(self, by: str, of: str, size: int, end: float) -> None:
        """``by`` had the value that ``of`` returned, as its argument, at ``end``."""
        self.batch.edges.append(Edge(by, 0, "fetched", of, 1, size, at(end), at(end)))

    def entity(
        self,
        kind: Kind,
        identity: str,
        since: float,
        until: float | None = None,
        **fields: Value,
    ) -> None:
        """An actor, a node, a worker or a job that lived from ``since``, until ``until`` if that is given."""
        made = Entity(kind, identity, {**fields, "start_ns": at(since)})
        made.transitions[(at(since), "ALIVE")] = {}
        if until is not None:
            made.transitions[(at(until), "DEAD")] = {"end_ns": at(until)}
        self.batch.entities.append(made)

    def span(self, by: str, name: str, begin: float, end: float, *, attempt: int = 0) -> None:
        """``by`` spent this time in a span of its own (``rayscope.span``)."""
        self.batch.spans.append(Span(by, attempt, name, at(begin), at(end), '{"user":{}}'))

    def count(self, task_id: str, name: str, number: float, when: float) -> None:
        """``task_id`` said that its counter ``name`` was at ``number``."""
        said = Annotation(task_id, 0, "counter", name, str(number), number, at(when))
        self.batch.annotations.append(said)

    def annotate(self, task_id: str, name: str, value: str, when: float = 0) -> None:
        """``task_id`` said so of itself."""
        self.batch.annotations.append(Annotation(task_id, 0, "annotation", name, value, None, at(when)))


def at(ms: float) -> int:
    """A time of a story in ns since the epoch."""
    return ORIGIN_NS + round(ms * MS)
