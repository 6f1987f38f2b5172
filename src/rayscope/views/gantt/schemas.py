"""Responses of the Gantt chart. Times are in ns. IDs are hex strings."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.api.schemas import AttemptLane, HiddenLibrary


class GanttLane(AttemptLane):
    """A worker, node, actor, or function, with figures for the whole extent.

    ``functions`` contains the first of the ``functions_total`` functions that a worker ran. ``waiting``
    counts the attempts that wait for a worker or, on the lane of an actor or its worker, for the actor.
    """

    waiting: int
    rows: int
    folded: int


class GanttBars(TypedDict):
    """Bars as columns of equal length. Start and end times are relative to ``origin_ns``.

    ``peak_memory``: the largest of its attempts, in bytes. It is null if none was measured.
    """

    lane: list[int]
    row: list[int]
    begin: list[int]
    end: list[int]
    count: list[int]
    busy: list[int]
    failed: list[int]
    name: list[int]
    state: list[int]
    task_id: list[str]
    attempt: list[int]
    peak_memory: list[int | None]


class GanttDetails(TypedDict):
    """Start times of the phases of wide bars, relative to the bar's start. ``bar`` is a bar's index."""

    bar: list[int]
    created: list[int | None]
    waiting_node: list[int | None]
    queued: list[int | None]
    executing: list[int | None]
    storing: list[int | None]


class GanttSpans(TypedDict):
    """Periods when the attempts of wide bars were blocked, or awaited something other than objects."""

    bar: list[int]
    begin: list[int]
    end: list[int]
    is_awaiting: list[bool]


class Utilisation(TypedDict):
    """The mean number of attempts on workers in buckets of ``bucket_ns``, starting at ``origin_ns``."""

    bucket_ns: int
    running: list[float]


class GanttAnswer(TypedDict):
    """The Gantt chart of a window.

    ``max_memory``: the largest peak memory of all attempts, also outside the window. ``memory_shared``: the
    indexes of the bars whose attempt shared its process, so that the memory is not its own.
    """

    session: str
    by: str
    origin_ns: int
    begin_ns: int
    end_ns: int
    attempts: int
    max_memory: int | None
    resolution_ns: int
    lanes: list[GanttLane]
    lanes_from: int
    lanes_total: int
    names: list[str]
    states: list[str]
    bars: GanttBars
    memory_shared: list[int]
    details: GanttDetails
    blocked: GanttSpans
    in_window: int
    merged: int
    left_out: int
    hidden: list[HiddenLibrary]
    utilisation: Utilisation | None
