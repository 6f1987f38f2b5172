"""Exports of the samples of stacks, for programs that show profiles."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from rayscope.version import __version__
from rayscope.views.export.formats.stacks import FORMATS, About, Stack, keep_largest
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
    return FORMATS[form][0](keep_largest(list(_stacks(sampled)), MAX_BYTES), about)


def _stacks(sampled: Sampled) -> Iterator[Stack]:
    """Yield a stack for each phase and innermost frame. The outermost place is the phase."""
    counts: dict[tuple[str, int], list[int]] = defaultdict(lambda: [0, 0])
    for summed in sampled.sums:
        count = counts[summed.phase, summed.frame]
        count[0] += summed.samples
        count[1] += summed.samples * summed.is_native
    for (phase, frame), (samples, native) in counts.items():
        places = (place_of(number, sampled.frames) for number in path_to(frame, sampled.frames))
        named = (place if place.function else Place("", 0, "[unknown]") for place in places)
        yield Stack((Place("", 0, f"[{phase}]"), *named), samples, native)
