"""Converts samples of stacks to spans: those of the tracer (:mod:`rayscope.tracer.sampler`), and profiles.

A span per attempt and report has the sums of its samples. Spans without a task have the frames and the texts
of lines of code that its process had not reported before. Frames refer to the frames that called them by
number. A profile has the same spans under a name of their own. If the attempt of its samples is unknown,
their span has no task either.
A profile of memory has spans of another name, with bytes and allocations in place of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, TypeVar

import msgspec

from rayscope.model import Span
from rayscope.ray.common import ProfileEntry, redact_text
from rayscope.tracer.demand import HZ
from rayscope.tracer.sampler import PHASES

#: Name of the span for the samples of an attempt in an interval.
SAMPLES = "rayscope.samples"
#: Name of the same span if a server asked for these samples (:mod:`rayscope.tracer.demand`).
FOR_PROFILE = "rayscope.samples_for_profile"
#: Name of the span for the samples of an attempt in a profile.
PROFILE = "rayscope.profile"
#: Name of the span for the memory of an attempt in a profile.
MEMORY = "rayscope.memory"
#: Name of the span for descriptions of frames.
FRAMES = "rayscope.frames"
#: Name of the span for texts of lines.
LINES = "rayscope.lines"
#: Maximum number of sums, and of frames, in a span of a profile. Longer texts would be truncated.
_SUMS = 1000
_FRAMES = 200
#: Maximum number of samples in a sum.
MAX_SAMPLES = 1_000_000
#: Maximum number of bytes, and of allocations, in a sum.
MAX_MEMORY = 2**44
#: Maximum length of a report's interval, in ns.
_LONGEST_NS = 3600 * 10**9
#: Maximum difference between the clocks of Python and of Ray's C++, in ns.
_SKEW_NS = 10**9

_T = TypeVar("_T")
_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Text = Annotated[str, msgspec.Meta(max_length=300)]
_TaskId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{48}$")]
_Attempt = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Rate = Annotated[float, msgspec.Meta(gt=0, le=1000)]


class Sum(msgspec.Struct, array_like=True, gc=False):
    """How many samples had one stack, whose innermost frame is ``frame`` (0: no frame of the user's)."""

    phase: Annotated[int, msgspec.Meta(ge=0, lt=len(PHASES))]
    is_native: Annotated[int, msgspec.Meta(ge=0, le=1)]
    samples: Annotated[int, msgspec.Meta(ge=0, le=MAX_SAMPLES)]
    frame: _Number


class Frame(msgspec.Struct, array_like=True, gc=False):
    """A frame, with the number of the frame around it, and its text: ``FILE:LINE FUNCTION``."""

    number: _Number
    caller: _Number
    text: _Text


class _Payload(msgspec.Struct, gc=False):
    """The samples since ``k`` (ns) at ``hz`` per second.

    ``lines``: the text of a frame, and that of its line. ``tasks``: task ID, attempt, and sums.
    """

    k: Annotated[int, msgspec.Meta(ge=0, le=2**62)]
    hz: _Rate
    frames: Annotated[list[Frame], msgspec.Meta(max_length=1000)] = []
    lines: Annotated[list[tuple[_Text, _Text]], msgspec.Meta(max_length=1000)] = []
    tasks: Annotated[
        list[tuple[_TaskId, _Attempt, Annotated[list[Sum], msgspec.Meta(max_length=1000)]]],
        msgspec.Meta(max_length=1000),
    ] = []


class _Samples(msgspec.Struct, gc=False):
    """The extra data of a span of samples."""

    hz: float
    samples: list[Sum]


class _Profile(msgspec.Struct, gc=False):
    """The extra data of a span of samples in a profile."""

    profile: str
    hz: float
    samples: list[Sum]


class Held(msgspec.Struct, array_like=True, gc=False):
    """The memory of one stack, whose innermost frame is ``frame``, in bytes, and its allocations."""

    size: int
    allocations: int
    frame: int


class _Memory(msgspec.Struct, gc=False):
    """The extra data of a span of memory in a profile."""

    profile: str
    memory: list[Held]


class _Frames(msgspec.Struct, gc=False):
    """The extra data of a span of frames."""

    frames: list[Frame]


class _Lines(msgspec.Struct, gc=False):
    """The extra data of a span of texts of lines."""

    lines: list[tuple[str, str]]


_decode = msgspec.json.Decoder(_Payload).decode


def spans(entry: ProfileEntry) -> list[Span]:
    """The spans of a report. Raises ValueError or a msgspec error for an invalid one."""
    payload = _decode(entry.extra_data)
    begin, end = payload.k, entry.end_time
    if not end - _LONGEST_NS <= begin <= end + _SKEW_NS:
        raise ValueError("samples of another time")
    begin = min(begin, end)
    name = FOR_PROFILE if payload.hz == HZ else SAMPLES
    made = [
        Span(task_id, attempt, name, begin, end, _text(_Samples(payload.hz, sums)))
        for task_id, attempt, sums in payload.tasks
    ]
    if payload.frames:
        made.append(Span("", 0, FRAMES, begin, end, _text(_Frames(payload.frames))))
    if payload.lines:
        lines = [(place, redact_text(text)) for place, text in payload.lines]
        made.append(Span("", 0, LINES, begin, end, _text(_Lines(lines))))
    return made


def profile_spans(
    profile: str, hz: float, times: tuple[int, int], sums: Mapping[tuple[str, int], list[Sum]]
) -> list[Span]:
    """The spans of a profile's samples at ``hz`` per second. ``times``: its begin and end, ns.

    ``sums``: by task ID and attempt, which are '' and 0 if they are unknown.
    """
    return _in_parts(PROFILE, times, sums, lambda part: _Profile(profile, hz, part))


def memory_spans(
    profile: str, times: tuple[int, int], sums: Mapping[tuple[str, int], list[Held]]
) -> list[Span]:
    """The spans of a profile's memory, by task ID and attempt like those of samples."""
    return _in_parts(MEMORY, times, sums, lambda part: _Memory(profile, part))


def _in_parts(
    name: str,
    times: tuple[int, int],
    sums: Mapping[tuple[str, int], list[_T]],
    extra: Callable[[list[_T]], _Profile | _Memory],
) -> list[Span]:
    return [
        Span(task_id, attempt, name, *times, _text(extra(counts[at : at + _SUMS])))
        for (task_id, attempt), counts in sums.items()
        for at in range(0, len(counts), _SUMS)
    ]


def frame_spans(times: tuple[int, int], frames: list[Frame]) -> list[Span]:
    """The spans of a profile's frames."""
    return [
        Span("", 0, FRAMES, *times, _text(_Frames(frames[at : at + _FRAMES])))
        for at in range(0, len(frames), _FRAMES)
    ]


def _text(extra: _Samples | _Profile | _Memory | _Frames | _Lines) -> str:
    return msgspec.json.encode(extra).decode()
