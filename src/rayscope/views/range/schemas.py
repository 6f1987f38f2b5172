"""The shape of the response about a time range, for the OpenAPI description. Times are in ns."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.api.schemas import AttemptLane


class RangeFunction(TypedDict):
    """A function's attempts, clipped to the range.

    ``max_memory``: their largest peak memory in bytes, also if it was reached outside the range.
    """

    name: str
    attempts: int
    failed: int
    executing_ns: int
    awaiting_ns: int
    blocked_ns: int
    busy_ns: int
    max_memory: int | None
    mean: float


class RangeLane(AttemptLane):
    """A worker, node, actor, or function, with figures for the range.

    ``functions`` contains the first of the ``functions_total`` functions that a worker ran.
    """

    rows: int | None
    share: float | None


class RangeRunning(TypedDict):
    """How many attempts were on workers at the same time: the mean and the maximum."""

    mean: float
    most: int | None


class RangeAnswer(TypedDict):
    """The statistics of a time range."""

    session: str
    by: str
    since_ns: int
    until_ns: int
    attempts: int
    states: dict[str, int]
    phases: dict[str, int]
    busy_ns: int
    running: RangeRunning
    functions: list[RangeFunction]
    functions_total: int
    functions_left_out_ns: int
    lanes: list[RangeLane]
    lanes_total: int
    lanes_left_out_ns: int
