"""Responses about the critical path. Times are in ns. IDs are hex strings."""

from __future__ import annotations

from typing_extensions import TypedDict


class PathLink(TypedDict):
    """A stretch of the critical path."""

    task_id: str
    attempt: int
    name: str
    phase: str
    begin_ns: int
    end_ns: int
    held_ns: int
    share: float


class PathFunction(TypedDict):
    """One function's time on the critical path, and the duration of the path without it."""

    name: str
    is_driver: bool
    links: int
    total_ns: int
    share: float
    by_phase: dict[str, int]
    held_ns: int
    without_ns: int


class PathActor(TypedDict):
    """The actor that spent the most time on the path in one function.

    ``total_ns`` is that time, and ``actors`` the number of actors that were on the path in that function.
    ``pid`` and ``host`` are null if they are not known.
    """

    actor_id: str
    pid: int | None
    node_id: str | None
    host: str | None
    actors: int
    total_ns: int


class PathCause(TypedDict):
    """Time on the path due to one function that executed, or to one phase of ``functions`` functions.

    ``name`` is the function with the most of this time ("" if unknown). ``held_ns`` is how much of the time
    others waited for the worker or actor. The largest causes include ``actor``, whose method is ``name``.
    """

    phase: str
    name: str
    is_driver: bool
    functions: int
    total_ns: int
    held_ns: int
    share: float
    actor: PathActor | None


class CriticalPathAnswer(TypedDict):
    """The chain of work and waits that determined how long a job took."""

    session: str
    job_id: str | None
    begin_ns: int
    end_ns: int
    duration_ns: int
    links: list[PathLink]
    links_total: int
    left_out_ns: int
    functions: list[PathFunction]
    causes: list[PathCause]
    phases: dict[str, int]
    held_ns: int
    so_far: bool
    driver_traced: bool
    truncated: bool
