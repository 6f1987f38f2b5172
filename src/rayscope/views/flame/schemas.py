"""The shapes of flame graph responses, for the OpenAPI description. Responses are encoded by msgspec."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

#: The figure that determines the width of a frame.
Weight = Literal["executing", "awaiting", "duration", "cpu", "count", "bytes", "memory_time", "critical_path"]
FrameKind = Literal["driver", "call", "library", "unknown", "other"]


class FlameFrame(TypedDict):
    """A call path. ``own`` covers its own attempts, and ``value`` also those below it.

    ``memory_byte_seconds``: the peak memory times the duration of the ``memory_known`` attempts that were
    alone in their processes. ``memory_shared``: how many shared a process. ``p95_memory``, ``max_memory``: of
    both.
    """

    id: str
    parent: str | None
    name: str | None
    kind: FrameKind
    depth: int
    own: int
    value: int
    attempts: int
    failed: int
    running: int
    duration_ns: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    bytes: int
    cpu_ns: int
    cpu_known: int
    memory_byte_seconds: int
    memory_known: int
    memory_shared: int
    p95_memory: int | None
    max_memory: int | None
    first_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    max_ns: int | None
    folded: int
    baseline_own: int | None
    baseline_value: int | None


class FoldedLibrary(TypedDict):
    """A library or a library's operator, and how many of its functions are in the graph.

    Consecutive calls of it are one frame.
    """

    library: str
    functions: int


class FlameTree(TypedDict):
    """Frames, parents before children. ``folded`` of ``frames_total`` were merged into ``other`` frames."""

    frames: list[FlameFrame]
    frames_total: int
    folded: int


class FlameAnswer(FlameTree):
    """A flame graph. With the weight ``critical_path``, ``path_job_id`` is the job of the path."""

    session: str
    weight: Weight
    path_job_id: str | None
    total: int
    attempts: int
    baseline_total: int | None
    focus: str | None
    ancestors: list[FlameFrame]
    libraries: list[FoldedLibrary]


class SandwichAnswer(TypedDict):
    """A function's callers and callees."""

    session: str
    weight: Weight
    of: str
    own: int
    value: int
    attempts: int
    total: int
    levels: int
    callers: FlameTree
    callees: FlameTree
    libraries: list[FoldedLibrary]
