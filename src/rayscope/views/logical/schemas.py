"""The shape of the logical graph's response, for the OpenAPI description. msgspec encodes the responses."""

from __future__ import annotations

from typing_extensions import TypedDict


class LogicalFigures(TypedDict):
    """Sums over attempts (ns, bytes), and quantiles.

    ``total_*`` are quantiles of the time from submission to end. The others are quantiles of ``duration_ns``.
    """

    attempts: int
    failed: int
    duration_ns: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    output_bytes: int
    total_p50_ns: int | None
    total_p95_ns: int | None
    p50_ns: int | None
    p95_ns: int | None


class LogicalNode(LogicalFigures):
    """A function, one of its calls, a driver, an actor class or instance, or a library.

    ``parent`` is the box around it. The ``name`` of a driver is its script. With ``only=mine``, ``library``
    is the library or the library's operator into which it is folded, such as "Serve: internals".
    """

    id: str
    kind: str
    name: str | None
    parent: str | None
    class_name: str | None
    actor_id: str | None
    task_id: str | None
    job_id: str | None
    library: str | None
    actors: int | None
    is_expanded: bool
    states: dict[str, int]


class LogicalCall(LogicalFigures):
    """Attempts of ``target`` that ``source`` submitted."""

    id: str
    source: str
    target: str


class LogicalData(TypedDict):
    """Objects that ``source`` produced and ``target`` consumed, and their bytes."""

    id: str
    source: str
    target: str
    objects: int
    bytes: int
    arguments: int
    argument_bytes: int
    gets: int
    get_bytes: int


class LogicalFolded(TypedDict):
    """How many functions, drivers, instances by class, and calls by function have no nodes of their own."""

    functions: int
    attempts: int
    duration_ns: int
    drivers: int
    instances: dict[str, int]
    calls: dict[str, int]


class LogicalLibrary(TypedDict):
    """A library or a library's operator, the number of its functions, and whether they are a single node."""

    library: str
    functions: int
    is_folded: bool


class LogicalAnswer(TypedDict):
    """A logical graph of at most ``limit`` nodes and edges."""

    session: str
    attempts: int
    nodes: list[LogicalNode]
    calls: list[LogicalCall]
    data: list[LogicalData]
    folded: LogicalFolded
    libraries: list[LogicalLibrary]
    limit: int
    is_estimated: bool
    data_sampled: int
    data_unnamed: int
