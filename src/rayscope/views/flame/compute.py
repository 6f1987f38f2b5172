"""Flame graphs: sums by call path as a tree, reduced to what fits a screen, or centered on one function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from rayscope.views.flame.schemas import FrameKind, Weight

#: ID of the driver's frame, which is above all calls.
ROOT = "0"
#: ID of the frame above all attempts whose call path is not known.
UNKNOWN = "unknown"
#: For each weight, the field of :class:`Own` that determines the width of a frame.
WEIGHTS: dict[Weight, str] = {
    "executing": "executing_ns",
    "awaiting": "awaiting_ns",
    "duration": "duration_ns",
    "cpu": "cpu_ns",
    "count": "attempts",
    "bytes": "bytes",
    "memory_time": "memory_byte_seconds",
    "critical_path": "path_ns",
}
#: Maximum number of frames in a graph.
MAX_FRAMES = 2000
#: Maximum number of levels of callers. There are fewer levels if a function's calls would exceed
#: MAX_CALLER_FRAMES.
MAX_CALLERS = 200
#: Maximum total number of frames for the callers of all calls of a function.
MAX_CALLER_FRAMES = 100_000
_LARGEST = 2**63 - 1


class Own(NamedTuple):
    """Sums over the attempts on one call path. If ``path`` is None, over calls of ``name`` on unknown paths.

    ``cpu_ns`` is the CPU time of those ``cpu_known`` attempts whose CPU time is known. ``path_ns`` is the
    time of the attempts on a job's critical path.

    ``memory_byte_seconds`` is the peak memory times the duration, of those ``memory_known`` attempts that
    were measured alone in their processes. Another ``memory_shared`` attempts shared a process.
    ``p95_memory`` and ``max_memory`` are of the peaks of both. ``p95_memory`` may be missing.
    """

    path: str | None
    name: str | None = None
    attempts: int = 0
    failed: int = 0
    running: int = 0
    duration_ns: int = 0
    executing_ns: int = 0
    awaiting_ns: int = 0
    blocked_ns: int = 0
    bytes: int = 0
    cpu_ns: int = 0
    cpu_known: int = 0
    memory_byte_seconds: int = 0
    memory_known: int = 0
    memory_shared: int = 0
    p95_memory: int | None = None
    max_memory: int | None = None
    first_ns: int | None = None
    p50_ns: int | None = None
    p95_ns: int | None = None
    max_ns: int | None = None
    path_ns: int = 0


class Path(NamedTuple):
    """A call path: the path ``parent`` plus the called function, or plus the library if ``is_library``."""

    path: str
    parent: str
    name: str
    is_library: bool = False


class Frame(msgspec.Struct):
    """A box of the graph.

    ``kind`` is ``"driver"``, ``"call"``, ``"library"`` (consecutive calls of a library), ``"unknown"``, or
    ``"other"`` (one frame that replaces ``folded`` frames). ``own`` and ``baseline_own`` are for the frame
    itself. ``value`` and ``baseline_value`` include all frames below it. ``first_ns`` is the earliest time in
    all of these frames. The other fields cover the frame's own attempts.
    """

    id: str
    parent: str | None
    name: str | None
    kind: FrameKind
    depth: int
    own: int = 0
    value: int = 0
    attempts: int = 0
    failed: int = 0
    running: int = 0
    duration_ns: int = 0
    executing_ns: int = 0
    awaiting_ns: int = 0
    blocked_ns: int = 0
    bytes: int = 0
    cpu_ns: int = 0
    cpu_known: int = 0
    memory_byte_seconds: int = 0
    memory_known: int = 0
    memory_shared: int = 0
    p95_memory: int | None = None
    max_memory: int | None = None
    first_ns: int | None = None
    p50_ns: int | None = None
    p95_ns: int | None = None
    max_ns: int | None = None
    folded: int = 0
    baseline_own: int | None = None
    baseline_value: int | None = None


class Tree(msgspec.Struct):
    """Frames, parents before children and the largest child first.

    ``frames_total`` is the number of frames before any were merged, and ``folded`` how many were merged.
    """

    frames: list[Frame]
    frames_total: int
    folded: int


class Flame(msgspec.Struct):
    """A flame graph.

    ``total`` is the value of the whole graph, regardless of the focus. ``ancestors`` start with the driver.
    """

    total: int
    attempts: int
    baseline_total: int | None
    ancestors: list[Frame]
    tree: Tree


class Sandwich(msgspec.Struct):
    """A function's attempts and all frames below them, by callers (inverted) and by the calls they made.

    ``levels`` is the number of levels of callers.
    """

    own: int
    value: int
    attempts: int
    total: int
    levels: int
    callers: Tree
    callees: Tree


def flame(
    rows: Iterable[Own],
    paths: Iterable[Path],
    weight: Weight = "executing",
    *,
    baseline: Iterable[Own] | None = None,
    focus: str | None = None,
    limit: int = MAX_FRAMES,
) -> Flame | None:
    """Return the flame graph of ``rows``, or None if ``focus`` is not a frame of it."""
    frames = _frames(rows, paths, weight, baseline)
    _roll_up(frames.values())
    root = frames[ROOT]
    attempts = sum(frame.attempts for frame in frames.values())
    ancestors: list[Frame] = []
    if focus is not None:
        if focus not in frames:
            return None
        above = frames[focus].parent
        while above is not None:
            ancestors.insert(0, frames[above])
            above = frames[above].parent
    tree = _cut(list(_below(frames.values(), focus or ROOT)), limit)
    return Flame(root.value, attempts, root.baseline_value, ancestors, tree)


def sandwich(
    rows: Iterable[Own], paths: Iterable[Path], of: str, weight: Weight = "executing", *, limit: int = 500
) -> Sandwich:
    """Return the callers and callees of the function ``of``. Each frame counts once despite recursion.

    In the tree of callees, recursive calls are frames under the outermost call. In the tree of callers, the
    callers are those of the innermost call. There, ``own`` covers the attempts of ``of`` that were called on
    this path, and ``value`` also includes everything below them.
    """
    frames = _frames(rows, paths, weight, None)
    down = _Merged(of)
    up = _Merged(of)
    attempts = total = 0
    below: dict[str, Frame] = {}  # the place of each frame in the tree of callees
    inner: dict[str, Frame] = {}  # the innermost call of ``of`` at or above each frame
    # for each innermost call, the sum of its own value and the values below it
    under: dict[str, int] = defaultdict(int)
    for frame in frames.values():  # parents before children
        total += frame.own
        above = frame.parent or ""
        if frame.kind in ("call", "library") and frame.name == of:
            inner[frame.id] = frame
        elif above in inner:
            inner[frame.id] = inner[above]
        else:
            continue
        place = below[frame.id] = down.under(below[above], frame) if above in below else down.root
        _add(place, frame)
        place.own += frame.own
        place.value += frame.own
        under[inner[frame.id].id] += frame.own
    levels = max(1, min(MAX_CALLERS, MAX_CALLER_FRAMES // max(1, len(under))))
    for identifier, value in under.items():
        frame = frames[identifier]
        attempts += frame.attempts
        caller = up.root
        for depth, caller_frame in enumerate(_line(frames, frame)):  # from the call up to the driver
            if depth > levels:
                break
            if depth:
                caller = up.under(caller, caller_frame)
            caller.value += value
            caller.own += frame.own
            _add(caller, frame)
    _roll_up(down.frames)
    callers = _cut(up.frames, limit, inverted=True)
    return Sandwich(up.root.own, down.root.value, attempts, total, levels, callers, _cut(down.frames, limit))


class Folded(NamedTuple):
    """Sums and paths in which consecutive calls of a library are a single call of the library.

    ``into`` maps each replaced path to its replacement. ``functions`` counts each library's functions.
    """

    rows: list[Own]
    baseline: list[Own] | None
    paths: list[Path]
    into: dict[str, str]
    functions: dict[str, int]


def fold_libraries(
    rows: Iterable[Own], baseline: Iterable[Own] | None, paths: Iterable[Path], libraries: Mapping[str, str]
) -> Folded:
    """Merge consecutive calls of each library. Calls made by a merged call are merged by function.

    ``libraries`` maps functions to their libraries.
    """
    known = {path.path: path for path in sorted(paths)}
    below: dict[str, list[Path]] = defaultdict(list)
    for path in known.values():
        below[path.parent].append(path)
    merged_calls: dict[tuple[str, str, bool], Path] = {}
    into: dict[str, str] = {}
    library_at: dict[str, str] = {}  # the library of each path that stands for merged calls
    functions: dict[str, set[str]] = defaultdict(set)
    waiting = [path for path in known.values() if path.parent not in known]
    for path in waiting:  # the list grows during the loop, parents before children
        waiting += below[path.path]
        above = into.get(path.parent, path.parent)
        library = libraries.get(path.name)
        if library is not None:
            functions[library].add(path.name)
        if library is not None and library_at.get(above) == library:
            into[path.path] = above
            continue
        name = library or path.name
        call = merged_calls.setdefault(
            (above, name, library is not None), Path(path.path, above, name, library is not None)
        )
        if library is not None:
            library_at[call.path] = library
        if call.path != path.path:
            into[path.path] = call.path

    def fold(row: Own) -> Own:
        if row.path is not None:
            return row._replace(path=into.get(row.path, row.path))
        library = libraries.get(row.name or "")
        if library is None:
            return row
        functions[library].add(row.name or "")
        call = Path(f"{UNKNOWN}/{library}", UNKNOWN, library, True)
        return row._replace(path=merged_calls.setdefault((UNKNOWN, library, True), call).path, name=None)

    folded = [fold(row) for row in rows]
    before = None if baseline is None else [fold(row) for row in baseline]
    counted = {name: len(functions[name]) for name in sorted(functions)}
    return Folded(folded, before, list(merged_calls.values()), into, counted)


def _frames(
    rows: Iterable[Own], paths: Iterable[Path], weight: Weight, baseline: Iterable[Own] | None
) -> dict[str, Frame]:
    """Return a frame with its own figures for each path, known or unknown. Parents come before children."""
    calls = {path.path: path for path in paths}
    zero = None if baseline is None else 0
    frames = {ROOT: Frame(ROOT, None, None, "driver", 0, baseline_own=zero)}

    def child(identifier: str, parent: str, name: str | None, kind: FrameKind) -> Frame:
        frames[identifier] = Frame(
            identifier, parent, name, kind, frames[parent].depth + 1, baseline_own=zero
        )
        return frames[identifier]

    def unknown() -> Frame:
        return frames.get(UNKNOWN) or child(UNKNOWN, ROOT, None, "unknown")

    def of_path(identifier: str) -> Frame:
        missing: list[Path] = []
        at = identifier
        while at not in frames and at in calls:
            missing.append(calls.pop(at))
            at = missing[-1].parent
        above = frames.get(at) or unknown()
        for path in reversed(missing):
            above = child(path.path, above.id, path.name, "library" if path.is_library else "call")
        return above

    def of_row(row: Own) -> Frame:
        if row.path is not None:
            return of_path(row.path)
        if row.name is None:
            return unknown()
        identifier = f"{UNKNOWN}/{row.name}"
        return frames.get(identifier) or child(identifier, unknown().id, row.name, "call")

    for identifier in list(calls):
        of_path(identifier)
    for row in rows:
        frame = of_row(row)
        frame.own += getattr(row, WEIGHTS[weight])
        _add(frame, row)
    for row in baseline or ():
        frame = of_row(row)
        frame.baseline_own = (frame.baseline_own or 0) + getattr(row, WEIGHTS[weight])
    for frame in frames.values():
        frame.value, frame.baseline_value = frame.own, frame.baseline_own
    return frames


_SUMS = (
    "attempts",
    "failed",
    "running",
    "duration_ns",
    "executing_ns",
    "awaiting_ns",
    "blocked_ns",
    "bytes",
    "cpu_ns",
    "cpu_known",
    "memory_byte_seconds",
    "memory_known",
    "memory_shared",
)


def _add(frame: Frame, more: Own | Frame) -> None:
    """Add the figures of ``more`` to ``frame``. Quantiles cannot be added, so they become None."""
    alone = frame.attempts == 0
    for name in _SUMS:
        if added := getattr(more, name):  # most are 0
            setattr(frame, name, min(getattr(frame, name) + added, _LARGEST))
    if more.attempts:
        frame.p50_ns, frame.p95_ns, frame.p95_memory = (
            (more.p50_ns, more.p95_ns, more.p95_memory) if alone else (None, None, None)
        )
    frame.max_ns = _of_both(max, frame.max_ns, more.max_ns)
    frame.max_memory = _of_both(max, frame.max_memory, more.max_memory)
    frame.first_ns = _of_both(min, frame.first_ns, more.first_ns)


def _of_both(choose: Callable[[int, int], int], first: int | None, second: int | None) -> int | None:
    return second if first is None else first if second is None else choose(first, second)


def _roll_up(frames: Iterable[Frame]) -> None:
    """Add to each frame the values of the frames below it."""
    of = {frame.id: frame for frame in frames}
    for frame in sorted(of.values(), key=lambda frame: -frame.depth):
        frame.value = min(frame.value, _LARGEST)
        if frame.parent is None:
            continue
        above = of[frame.parent]
        above.value += frame.value
        above.first_ns = _of_both(min, above.first_ns, frame.first_ns)
        if above.baseline_value is not None:
            above.baseline_value = min(above.baseline_value + (frame.baseline_value or 0), _LARGEST)


def _line(frames: Mapping[str, Frame], frame: Frame) -> Iterator[Frame]:
    """Yield a frame and then all frames above it, the innermost first."""
    at: Frame | None = frame
    while at is not None:
        yield at
        at = None if at.parent is None else frames[at.parent]


def _below(frames: Iterable[Frame], top: str) -> Iterator[Frame]:
    """Yield the frame ``top`` and all frames below it. ``frames`` must have parents before children."""
    inside = {top}
    for frame in frames:
        if frame.id == top or frame.parent in inside:
            inside.add(frame.id)
            yield frame


def _size(frame: Frame) -> int:
    return max(frame.value, frame.baseline_value or 0)


def _cut(frames: list[Frame], limit: int, *, inverted: bool = False) -> Tree:
    """Reduce the frames to at most ``limit``: the largest, and one per parent that replaces its other frames.

    A frame is never larger than the one above it, so all frames above a kept frame are kept too. ``inverted``
    means that a frame's own figures include those of the frames below it.
    """
    ranked = sorted(frames, key=lambda frame: (-_size(frame), frame.depth, frame.id))

    def rest(count: int) -> set[str | None]:
        """Return the frames that need a replacement child if only the ``count`` largest frames are kept."""
        inside = {frame.id for frame in ranked[:count]}
        return {frame.parent for frame in ranked[count:] if frame.parent in inside}

    kept = len(ranked)
    if kept > limit:
        kept, over = max(1, limit // 2), limit
        while over - kept > 1:
            middle = (kept + over) // 2
            kept, over = (middle, over) if middle + len(rest(middle)) <= limit else (kept, middle)
    inside = {frame.id: frame for frame in ranked[:kept]}
    into: dict[str, Frame] = {}  # for each omitted frame, the frame that replaces it
    others: dict[str, Frame] = {}
    for frame in sorted(ranked[kept:], key=lambda frame: frame.depth):
        parent = frame.parent or ROOT
        other = into.get(parent)
        if other is None:
            identifier = f"other/{parent}"
            other = others.get(identifier)
            if other is None:
                other = Frame(identifier, parent, None, "other", inside[parent].depth + 1)
                others[identifier] = other
        into[frame.id] = other
        other.folded += 1
        outermost = parent in inside
        if outermost:
            other.value += frame.value
            other.own += frame.own if inverted else frame.value
            if frame.baseline_value is not None:
                other.baseline_value = (other.baseline_value or 0) + frame.baseline_value
                other.baseline_own = other.baseline_value
        if outermost or not inverted:
            _add(other, frame)
        other.p50_ns = other.p95_ns = other.p95_memory = None
    return Tree(_ordered([*inside.values(), *others.values()]), len(frames), len(frames) - kept)


def _ordered(frames: list[Frame]) -> list[Frame]:
    """Return the frames, parents before children, the largest child first, and replacements last."""
    under: dict[str | None, list[Frame]] = {}
    for frame in frames:
        under.setdefault(frame.parent, []).append(frame)
    for children in under.values():
        children.sort(key=lambda frame: (frame.kind != "other", _size(frame), frame.id))
    known = {frame.id for frame in frames}
    waiting = [frame for frame in frames if frame.parent not in known]
    found = []
    while waiting:
        frame = waiting.pop()
        found.append(frame)
        waiting += under.get(frame.id, ())
    return found


class _Merged:
    """A tree with a function at its top. Frames of the same name under the same frame are merged."""

    def __init__(self, name: str) -> None:
        self.root = Frame("0", None, name, "call", 0)
        self.frames = [self.root]
        self._of: dict[tuple[str, str, str | None], Frame] = {}

    def under(self, above: Frame, like: Frame) -> Frame:
        """Return the frame under ``above`` with the kind and name of ``like``, creating it on first use."""
        key = (above.id, like.kind, like.name)
        found = self._of.get(key)
        if found is None:
            found = Frame(str(len(self.frames)), above.id, like.name, like.kind, above.depth + 1)
            self._of[key] = found
            self.frames.append(found)
        return found
