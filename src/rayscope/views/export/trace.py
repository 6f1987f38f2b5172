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
        by_task: dict[str, list[int]] = defaultdict(list)
        for place, attempt in enumerate(self._attempts):
            by_task[attempt["task_id"]].append(place)
        callers = [self._caller(attempt, by_task) for attempt in self._attempts]
        contexts = [
            Context(trace_id, self._id(place)) for place, trace_id in enumerate(self._traces(callers, job))
        ]
        links = self._links(callers, contexts, by_task)
        for place, attempt in enumerate(self._attempts):
            parent = context_of(attempt["traceparent"])
            caller = callers[place]
            if parent is None and caller is not None and contexts[caller].trace_id != job.trace_id:
                parent = contexts[caller]
            parent = parent or functions.get(attempt["function"], job)
            yield _attempt_span(self._job_id, attempt, parent, contexts[place], links[place])

    def _id(self, place: int) -> str:
        attempt = self._attempts[place]
        return span_id(self._session, attempt["task_id"], attempt["attempt"])

    def _caller(self, attempt: ShownAttempt, by_task: Mapping[str, list[int]]) -> int | None:
        """The place of the attempt that called another: that which ran when the other was submitted."""
        for place in by_task.get(attempt["caller_task_id"] or "", ()):
            caller = self._attempts[place]
            if caller["begin_ns"] <= attempt["created_ns"] <= caller["end_ns"]:
                return place
        return None

    def _traces(self, callers: Sequence[int | None], job: Context) -> list[str]:
        """The trace of each attempt: that of the nearest span of the user's above it, or that of the job."""
        found: dict[int, str] = {}
        for first in range(len(self._attempts)):
            way: list[int] = []
            place: int | None = first
            trace_id = job.trace_id
            while place is not None and place not in way:
                if place in found:
                    trace_id = found[place]
                    break
                way.append(place)
                if users := context_of(self._attempts[place]["traceparent"]):
                    trace_id = users.trace_id
                    break
                place = callers[place]
            found.update(dict.fromkeys(way, trace_id))
        return [found[place] for place in range(len(self._attempts))]

    def _links(
        self, callers: Sequence[int | None], contexts: Sequence[Context], by_task: Mapping[str, list[int]]
    ) -> list[list[Link]]:
        """The links of each attempt to the attempt that called it, and to those whose data it received."""
        links: list[list[Link]] = [
            [] if caller is None else [Link(contexts[caller], {"rayscope.link": "caller"})]
            for caller in callers
        ]
        for edge in self._edges:
            for place in by_task[edge.consumer]:
                consumer = self._attempts[place]
                if edge.attempt not in (None, consumer["attempt"]):
                    continue
                made_by = self._producer(by_task[edge.producer], consumer)
                if made_by is not None:
                    about = {"rayscope.link": edge.kind, "rayscope.bytes": edge.bytes}
                    links[place].append(Link(contexts[made_by], about))
        return links

    def _producer(self, places: Sequence[int], consumer: ShownAttempt) -> int | None:
        """The last attempt that may have made a value before its consumer ended, if it is shown."""
        made = [
            place
            for place in places
            if not self._attempts[place]["failed"] and self._attempts[place]["begin_ns"] <= consumer["end_ns"]
        ]
        return max(made, key=lambda place: self._attempts[place]["attempt"], default=None)

    def _job_span(self, above: Context, own: Context) -> OtlpSpan:
        job, path = self._job, self._path
        return OtlpSpan(
            own,
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
        own,
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
        own,
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
