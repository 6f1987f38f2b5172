"""The shape of the response about slow lines, for the OpenAPI description.

A share is a number of samples divided by all samples, and ``points`` is half the width of its 95 % confidence
interval, in percentage points. Both are null if there are too few samples for a claim.
"""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.api.schemas import ErrorDetail

#: The phase of an attempt. ``ray``: Ray's own work before and after the function.
Phase = Literal["executing", "awaiting", "ray.get", "ray.wait", "ray.put", "unpacking", "ray"]
#: ``left_out`` stands for the middle of a deep stack. ``unknown``: the frame's description is not recorded.
StackFrameKind = Literal["code", "left_out", "unknown"]


class SampledLine(TypedDict):
    """A line of code. ``self``: it was innermost. ``total``: it was anywhere in the stack.

    ``source``: its text, null if that is not recorded. ``native_samples``: of the samples in which it was
    innermost, those in which a C library ran.
    """

    file: str
    line: int
    function: str
    source: str | None
    self_samples: int
    self_share: float | None
    self_points: float | None
    native_samples: int
    total_samples: int
    total_share: float | None
    total_points: float | None


class SampledPhase(TypedDict):
    """The samples in which the attempts were in a phase, and those of them in which a C library ran."""

    phase: Phase
    samples: int
    share: float | None
    points: float | None
    native_samples: int


class StackFrame(TypedDict):
    """A frame of the tree of stacks. ``own`` samples end at it, ``value`` also counts those below it.
    ``points`` are those of ``value``.
    """

    id: str
    parent: str | None
    depth: int
    kind: StackFrameKind
    file: str
    line: int
    function: str
    own: int
    value: int
    points: float | None
    native: int


class LinesAnswer(TypedDict):
    """Where the Python code of attempts was, by samples of its stacks.

    ``hz``: how many samples per second their processes took. ``attempts``: how many have samples.
    ``missing``: why there are too few, or null. ``reports_read`` of all ``reports`` of samples were read:
    every n-th if there are very many. ``self_lines_total`` of all ``lines_total`` were innermost. ``frames``
    are the largest of ``frames_total``, parents first.
    """

    session: str
    samples: int
    attempts: int
    hz: list[float]
    first_ns: int | None
    last_ns: int | None
    is_enough: bool
    missing: ErrorDetail | None
    phases: list[SampledPhase]
    lines: list[SampledLine]
    lines_total: int
    self_lines_total: int
    frames: list[StackFrame]
    frames_total: int
    reports: int
    reports_read: int
