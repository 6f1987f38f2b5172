"""Rows of the lists of actors, nodes, workers, jobs and placement groups, and the filters of lists."""

from __future__ import annotations

from typing import Any, TypedDict


class Usage(TypedDict):
    """What a node uses. ``current``: whether that is of now."""

    usage_ns: int | None
    cpu_percent: float | None
    load_1: float | None
    mem_percent: float | None
    mem_used_bytes: int | None
    mem_total_bytes: int | None
    disk_percent: float | None
    disk_used_bytes: int | None
    disk_total_bytes: int | None
    disk_read_bytes_s: float | None
    disk_write_bytes_s: float | None
    net_sent_bytes_s: float | None
    net_recv_bytes_s: float | None
    gpus: int | None
    gpu_percent: float | None
    gpu_mem_percent: float | None
    gpu_mem_used_bytes: int | None
    gpu_mem_total_bytes: int | None
    object_store_percent: float | None
    object_store_used_bytes: int | None
    object_store_total_bytes: int | None
    current: bool


class Actor(TypedDict):
    """An actor, as it is or was."""

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


class Node(TypedDict):
    """A node. ``lane``: how its events come; ``usage``: None if not known, ``usage_missing`` says why."""

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
    workers: int | None
    lane: str
    lane_code: str | None
    lane_reason: str | None
    usage: Usage | None
    usage_missing: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: dict[str, str | int] | None


class Worker(TypedDict):
    """A worker process, and what is measured of it."""

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
    is_internal: bool
    tracer: str | None
    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None


class Job(TypedDict):
    """A driver or submitted job. ``tasks``: its attempts by state."""

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


class PlacementGroup(TypedDict):
    """A placement group; ``bundles`` and ``stats`` are JSON."""

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


class EntityFilters(TypedDict, total=False):
    """Filters of those lists, where the rows have the field; ``state`` and ids: several by comma.

    ``internal``: what is Ray's own too.
    """

    state: str
    job_id: str
    node_id: str
    worker_id: str
    actor_id: str
    name: str
    class_name: str
    type: str
    at_least: str
    q: str
    internal: bool


class TaskFilters(TypedDict, total=False):
    """Filters of attempts, for the list of tasks, the views made of them and exports."""

    job_id: str
    name: str
    func_name: str
    state: str
    type: str
    node_id: str
    worker_id: str
    actor_id: str
    parent_task_id: str
    caller_task_id: str
    placement_group_id: str
    error_type: str
    annotation: str
    q: str
    since_ns: int
    until_ns: int


class EventFilters(TypedDict, total=False):
    """Filters of events."""

    severity: str
    kind: str
    node_id: str
    job_id: str
    q: str
    since_ns: int
    until_ns: int


class JobRequest(TypedDict, total=False):
    """What a job is submitted with, as Ray's job API takes it. ``entrypoint_memory``: bytes."""

    submission_id: str
    runtime_env: dict[str, Any]
    metadata: dict[str, str]
    entrypoint_num_cpus: float
    entrypoint_num_gpus: float
    entrypoint_memory: int
    entrypoint_resources: dict[str, float]
