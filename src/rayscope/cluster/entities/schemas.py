"""Schemas of actors, nodes, workers, jobs and placement groups: rows and pages of lists, and details.

Strings such as ``labels``, ``resources_total``, ``runtime_env``, ``bundles`` and ``stats`` contain Ray's
values as JSON.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import TypedDict

from rayscope.cluster.nodes.schemas import NodeDetailParts, NodeUsage, ProcessFigures
from rayscope.cluster.placement.schemas import Activity, GpuShare, GpuUse
from rayscope.cluster.recording.schemas import Lane
from rayscope.records.schemas import Dropped


class EntityPage(TypedDict):
    """A page of a list. ``internal_hidden``: the number of Ray's own entities that are left out."""

    next: str | None
    total: int
    internal_hidden: int
    dropped: Dropped


class Detail(TypedDict):
    """``history``: every reported state in chronological order, with ``time_ns``, ``state`` and details. An
    inferred end comes last, with ``end_known_by``. A restart has ``ended_worker_id``, the actor's previous
    worker, and ``causes``: why that worker ended, step by step.
    """

    history: list[dict[str, Any]]


class Actor(GpuUse):
    """An actor in its current or last state. ``gpus``: the GPUs that Ray assigned to it."""

    actor_id: str
    state: str | None
    class_name: str | None
    name: str | None
    ray_namespace: str | None
    job_id: str | None
    node_id: str | None
    worker_id: str | None
    pid: int | None
    repr_name: str | None
    is_detached: bool | None
    num_restarts: int | None
    max_restarts: int | None
    required_resources: str | None
    placement_group_id: str | None
    label_selector: str | None
    runtime_env: str | None
    call_site: str | None
    death_reason: str | None
    death_cause: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    is_internal: bool
    gpus: list[GpuShare]


class RecordedNode(TypedDict):
    """The recorded fields of a node. ``lane``: the transport of its events."""

    node_id: str
    state: str | None
    node_ip: str | None
    node_name: str | None
    hostname: str | None
    is_head: bool | None
    instance_id: str | None
    instance_type: str | None
    labels: str | None
    resources_total: str | None
    death_reason: str | None
    death_message: str | None
    metrics_export_port: int | None
    dashboard_agent_port: int | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    lane: Lane
    lane_code: str | None
    lane_reason: str | None


class Node(RecordedNode, NodeUsage):
    """A node. ``workers``: the number of its live workers and drivers, without Ray's own.

    ``running``: the number of attempts that have begun and not ended, including blocked ones. It is null once
    the session has ended.
    """

    workers: int | None
    running: int | None


class RecordedWorker(TypedDict):
    """The recorded fields of a worker process. ``death_memory_bytes``: its size when Ray's memory monitor
    killed it. ``paused_threads``: how many of its threads wait for a debugger.
    """

    worker_id: str
    state: str | None
    worker_type: str | None
    node_id: str | None
    pid: int | None
    ip: str | None
    job_id: str | None
    exit_type: str | None
    exit_detail: str | None
    launch_ns: int | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    tracer: str | None
    death_memory_bytes: int | None
    paused_threads: int | None
    is_internal: bool


class WorkerName(TypedDict):
    """The names that users know a worker by: its actor, its first ``functions``, or its job's ``script``."""

    actor_class: str | None
    actor_name: str | None
    functions: list[str]
    functions_total: int
    script: str | None


class Worker(RecordedWorker, WorkerName, ProcessFigures, Activity):
    """A worker process: what users know it by, its current activity, and its measurements."""


class Job(TypedDict):
    """A driver or submitted job. ``tasks``: the number of its attempts by state.

    ``stopped_by_libraries``: the number of failed attempts that a library stopped on purpose. They are not
    failures.
    """

    job_id: str
    state: str | None
    type: str | None
    submission_id: str | None
    entrypoint: str | None
    driver_pid: int | None
    driver_ip: str | None
    driver_node_id: str | None
    message: str | None
    error_type: str | None
    exit_code: int | None
    is_internal: bool
    alias_of: str | None
    runtime_env: str | None
    metadata: str | None
    start_ns: int | None
    end_ns: int | None
    end_known_by: str | None
    tasks: dict[str, int]
    stopped_by_libraries: int


class PlacementGroup(TypedDict):
    """A placement group."""

    placement_group_id: str
    state: str | None
    name: str | None
    strategy: str | None
    job_id: str | None
    creator_actor_id: str | None
    is_detached: bool | None
    bundles: str | None
    stats: str | None
    created_ns: int | None
    end_known_by: str | None


class ActorPage(EntityPage):
    """A page of actors."""

    items: list[Actor]


class NodePage(EntityPage):
    """A page of nodes."""

    items: list[Node]


class WorkerPage(EntityPage):
    """A page of workers."""

    items: list[Worker]


class JobPage(EntityPage):
    """A page of jobs."""

    items: list[Job]


class PlacementGroupPage(EntityPage):
    """A page of placement groups."""

    items: list[PlacementGroup]


class ActorDetail(Actor, Detail):
    """All fields of an actor."""


class NodeDetail(RecordedNode, NodeDetailParts, Detail):
    """All fields of a node."""


class WorkerDetail(Worker, Detail):
    """All fields of a worker."""


class JobDetail(Job, Detail):
    """All fields of a job."""

    versions: str | None


class PlacementGroupDetail(PlacementGroup, Detail):
    """All fields of a placement group."""


#: For each kind of entity, the schemas of a page of its list and of its details.
SHAPES: dict[str, tuple[type, type]] = {
    "actor": (ActorPage, ActorDetail),
    "node": (NodePage, NodeDetail),
    "worker": (WorkerPage, WorkerDetail),
    "job": (JobPage, JobDetail),
    "placement_group": (PlacementGroupPage, PlacementGroupDetail),
}
