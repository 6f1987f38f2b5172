"""Converts the tracer's samples of stacks (:mod:`rayscope.tracer.sampler`) to spans.

A span per attempt and report has the sums of its samples, and a span without a task has the frames that its
process had not reported before. Frames refer to the frames that called them by number.
"""

from __future__ import annotations

from typing import Annotated

import msgspec

from rayscope.model import Span
from rayscope.ray.common import ProfileEntry
from rayscope.tracer.sampler import PHASES

#: Name of the span for the samples of an attempt in an interval.
SAMPLES = "rayscope.samples"
#: Name of the span for descriptions of frames.
FRAMES = "rayscope.frames"
#: Maximum number of samples in a sum.
MAX_SAMPLES = 1_000_000
#: Maximum length of a report's interval, in ns.
_LONGEST_NS = 3600 * 10**9
#: Maximum difference between the clocks of Python and of Ray's C++, in ns.
_SKEW_NS = 10**9

_Number = Annotated[int, msgspec.Meta(ge=0, le=2**53)]
_Text = Annotated[str, msgspec.Meta(max_length=300)]
_TaskId = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{48}$")]
_Attempt = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
_Rate = Annotated[float, msgspec.Meta(gt=0, le=1000)]


class _Sum(msgspec.Struct, array_like=True, gc=False):
    """How many samples had one stack, whose innermost frame is ``frame`` (0: no frame of the user's)."""

    phase: Annotated[int, msgspec.Meta(ge=0, lt=len(PHASES))]
    is_native: Annotated[int, msgspec.Meta(ge=0, le=1)]
    samples: Annotated[int, msgspec.Meta(ge=0, le=MAX_SAMPLES)]
    frame: _Number


class _Frame(msgspec.Struct, array_like=True, gc=False):
    """A frame, with the number of the frame around it, and its text: ``FILE:LINE FUNCTION``."""

    number: _Number
    caller: _Number
    text: _Text


class _Payload(msgspec.Struct, gc=False):
    """The samples since ``k`` (ns) at ``hz`` per second. ``tasks``: task ID, attempt, and sums."""

    k: Annotated[int, msgspec.Meta(ge=0, le=2**62)]
    hz: _Rate
    frames: Annotated[list[_Frame], msgspec.Meta(max_length=1000)] = []
    tasks: Annotated[
        list[tuple[_TaskId, _Attempt, Annotated[list[_Sum], msgspec.Meta(max_length=1000)]]],
        msgspec.Meta(max_length=1000),
    ] = []


class _Samples(msgspec.Struct, gc=False):
    """The extra data of a span of samples."""

    hz: float
    samples: list[_Sum]


class _Frames(msgspec.Struct, gc=False):
    """The extra data of a span of frames."""

    frames: list[_Frame]


_decode = msgspec.json.Decoder(_Payload).decode


def spans(entry: ProfileEntry) -> list[Span]:
    """The spans of a report. Raises ValueError or a msgspec error for an invalid one."""
    payload = _decode(entry.extra_data)
    begin, end = payload.k, entry.end_time
    if not end - _LONGEST_NS <= begin <= end + _SKEW_NS:
        raise ValueError("samples of another time")
    begin = min(begin, end)
    made = [
        Span(task_id, attempt, SAMPLES, begin, end, _text(_Samples(payload.hz, sums)))
        for task_id, attempt, sums in payload.tasks
    ]
    if payload.frames:
        made.append(Span("", 0, FRAMES, begin, end, _text(_Frames(payload.frames))))
    return made


def _text(extra: _Samples | _Frames) -> str:
    return msgspec.json.encode(extra).decode()
