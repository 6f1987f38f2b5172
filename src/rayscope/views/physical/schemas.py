"""The shapes of the physical view's responses, for the OpenAPI description."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.cluster.nodes.schemas import Measured
from rayscope.cluster.placement.schemas import (
    NodeWorker,
    PhysicalBundle,
    PhysicalBundles,
    PhysicalGroup,
    PhysicalNode,
    PhysicalNodes,
    PhysicalWorkers,
)


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
