"""The shapes of what the physical view answers, for the OpenAPI description."""

from __future__ import annotations

from rayscope.api.schemas import Answer
from rayscope.cluster.nodes.schemas import Measured
from rayscope.cluster.placement.schemas import NodeWorker, PhysicalBundle


class PhysicalNode(Answer):
    """A node, what it has, what of that is reserved, and the sums of what is on it.

    ``workers``, ``actors``, ``running``, ``blocked`` and ``bytes`` leave out the processes of Ray's
    own, which ``internal`` counts.
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


class PhysicalNodes(Answer):
    """Nodes by columns of the same length; ``total`` and ``used`` are places in ``amounts``, -1 for none."""

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


class PhysicalWorkers(Answer):
    """Workers by columns of the same length; places in the lists of the answer, -1 for none."""

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


class PhysicalBundles(Answer):
    """Bundles by columns: places in ``groups``, among the nodes and in ``amounts`` (-1: nobody told)."""

    group: list[int]
    index: list[int]
    node: list[int]
    resources: list[int]


class PhysicalGroup(Answer):
    """A placement group that has bundles here."""

    id: str
    name: str | None


class PhysicalAnswer(Answer):
    """What was where at ``at_ns``."""

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
    #: Job -> the script that it runs.
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
    #: What is measured, for a session that lives and its present time alone.
    measured: Measured | None


class NodeAnswer(Answer):
    """One node at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    #: Job -> the script that it runs.
    scripts: dict[str, str]
    node: PhysicalNode
    labels: str | None
    end_ns: int | None
    workers: list[NodeWorker]
    workers_total: int
    bundles: list[PhysicalBundle]


class TransferPair(Answer):
    """Objects made on ``source`` and taken on ``target``."""

    source: str
    target: str
    objects: int
    bytes: int
    unsized: int


class TransfersAnswer(Answer):
    """What went from node to node between two times."""

    session: str
    since_ns: int | None
    until_ns: int
    pairs: list[TransferPair]
    pairs_total: int
    objects: int
    bytes: int
    sampled: int
