"""Reads the output of ``py-spy record --format raw``: a line per stack, with the number of its samples.

The stacks have no names of threads, and no times.
They are reduced to the user's code like those of the tracer.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import NamedTuple

from rayscope.tracer.sampler import MAX_DEPTH, PHASES, kind_of, user_stack

_FRAME = re.compile(r"(.*) \((.*?)(?::(\d{1,9}))?\)")
#: The outermost frame of a worker's main thread. All samples have it, or else only those while it ran.
_MAIN = re.compile(r"ray/_private/workers/default_worker\.py:\d+ <module>")
#: The outermost frame of threads that Python starts. Threads of Ray's core that run tasks do not have it.
_STARTED = re.compile(r"threading\.py:\d+ (Thread\.)?_bootstrap")
#: The thread of Ray Train that runs the user's function.
_TRAINS = re.compile(r"ray/train/v2/_internal/execution/worker_group/thread_runner\.py:\d+ .*_run_target")
#: Code in which threads wait. py-spy does not say which threads do.
_WAITS = re.compile(
    r"^(threading|queue|selectors|socket|ssl|subprocess|multiprocessing/\w+|asyncio/\w+)\.py:"
)
_RAYS_PHASE = PHASES.index("ray")
#: The kind of frames that are not of Python code, of which the tracer has none.
_NATIVE = -100
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
        if not int(number):
            continue
        phase, frames, is_main = _user_frames(path)
        taken += int(number) * is_main
        if frames:
            stacks.append(Stack(phase, tuple(frames), int(number)))
    stacks.sort(key=lambda stack: -stack.samples)
    return CpuProfile(stacks, taken)


def _user_frames(path: str) -> tuple[int, list[str], bool]:
    """The phase of a stack, the user's frames, the outermost first, and whether it is of the main thread.

    Threads of Ray's have no such frames. Native frames count where the user's code calls them.
    """
    parsed = [_parse(frame) for frame in reversed(path.split(";"))]
    native = [text for _, text in takewhile(lambda frame: frame[0] == _NATIVE, parsed)]
    python = [frame for frame in parsed if frame[0] != _NATIVE]
    if not python:
        return _RAYS_PHASE, [], False
    innermost, outermost = python[0][1], python[-1][1]
    is_main = _MAIN.fullmatch(outermost) is not None
    phase, frames = user_stack(python)
    if not frames or (may_idle(python) and (phase == _RAYS_PHASE or _WAITS.match(frames[0]))):
        return phase, [], is_main
    if frames[0] == innermost:
        frames[:0] = native
    return phase, without_middle(frames[::-1]), is_main


def may_idle(path: list[tuple[int, str]]) -> bool:
    """Whether a stack is of a thread that Python starts, and not of a worker of Ray Train."""
    return bool(_STARTED.fullmatch(path[-1][1])) and not any(_TRAINS.fullmatch(text) for _, text in path)


def without_middle(frames: list[str]) -> list[str]:
    """Return the frames, without the middle of a deep stack."""
    half = MAX_DEPTH // 2
    return frames if len(frames) <= MAX_DEPTH else [*frames[:half], _CUT, *frames[-half:]]


def _parse(frame: str) -> tuple[int, str]:
    """The kind of a frame's code, and its text."""
    match = _FRAME.fullmatch(frame)
    name, file, line = match.groups() if match else (frame, "", None)
    is_python = file.endswith(".py") or file.startswith("<")
    kind = kind_of(file, name.rpartition(".")[2]) if is_python else _NATIVE
    return kind, frame_text(file, int(line or 0), name)


def frame_text(file: str, line: int, function: str) -> str:
    """Return the text of a frame."""
    return f"{file[-_MAX_FILE:]}:{line} {function[-_MAX_FUNCTION:]}"
