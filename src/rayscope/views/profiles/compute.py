"""Assigns the stacks of a worker's profile to the attempts that ran on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rayscope.tracer.sampler import frame_number

#: Maximum number of different frames of a worker. The rarest stacks beyond it are left out.
MAX_FRAMES = 20_000
#: Minimum share of a profile's time in which a function ran that gets stacks without its name.
_MIN_SHARE = 0.5
#: The key of samples whose attempt is unknown.
UNKNOWN = ("", 0)


class Running(NamedTuple):
    """A function whose ``attempts`` ran on a worker meanwhile.

    ``key``: task ID and number of the attempt, or :data:`UNKNOWN` if there were several. ``is_chosen``: the
    profile is about this function. ``share``: the share of the profile's time in which they ran.
    """

    name: str
    attempts: int
    key: tuple[str, int]
    is_chosen: bool
    share: float


class Sums(NamedTuple):
    """The sums of samples: task ID and attempt -> (phase, innermost frame) -> samples.

    ``frames``: number -> number of the frame around it, and its text.
    """

    by_attempt: dict[tuple[str, int], Counter[tuple[int, int]]]
    frames: dict[int, tuple[int, str]]

    @property
    def samples(self) -> int:
        """The number of samples."""
        return sum(counts.total() for counts in self.by_attempt.values())


def owner(frames: Sequence[str], functions: Sequence[Running]) -> Running | None:
    """The function to which a stack belongs, or None if it is unknown.

    ``frames``: as in :class:`rayscope.ray.agents.cpu_profiles.Stack`. The outermost frame with the name of a
    function decides, because decorators may come before it. Without such a frame, the stack belongs to the
    only function if that ran most of the time. Otherwise it may be of a thread that runs outside of tasks.
    """
    for frame in frames:
        name = _last(frame)
        named = [function for function in functions if _last(function.name) == name]
        if named:
            return named[0] if len(named) == 1 else None
    is_clear = len(functions) == 1 and functions[0].share >= _MIN_SHARE
    return functions[0] if is_clear else None


def add_up(
    stacks: Iterable[tuple[int, Sequence[str], int]],
    functions: Sequence[Running],
    max_frames: int = MAX_FRAMES,
) -> Sums:
    """Add up a worker's stacks: phase, frames, and samples of each, the most frequent first.

    Stacks of functions that are not chosen are left out.
    """
    sums = Sums({}, {})
    for phase, frames, samples in stacks:
        function = owner(frames, functions)
        if function is not None and not function.is_chosen:
            continue
        if len(sums.frames) + len(frames) > max_frames:
            break
        number = 0
        for text in frames:
            caller, number = number, frame_number(number, text)
            sums.frames[number] = (caller, text)
        key = UNKNOWN if function is None else function.key
        sums.by_attempt.setdefault(key, Counter())[phase, number] += samples
    return sums


def _last(name: str) -> str:
    return name.rpartition(" ")[2].rpartition(".")[2]
