"""Exports of the samples of stacks, for programs that show profiles."""

from __future__ import annotations

import functools
from collections import defaultdict

from rayscope.version import __version__
from rayscope.views.export.formats.stacks import FORMATS, LEFT_OUT, About, Stack, text_bytes
from rayscope.views.lines.compute import Place, path_to, place_of
from rayscope.views.lines.sql import Sampled

#: Maximum size of the names of all frames of all stacks, in bytes.
MAX_BYTES = 32 << 20


def export_lines(sampled: Sampled, session: str, form: str) -> bytes:
    """Return the samples as a file in one of :data:`FORMATS`."""
    about = About(
        session,
        f"rayscope {__version__}",
        sampled.first_ns or 0,
        sampled.last_ns or 0,
        sampled.hz[0] if len(sampled.hz) == 1 else None,
    )
    return FORMATS[form][0](_largest(sampled, MAX_BYTES), about)


def _largest(sampled: Sampled, max_bytes: int) -> list[Stack]:
    """Return the stacks with the most samples, whose names have at most ``max_bytes`` as text.

    There is a stack for each phase and innermost frame. Its outermost place is the phase. The samples of the
    others become one stack, :data:`LEFT_OUT`.
    """
    counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for summed in sampled.sums:
        count = counts[summed.phase, summed.frame]
        count[0] += summed.samples
        count[1] += summed.samples * summed.is_native

    @functools.cache
    def place(number: int) -> Place:
        known = place_of(number, sampled.frames)
        return known if known.function else Place("", 0, "[unknown]")

    size = functools.cache(text_bytes)
    stacks: list[Stack] = []
    left = max_bytes
    # Stacks with equally many samples have an order, too, so that all servers write the same file.
    by_samples = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    for at, ((phase, frame), (samples, native)) in enumerate(by_samples):
        places = (Place("", 0, f"[{phase}]"), *map(place, path_to(frame, sampled.frames)))
        left -= sum(map(size, places))
        if left < 0:
            rest = [count for _, count in by_samples[at:]]
            stacks.append(Stack((LEFT_OUT,), *map(sum, zip(*rest, strict=True))))
            break
        stacks.append(Stack(places, samples, native))
    return stacks
