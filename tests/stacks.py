"""Samples of stacks for tests."""

from __future__ import annotations

import json

from rayscope.model import Span
from rayscope.tracer.sampler import PHASES, frame_number
from tests.story import Story, at

#: Number of each frame by its text, each called by the one before it.
OUTER, INNER = "train.py:10 main", "train.py:20 step"
NUMPY = "numpy/linalg.py:5 solve"


class Stacks:
    """Stacks, described by the texts of their frames."""

    def __init__(self) -> None:
        self.frames: dict[int, tuple[int, int, str]] = {}

    def number(self, *texts: str) -> int:
        number = 0
        for text in texts:
            caller, number = number, frame_number(number, text)
            self.frames[number] = (number, caller, text)
        return number

    def add_to(self, story: Story) -> None:
        extra = json.dumps({"frames": [*self.frames.values()]}, separators=(",", ":"))
        story.batch.spans += [Span("", 0, "rayscope.frames", at(time), at(time), extra) for time in (5, 6)]


def add(story: Story, task: str, begin: float, *sums: tuple[str, bool, int, int], hz: float = 1.0) -> None:
    """Add a report of 10 ms with sums: phase, whether native, samples, innermost frame."""
    numbers = [[PHASES.index(phase), int(native), count, frame] for phase, native, count, frame in sums]
    extra = json.dumps({"hz": hz, "samples": numbers}, separators=(",", ":"))
    story.batch.spans.append(Span(task, 0, "rayscope.samples", at(begin), at(begin + 10), extra))
