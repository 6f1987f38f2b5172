"""The trace of a job for tracing back ends: the job, its functions, and the attempts that matter.

A back end cannot show a million spans, so the trace has the critical path, failed attempts, and the slowest
attempts of each function. All others are only counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import duckdb

from rayscope.model.program import program_name
from rayscope.storage.session_file import SessionFile
from rayscope.views.critical_path.compute import Path
from rayscope.views.export.formats.otlp import (
    Context,
    Event,
    Link,
    OtlpSpan,
    Value,
    context_of,
    new_trace,
    span_id,
)
from rayscope.views.export.spans_sql import Edge, Function, Job, ShownAttempt, ShownJob, read_job

#: Maximum number of spans in the trace of a job, as tracing back ends limit them.
MAX_SPANS = 10_000
#: Maximum number of functions in the trace of a job.
_MAX_FUNCTIONS = 1_000
#: Number of attempts of each function that are in the trace because they took longest.
_SLOWEST = 20


class JobTrace:
    """The spans of a job. All IDs are hashes, so the trace of the same record has the same IDs.

    ``critical_path`` is the job's critical path.
    """

    def __init__(
        self, file: SessionFile, session: str, job_id: str, last_ns: int, critical_path: Path
    ) -> None:
        self._session, self._job_id, self._path = session, job_id, critical_path
        on_path: dict[tuple[str, int], int] = defaultdict(int)
        for link in critical_path.links:
            on_path[link.task_id, link.attempt] += link.end_ns - link.begin_ns
        with file.reader() as reader:
            self._read(reader, last_ns, on_path)

    def _read(
        self, reader: duckdb.DuckDBPyConnection, last_ns: int, on_path: Mapping[tuple[str, int], int]
    ) -> None:
        self._job: Job = read_job(reader, self._job_id)
        shown = ShownJob(
            reader,
            self._job_id,
            last_ns,
            on_path,
            max_functions=_MAX_FUNCTIONS,
            slowest=_SLOWEST,
            max_spans=MAX_SPANS - 1,
        )
        self._total, self._failed = shown.total, shown.failed
        self._functions: Sequence[Function] = shown.functions
        self._attempts: Sequence[ShownAttempt] = shown.attempts()
        self._edges: Sequence[Edge] = shown.edges()

    def spans(self) -> Iterator[OtlpSpan]:
        """Yield the job, its functions, and then its attempts."""
        above = context_of(self._job.traceparent) or new_trace(self._session, self._job_id)
        job = Context(above.trace_id, span_id(self._session, self._job_id))
        yield self._job_span(above, job)
        functions = {
            function.name: Context(above.trace_id, span_id(self._session, self._job_id, function.name))
            for function in self._functions
        }
        for function in self._functions:
            yield _function_span(job, functions[function.name], function)
        parents = self._parents(job, functions)
        contexts = [
            Context(parent.trace_id, span_id(self._session, attempt["task_id"], attempt["attempt"]))
            for attempt, parent in zip(self._attempts, parents, strict=True)
        ]
        links = self._links(contexts)
        for attempt, parent, own, linked in zip(self._attempts, parents, contexts, links, strict=True):
            yield _attempt_span(self._job_id, attempt, parent, own, linked)

    def _parents(self, job: Context, functions: Mapping[str, Context]) -> list[Context]:
        """The span above each attempt: the user's own; that of its caller if it is in the user's trace; or
        that of its function.
        """
        within = {
            attempt["task_id"]: Context(users.trace_id, self._id(attempt))
            for attempt in self._attempts
            if (users := context_of(attempt["traceparent"]))
        }
        # Attempts are ordered by time, so a caller comes before what it calls.
        parents = []
        for attempt in self._attempts:
            caller = within.get(attempt["caller_task_id"] or "")
            parent = context_of(attempt["traceparent"]) or caller or functions.get(attempt["function"], job)
            if caller and parent is caller:
                within[attempt["task_id"]] = Context(caller.trace_id, self._id(attempt))
            parents.append(parent)
        return parents

    def _id(self, attempt: ShownAttempt) -> str:
        return span_id(self._session, attempt["task_id"], attempt["attempt"])

    def _links(self, contexts: Sequence[Context]) -> list[list[Link]]:
        """The links of each attempt to the attempt that called it, and to those whose data it received."""
        by_task: dict[str, list[int]] = defaultdict(list)
        for place, attempt in enumerate(self._attempts):
            by_task[attempt["task_id"]].append(place)
        for places in by_task.values():
            places.sort(key=lambda place: self._attempts[place]["attempt"])
        links: list[list[Link]] = [[] for _ in self._attempts]
        for place, attempt in enumerate(self._attempts):
            callers = by_task.get(attempt["caller_task_id"] or "", ())
            created_ns = attempt["created_ns"]
            running = [caller for caller in callers if self._attempts[caller]["begin_ns"] <= created_ns]
            if running:
                links[place].append(Link(contexts[running[-1]], {"rayscope.link": "caller"}))
        for edge in self._edges:
            link = Link(
                contexts[by_task[edge.producer][-1]],
                {"rayscope.link": edge.kind, "rayscope.bytes": edge.bytes},
            )
            for place in by_task[edge.consumer]:
                if edge.attempt is None or edge.attempt == self._attempts[place]["attempt"]:
                    links[place].append(link)
        return links

    def _job_span(self, above: Context, own: Context) -> OtlpSpan:
        job, path = self._job, self._path
        return OtlpSpan(
            own.span_id or "",
            above,
            program_name(job.entrypoint or "") or f"job {self._job_id}",
            path.begin_ns,
            path.end_ns,
            attributes={
                "ray.job_id": self._job_id,
                "ray.submission_id": job.submission_id,
                "ray.state": job.state,
                "ray.entrypoint": job.entrypoint,
                "rayscope.attempts": self._total,
                "rayscope.failed_attempts": self._failed,
                "rayscope.shown_attempts": len(self._attempts),
            },
            error=(job.message or "") if job.state == "FAILED" else None,
        )


def _function_span(job: Context, own: Context, function: Function) -> OtlpSpan:
    return OtlpSpan(
        own.span_id or "",
        job,
        function.name or "unknown",
        function.begin_ns,
        function.end_ns,
        attributes={
            "ray.function": function.name,
            "rayscope.attempts": function.attempts,
            "rayscope.failed_attempts": function.failed,
            "rayscope.run_s": function.run_ns / 1e9,
        },
    )


def _attempt_span(
    job_id: str, attempt: ShownAttempt, parent: Context, own: Context, links: Sequence[Link]
) -> OtlpSpan:
    attributes: dict[str, Value] = {
        "ray.job_id": job_id,
        "ray.task_id": attempt["task_id"],
        "ray.attempt": attempt["attempt"],
        "ray.function": attempt["function"],
        "ray.type": attempt["type"],
        "ray.state": attempt["state"],
        "ray.actor_id": attempt["actor_id"],
        "ray.node_id": attempt["node_id"],
        "ray.worker_id": attempt["worker_id"],
        "process.pid": attempt["worker_pid"],
        "error.type": attempt["error_type"] if attempt["failed"] else None,
    }
    for name, ns in (
        ("waiting", attempt["waiting_ns"]),
        ("executing", attempt["executing_ns"]),
        ("critical_path", attempt["on_path_ns"]),
    ):
        attributes[f"rayscope.{name}_s"] = None if ns is None else ns / 1e9
    message = attempt["error_summary"] or attempt["error_type"] or ""
    events = (
        [Event(attempt["end_ns"], "exception", {"exception.message": message})] if attempt["failed"] else []
    )
    return OtlpSpan(
        own.span_id or "",
        parent,
        attempt["name"] or attempt["function"] or "unknown",
        attempt["begin_ns"],
        attempt["end_ns"],
        host=attempt["node"] or None,
        attributes=attributes,
        events=events,
        links=links,
        error=message if attempt["failed"] else None,
    )
