"""Schemas of the content of nodes: workers, what runs on each, and bundles."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

#: Situations in the order in which an attempt passes through them. In the last two, it is not in flight.
Situation = Literal[
    "waiting_args",
    "waiting_node",
    "starting_worker",
    "queued",
    "loading",
    "fetching",
    "running",
    "blocked",
    "storing",
    "ended",
    "unknown",
]

GpuScope = Literal["own", "process", "shared", "unsupported", "mig", "unmeasured"]


class AwaitedFunction(TypedDict):
    """A function of tasks that an attempt awaits. ``count``: the number of these tasks. ``task_id``: one of
    them.
    """

    name: str
    count: int
    task_id: str


class RunningAttempt(TypedDict):
    """An attempt on a worker since ``since_ns``, in its situation since ``situation_ns`` (ns).

    A driver has its script as ``name`` and the ``type`` DRIVER_TASK. If it is blocked, ``call`` is the call
    that blocks (such as ``ray.get``), and ``blocked_on`` has the functions that it waits for, if known.
    ``is_traced``: whether the tracer is on in its process. If it is not, nobody knows whether it is blocked.
    """

    task_id: str
    attempt: int
    name: str
    type: str | None
    since_ns: int | None
    situation: Situation
    situation_ns: int | None
    call: str | None
    blocked_on: list[AwaitedFunction]
    is_traced: bool


class GpuUse(TypedDict):
    """The use of GPUs by an attempt or an actor. All fields are null if it holds none.

    ``gpu_scope``: ``own`` (the use of whole GPUs that it alone held) or ``process`` (that of its process, on
    GPUs that it shares), or why it is unknown. ``gpu_busy_ns``: GPU time in use during ``gpu_measured_ns``, a
    part of ``gpu_held_ns``. ``gpu_memory_peak_bytes``: the most memory in use on one of them.
    """

    gpu_scope: GpuScope | None
    gpu_busy_ns: int | None
    gpu_measured_ns: int | None
    gpu_held_ns: int | None
    gpu_memory_peak_bytes: int | None


class GpuShare(TypedDict):
    """A GPU that Ray assigned, and the assigned share of it. ``index``: as returned by ``ray.get_gpu_ids``.

    If the index is unknown, ``share`` is the sum of the requested shares.
    """

    index: str | None
    share: float


class Activity(TypedDict):
    """The present activity of a worker: the number of its attempts, how many are blocked, and the 5 oldest.

    A driver runs no attempt: ``running`` is 0, ``blocked`` 1 while it waits, and ``attempts`` its script.
    ``gpus``: those of its actor or of the tasks that it runs.
    """

    running: int
    blocked: int
    attempts: list[RunningAttempt]
    gpus: list[GpuShare]


class PhysicalBundle(TypedDict):
    """A bundle of a placement group on a node. ``resources``: null if unknown."""

    group: str
    name: str | None
    index: int
    node: int
    resources: dict[str, float] | None


class NodeWorker(Activity):
    """All fields of a worker of a node."""

    key: str
    worker_id: str
    kind: str
    pid: int | None
    job_id: str | None
    start_ns: int | None
    is_internal: bool
    actor_id: str | None
    actor_class: str | None
    actor_name: str | None
    actor_state: str | None
    functions: int
    bytes: int
    reserved: dict[str, float]
    bundle: int


class PhysicalNode(TypedDict):
    """A node, its resources, the reserved part of them, and the sums of everything on it.

    ``workers``, ``actors``, ``running``, ``blocked``, and ``bytes`` exclude Ray's own processes, which
    ``internal`` counts.
    """

    node_id: str
    name: str
    node_ip: str | None
    is_head: bool
    is_known: bool
    start_ns: int | None
    total: dict[str, float] | None
    used: dict[str, float]
    internal: int
    workers: int
    actors: int
    running: int
    blocked: int
    bytes: int
    left_out: int


class CellNodes(TypedDict):
    """Nodes as columns: the head node first, then the others by name. ``workers`` excludes Ray's own
    processes, which ``internal`` counts.
    """

    node_id: list[str]
    name: list[str]
    is_head: list[bool]
    workers: list[int]
    internal: list[int]
    running: list[int]


class CellWorkers(TypedDict):
    """Workers as columns, sorted by node. Numbers, except ``pid`` and ``running``, are indexes into
    ``nodes``, ``kinds``, ``classes`` and ``functions``; -1 means none.

    ``key``: the beginning of the ID. ``is_internal``: whether it is one of Ray's own processes.
    """

    key: list[str]
    node: list[int]
    is_internal: list[bool]
    kind: list[int]
    pid: list[int]
    actor_class: list[int]
    function: list[int]
    running: list[int]


class PhysicalNodes(CellNodes):
    """Nodes as columns of equal length. ``total`` and ``used`` are indexes into ``amounts``, or -1."""

    node_ip: list[str | None]
    is_known: list[bool]
    start_ns: list[int | None]
    total: list[int]
    used: list[int]
    actors: list[int]
    blocked: list[int]
    bytes: list[int]
    left_out: list[int]


class PhysicalWorkers(CellWorkers):
    """Workers as columns of equal length. Values are indexes into the response's lists, -1 if unknown."""

    job: list[int]
    actor_state: list[int]
    blocked: list[int]
    reserved: list[int]
    bundle: list[int]
    bytes: list[int]
    annotation: list[int]


class PhysicalBundles(TypedDict):
    """Bundles as columns of indexes into ``groups``, the nodes, and ``amounts`` (-1 if unknown)."""

    group: list[int]
    index: list[int]
    node: list[int]
    resources: list[int]


class PhysicalGroup(TypedDict):
    """A placement group of the answer's bundles."""

    placement_group_id: str
    name: str | None


class PlacementColumns(TypedDict):
    """The nodes, workers and bundles at one time, and the lists to which the columns refer."""

    nodes: PhysicalNodes
    workers: PhysicalWorkers
    bundles: PhysicalBundles
    kinds: list[str]
    jobs: list[str]
    classes: list[str]
    states: list[str]
    functions: list[str]
    reserved: list[dict[str, float]]
    values: list[str]
    nodes_total: int
    workers_total: int
    bundles_total: int
    groups: list[PhysicalGroup]
    amounts: list[dict[str, float]]


class NodeContent(TypedDict):
    """A node at one time, with its workers and bundles."""

    node: PhysicalNode
    labels: str | None
    end_ns: int | None
    workers: list[NodeWorker]
    workers_total: int
    bundles: list[PhysicalBundle]
