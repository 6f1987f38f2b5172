"""The shapes of profiles, for the OpenAPI description."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.api.schemas import ErrorDetail
from rayscope.views.lines.schemas import Phase

#: ``tracer``: the worker took the samples itself, after those by py-spy. ``memray``: it recorded allocations.
ProfileTool = Literal["py-spy", "tracer", "memray"]
#: Memory that the code allocated during the profile and held at the peak, or had not freed at the end.
MemoryKind = Literal["peak", "leaks"]


class ProfiledWorker(TypedDict):
    """How a worker was profiled.

    ``tool``: null if there is no result. ``hz``: samples per second and thread. ``samples``: how many are
    of the chosen functions. ``native``: whether they have frames of C and C++. ``taken`` and ``expected``:
    samples of its main thread, for py-spy. ``held_bytes``: the memory of the whole process, for memray.
    ``seconds``: how long py-spy or memray ran, with its start and report. ``problem``: why it did not profile
    the worker, or why memray did not detach from it, or null. ``rank``: its world rank in Ray Train.
    """

    worker_id: str
    node_id: str
    pid: int
    rank: int | None
    tool: ProfileTool | None
    hz: float | None
    samples: int
    native: bool
    taken: int | None
    expected: int | None
    held_bytes: int | None
    seconds: float | None
    problem: ErrorDetail | None


class StackGroup(TypedDict):
    """Workers with the same most frequent stack.

    ``frames``: the innermost first, each as ``FILE:LINE FUNCTION``. ``frames_left_out``: how many more there
    are around them. ``share``: the part of these workers' samples that have the stack.
    """

    phase: Phase
    frames: list[str]
    frames_left_out: int
    share: float
    worker_ids: list[str]


class ProfileItem(TypedDict):
    """A profile of the workers that ran attempts matching ``filters``. ``memory``: null for CPU profiles.

    While it ``is_running``, there are no ``workers`` yet, and ``end_ns`` is when it is to be over, apart from
    the time to collect the samples. ``workers_left_out``: how many there were beyond the limit. ``stacks``:
    the workers that have samples, by their most frequent stack, the largest group first. ``taken_by``: the
    rule whose alert started the profile, or null for a person.
    """

    profile_id: str
    is_running: bool
    filters: dict[str, str | int]
    memory: MemoryKind | None
    begin_ns: int
    end_ns: int
    workers: list[ProfiledWorker]
    workers_left_out: int
    stacks: list[StackGroup]
    taken_by: str | None


class ProfilesAnswer(TypedDict):
    """The profiles of a session, the newest first."""

    session: str
    items: list[ProfileItem]


class ProfileAnswer(TypedDict):
    """The profile that was started. It has samples once it is no longer running in the list."""

    session: str
    profile: ProfileItem


class HoldingLine(TypedDict):
    """A line of code, and the memory and allocations of the stacks in which it is.

    ``self``: it is innermost. ``total``: it is anywhere in the stack.
    """

    file: str
    line: int
    function: str
    self_bytes: int
    self_allocations: int
    total_bytes: int
    total_allocations: int


class MemoryLinesAnswer(TypedDict):
    """The lines that hold the memory of a profile, those with the most first.

    ``bytes`` and ``allocations`` are of user code in the chosen functions. ``self_lines_total`` of all
    ``lines_total`` are innermost.
    """

    session: str
    bytes: int
    allocations: int
    lines: list[HoldingLine]
    lines_total: int
    self_lines_total: int
