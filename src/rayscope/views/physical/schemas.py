"""The shapes of the physical view's responses, for the OpenAPI description."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.cluster.nodes.schemas import Measured
from rayscope.cluster.placement.schemas import NodeWorker, PhysicalBundle


class PhysicalNode(TypedDict):
    """A node, its resources, the reserved part of them, and the sums of everything on it.

    ``workers``, ``actors``, ``running``, ``blocked``, and ``bytes`` exclude Ray's own processes, which
    ``internal`` counts.
    """

    id: str
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


class PhysicalNodes(TypedDict):
    """Nodes as columns of equal length. ``total`` and ``used`` are indexes into ``amounts``, or -1."""

    id: list[str]
    name: list[str]
    node_ip: list[str | None]
    is_head: list[bool]
    is_known: list[bool]
    start_ns: list[int | None]
    total: list[int]
    used: list[int]
    internal: list[int]
    workers: list[int]
    actors: list[int]
    running: list[int]
    blocked: list[int]
    bytes: list[int]
    left_out: list[int]


class PhysicalWorkers(TypedDict):
    """Workers as columns of equal length. Values are indexes into the response's lists, -1 if unknown."""

    key: list[str]
    node: list[int]
    kind: list[int]
    is_internal: list[bool]
    pid: list[int]
    job: list[int]
    actor_class: list[int]
    actor_state: list[int]
    function: list[int]
    running: list[int]
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
    """A placement group with bundles here."""

    id: str
    name: str | None


class PhysicalAnswer(TypedDict):
    """Contents of the nodes at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    nodes: PhysicalNodes
    workers: PhysicalWorkers
    bundles: PhysicalBundles
    groups: list[PhysicalGroup]
    amounts: list[dict[str, float]]
    kinds: list[str]
    jobs: list[str]
    #: The script of each job.
    scripts: dict[str, str]
    classes: list[str]
    states: list[str]
    functions: list[str]
    reserved: list[dict[str, float]]
    values: list[str]
    nodes_total: int
    workers_total: int
    bundles_total: int
    workers_left_out: int
    annotations: list[str]
    #: Measured usage, only for the present time of a live session.
    measured: Measured | None


class NodeAnswer(TypedDict):
    """One node at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    #: The script of each job.
    scripts: dict[str, str]
    node: PhysicalNode
    labels: str | None
    end_ns: int | None
    workers: list[NodeWorker]
    workers_total: int
    bundles: list[PhysicalBundle]


class TransferPair(TypedDict):
    """Objects produced on ``source`` and consumed on ``target``."""

    source: str
    target: str
    objects: int
    bytes: int
    unsized: int


class TransfersAnswer(TypedDict):
    """Transfers between nodes in a time range."""

    session: str
    since_ns: int | None
    until_ns: int
    pairs: list[TransferPair]
    pairs_total: int
    objects: int
    bytes: int
    sampled: int
