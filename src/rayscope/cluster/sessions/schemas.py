"""Schemas of answers about sessions."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body, ErrorDetail, HiddenLibrary
from rayscope.cluster.recording.schemas import Lanes, Recording, Tracing
from rayscope.records.schemas import Dropped

SessionState = Literal["live", "ended", "unreadable"]
#: Where a session's record is.
Location = Literal["local", "both", "archive", "warehouse"]


class UsualTime(TypedDict):
    """The geometric mean of the durations of ``runs`` earlier runs, ns."""

    runs: int
    mid_ns: int


class SlowerJob(TypedDict):
    """A job that took longer than usual. ``ratio``: its duration by the usual one. ``script`` and
    ``variant``: the group of its run.
    """

    script: str
    variant: str
    ratio: float
    usual: UsualTime


class SessionItem(TypedDict):
    """A Ray session. ``name``: set by the operator, or else the first job's ``script`` and the number of
    further jobs.

    ``location``: whether its record is on the server's disk (``local``), in the archive, in both, or only in
    the warehouse. ``problem``: why it cannot be read. ``outcome``: the worst outcome of its jobs, null unless
    all of them have ended and have a summary. ``slower``: its newest job that took longer than usual.
    """

    session: str
    name: str | None
    script: str | None
    host: str | None
    note: str
    tags: list[str]
    recording: Recording
    state: SessionState
    outcome: str | None
    slower: SlowerJob | None
    error: str | None
    problem: ErrorDetail | None
    first_ns: int
    last_ns: int
    tasks: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    actors: int
    nodes: int
    jobs: int
    disk_bytes: int
    location: Location
    ray_version: str | None
    gcs_address: str | None
    dropped_total: int


class SessionLabel(Body):
    """The operator's name and notes for a session. Omitted fields stay unchanged; "" removes the name."""

    name: str | None = Field(None, max_length=120)
    note: str | None = Field(None, max_length=4000)
    tags: list[Annotated[str, Field(max_length=40)]] | None = Field(None, max_length=20)


class SessionPage(TypedDict):
    """A page of sessions. ``ray_dashboard``: whether the server can show them in Ray's own dashboard."""

    items: list[SessionItem]
    next: str | None
    total: int
    ray_dashboard: bool
    dropped: Dropped


class Ingest(TypedDict):
    """The state of ingestion. ``behind_ns`` is for this session. Batches are counted for all sessions."""

    events: int
    batches: int
    pending_batches: int
    rejected_batches: int
    unknown: dict[str, int]
    last_batch_ns: int | None
    behind_ns: int
    error: ErrorDetail | None


class FunctionItem(TypedDict):
    """A function's attempts, the quantiles of their ``duration_ns`` and of their peak memory (bytes), and the
    sums of their times (ns).

    ``origin``: ``user``, a library's name, or null if unknown. ``operator``: the purpose for which a library
    runs it, such as "Data: MapBatches(parse)" or "Serve: internals". ``stopped_by_libraries``: the number of
    failed attempts that a library stopped on purpose. They are not failures.
    """

    func_name: str | None
    type: str | None
    origin: str | None
    operator: str | None
    attempts: int
    finished: int
    failed: int
    stopped_by_libraries: int
    running: int
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    p50_memory: int | None
    p95_memory: int | None
    max_memory: int | None
    duration_ns: int
    waiting_ns: int
    total_ns: int


class FunctionsAnswer(TypedDict):
    """Functions, those with the longest total duration first."""

    session: str
    items: list[FunctionItem]
    hidden: list[HiddenLibrary]


class FailureItem(TypedDict):
    """A failed attempt."""

    task_id: str
    attempt: int
    name: str | None
    error_type: str | None
    error_message: str | None
    error_summary: str | None
    end_ns: int | None


class Summary(TypedDict):
    """A session at a glance."""

    session: str
    recording: Recording
    tasks: int
    attempts: int
    states: dict[str, int]
    stopped_by_libraries: int
    first_ns: int | None
    last_ns: int | None
    functions: list[FunctionItem]
    failures: list[FailureItem]
    dropped: Dropped
    lanes: Lanes
    tracing: Tracing
    ingest: Ingest
    cannot_see: list[str]


class NodeCounts(TypedDict):
    """The numbers of live and dead nodes."""

    alive: int
    dead: int


class Glance(TypedDict):
    """The number of entities of each kind by state, and the resources of live nodes."""

    recording: Recording
    nodes: NodeCounts
    resources_total: dict[str, float]
    actors: dict[str, int]
    jobs: dict[str, int]
    workers: dict[str, int]
    placement_groups: dict[str, int]
    libraries: dict[str, dict[str, int]]


class ClusterAnswer(Glance):
    """The number of entities of each kind."""

    session: str
    tasks: dict[str, int]
