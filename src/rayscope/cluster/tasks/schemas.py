"""Schemas of answers about tasks."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.cluster.deaths.schemas import DeathLink
from rayscope.cluster.placement.schemas import GpuShare, GpuUse
from rayscope.records.schemas import Dropped

#: The outcome of a failed attempt's task: no attempt succeeded, a retry is under way, or a retry succeeded.
Outcome = Literal["final", "retrying", "recovered"]
#: Whether peak memory is of the attempt alone or shared with others in its process, or why it is unknown.
MemoryScope = Literal["own", "shared", "off", "unavailable"]


class TaskItem(GpuUse):
    """One attempt of a task. ``peak_memory`` and ``start_memory`` (bytes) are those of its process."""

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
    peak_memory: int | None
    start_memory: int | None
    memory_scope: MemoryScope | None
    duration_ns: int | None
    waiting_ns: int | None
    total_ns: int | None


class TaskPage(TypedDict):
    """A page of task attempts."""

    items: list[TaskItem]
    next: str | None
    total: int
    dropped: Dropped


class StateTime(TypedDict):
    """When a state was entered."""

    state: str
    time_ns: int


class Phase(TypedDict):
    """A phase of the execution: deserialize, execute, store, total."""

    name: str
    begin_ns: int
    end_ns: int


class TaskFailure(TypedDict):
    """Ray's error type and message. ``is_cut``: Ray kept only the end of the message."""

    type: str
    message: str | None
    is_cut: bool


class LostWith(TypedDict):
    """The worker, actor or node whose death ended an attempt. ``GET /api/v1/deaths`` explains it."""

    kind: Literal["worker", "actor", "node"]
    id: str


class AttemptDetail(TaskItem):
    """All fields of an attempt. ``start_is_lost``: the start of its function was not reported.

    ``gpus``: the GPUs that Ray assigned to it or, for a method, to its actor. ``lost_with``: None unless the
    attempt failed because its worker, actor or node died.
    """

    start_is_lost: bool
    lost_with: LostWith | None
    states: list[StateTime]
    phases: list[Phase]
    error: TaskFailure | None
    required_resources: str | None
    gpus: list[GpuShare]
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


class Parent(TypedDict):
    """The task that submitted this one."""

    task_id: str
    name: str | None
    state: str | None


class SpanItem(TypedDict):
    """A measured span of time inside an attempt."""

    name: str
    attempt: int
    begin_ns: int
    end_ns: int | None
    extra: str | None
    blocked_on: list[str] | None


class EdgeItem(TypedDict):
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


class AnnotationItem(TypedDict):
    """An annotation of a task by user code, or (``pause``) where it waited for a debugger.

    ``kind``: ``annotation``, ``counter`` or ``pause``.
    """

    attempt: int
    kind: str
    name: str
    value: str
    number: float | None
    time_ns: int


class PhaseTimes(TypedDict):
    """The parts of an attempt's time, in order (ns). They add up to ``total_ns``.

    If the start of the attempt was not reported, the parts after its last reported state are null.
    """

    waiting_args_ns: int | None
    waiting_node_ns: int | None
    starting_worker_ns: int | None
    queued_ns: int | None
    loading_ns: int | None
    fetching_ns: int | None
    executing_ns: int | None
    awaiting_ns: int | None
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
    cpu_ns: int | None
    submitter_node_id: str | None
    is_local: bool | None
    waiting_ns: int | None
    duration_ns: int | None


class AwaitedTask(TypedDict):
    """A task whose value another task awaits as an argument, and which is not ready yet."""

    task_id: str
    name: str | None
    state: str | None


class TaskDetail(TypedDict):
    """All fields of a task. ``waits_for``: the tasks that create its missing arguments."""

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
    waits_for: list[AwaitedTask]


class FunctionSchedulingItem(PhaseTimes):
    """Where the time of a function's attempts went, as sums (ns), and where they ran."""

    func_name: str | None
    type: str | None
    attempts: int
    total_ns: int
    waiting_ns: int
    duration_ns: int
    cpu_ns: int | None
    local: int
    spilled: int


class SchedulingAnswer(TypedDict):
    """Functions, those with the most total time first."""

    session: str
    items: list[FunctionSchedulingItem]


class FailedAttempt(TypedDict):
    """A failed attempt of a group, the outcome of its task, and its own message."""

    task_id: str
    attempt: int
    outcome: Outcome
    end_ns: int | None
    node_id: str | None
    message: str | None
    lost_with: LostWith | None


class FailureGroup(TypedDict):
    """Failed attempts with one signature: function, error type, message (``#``: variable parts), file, line.

    ``final``, ``retrying`` and ``recovered``: the number of its ``tasks`` by outcome. ``outcome``: the most
    severe of these. ``latest``: up to 20 of its attempts. ``causes``: why the worker, actor or node died that
    the newest was lost with, step by step. ``origin`` and ``operator`` are those of its function.
    """

    func_name: str | None
    origin: str | None
    operator: str | None
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
    causes: list[DeathLink]


class TasksByOutcome(TypedDict):
    """The number of tasks by outcome."""

    final: int
    retrying: int
    recovered: int


class FailuresAnswer(TypedDict):
    """Failures by signature. ``tasks``: all of their tasks by outcome.

    ``stopped_by_libraries``: attempts that Ray's libraries stopped on purpose. They are left out unless
    requested.
    """

    session: str
    items: list[FailureGroup]
    total: int
    stopped_by_libraries: int
    tasks: TasksByOutcome
