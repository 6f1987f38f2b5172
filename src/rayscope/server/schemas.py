"""The shapes of the answers, for the OpenAPI description. Answers are encoded by msgspec."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

#: How a node's events come: in the binary form, as Ray's JSON, not at all, or in a way not noted.
Lane = Literal["fast", "json", "none", "unknown"]
#: What became of the task of a failed attempt: no attempt succeeded, a retry is under way, one succeeded.
Outcome = Literal["final", "retrying", "recovered"]
#: What a session's record is made of.
Recording = Literal["events", "snapshot", "events+snapshot"]


class Answer(BaseModel):
    """What every shape of an answer is derived from: nothing is sent that it does not name."""

    model_config = ConfigDict(extra="forbid")


class Attached(Answer):
    """The session of the cluster that was attached to."""

    session: str


class ErrorDetail(Answer):
    """What went wrong and what to do about it. ``params``: what the message names, where that is little."""

    code: str
    message: str
    remedy: str
    params: dict[str, str | int] | None = None


class ErrorAnswer(Answer):
    """The body of every error answer."""

    error: ErrorDetail


class DroppedBy(Answer):
    """A loss that ``source`` counted."""

    source: str
    reason: str
    event_type: str
    count: int
    first_ns: int | None
    last_ns: int | None


class Dropped(Answer):
    """What is missing from the record."""

    total: int
    spans: int
    by: list[DroppedBy]
    unresolved_attempts: int
    starts_lost: int
    repaired_total: int
    repaired_ns: int | None
    repaired_partly: bool


class LaneReason(Answer):
    """Why some nodes do not take the fast lane; ``node_id`` and ``address`` are one of them."""

    lane: Lane
    code: str
    reason: str | None
    nodes: int
    node_id: str
    address: str | None


class Lanes(Answer):
    """How many living nodes send in the binary form, Ray's JSON, nothing, or in a way not noted."""

    fast: int
    json_: int = Field(alias="json")
    none: int
    unknown: int
    reasons: list[LaneReason]


class AgentFigures(Answer):
    """What a node's agent says of itself; counts are totals since its process began."""

    pid: int
    ray_version: str
    rayscope_version: str
    time_ns: int
    since_ns: int
    received: int
    sent: int
    waiting: int
    raw_bytes: int
    sent_bytes: int
    bodies: int
    refused: int
    trouble: str | None
    busy_s: float
    cpu_s: float
    lost: int
    dropped_attempts: int


class NodeLane(Answer):
    """How one node's events come."""

    node_id: str
    state: str | None
    address: str | None
    hostname: str | None
    lane: Lane
    lane_code: str | None
    lane_reason: str | None
    agent: AgentFigures | None


class Snapshots(Answer):
    """How reading the GCS goes."""

    ok: bool
    error: str | None
    remedy: str | None
    tasks: bool
    cost_s: float
    interval_s: float | None
    last_ns: int | None
    last_tasks_ns: int | None


class TracerSaid(Answer):
    """What tracers said that is not simply on, and how many."""

    text: str
    workers: int


class WithoutEvents(Answer):
    """Tasks that are not on record since their events are switched off; ``class_name`` null: functions."""

    class_name: str | None
    tasks: int


class Tracing(Answer):
    """Of the workers that ran tasks: how many are traced; and what only the tracer knows to have run."""

    traced: int
    untraced: int
    said: list[TracerSaid]
    summed_calls: int
    tasks_without_events: int
    without_events: list[WithoutEvents]


class RecordingAnswer(Answer):
    """How a session is recorded."""

    session: str
    recording: Recording
    events: int
    batches: int
    spans: int
    lanes: Lanes
    nodes: list[NodeLane]
    nodes_total: int
    tracing: Tracing
    dropped: Dropped
    snapshots: Snapshots
    cannot_see: list[str]


class SessionItem(Answer):
    """One Ray session."""

    session: str
    recording: Recording
    state: Literal["live", "ended", "unreadable"]
    error: str | None
    first_ns: int
    last_ns: int
    tasks: int
    attempts: int
    states: dict[str, int]
    actors: int
    nodes: int
    jobs: int
    disk_bytes: int
    ray_version: str | None
    gcs_address: str | None
    dropped_total: int


class SessionPage(Answer):
    """A page of sessions."""

    items: list[SessionItem]
    next: str | None
    total: int
    dropped: Dropped


class TaskItem(Answer):
    """One attempt of a task."""

    task_id: str
    attempt: int
    name: str | None
    func_name: str | None
    type: str | None
    state: str
    reported_state: str
    end_known_by: str | None
    job_id: str | None
    actor_id: str | None
    parent_task_id: str | None
    caller_task_id: str | None
    node_id: str | None
    worker_id: str | None
    worker_pid: int | None
    placement_group_id: str | None
    error_type: str | None
    error_message: str | None
    error_summary: str | None
    created_ns: int | None
    start_ns: int | None
    end_ns: int | None
    cpu_ns: int | None
    duration_ns: int | None
    waiting_ns: int | None
    total_ns: int | None


class TaskPage(Answer):
    """A page of task attempts."""

    items: list[TaskItem]
    next: str | None
    total: int
    dropped: Dropped


class StateTime(Answer):
    """When a state was entered."""

    state: str
    time_ns: int


class Phase(Answer):
    """A phase of the execution: deserialize, execute, store, total."""

    name: str
    begin_ns: int
    end_ns: int


class TaskFailure(Answer):
    """Ray's error type and the text; ``is_cut``: Ray kept the last 500 characters of it alone."""

    type: str
    message: str | None
    is_cut: bool


class AttemptDetail(TaskItem):
    """Everything known of an attempt. ``start_is_lost``: nobody reported when it began to run."""

    start_is_lost: bool
    states: list[StateTime]
    phases: list[Phase]
    error: TaskFailure | None
    required_resources: str | None
    label_selector: str | None
    runtime_env: str | None
    call_site: str | None
    language: str | None
    actor_repr_name: str | None
    stdout_file: str | None
    stderr_file: str | None
    stdout_start: int | None
    stdout_end: int | None
    stderr_start: int | None
    stderr_end: int | None


class Parent(Answer):
    """The task that submitted this one."""

    task_id: str
    name: str | None
    state: str | None


class SpanItem(Answer):
    """A measured stretch of time inside an attempt."""

    name: str
    attempt: int
    begin_ns: int
    end_ns: int | None
    extra: str | None
    blocked_on: list[str] | None


class EdgeItem(Answer):
    """An object and the two tasks that it connects."""

    producer_task_id: str | None
    producer_name: str | None
    consumer_task_id: str | None
    consumer_name: str | None
    object_id: str
    bytes: int | None
    kind: str
    nested: bool
    by_value: bool
    begin_ns: int | None
    end_ns: int | None
    gets: int
    blocked_ns: int | None
    is_remote: bool | None


class AnnotationItem(Answer):
    """What user code said of its task."""

    attempt: int
    kind: str
    name: str
    value: str
    number: float | None
    time_ns: int


class PhaseTimes(Answer):
    """The parts of an attempt's time, in order (ns); they add up to ``total_ns``.

    Of one attempt whose begin nobody reported they are null from its last reported state on.
    """

    waiting_args_ns: int | None
    waiting_node_ns: int | None
    starting_worker_ns: int | None
    queued_ns: int | None
    loading_ns: int | None
    fetching_ns: int | None
    executing_ns: int | None
    blocked_ns: int | None
    storing_ns: int | None


class SchedulingItem(PhaseTimes):
    """Where the time of an attempt went (ns)."""

    task_id: str
    attempt: int
    func_name: str | None
    type: str | None
    state: str | None
    job_id: str | None
    total_ns: int | None
    node_id: str | None
    submitter_node_id: str | None
    is_local: bool | None
    waiting_ns: int | None
    duration_ns: int | None


class TaskDetail(Answer):
    """Everything known of a task."""

    task_id: str
    attempts: list[AttemptDetail]
    parent: Parent | None
    call_path: list[str]
    children: list[TaskItem]
    children_total: int
    spans: list[SpanItem]
    spans_total: int
    data_in: list[EdgeItem]
    data_in_total: int
    data_in_bytes: int
    data_out: list[EdgeItem]
    data_out_total: int
    data_out_bytes: int
    annotations: list[AnnotationItem]
    scheduling: list[SchedulingItem]


class FunctionSchedulingItem(PhaseTimes):
    """Where the time of a function's attempts went, summed up (ns), and where they ran."""

    func_name: str | None
    type: str | None
    attempts: int
    total_ns: int
    waiting_ns: int
    duration_ns: int
    local: int
    spilled: int


class SchedulingAnswer(Answer):
    """Functions by the time of their attempts."""

    session: str
    items: list[FunctionSchedulingItem]


class FunctionItem(Answer):
    """A function's attempts, their quantiles of ``duration_ns``, and the sums of their times (ns)."""

    func_name: str | None
    type: str | None
    attempts: int
    finished: int
    failed: int
    running: int
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    duration_ns: int
    waiting_ns: int
    total_ns: int


class FailureItem(Answer):
    """A failed attempt."""

    task_id: str
    attempt: int
    name: str | None
    error_type: str | None
    error_message: str | None
    error_summary: str | None
    end_ns: int | None


class FailedAttempt(Answer):
    """A failed attempt of a group, what became of its task, and its own message."""

    task_id: str
    attempt: int
    outcome: Outcome
    end_ns: int | None
    node_id: str | None
    message: str | None


class FailureGroup(Answer):
    """Failed attempts with one signature: function, error type, message (``#``: what varies), file, line.

    ``final``, ``retrying`` and ``recovered`` of its ``tasks``; ``outcome`` is the gravest of these.
    ``latest`` are 20 of its attempts at most.
    """

    func_name: str | None
    error_type: str | None
    message: str | None
    example: str | None
    path: str | None
    file: str | None
    line: int | None
    outcome: Outcome
    attempts: int
    tasks: int
    final: int
    retrying: int
    recovered: int
    first_ns: int | None
    last_ns: int | None
    latest: list[FailedAttempt]


class TasksByOutcome(Answer):
    """How many tasks came to what."""

    final: int
    retrying: int
    recovered: int


class FailuresAnswer(Answer):
    """Failures by signature; ``tasks`` of all of them by outcome."""

    session: str
    items: list[FailureGroup]
    total: int
    tasks: TasksByOutcome


class IngestError(Answer):
    """Why the store cannot be written."""

    message: str
    remedy: str


class HealthAnswer(Answer):
    """Whether the server lives. ``damaged``: files of the data directory that were set aside."""

    status: Literal["ok", "degraded"]
    version: str
    sessions: int
    pending_batches: int
    stalled_bodies: int
    rejected_batches: int
    damaged: list[str]
    error: IngestError | None


class Ingest(Answer):
    """How recording goes."""

    events: int
    batches: int
    pending_batches: int
    rejected_batches: int
    unknown: dict[str, int]
    last_batch_ns: int | None
    behind_ns: int
    error: IngestError | None


class Summary(Answer):
    """A session at a glance."""

    session: str
    recording: Recording
    tasks: int
    attempts: int
    states: dict[str, int]
    first_ns: int | None
    last_ns: int | None
    functions: list[FunctionItem]
    failures: list[FailureItem]
    dropped: Dropped
    lanes: Lanes
    tracing: Tracing
    ingest: Ingest
    cannot_see: list[str]


class NodeCounts(Answer):
    """Nodes by life."""

    alive: int
    dead: int


class ClusterAnswer(Answer):
    """How many of everything."""

    session: str
    recording: Recording
    nodes: NodeCounts
    resources_total: dict[str, float]
    tasks: dict[str, int]
    actors: dict[str, int]
    jobs: dict[str, int]
    workers: dict[str, int]
    placement_groups: dict[str, int]


class SqlAnswer(Answer):
    """Rows of a SQL query. ``snapshot_ns``: they are of the record as it was then."""

    columns: list[tuple[str, str]]
    rows: list[list[Any]]
    truncated: bool
    elapsed_ns: int
    snapshot_ns: int
