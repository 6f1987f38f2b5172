"""The shapes of responses with the Python frames of workers, for the OpenAPI description."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.api.schemas import ErrorDetail

MergedFrameKind = Literal["code", "thread", "cut", "await", "none"]


class MergedFrame(TypedDict):
    """Stacks that have the same frames from the outermost frame to this one."""

    id: str
    parent: str | None
    depth: int
    kind: MergedFrameKind
    name: str
    file: str
    line: int | None
    count: int
    own: int
    active: int
    workers: int
    examples: list[str]


class NodeFrames(TypedDict):
    """The frames below one node of the stack."""

    node: str
    workers: int
    idle_threads: int
    frames: list[MergedFrame]


class FramesWorker(TypedDict):
    """A requested worker. If it is not running anything, only its ID is known."""

    worker_id: str
    node_id: str | None
    pid: int | None


class SeenWorker(FramesWorker):
    """A worker whose frames are in the response. ``title`` is the title of its process."""

    title: str


class FramesProblem(ErrorDetail):
    """The reason why the frames of ``count`` workers are missing."""

    count: int
    workers: list[FramesWorker]


class FramesAnswer(TypedDict):
    """The Python frames of workers at ``at_ns``."""

    session: str
    at_ns: int
    whole: bool
    asked: int
    left_out: int
    nodes: list[NodeFrames]
    folded_frames: int
    workers: list[SeenWorker]
    problems: list[FramesProblem]
