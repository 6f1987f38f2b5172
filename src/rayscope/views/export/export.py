"""Exports of a session: the bytes of each format, produced as a stream."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import duckdb

from rayscope.storage.errors import BadQuery, StoreError
from rayscope.storage.session_file import SessionFile, explain
from rayscope.storage.sql.filters import TaskFilters
from rayscope.version import __version__
from rayscope.views.critical_path.compute import Path as CriticalPath
from rayscope.views.critical_path.read import read_path
from rayscope.views.export.archive import archive
from rayscope.views.export.format import Format
from rayscope.views.export.formats import Attempt, Lane, PerfettoTrace, Span, Speedscope, draw
from rayscope.views.export.formats.otlp import requests
from rayscope.views.export.ray_timeline_sql import count_left_out, read_timeline
from rayscope.views.export.request_traces import request_spans
from rayscope.views.export.spans_sql import read_jobs
from rayscope.views.export.tables_sql import tables
from rayscope.views.export.timeline_sql import Timeline, timeline
from rayscope.views.export.trace import JobTrace
from rayscope.views.flame import sql as flame_sql
from rayscope.views.flame.compute import Own, Path, flame
from rayscope.views.flame.sql import MAX_PATHS
from rayscope.views.stack import sql as stack_sql

#: Maximum number of concurrent exports. Each may use as much memory as a session's queries.
MAX_EXPORTS = 2
#: Maximum number of attempts. speedscope's page loads the whole file into memory, so the workers with the
#: most attempts are left out beyond this.
SPEEDSCOPE_ATTEMPTS = 200_000
#: Maximum number of frames in all stacks together. Each stack repeats all of its callers, so deep call paths
#: add up quickly.
SPEEDSCOPE_FRAMES = 5_000_000
#: Maximum number of jobs whose traces are in one file. The newest ones are.
MAX_TRACES = 100
#: Number of points in each curve over the session's time.
_POINTS = 1_000
#: Kinds of omitted items that are counted for traces only, because profiles have no such items.
_ONLY_DRAWN = frozenset({"waits", "data_arrows", "call_arrows"})


class Export:
    """A session as a file in one of the formats.

    ``chunks`` yields the file's bytes and can be read only once. ``left_out`` counts the omitted items by
    kind, and is complete from the start. ``critical_path`` returns the critical path of a job; if it is None,
    the path is read from the record. Close the export when done, or use it in a ``with`` block. Raises
    BadQuery and StoreError, also while ``chunks`` is read.
    """

    def __init__(
        self,
        file: SessionFile,
        form: Format,
        filters: TaskFilters,
        *,
        session: str,
        ray_version: str | None,
        last_ns: int,
        critical_path: Callable[[str], CriticalPath] | None = None,
    ) -> None:
        self.left_out: dict[str, int] = {}
        self._open = contextlib.ExitStack()
        self._file, self._filters, self._last_ns = file, filters, last_ns
        self._critical_path = critical_path or self._read_path
        self._about: dict[str, Any] = {
            "exporter": f"rayscope {__version__}",
            "ray_version": ray_version,
            "session": session,
            "filters": {name: str(value) for name, value in filters.active().items()},
        }
        make: Mapping[Format, Callable[[], Iterator[bytes]]] = {
            Format.perfetto: self._perfetto,
            Format.speedscope: self._speedscope,
            Format.parquet: self._parquet,
            Format.otlp: self._otlp,
            Format.ray_timeline: self._ray_timeline,
        }
        try:
            self.chunks = self._explain_errors(make[form]())
        except BaseException:
            self._open.close()
            raise

    def __enter__(self) -> Export:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the export and release the session's record."""
        self.chunks.close()
        self._open.close()

    def _explain_errors(self, chunks: Iterator[bytes]) -> Any:
        """Yield the chunks. DuckDB's errors are raised as StoreError."""
        try:
            first = next(chunks, b"")
        except (duckdb.Error, OSError) as error:
            raise self._to_store_error(error) from error

        def rest() -> Iterator[bytes]:
            try:
                yield first
                yield from chunks
            except (duckdb.Error, OSError) as error:
                raise self._to_store_error(error) from error

        return rest()

    def _to_store_error(self, error: duckdb.Error | OSError) -> StoreError:
        if str(error).startswith("Out of Memory"):  # as reported by Arrow's reader
            error = duckdb.OutOfMemoryException(str(error))
        failure = explain(self._file.path, error)
        if failure.code in ("memory", "full"):
            failure.remedy = (
                "Export a part (a job, a time range), or give DuckDB more: RAYSCOPE_MEMORY_LIMIT."
            )
        return failure

    def _timeline(self, *, by_lane: bool = False, max_attempts: int | None = None) -> Timeline:
        result = self._open.enter_context(
            timeline(
                self._file, self._filters, last_ns=self._last_ns, by_lane=by_lane, max_attempts=max_attempts
            )
        )
        self.left_out = {
            name: number
            for name, number in result.left_out.items()
            if number and not (by_lane and name in _ONLY_DRAWN)
        }
        self._about["attempts"] = result.attempts
        self._about["left_out"] = self.left_out
        return result

    def _drawn(self, of: Timeline, sink: Any, by_lane: bool = False) -> Iterator[bytes]:
        lanes = [Lane(**row) for row in of.lanes()]
        attempts = (Attempt(**row) for row in of.drawn())
        spans = (Span(**row) for row in of.spans())
        yield from draw(lanes, attempts, spans, sink, by_lane=by_lane)
        if by_lane:
            return
        names = {lane.lane: lane for lane in lanes}
        for lane, name, time_ns, value in of.counters():
            sink.counter(names[lane].node, f"{name}, {names[lane].name}", time_ns, value)
            if sink.size() > 1 << 18:
                yield sink.take()
        curve = stack_sql.activity(self._file, self._filters, _POINTS, self._last_ns)
        begin_ns, bucket_ns = curve.begin_ns or 0, curve.bucket_ns or 0
        for name, values in (("in flight", curve.in_flight), ("running", curve.running)):
            for at, value in enumerate(values):
                sink.counter("all tasks", name, begin_ns + at * bucket_ns, value)

    def _perfetto(self) -> Iterator[bytes]:
        sink = PerfettoTrace(self._about["session"])
        of = self._timeline()
        description = {"exporter": self._about["exporter"], "attempts": of.attempts}
        if self._about["ray_version"]:
            description["ray_version"] = self._about["ray_version"]
        description |= {f"filter.{name}": value for name, value in self._about["filters"].items()}
        description |= {f"left_out.{name}": number for name, number in self.left_out.items()}
        sink.start(self._last_ns if of.begin_ns is None else of.begin_ns, description)
        yield from self._drawn(of, sink)
        yield sink.take()

    def _speedscope(self) -> Iterator[bytes]:
        sink = Speedscope(self._about["session"])
        sums = flame_sql.path_sums(self._file, self._filters, last_ns=self._last_ns)
        rows, paths = [Own(*row) for row in sums.rows], [Path(*path) for path in sums.paths]
        tree = flame(rows, paths, limit=2 * MAX_PATHS)
        of = self._timeline(by_lane=True, max_attempts=SPEEDSCOPE_ATTEMPTS)
        frames = [] if tree is None else tree.tree.frames
        omitted = sink.start(of.begin_ns or 0, frames, SPEEDSCOPE_FRAMES)
        if omitted:
            self.left_out["call_paths"] = omitted
        yield from self._drawn(of, sink, by_lane=True)
        sink.finish(self._about)
        yield sink.take()

    def _parquet(self) -> Iterator[bytes]:
        views = self._open.enter_context(tables(self._file, self._filters))
        yield from archive(views, self._about)

    def _ray_timeline(self) -> Iterator[bytes]:
        job_id = self._only_job()
        with self._file.reader() as reader:
            if left_out := count_left_out(reader, job_id):
                self.left_out["attempts"] = left_out
            yield from read_timeline(reader, job_id)

    def _only_job(self) -> str | None:
        """The job to export. Raises BadQuery if there are other filters."""
        if self._filters.active().keys() - {"job_id"}:
            raise BadQuery("This format exports whole jobs.", "Filter by job only (--job, job_id).")
        return self._filters.job_id or None

    def _otlp(self) -> Iterator[bytes]:
        only = self._only_job()
        with self._file.reader() as reader:
            jobs = [only] if only else read_jobs(reader)
        if len(jobs) > MAX_TRACES:
            self.left_out["jobs"] = len(jobs) - MAX_TRACES
        session = self._about["session"]
        resource = {
            "service.name": "ray",
            "ray.session": session,
            "ray.version": self._about["ray_version"],
        }
        for job_id in jobs[-MAX_TRACES:]:
            trace = JobTrace(self._file, session, job_id, self._last_ns, self._critical_path(job_id))
            yield from requests(trace.spans(), resource, __version__)
        of_serve = request_spans(self._file, session, only)
        yield from requests(of_serve, resource, __version__)

    def _read_path(self, job_id: str) -> CriticalPath:
        return read_path(self._file, self._last_ns, job_id, live=False).path
