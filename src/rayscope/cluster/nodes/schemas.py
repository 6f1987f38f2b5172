"""Schemas of answers about nodes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from typing_extensions import TypedDict

from rayscope.cluster.placement.schemas import CellNodes, CellWorkers, NodeWorker, PhysicalBundle

#: Kinds of things that hold resources or wait for them.
HolderKind = Literal["actor", "task", "placement_group"]


class NodePercents(TypedDict):
    """Percentages of each node; -1 means unknown."""

    cpu: list[float]
    memory: list[float]
    gpu: list[float]
    gpu_memory: list[float]
    disk: list[float]
    object_store: list[float]


class Measured(TypedDict):
    """Measurements of the answer's nodes and workers, in the same order. -1 means unknown.

    ``cpu``: percent of one core. ``memory``, ``gpu_memory``, ``mem_total`` and ``gpu_mem_total``: bytes.
    ``time_ns``: when the newest report was received.
    """

    nodes: NodePercents
    time_ns: int | None
    cpu: list[float]
    memory: list[int]
    gpu_memory: list[int]
    mem_total: list[int]
    gpu_mem_total: list[int]
    cpus: list[int]


class DeadNode(TypedDict):
    """A node that has died."""

    node_id: str
    name: str | None
    node_ip: str | None
    is_head: bool | None
    end_ns: int | None
    death_reason: str | None
    resources_total: str | None


class CellsAnswer(TypedDict):
    """Every node and worker in compact form."""

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
    usage_params: Mapping[str, str | int] | None
    dead: list[DeadNode]
    nodes_total: int
    workers_total: int
    workers_left_out: int


class NodeFigures(TypedDict):
    """The measurements of a node; null means unknown."""

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


class Usage(NodeFigures):
    """The utilization of a node. ``current``: whether it is alive and has reported within the last 30 s."""

    current: bool


class NodeUsage(TypedDict):
    """The utilization of a node. If it is unknown, ``usage`` is null and ``usage_missing`` says why."""

    usage: Usage | None
    usage_missing: str | None
    usage_remedy: str | None
    usage_code: str | None
    usage_params: Mapping[str, str | int] | None


class ProcessFigures(TypedDict):
    """Measurements of a process. ``cpu_percent``: in percent of one core."""

    cpu_percent: float | None
    memory_bytes: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None
    num_fds: int | None


class AmountOf(TypedDict):
    """The amounts of one resource."""

    total: float
    available: float
    used: float


class ResourceHolder(TypedDict):
    """Holders of resources with the same ``kind`` and ``name``. ``id`` is null if there are several."""

    kind: HolderKind
    name: str
    id: str | None
    count: int
    resources: dict[str, float]


class ReasonItem(TypedDict):
    """Why a request is pending (docs/reference/nodes.md explains the codes)."""

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


class PendingHolder(TypedDict):
    """A holder of a scarce resource: a running task (with its ``attempt``), an actor or a placement group."""

    kind: HolderKind
    name: str
    id: str
    attempt: int | None
    amount: float
    since_ns: int | None


class PendingItem(TypedDict):
    """A pending request: ``count`` similar tasks or actors, or one placement group.

    ``since_ns``: when the first of them began to wait. ``reason.remedy``: what would let it run. ``holders``:
    the largest holders of the short resource on the nodes that could run it.
    """

    kind: HolderKind
    name: str
    id: str | None
    job_id: str | None
    count: int
    since_ns: int | None
    state: str
    resources: dict[str, float]
    bundles: list[Mapping[str, float]] | None
    strategy: str | None
    runtime_env: str | None
    reason: ReasonItem
    holders: list[PendingHolder]
    holders_left_out: int


class Shape(TypedDict):
    """Requests of one shape that the nodes report as pending."""

    resources: Mapping[str, float]
    ready: int
    infeasible: int
    backlog: int
    label_selectors: list[Mapping[str, str]]


class AutoscalerStatus(TypedDict):
    """The autoscaler's own report: nodes by type, and what it could not start.

    ``failed``: pairs of a node type and a reason. ``infeasible``: shapes of requests that no type of node can
    hold.
    """

    version: int
    active: Mapping[str, int]
    idle: Mapping[str, int]
    pending: Mapping[str, int]
    failed: list[tuple[str, str]]
    infeasible: list[Mapping[str, float]]
    time_ns: int | None


class StatusAnswer(TypedDict):
    """The resources of the cluster, their holders, and pending requests. ``error``: why these are unknown."""

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


class Disk(TypedDict):
    """A file system. ``used_bytes`` and ``free_bytes`` are the part that users can fill."""

    path: str
    total_bytes: int
    used_bytes: int
    free_bytes: int


class RayProcess(TypedDict):
    """One of Ray's own processes, as reported by the node's agent."""

    pid: int
    cmdline: str
    cpu_percent: float
    rss_bytes: int | None
    uss_bytes: int | None
    num_fds: int | None
    create_ns: int | None
    gpu_memory_bytes: int | None
    gpu_percent: float | None


class GpuFigures(TypedDict):
    """A GPU."""

    index: int
    name: str
    uuid: str
    utilization: float | None
    memory_used_bytes: int | None
    memory_total_bytes: int | None
    power_watts: float | None
    temperature_c: float | None


class MeasuredGpu(GpuFigures):
    """A GPU. ``processes``: bytes of its memory by process ID. ``process_percent``: use of its cores by
    process ID.
    """

    processes: dict[str, int]
    process_percent: dict[str, float]


class GpuProcess(TypedDict):
    """A process that uses memory of a GPU, and its worker."""

    pid: int
    memory_bytes: int
    percent: float | None
    worker_id: str | None
    actor_class: str | None
    actor_id: str | None


class NodeGpu(GpuFigures):
    """A GPU and the processes that use it."""

    processes: list[GpuProcess]


class NodeMeasured(TypedDict):
    """The complete report of a node at ``time_ns``. ``load``: averages over 1, 5 and 15 minutes."""

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
    """One of Ray's own processes: the raylet, an agent, the GCS."""

    name: str
    pid: int


class MeasuredWorker(NodeWorker, ProcessFigures):
    """A worker of the node with its measurements."""


class NodeDetailParts(NodeUsage):
    """The fields of a node beyond its record. For a dead node, these are its last report and its last
    workers.

    ``running``: as in the list of nodes.
    """

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
    running: int | None
    bundles: list[PhysicalBundle]
