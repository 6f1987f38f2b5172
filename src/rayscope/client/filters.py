"""Filters of lists, and options for submitting a job."""

from __future__ import annotations

from typing import Any, TypedDict


class _Filters(TypedDict, total=False):
    """Filters that all lists have."""

    job_id: str
    node_id: str
    q: str
    since_ns: int
    until_ns: int


class EntityFilters(_Filters, total=False):
    """Filters of actors, nodes, workers, jobs, and placement groups. Each applies where the field exists.

    ``state`` and IDs accept several values, separated by commas. ``internal``: include Ray's internal
    entities. ``since_ns`` and ``until_ns``: only entities that lived at some time between the two.
    """

    state: str
    worker_id: str
    actor_id: str
    name: str
    class_name: str
    type: str
    at_least: str
    internal: bool


class TaskFilters(_Filters, total=False):
    """Filters of attempts, for the list of tasks, the views of an execution, and exports."""

    name: str
    func_name: str
    state: str
    type: str
    worker_id: str
    actor_id: str
    parent_task_id: str
    caller_task_id: str
    placement_group_id: str
    error_type: str
    annotation: str
    only: str


class EventFilters(_Filters, total=False):
    """Filters of events."""

    severity: str
    kind: str


class JobOptions(TypedDict, total=False):
    """Options for submitting a job, as in Ray's job API. ``entrypoint_memory`` is in bytes."""

    submission_id: str
    runtime_env: dict[str, Any]
    metadata: dict[str, str]
    entrypoint_num_cpus: float
    entrypoint_num_gpus: float
    entrypoint_memory: int
    entrypoint_resources: dict[str, float]
