"""Answers about the critical path. Times are ns; ids are hex texts."""

from __future__ import annotations

from rayscope.api.schemas import Answer


class PathLink(Answer):
    """A stretch of the critical path."""

    task_id: str
    attempt: int
    name: str
    phase: str
    begin_ns: int
    end_ns: int
    held_ns: int
    share: float


class PathFunction(Answer):
    """What of the critical path is one function's, and the duration without it."""

    name: str
    is_driver: bool
    links: int
    total_ns: int
    share: float
    by_phase: dict[str, int]
    held_ns: int
    without_ns: int


class PathActor(Answer):
    """The actor with the most time of a function's on the path: ``total_ns`` of ``actors`` actors there.

    ``pid`` and ``host`` are null if they are not known.
    """

    actor_id: str
    pid: int | None
    node_id: str | None
    host: str | None
    actors: int
    total_ns: int


class PathCause(Answer):
    """What of the path is due to one function that executed, or to a phase of ``functions`` functions, of
    which ``name`` has the most ("" if it is not known). ``held_ns``: how much of it others waited for room.
    ``actor``: of the largest causes, whose method ``name`` is.
    """

    phase: str
    name: str
    is_driver: bool
    functions: int
    total_ns: int
    held_ns: int
    share: float
    actor: PathActor | None


class CriticalPathAnswer(Answer):
    """The chain that decided how long a job took."""

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
