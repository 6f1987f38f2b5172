"""Shapes of the answers about machines, for OpenAPI."""

from __future__ import annotations

from typing import Literal

from rayscope.api.schemas import Answer
from rayscope.cluster.placement.schemas import NodeWorker, PhysicalBundle


class CellNodes(Answer):
    """Nodes by columns, the head first and then by name. ``workers`` leaves out the processes of Ray's own,
    which ``internal`` counts.
    """

    id: list[str]
    name: list[str]
    is_head: list[bool]
    workers: list[int]
    internal: list[int]
    running: list[int]


class CellWorkers(Answer):
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


class NodePercents(Answer):
    """Of each node in percent; -1 is not known."""

    cpu: list[float]
    memory: list[float]
    gpu: list[float]
    gpu_memory: list[float]
    disk: list[float]
    object_store: list[float]


class Measured(Answer):
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


class DeadNode(Answer):
    """A node that is dead."""

    id: str
    name: str | None
    node_ip: str | None
    is_head: bool | None
    end_ns: int | None
    death_reason: str | None
    resources_total: str | None


class CellsAnswer(Answer):
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


class Usage(Answer):
    """What a node uses. ``current``: whether that is of now: it lives, and has told within the last 30 s."""

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


class NodeUsage(Answer):
    """What a node uses; null if that is not known, and ``usage_missing`` says why."""

    usage: Usage | None
    usage_missing: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: dict[str, str | int] | None


class ProcessFigures(Answer):
    """What is measured of a process. ``cpu_percent``: of one core."""

    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None


class AmountOf(Answer):
    """Of one resource."""

    total: float
    available: float
    used: float


class ResourceHolder(Answer):
    """Who holds resources: ``actor``, ``task`` or ``placement_group``; ``id`` where it is one alone."""

    kind: Literal["actor", "task", "placement_group"]
    name: str
    id: str | None
    count: int
    resources: dict[str, float]


class ReasonItem(Answer):
    """Why something has no place (docs/reference/nodes.md explains the codes)."""

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
    remedy: str


class PendingHolder(Answer):
    """Who holds some of what is short: a running task (``attempt`` of it), an actor or a placement group."""

    kind: Literal["actor", "task", "placement_group"]
    name: str
    id: str
    attempt: int | None
    amount: float
    since_ns: int | None


class PendingItem(Answer):
    """What waits for a place: ``count`` like tasks or actors, or one placement group.

    ``since_ns``: the first of them; ``reason.remedy``: what would let it run. ``holders``: the largest ones
    of what is short, on the nodes that could hold it.
    """

    kind: Literal["actor", "task", "placement_group"]
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
    holders: list[PendingHolder]
    holders_left_out: int


class Shape(Answer):
    """A shape that the nodes themselves say is waited for."""

    resources: dict[str, float]
    ready: int
    infeasible: int
    backlog: int
    label_selectors: list[dict[str, str]]


class AutoscalerStatus(Answer):
    """What the autoscaler says of itself: nodes by type, and what it could not start.

    ``failed``: node type and why. ``infeasible``: shapes that no type of node can hold.
    """

    version: int
    active: dict[str, int]
    idle: dict[str, int]
    pending: dict[str, int]
    failed: list[tuple[str, str]]
    infeasible: list[dict[str, float]]
    time_ns: int | None


class StatusAnswer(Answer):
    """What the cluster has, who holds it, and what waits for some. ``error``: why it cannot be told."""

    session: str
    live: bool
    time_ns: int | None
    error: str | None
    remedy: str | None
    error_code: str | None
    error_params: dict[str, str | int] | None
    resources: dict[str, AmountOf]
    by: list[ResourceHolder]
    by_left_out: int
    pending: list[PendingItem]
    pending_left_out: int
    shapes: list[Shape]
    autoscaler: AutoscalerStatus | None


class Disk(Answer):
    """One file system. What users can fill is ``used_bytes`` and ``free_bytes``."""

    path: str
    total_bytes: int
    used_bytes: int
    free_bytes: int


class RayProcess(Answer):
    """A process of Ray's own, as the node's agent tells of it."""

    pid: int
    cmdline: str
    cpu_percent: float
    rss_bytes: int | None
    uss_bytes: int | None
    num_fds: int | None
    create_ns: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None


class GpuFigures(Answer):
    """One GPU."""

    index: int
    name: str
    uuid: str
    utilization: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    power_watts: float | None
    temperature_c: float | None


class MeasuredGpu(GpuFigures):
    """One GPU. ``processes``: process id -> bytes of its memory; ``process_percent``: share of its cores."""

    processes: dict[str, int]
    process_percent: dict[str, float]


class GpuProcess(Answer):
    """A process that has memory of a GPU, and which worker it is."""

    pid: int
    memory_bytes: int
    percent: float | None
    worker_id: str | None
    actor_class: str | None
    actor_id: str | None


class NodeGpu(GpuFigures):
    """One GPU and the processes that use it."""

    processes: list[GpuProcess]


class NodeMeasured(Answer):
    """All that a node told of itself at ``time_ns``. ``load``: of 1, 5 and 15 minutes."""

    node_id: str
    time_ns: int
    hostname: str
    ip: str
    cpu_percent: float | None
    cpus: int | None
    mem_total_bytes: int | None
    mem_used_bytes: int | None
    mem_available_bytes: int | None
    shm_bytes: int | None
    swap_total_bytes: int | None
    swap_used_bytes: int | None
    load: list[float]
    boot_ns: int | None
    disks: list[Disk]
    disk_read_bytes: int | None
    disk_write_bytes: int | None
    disk_read_bytes_s: float | None
    disk_write_bytes_s: float | None
    disk_read_ops_s: float | None
    disk_write_ops_s: float | None
    net_sent_bytes: int | None
    net_recv_bytes: int | None
    net_sent_bytes_s: float | None
    net_recv_bytes_s: float | None
    gpus: list[MeasuredGpu]
    processes: dict[str, RayProcess]


class NamedProcess(ProcessFigures):
    """A process of Ray's own: the raylet, an agent, the GCS."""

    name: str
    pid: int


class MeasuredWorker(NodeWorker, ProcessFigures):
    """A worker of the node, and what is measured of it."""


class NodeDetailParts(NodeUsage):
    """What is told of one node beyond its record. Of a dead one: its last account, and its last workers."""

    measured: NodeMeasured | None
    gpus: list[NodeGpu]
    processes: list[NamedProcess]
    resources: dict[str, AmountOf] | None
    is_draining: bool | None
    idle_ms: int | None
    by: list[ResourceHolder]
    at_ns: int | None
    workers: list[MeasuredWorker]
    workers_total: int
    bundles: list[PhysicalBundle]
