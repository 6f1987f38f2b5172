"""Reads the output of ``py-spy record --format raw``: a line per stack, with the number of its samples.

The stacks have no names of threads, and no times.
They are reduced to the user's code like those of the tracer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rayscope.tracer.sampler import MAX_DEPTH, PHASES, kind_of, user_stack

#: Rate at which Ray lets py-spy take samples, per second.
HZ = 100
_FRAME = re.compile(r"(.*) \((.*?)(?::(\d{1,9}))?\)")
#: The outermost frame of a worker's main thread. All samples have it, or else only those while it ran.
_MAIN = "<module> (ray/_private/workers/default_worker.py:"
#: The outermost frame of threads that Python starts. Threads of Ray's core that run tasks do not have it.
_STARTED = re.compile(r"(Thread\.)?_bootstrap \(threading\.py")
#: Code in which threads wait. py-spy does not say which threads do.
_WAITS = re.compile(
    r"^(threading|queue|selectors|socket|ssl|subprocess|multiprocessing/\w+|asyncio/\w+)\.py:"
)
_RAYS_PHASE = PHASES.index("ray")
#: The frame in place of the middle of a deep stack, as the tracer writes it.
_CUT = ":0 …"
_MAX_FILE = 120
_MAX_FUNCTION = 80


class Stack(NamedTuple):
    """The user's frames of a stack, the outermost first, each as ``FILE:LINE FUNCTION``.

    ``phase``: its position in :data:`rayscope.tracer.sampler.PHASES`.
    """

    phase: int
    frames: tuple[str, ...]
    samples: int


class CpuProfile(NamedTuple):
    """The stacks of user code in a worker, the most frequent first. ``taken``: samples of its main thread."""

    stacks: list[Stack]
    taken: int


def read_profile(text: str) -> CpuProfile:
    """Read py-spy's output for a worker. Lines that are malformed are skipped."""
    taken = 0
    stacks: list[Stack] = []
    for line in text.splitlines():
        path, _, number = line.rpartition(" ")
        # Threads without any Python frame have an empty path.
        if not path or not (number.isascii() and number.isdigit()) or len(number) > 9:
            continue
        taken += int(number) * path.startswith(_MAIN)
        phase, frames = _user_frames(path)
        if frames:
            stacks.append(Stack(phase, tuple(frames), int(number)))
    stacks.sort(key=lambda stack: -stack.samples)
    return CpuProfile(stacks, taken)


def _user_frames(path: str) -> tuple[int, list[str]]:
    """The phase of a stack, and the user's frames, the outermost first. A thread of Ray's has none."""
    parsed = [_parse(frame) for frame in reversed(path.split(";"))]
    phase, frames = user_stack(parsed)
    if _STARTED.match(path) and frames and (phase == _RAYS_PHASE or _WAITS.match(frames[0])):
        return phase, []
    frames.reverse()
    if len(frames) > MAX_DEPTH:
        half = MAX_DEPTH // 2
        frames[half:-half] = [_CUT]
    return phase, frames


def _parse(frame: str) -> tuple[int, str]:
    """The kind of a frame's code, and its text."""
    match = _FRAME.fullmatch(frame)
    name, file, line = match.groups() if match else (frame, "", None)
    kind = kind_of(file, name.rpartition(".")[2])
    return kind, f"{file[-_MAX_FILE:]}:{line or 0} {name[-_MAX_FUNCTION:]}"
