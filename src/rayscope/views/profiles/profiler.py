"""Profiles workers of live sessions on demand, all at the same moment, and keeps the results in the record.

Ray's agents run py-spy on their nodes. Workers for which that fails take samples at the same rate themselves,
in their tracer, as soon as all of them know of it.
For profiles of memory, the agents run memray.
"""

from __future__ import annotations

import contextlib
import logging
import secrets
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import msgspec

from rayscope.api.schemas import ErrorDetail
from rayscope.errors import RayscopeError
from rayscope.ingest.clusters import Clusters
from rayscope.ingest.writer import Writer
from rayscope.model import Entity, RecordBatch, Span
from rayscope.ray.agents.cpu_profiles import Stack, read_profile
from rayscope.ray.agents.memory_profiles import MemoryProfile, read_memory_profile
from rayscope.ray.agents.stack_dumps import Agent, RunningProfile, TracebackError
from rayscope.ray.events.samples import Frame, Sum, frame_spans, profile_spans
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import BadQuery, Busy
from rayscope.storage.session_file import SessionFile
from rayscope.storage.session_writer import MAX_ENTITIES
from rayscope.storage.sql.filters import TaskFilters
from rayscope.storage.sql.pages import Row
from rayscope.tracer import demand
from rayscope.tracer.demand import HZ
from rayscope.tracer.sampler import PHASES
from rayscope.views.lines.compute import Frame as TracedFrame
from rayscope.views.lines.sql import read_frames
from rayscope.views.profiles import sql
from rayscope.views.profiles.compute import (
    Running,
    Sums,
    add_up,
    group_stacks,
    most_frequent,
    most_frequent_traced,
)
from rayscope.views.profiles.memory import ProfiledMemory
from rayscope.views.profiles.schemas import MemoryKind, ProfiledWorker, ProfileItem, StackGroup
from rayscope.views.profiles.sql import Worker

log = logging.getLogger("rayscope.server")

#: Maximum number of workers of a profile, and of profiles at the same time: one per session.
MAX_WORKERS = 16
_MAX_PROFILES = 2
#: The same for profiles of memory, and their maximum length in seconds. Each second of a worker may take its
#: node three to report.
MAX_MEMORY_WORKERS = 4
MAX_MEMORY_S = 30
#: How far the record may be behind, in seconds.
_RECORD_LAG_S = 4.0
#: How long before its begin the tracers are asked for a profile, in seconds.
_AHEAD_S = demand.EVERY_S + 1.0
#: How often to look for the samples of tracers, each time after ``_RECORD_LAG_S``.
_TRACER_TRIES = 5

#: The type of a driver's task.
DRIVER = "DRIVER_TASK"
_UNTRACED: ErrorDetail = {
    "code": "driver_untraced",
    "message": "The driver's tracer took no samples.",
    "remedy": "Record the driver with samples: `rayscope run`, without --samples 0.",
}
#: A worker that ended before or while it was profiled.
_ENDED: ErrorDetail = {
    "code": "profile_gone",
    "message": "The process has ended.",
    "remedy": "Profile the workers that run now.",
}


class _Job(NamedTuple):
    """A profile to take."""

    session: str
    gcs: GcsClient
    filters: TaskFilters
    workers: Sequence[Worker]
    seconds: int
    native: bool
    memory: MemoryKind | None
    item: ProfileItem


class _Output(NamedTuple):
    """The output of py-spy or memray for a worker, or the problem. ``seconds``: how long it ran."""

    text: str | None
    seconds: float | None = None
    problem: ErrorDetail | None = None
    memory: MemoryProfile | None = None


class Profiler:
    """Takes the profiles of all sessions. Thread-safe."""

    def __init__(self, records: SessionReader, writer: Writer, clusters: Clusters) -> None:
        self._records = records
        self._writer = writer
        self._clusters = clusters
        self._lock = threading.Lock()
        #: Session -> the profile that is being taken.
        self._running: dict[str, ProfileItem] = {}
        self._stopping = threading.Event()

    def stop(self) -> None:
        """Abandon the profiles that are being taken."""
        self._stopping.set()

    def start(
        self,
        session: str,
        filters: TaskFilters,
        seconds: int,
        *,
        native: bool,
        memory: MemoryKind | None = None,
        taken_by: str | None = None,
    ) -> ProfileItem:
        """Start a profile of the workers that run attempts matching the filters.

        ``taken_by``: the rule whose alert starts it. Raises BadQuery or Busy.
        """
        if memory is not None and seconds > MAX_MEMORY_S:
            raise BadQuery(
                f"Memory is profiled for at most {MAX_MEMORY_S} s.",
                "Choose fewer seconds.",
                what="memory_seconds",
                limit=MAX_MEMORY_S,
            )
        if native and memory is not None:
            raise BadQuery(
                "Profiles of memory have no frames of C and C++.", "Leave out native.", what="memory_native"
            )
        if not self._records.is_live(session):
            raise BadQuery(
                f"{session} has ended, so its processes are gone.",
                "Choose a live session.",
                what="stack_ended",
            )
        gcs = self._clusters.gcs_of(session)
        if gcs is None:
            raise BadQuery(
                f"The cluster of {session} is not connected, so its workers cannot be sampled.",
                "Wait a few seconds, or attach: rayscope attach HOST:PORT.",
                what="stack_not_connected",
            )
        chosen = _of_driver(filters)
        if chosen.type == DRIVER and memory is not None:
            raise BadQuery(
                "The memory of drivers cannot be profiled.", "Run `memray run` there.", what="memory_driver"
            )
        limit = MAX_WORKERS if memory is None else MAX_MEMORY_WORKERS
        find = sql.running_drivers if chosen.type == DRIVER else sql.busy_workers
        workers, left_out = self._records.read(session, lambda file: find(file, chosen, limit))
        if not workers:
            raise BadQuery(
                "Nothing that could be profiled is running there.",
                "Start the profile while its tasks run. The record is a few seconds behind.",
                what="profile_idle",
            )
        if self._records.read(session, sql.profile_count) >= MAX_ENTITIES["profile"]:
            raise BadQuery(
                "The session has too many profiles.",
                "See those that it has: GET /api/v1/profiles",
                what="profiles_full",
            )
        begin_ns = time.time_ns()
        item: ProfileItem = {
            "profile_id": secrets.token_hex(8),
            "is_running": True,
            "filters": filters.active(),
            "memory": memory,
            "begin_ns": begin_ns,
            "end_ns": begin_ns + seconds * 10**9,
            "workers": [],
            "workers_left_out": left_out,
            "stacks": [],
            "taken_by": taken_by,
        }
        with self._lock:
            if session in self._running:
                raise Busy("A profile of this session is being taken.", "Wait for its end.", what="profile")
            if len(self._running) >= _MAX_PROFILES:
                raise Busy(
                    "Profiles of other sessions are being taken.", "Wait for their end.", what="profiles"
                )
            self._running[session] = item
        job = _Job(session, gcs, chosen, workers, seconds, native, memory, item)
        try:
            threading.Thread(target=self._run, args=(job,), name="rayscope-profile", daemon=True).start()
        except RuntimeError:  # too many threads
            with self._lock:
                del self._running[session]
            raise
        return item

    def profiles(self, session: str) -> list[ProfileItem]:
        """Return the profiles of a session, the newest first."""
        running = self._running.get(session)
        items: list[ProfileItem] = [] if running is None else [running]
        for row in self._records.read(session, sql.recorded_profiles):
            try:
                filters = msgspec.json.decode(row["filters"] or "", type=dict[str, str | int])
                workers = msgspec.json.decode(row["workers"] or "", type=list[ProfiledWorker])
                stacks = msgspec.json.decode(row["stacks"] or "[]", type=list[StackGroup])
            except msgspec.DecodeError:  # in a session file by someone else
                continue
            if running is None or row["profile_id"] != running["profile_id"]:
                known = {"filters": filters, "workers": workers, "stacks": stacks, "is_running": False}
                items.append({**row, **known})  # type: ignore[typeddict-item]
        return items

    def _run(self, job: _Job) -> None:
        try:
            batch = self._profile(job)
            if batch is not None:
                self._writer.submit_results(batch)
                self._writer.flush()
        except Exception as error:  # such as a session that was deleted meanwhile
            log.warning("session %s: the profile failed: %r", job.session, error)
        finally:
            with self._lock:
                self._running.pop(job.session, None)

    def _profile(self, job: _Job) -> RecordBatch | None:
        """Take a profile. Returns None if the server is stopping."""
        begin_ns = time.time_ns()
        outputs = dict(zip(job.workers, _run_tool(job), strict=True))
        tool_end_ns = time.time_ns()
        if job.memory is None:  # memray runs for longer, because it has to attach first
            tool_end_ns = min(tool_end_ns, begin_ns + job.seconds * 10**9)
        end_ns = tool_end_ns
        failed = [
            worker.worker_id
            for worker, output in outputs.items()
            if output.text is None and output.problem != _ENDED and job.memory is None
        ]
        tracers = self._records.read(job.session, lambda file: sql.sampling_tracers(file, failed))
        if tracers:
            end_ns = self._run_tracers(job, tracers)
        else:
            self._stopping.wait(max(0.0, (end_ns - time.time_ns()) / 1e9) + _RECORD_LAG_S)
        if self._stopping.is_set():
            return None
        # Attempts that were chosen by what may change meanwhile, such as their state, stay chosen.
        filters = replace(job.filters.without_range(), state=None, error_type=None, annotation=None)

        def read(file: SessionFile) -> tuple[dict[str, list[Running]], list[Row], dict[int, TracedFrame]]:
            workers = [worker.worker_id for worker in job.workers]
            functions = sql.functions_of(file, filters, workers, begin_ns, tool_end_ns)
            traced_begin_ns = end_ns - job.seconds * 10**9
            traced = sql.traced_samples(file, filters, tracers, traced_begin_ns, end_ns)
            with file.reader() as reader:
                return functions, traced, read_frames(reader, {row["frame_id"] for row in traced})

        functions, traced, frames = self._records.read(job.session, read)
        samples, memory = _Samples(), ProfiledMemory()
        workers = []
        frequent: dict[str, tuple[Stack, int]] = {}
        for worker, output in outputs.items():
            made = _describe(worker, output)
            if output.memory is not None:
                memory.add(output.memory, functions.get(worker.worker_id, ()))
                made |= {"tool": "memray", "held_bytes": output.memory.total}
            elif output.text is not None:
                profile = read_profile(output.text)
                ran = functions.get(worker.worker_id, ())
                sums = add_up(profile.stacks, ran)
                samples.add(sums)
                if stack := most_frequent(profile.stacks, ran):
                    frequent[worker.worker_id] = stack, sums.samples
                made |= {
                    "tool": "py-spy",
                    "hz": HZ,
                    "samples": sums.samples,
                    "native": job.native,
                    "taken": profile.taken,
                    "expected": int(HZ * job.seconds),
                }
            else:
                rows = [row for row in traced if row["worker_id"] == worker.worker_id]
                samples.add_traced(rows)
                if not rows and job.filters.type == DRIVER:
                    made["problem"] = _UNTRACED
                if rows:
                    made |= {"tool": "tracer", "hz": HZ, "samples": sum(row["samples"] for row in rows)}
                if stack := most_frequent_traced(rows, frames):
                    frequent[worker.worker_id] = stack, made["samples"]
            workers.append(made)
        profile_id = job.item["profile_id"]
        entity = Entity(
            "profile",
            profile_id,
            {
                "filters": _json(job.item["filters"]),
                "begin_ns": begin_ns,
                "end_ns": end_ns,
                "workers": _json(workers),
                "workers_left_out": job.item["workers_left_out"],
                "stacks": _json(group_stacks(frequent)),
                **({"taken_by": taken_by} if (taken_by := job.item["taken_by"]) else {}),
                **({} if job.memory is None else {"memory": job.memory}),
            },
        )
        times = (begin_ns, end_ns)
        spans = samples.spans(profile_id, times) + memory.spans(profile_id, times)
        return RecordBatch(job.session, spans=spans, entities=[entity])

    def _run_tracers(self, job: _Job, worker_ids: Sequence[str]) -> int:
        """Let the tracers of workers take samples. Returns when they have taken them, ns."""
        begin_ns = time.time_ns() + int(_AHEAD_S * 1e9)
        end_ns = begin_ns + job.seconds * 10**9
        key = demand.PREFIX + job.item["profile_id"].encode()
        request = {"workers": worker_ids, "begin": begin_ns / 1e9, "end": end_ns / 1e9}
        try:
            job.gcs.put_internal_kv(key, demand.NAMESPACE, msgspec.json.encode(request))
        except GcsError as error:
            log.warning("session %s: the workers could not be asked for samples: %s", job.session, error)
            return time.time_ns()
        with self._lock:
            self._running[job.session] = {**job.item, "end_ns": end_ns}
        every = TaskFilters(type=job.filters.type)
        pause_s = (end_ns - time.time_ns()) / 1e9 + _RECORD_LAG_S
        for _ in range(_TRACER_TRIES):
            if self._stopping.wait(pause_s):
                break
            reported = self._records.read(
                job.session,
                lambda file: sql.traced_samples(file, every, worker_ids, begin_ns, end_ns),
            )
            if {row["worker_id"] for row in reported} >= set(worker_ids):
                break
            pause_s = _RECORD_LAG_S
        with contextlib.suppress(GcsError):
            job.gcs.delete_internal_kv(key, demand.NAMESPACE)
        return end_ns


class _Samples:
    """The sums of a profile's samples by their task ID and attempt, and the frames."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, int], list[Sum]] = defaultdict(list)
        self._frames: dict[int, Frame] = {}

    def add(self, sums: Sums) -> None:
        """Add the samples that py-spy took of a worker."""
        for key, counts in sums.by_attempt.items():
            self._sums[key] += [Sum(phase, 0, count, frame) for (phase, frame), count in counts.items()]
        self._frames |= {number: Frame(number, *frame) for number, frame in sums.frames.items()}

    def add_traced(self, rows: Sequence[Row]) -> None:
        """Add samples that the tracer took. The record has their frames."""
        for row in rows:
            phase = PHASES.index(row["phase"])
            self._sums[row["task_id"], row["attempt"]].append(
                Sum(phase, int(row["is_native"]), row["samples"], row["frame_id"])
            )

    def spans(self, profile_id: str, times: tuple[int, int]) -> list[Span]:
        """Return all samples as spans."""
        frames = list(self._frames.values())
        return profile_spans(profile_id, HZ, times, self._sums) + frame_spans(times, frames)


def _of_driver(filters: TaskFilters) -> TaskFilters:
    """The filters for a driver's task, if they select the driver's process."""
    job_id = (filters.worker_id or "").removesuffix("f" * 48)
    return TaskFilters(type=DRIVER, job_id=job_id) if len(job_id) == 8 else filters


def _run_tool(job: _Job) -> list[_Output]:
    """Let the agents profile all workers at the same moment.

    A driver may be in a container of its own, where its process ID is another. Only its tracer samples it.
    """
    if job.filters.type == DRIVER:
        return [_Output(None)] * len(job.workers)
    agents: dict[str, Agent] = {}
    try:
        problems = [_connect(job.gcs, agents, worker) for worker in job.workers]
        started = [
            _start(agents[worker.node_id], worker.pid, job) if problem is None else problem
            for worker, problem in zip(job.workers, problems, strict=True)
        ]
        return [
            _wait(run, job) if isinstance(run, RunningProfile) else _Output(None, problem=run)
            for run in started
        ]
    finally:
        for agent in agents.values():
            agent.close()


def _connect(gcs: GcsClient, agents: dict[str, Agent], worker: Worker) -> ErrorDetail | None:
    """Connect to the agent of a worker's node. Returns why the worker cannot be profiled, or None."""
    try:
        known = gcs.worker(worker.worker_id)
        if known is None or not known.is_alive or known.pid != worker.pid:
            return _ENDED
        if worker.node_id not in agents:
            agents[worker.node_id] = Agent(gcs, worker.node_id)
    except (TracebackError, GcsError) as error:
        return _detail(error)
    return None


def _start(agent: Agent, pid: int, job: _Job) -> RunningProfile:
    if job.memory is None:
        return agent.start_profile(pid, job.seconds, native=job.native)
    return agent.start_memory_profile(pid, job.seconds, leaks=job.memory == "leaks")


def _wait(run: RunningProfile, job: _Job) -> _Output:
    try:
        text = run.wait()
        if job.memory is None:
            return _Output(text, run.seconds)
        problem = run.detach_problem()
        detail = None if problem is None else _detail(problem)
        return _Output(None, run.seconds, detail, read_memory_profile(text))
    except TracebackError as error:
        detail = _detail(error)
        if job.memory is not None and run.may_be_attached():
            detail = _memray_is_on(detail)
        return _Output(None, run.seconds, detail)


def _memray_is_on(detail: ErrorDetail) -> ErrorDetail:
    return {
        "code": "memray_on",
        "message": f"{detail['message']} memray may still be on in the worker.",
        "remedy": "Profile its memory again: memray is switched off at the end.",
        "params": {"reason": f"{detail['message']} "},
    }


def _detail(error: RayscopeError) -> ErrorDetail:
    if error.code == "gone":
        return _ENDED
    return {
        "code": error.code,
        "message": error.message,
        "remedy": error.remedy,
        "params": dict(error.params),
    }


def _describe(worker: Worker, output: _Output) -> ProfiledWorker:
    return {
        **worker._asdict(),  # type: ignore[typeddict-item]
        "tool": None,
        "hz": None,
        "samples": 0,
        "native": False,
        "taken": None,
        "expected": None,
        "held_bytes": None,
        "seconds": output.seconds,
        "problem": output.problem,
    }


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
