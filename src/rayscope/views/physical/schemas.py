"""The shapes of the physical view's responses, for the OpenAPI description."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.cluster.nodes.schemas import Measured
from rayscope.cluster.placement.schemas import NodeContent, PlacementColumns


class PhysicalAnswer(PlacementColumns):
    """The contents of the nodes at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    #: The script of each job.
    scripts: dict[str, str]
    workers_left_out: int
    annotations: list[str]
    #: Measured usage, or None unless the response is about the present time of a live session.
    measured: Measured | None


class NodeAnswer(NodeContent):
    """One node at ``at_ns``."""

    session: str
    at_ns: int | None
    live: bool
    #: The script of each job.
    scripts: dict[str, str]


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
