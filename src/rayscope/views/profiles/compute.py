"""Assigns the stacks of a worker's profile to the attempts that ran on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar, cast

from rayscope.ray.agents.cpu_profiles import Stack
from rayscope.storage.sql.pages import Row
from rayscope.tracer.sampler import PHASES, frame_number
from rayscope.views.lines.compute import Frame, path_to
from rayscope.views.lines.schemas import Phase
from rayscope.views.profiles.schemas import StackGroup

#: Maximum number of different frames of a worker. The rarest stacks beyond it are left out.
MAX_FRAMES = 20_000
#: Maximum number of frames of a group's stack.
_MAX_STACK_FRAMES = 16
#: Minimum share of a profile's time in which a function ran that gets stacks without its name.
_MIN_SHARE = 0.5
#: The key of samples whose attempt is unknown.
UNKNOWN = ("", 0)
_T = TypeVar("_T")


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
    chosen = assign(
        ((frames, (phase, samples)) for phase, frames, samples in stacks), functions, sums.frames, max_frames
    )
    for key, number, (phase, samples) in chosen:
        sums.by_attempt.setdefault(key, Counter())[phase, number] += samples
    return sums


def assign(
    stacks: Iterable[tuple[Sequence[str], _T]],
    functions: Sequence[Running],
    known: dict[int, tuple[int, str]],
    max_frames: int = MAX_FRAMES,
) -> Iterator[tuple[tuple[str, int], int, _T]]:
    """Yield the key of a stack's attempt, the number of its innermost frame, and what comes with the stack.

    Stacks of functions that are not chosen are left out. ``known`` gets the frames, as in :class:`Sums`.
    """
    for frames, value in stacks:
        function = owner(frames, functions)
        if function is not None and not function.is_chosen:
            continue
        if len(known) + len(frames) > max_frames:
            break
        number = 0
        for text in frames:
            caller, number = number, frame_number(number, text)
            known[number] = (caller, text)
        yield UNKNOWN if function is None else function.key, number, value


def most_frequent(stacks: Iterable[Stack], functions: Sequence[Running]) -> Stack | None:
    """The first of a worker's stacks, sorted by frequency, that is not of a function that is not chosen."""
    owners = ((stack, owner(stack.frames, functions)) for stack in stacks)
    return next((stack for stack, function in owners if function is None or function.is_chosen), None)


def most_frequent_traced(rows: Iterable[Row], frames: Mapping[int, Frame]) -> Stack | None:
    """The most frequent of the stacks that a worker's tracer sampled, or None if its frames are unknown."""
    counts = Counter[tuple[str, int]]()
    for row in rows:
        counts[row["phase"], row["frame_id"]] += row["samples"]
    for (phase, number), samples in counts.most_common(1):
        texts = tuple(frames[at].text for at in path_to(number, frames) if at in frames)
        if texts:
            return Stack(PHASES.index(phase), texts, samples)
    return None


def group_stacks(workers: Mapping[str, tuple[Stack, int]]) -> list[StackGroup]:
    """Group workers by their most frequent stack, the largest group first.

    ``workers``: ID -> the stack, and the number of the worker's samples.
    """
    by_stack: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for worker_id, (stack, _) in workers.items():
        by_stack.setdefault((stack.phase, stack.frames), []).append(worker_id)
    groups: list[StackGroup] = [
        {
            "phase": cast(Phase, PHASES[phase]),
            "frames": list(frames[: -_MAX_STACK_FRAMES - 1 : -1]),
            "frames_left_out": max(0, len(frames) - _MAX_STACK_FRAMES),
            "share": sum(workers[worker_id][0].samples for worker_id in worker_ids)
            / sum(workers[worker_id][1] for worker_id in worker_ids),
            "worker_ids": worker_ids,
        }
        for (phase, frames), worker_ids in by_stack.items()
    ]
    return sorted(groups, key=lambda group: -len(group["worker_ids"]))


def _last(name: str) -> str:
    return name.rpartition(" ")[2].rpartition(".")[2]
