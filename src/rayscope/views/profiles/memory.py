"""The memory of the workers of a profile: what memray reported, and its sums by line of code."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from rayscope.model import Span
from rayscope.ray.agents.memory_profiles import MemoryProfile
from rayscope.ray.events.samples import Frame, Held, frame_spans, memory_spans
from rayscope.views.lines import compute as lines
from rayscope.views.profiles.compute import Running, assign
from rayscope.views.profiles.schemas import HoldingLine

#: Maximum number of lines in a response: those that hold most.
MAX_LINES = 200


class ProfiledMemory:
    """The memory of a profile's workers by task ID and attempt, and the frames."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, int], list[Held]] = defaultdict(list)
        self._frames: dict[int, Frame] = {}

    def add(self, profile: MemoryProfile, functions: Sequence[Running]) -> None:
        """Add the memory of a worker that the chosen functions hold."""
        known: dict[int, tuple[int, str]] = {}
        stacks = ((stack.frames, stack) for stack in profile.stacks)
        for key, number, stack in assign(stacks, functions, known):
            self._sums[key].append(Held(stack.size, stack.allocations, number))
        self._frames.update({number: Frame(number, *frame) for number, frame in known.items()})

    def spans(self, profile_id: str, times: tuple[int, int]) -> list[Span]:
        """Return the memory as spans."""
        return memory_spans(profile_id, times, self._sums) + frame_spans(times, list(self._frames.values()))


def add_up(
    sums: Iterable[tuple[int, int, int]], frames: Mapping[int, lines.Frame]
) -> tuple[int, int, list[HoldingLine]]:
    """Return all bytes, all allocations, and the lines, those that hold most first.

    ``sums``: bytes and allocations by the number of the innermost frame.
    """
    place_of = cache(lambda number: lines.place_of(number, frames))
    own, total = Counter[lines.Place](), Counter[lines.Place]()
    own_allocations, total_allocations = Counter[lines.Place](), Counter[lines.Place]()
    size = allocations = 0
    for held, times, frame in sums:
        size += held
        allocations += times
        path = [place_of(number) for number in lines.path_to(frame, frames)]
        own.update({path[-1]: held})
        own_allocations.update({path[-1]: times})
        total.update(dict.fromkeys(path, held))
        total_allocations.update(dict.fromkeys(path, times))
    known = [place for place in total if place.file or place.line]
    known.sort(key=lambda place: (-own[place], -total[place], place))
    return (
        size,
        allocations,
        [
            {
                **place._asdict(),  # type: ignore[typeddict-item]
                "self_bytes": own[place],
                "self_allocations": own_allocations[place],
                "total_bytes": total[place],
                "total_allocations": total_allocations[place],
            }
            for place in known
        ],
    )
