"""Adds samples of stacks up by line, by phase, and as a tree of frames."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from rayscope.views.lines.schemas import Phase, SampledLine, SampledPhase, StackFrame, StackFrameKind

#: With fewer samples than this, there are no shares.
MIN_SAMPLES = 20
#: Maximum number of lines and of frames in a response: those with the most samples.
MAX_LINES = 200
MAX_FRAMES = 2000
#: Maximum depth of a stack. A process reports at most 65 frames.
MAX_DEPTH = 100
_TEXT = re.compile(r"(.*):(\d{1,9}) (.+)", re.DOTALL)


class Sum(NamedTuple):
    """How many samples had the same stack, whose innermost frame is ``frame`` (0: without user code)."""

    phase: Phase
    is_native: bool
    frame: int
    samples: int


class Frame(NamedTuple):
    """A frame, with the number of the frame around it, and its text: ``FILE:LINE FUNCTION``."""

    caller: int
    text: str


class Place(NamedTuple):
    """A line of code."""

    file: str
    line: int
    function: str


class Sums(NamedTuple):
    """The sums over all samples."""

    samples: int
    phases: list[SampledPhase]
    lines: list[SampledLine]
    lines_total: int
    self_lines_total: int
    frames: list[StackFrame]
    frames_total: int


def margin(count: int, of: int) -> float:
    """Half the width of the 95 % confidence interval of a share, in percentage points (Agresti and Coull)."""
    number = of + 4
    share = (count + 2) / number
    return 100 * 1.96 * math.sqrt(share * (1 - share) / number)


def path_to(number: int, frames: Mapping[int, Frame]) -> list[int]:
    """Return the numbers of the frames of the stack whose innermost frame is ``number``, outermost first."""
    path: list[int] = []
    while number and number not in path and len(path) < MAX_DEPTH:
        path.append(number)
        number = frames[number].caller if number in frames else 0
    return path[::-1]


def place_of(number: int, frames: Mapping[int, Frame]) -> Place:
    """Return where a frame is. The place is empty if the frame's description is not recorded."""
    match = _TEXT.fullmatch(frames[number].text) if number in frames else None
    return Place(match[1], int(match[2]), match[3]) if match else Place("", 0, "")


def self_samples(sums: Iterable[Sum], frames: Mapping[int, Frame]) -> Counter[Place]:
    """Return how often each line was innermost."""
    counts: Counter[Place] = Counter()
    for summed in sums:
        place = place_of(summed.frame, frames)
        if place.function:
            counts[place] += summed.samples
    return counts


def add_up(sums: Iterable[Sum], frames: Mapping[int, Frame]) -> Sums:
    """Add up samples. ``frames``: all frames by number."""
    tree = _Tree(frames)
    phases: Counter[Phase] = Counter()
    native_phases: Counter[Phase] = Counter()
    own: Counter[Place] = Counter()
    native: Counter[Place] = Counter()
    total: Counter[Place] = Counter()
    for summed in sums:
        phases[summed.phase] += summed.samples
        native_phases[summed.phase] += summed.samples * summed.is_native
        if not summed.frame:
            continue
        path = tree.add(summed)
        for place in {tree.places[number] for number in path}:
            total[place] += summed.samples
        own[tree.places[path[-1]]] += summed.samples
        native[tree.places[path[-1]]] += summed.samples * summed.is_native
    samples = phases.total()
    known = [place for place in total if place.file or place.line]
    known.sort(key=lambda place: (-own[place], -total[place], place))
    return Sums(
        samples,
        [
            {
                "phase": phase,
                "samples": count,
                "share": _share(count, samples),
                "points": _points(count, samples),
                "native_samples": native_phases[phase],
            }
            for phase, count in phases.most_common()
        ],
        [
            {
                "file": place.file,
                "line": place.line,
                "function": place.function,
                "source": None,
                "self_samples": own[place],
                "self_share": _share(own[place], samples),
                "self_points": _points(own[place], samples),
                "native_samples": native[place],
                "total_samples": total[place],
                "total_share": _share(total[place], samples),
                "total_points": _points(total[place], samples),
            }
            for place in known[:MAX_LINES]
        ],
        len(known),
        sum(own[place] > 0 for place in known),
        tree.largest(MAX_FRAMES, samples),
        len(tree.places),
    )


def _share(count: int, samples: int) -> float | None:
    return count / samples if samples >= MIN_SAMPLES else None


def _points(count: int, samples: int) -> float | None:
    return margin(count, samples) if samples >= MIN_SAMPLES else None


class _Tree:
    """The frames of all stacks. ``places``: where each is, by its number."""

    def __init__(self, frames: Mapping[int, Frame]) -> None:
        self._frames = frames
        self._paths: dict[int, list[int]] = {}
        self.places: dict[int, Place] = {}
        self._parents: dict[int, int] = {}
        self._own: dict[int, int] = defaultdict(int)
        self._value: dict[int, int] = defaultdict(int)
        self._native: dict[int, int] = defaultdict(int)

    def add(self, summed: Sum) -> list[int]:
        """Add a stack. Returns the numbers of its frames, the outermost first."""
        path = self._paths.get(summed.frame)
        if path is None:
            path = self._paths[summed.frame] = path_to(summed.frame, self._frames)
            new = (number for number in path if number not in self.places)
            self.places.update((number, place_of(number, self._frames)) for number in new)
            self._parents.update(zip(path, [0, *path[:-1]], strict=True))
        for number in path:
            self._value[number] += summed.samples
            self._native[number] += summed.samples * summed.is_native
        self._own[path[-1]] += summed.samples
        return path

    def largest(self, limit: int, samples: int) -> list[StackFrame]:
        """The frames with the most of all ``samples``, parents before children."""
        depths = {number: at for path in self._paths.values() for at, number in enumerate(path)}
        # A frame has no more samples than its parent, and is deeper.
        numbers = sorted(self.places, key=lambda number: (-self._value[number], depths[number], number))
        return [
            {
                "id": str(number),
                "parent": str(self._parents[number]) if self._parents[number] else None,
                "depth": depths[number],
                "kind": _kind(self.places[number]),
                **self.places[number]._asdict(),  # type: ignore[typeddict-item]
                "own": self._own[number],
                "value": self._value[number],
                "points": _points(self._value[number], samples),
                "native": self._native[number],
            }
            for number in numbers[:limit]
        ]


def _kind(place: Place) -> StackFrameKind:
    if not place.function:
        return "unknown"
    return "code" if place.file else "left_out"
