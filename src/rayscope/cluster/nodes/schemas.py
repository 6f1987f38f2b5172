"""Shapes of the answers about machines, for OpenAPI."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class CellNodes(BaseModel):
    """Nodes by columns, the head first and then by name."""

    id: list[str]
    name: list[str]
    is_head: list[bool]
    workers: list[int]
    running: list[int]


class CellWorkers(BaseModel):
    """Workers by columns, by node. ``key``: the beginning of the id; numbers but ``pid`` and ``running`` are
    places in ``nodes``, ``kinds``, ``classes`` and ``functions``; -1 is none.
    """

    key: list[str]
    node: list[int]
    kind: list[int]
    pid: list[int]
    actor_class: list[int]
    function: list[int]
    running: list[int]


class NodePercents(BaseModel):
    """Of each node in percent; -1 is not known."""

    cpu: list[float]
    memory: list[float]
    gpu: list[float]
    gpu_memory: list[float]
    disk: list[float]
    object_store: list[float]


class Measured(BaseModel):
    """What is measured of nodes and of workers, in their order; -1 is not known.

    ``cpu``: percent of one core; ``memory``, ``gpu_memory``, ``mem_total`` and ``gpu_mem_total``: bytes;
    ``time_ns``: when the newest account came.
    """

    nodes: NodePercents
    time_ns: int | None
    cpu: list[float]
    memory: list[int]
    gpu_memory: list[int]
    mem_total: list[int]
    gpu_mem_total: list[int]
    cpus: list[int]


class DeadNode(BaseModel):
    """A node that is dead."""

    id: str
    name: str | None
    node_ip: str | None
    is_head: bool | None
    end_ns: int | None
    death_reason: str | None
    resources_total: str | None


class CellsAnswer(BaseModel):
    """Every node and worker in little room."""

    session: str
    live: bool
    at_ns: int | None
    nodes: CellNodes
    workers: CellWorkers
    kinds: list[str]
    classes: list[str]
    functions: list[str]
    measured: Measured
    usage_error: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: dict[str, str | int] | None
    dead: list[DeadNode]
    nodes_total: int
    workers_total: int
    workers_left_out: int


class AmountOf(BaseModel):
    """Of one resource."""

    total: float
    available: float
    used: float


class Holder(BaseModel):
    """Who holds resources: ``actor``, ``task`` or ``placement_group``; ``id`` where it is one alone."""

    kind: str
    name: str
    id: str | None
    count: int
    resources: dict[str, float]


class ReasonItem(BaseModel):
    """Why something has no place (docs/nodes.md explains the codes)."""

    code: str
    never: bool
    message: str
    resource: str | None
    wanted: float | None
    total: float | None
    free: float | None
    node_id: str | None
    nodes: int
    error: str | None


class PendingItem(BaseModel):
    """What waits for a place: ``count`` like tasks or actors, or one placement group."""

    kind: str
    name: str
    id: str | None
    job_id: str | None
    count: int
    since_ns: int | None
    state: str
    resources: dict[str, float]
    bundles: list[dict[str, float]] | None
    strategy: str | None
    runtime_env: str | None
    reason: ReasonItem


class Shape(BaseModel):
    """A shape that the nodes themselves say is waited for."""

    resources: dict[str, float]
    ready: int
    infeasible: int
    backlog: int
    label_selectors: list[dict[str, str]]


class StatusAnswer(BaseModel):
    """What the cluster has, who holds it, and what waits for some. ``error``: why it cannot be told."""

    session: str
    live: bool
    time_ns: int | None
    error: str | None
    remedy: str | None
    error_code: str | None
    error_params: dict[str, str | int] | None
    resources: dict[str, AmountOf]
    by: list[Holder]
    by_left_out: int
    pending: list[PendingItem]
    pending_left_out: int
    shapes: list[Shape]
    autoscaler: dict[str, Any] | None
