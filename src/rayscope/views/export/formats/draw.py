"""Draws attempts as slices on tracks, which stand for the rows of lanes. Slices of a track never cross."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

#: Kinds of slices, which are also the categories in the files.
ATTEMPT = "task"
FAILED = "failed"
DRIVER = "driver"
PHASE = "phase"
BLOCKED = "blocked"
USER = "user"
SPAN = "span"
WAIT = "wait"
_BLOCKING = frozenset({"ray.get", "ray.wait", "await", "placement_group.wait"})
#: A sink's output is taken once it has this many bytes.
CHUNK = 1 << 18
#: Name of the process whose tracks show attempts that are waiting to run.
WAITING = "waiting to run"
#: Name of the process for lanes whose node is not known.
UNKNOWN_NODE = "unknown node"
_EXTRA_CHARS = 500
Args = Mapping[str, Any]


class Lane(NamedTuple):
    """A worker's lane, or a driver's lane if ``job_id`` is set."""

    lane: int
    node_id: str | None = None
    node_name: str | None = None
    is_head: bool | None = None
    worker_id: str | None = None
    pid: int | None = None
    actor_id: str | None = None
    class_name: str | None = None
    actor_name: str | None = None
    job_id: str | None = None
    entrypoint: str | None = None

    @property
    def node(self) -> str:
        """The label of the node."""
        if self.node_id is None:
            return UNKNOWN_NODE
        said = " ".join(filter(None, (self.node_name, "(head)" if self.is_head else "")))
        return f"node {said} {self.node_id[:8]}" if said else f"node {self.node_id[:8]}"

    @property
    def name(self) -> str:
        """The label of the worker or driver."""
        if self.job_id is not None:
            who = f"driver of job {self.job_id}"
        else:
            who = self.actor_name or self.class_name or "worker"
        return who if self.pid is None else f"{who} {self.pid}"


class Attempt(NamedTuple):
    """An attempt in row ``row`` of its lane, or a driver (``type`` is ``DRIVER_TASK``). Times are in ns.

    The attempt waited from ``created_ns`` to ``begin_ns``, or to its end if it has no ``begin_ns``. The wait
    is drawn in ``wait_row``, unless that is None. ``gives`` contains the IDs of the data arrows that begin at
    this attempt. ``takes`` contains those of the arrows that end here, each with the start time of the span
    that received the data, or None.
    """

    ordinal: int
    lane: int | None
    row: int
    wait_row: int | None
    created_ns: int
    begin_ns: int | None
    end_ns: int
    task_id: str
    attempt: int = 0
    name: str = ""
    func_name: str = ""
    type: str | None = None
    state: str | None = None
    job_id: str | None = None
    actor_id: str | None = None
    caller_task_id: str | None = None
    parent_task_id: str | None = None
    node_id: str | None = None
    worker_id: str | None = None
    worker_pid: int | None = None
    error_type: str | None = None
    error_summary: str | None = None
    start_ns: int | None = None
    finish_ns: int | None = None
    node_assignment_ns: int | None = None
    submitted_ns: int | None = None
    execute_begin_ns: int | None = None
    execute_end_ns: int | None = None
    output_bytes: int | None = None
    caller_lane: int | None = None
    caller_row: int | None = None
    gives: list[int] | None = None
    takes: list[Mapping[str, Any]] | None = None
    notes: list[Mapping[str, Any]] | None = None


class Span(NamedTuple):
    """A span inside the attempt that has the given ordinal. Times are in ns, and ``extra`` is JSON."""

    ordinal: int
    name: str
    begin_ns: int
    end_ns: int
    extra: str | None = None


class Sink(Protocol):
    """Writes slices. The slices of each track arrive properly nested, ordered by start time.

    ``key`` identifies a track, ``of`` is the track's process, and ``name`` its label. ``gives`` and ``takes``
    are the IDs of arrows that begin and end there.
    """

    def track(self, key: object, of: str, name: str) -> int:
        """Return the number of a track, creating it on first use."""

    def begin(
        self,
        track: int,
        begin: int,
        end: int,
        name: str,
        category: str,
        args: Args,
        gives: Iterable[int],
        takes: Iterable[int],
    ) -> None:
        """Open a slice."""

    def end(self, track: int, begin: int, end: int, takes: Iterable[int]) -> None:
        """Close the slice that was opened last on this track."""

    def instant(
        self, track: int, at: int, name: str, category: str, args: Args, gives: Iterable[int]
    ) -> None:
        """Write an event without a duration, from which the arrows ``gives`` begin."""

    def counter(self, of: str, name: str, at: int, value: float) -> None:
        """Write the value that a process's counter had at a given time."""

    def take(self) -> bytes:
        """Return the bytes written since the last call, and forget them."""

    def size(self) -> int:
        """Return how many bytes :meth:`take` would return."""


class _Slice(NamedTuple):
    begin: int
    end: int
    name: str
    category: str
    args: Args
    takes: tuple[int, ...] = ()

    @property
    def order(self) -> tuple[int, int]:
        return (self.begin, -self.end)


class _Track:
    """A track with its open slices as (begin, end, arrows that end there), the outermost first."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.open: list[tuple[int, int, tuple[int, ...]]] = []

    def close(self, until: int | None, sink: Sink) -> None:
        """Close the slices that ended by ``until``. If that is None, close all of them."""
        while self.open and (until is None or self.open[-1][1] <= until):
            begin, end, takes = self.open.pop()
            sink.end(self.number, begin, end, takes)

    def put(self, part: _Slice, sink: Sink, gives: Iterable[int] = (), takes: Iterable[int] = ()) -> None:
        sink.begin(self.number, part.begin, part.end, part.name, part.category, part.args, gives, takes)
        self.open.append((part.begin, part.end, part.takes))


class _Drawing:
    def __init__(self, lanes: Iterable[Lane], sink: Sink, waits: bool) -> None:
        self.lanes = {lane.lane: lane for lane in lanes}
        self.sink = sink
        self.waits = waits
        self.tracks: dict[tuple[object, ...], _Track] = {}
        self.crossing_tracks: dict[int, list[_Track]] = {}

    def on(self, lane: int, row: int) -> _Track:
        """Return the track for a row of a lane. The name of the first row's track is just the lane's name."""
        found = self.tracks.get((lane, row))
        if found is None:
            of = self.lanes[lane]
            name = of.name if row == 0 else f"{of.name} ({row + 1})"
            found = self.tracks[lane, row] = _Track(self.sink.track((lane, row), of.node, name))
        return found

    def waiting(self, row: int) -> _Track:
        found = self.tracks.get((WAITING, row))
        if found is None:
            number = self.sink.track((WAITING, row), WAITING, f"waiting ({row + 1})")
            found = self.tracks[WAITING, row] = _Track(number)
        return found

    def crossing(self, lane: int, part: _Slice) -> _Track:
        """Return an additional track of a lane that is free for a slice which would cross another slice."""
        rows = self.crossing_tracks.setdefault(lane, [])
        for track in rows:
            track.close(part.begin, self.sink)
            if not track.open:
                return track
        of = self.lanes[lane]
        name = f"{of.name} overlapping ({len(rows) + 1})"
        rows.append(_Track(self.sink.track((lane, "overlapping", len(rows)), of.node, name)))
        return rows[-1]

    def attempt(self, attempt: Attempt, spans: Iterable[Span]) -> None:
        args = _args(attempt)
        if self.waits and attempt.type != "DRIVER_TASK":
            self._wait(attempt, args)
        if attempt.begin_ns is None or attempt.lane is None:
            return
        took: dict[int, list[int]] = {}
        whole: list[int] = []
        for arrow in attempt.takes or ():
            at = arrow["at_ns"]
            whole.append(arrow["id"]) if at is None else took.setdefault(at, []).append(arrow["id"])
        category = (
            DRIVER if attempt.type == "DRIVER_TASK" else FAILED if attempt.state == "FAILED" else ATTEMPT
        )
        track = self.on(attempt.lane, attempt.row)
        track.close(attempt.begin_ns, self.sink)
        if attempt.caller_lane is not None and attempt.caller_row is not None:
            caller = self.on(attempt.caller_lane, attempt.caller_row).number
            # IDs of call arrows are odd and those of data arrows are even, so they never collide.
            self.sink.instant(
                caller,
                attempt.created_ns,
                f"call {attempt.name}",
                "call",
                {"task_id": attempt.task_id},
                [2 * attempt.ordinal + 1],
            )
            whole.append(-attempt.ordinal)
        box = _Slice(attempt.begin_ns, attempt.end_ns, attempt.name or "(unnamed)", category, args)
        track.put(box, self.sink, _data(attempt.gives or ()), _arrows(whole))
        depth = len(track.open)
        inner = heapq.merge(_phases(attempt), (_span(span, took) for span in spans), key=lambda s: s.order)
        for part in inner:
            while len(track.open) > depth and track.open[-1][1] <= part.begin:
                begin, end, takes = track.open.pop()
                self.sink.end(track.number, begin, end, takes)
            inside = part.begin >= track.open[-1][0] and part.end <= track.open[-1][1]
            (track if inside else self.crossing(attempt.lane, part)).put(part, self.sink)
        if category == FAILED:
            track.close(attempt.end_ns - 1, self.sink)
            self.sink.instant(
                track.number,
                attempt.end_ns,
                f"FAILED {attempt.error_type or ''}".strip(),
                FAILED,
                {"error": attempt.error_summary or "", "task_id": attempt.task_id},
                (),
            )

    def _wait(self, attempt: Attempt, args: Args) -> None:
        ran = attempt.begin_ns is not None
        end = attempt.end_ns if attempt.begin_ns is None else attempt.begin_ns
        name = attempt.name or "(unnamed)"
        if attempt.wait_row is None:
            if not ran:
                first = self.waiting(0).number
                self.sink.instant(first, attempt.created_ns, f"{name} has not run", WAIT, args, ())
            return
        track = self.waiting(attempt.wait_row)
        track.close(attempt.created_ns, self.sink)
        args_shown = {"task_id": attempt.task_id, "attempt": attempt.attempt} if ran else args
        track.put(_Slice(attempt.created_ns, end, name, WAIT, args_shown), self.sink)
        begins = [("waiting_args", attempt.created_ns)]
        for phase, at in (("waiting_node", attempt.node_assignment_ns), ("queued", attempt.submitted_ns)):
            if at is not None:
                begins.append((phase, min(max(at, begins[-1][1]), end)))
        ends = [at for _, at in begins[1:]] + [end]
        for (phase, begin), until in zip(begins, ends, strict=True):
            if until > begin:
                track.close(begin, self.sink)
                track.put(_Slice(begin, until, phase, WAIT, {}), self.sink)

    def close(self) -> None:
        """Close all tracks."""
        for track in (*self.tracks.values(), *(t for rows in self.crossing_tracks.values() for t in rows)):
            track.close(None, self.sink)


def draw(
    lanes: Iterable[Lane],
    attempts: Iterable[Attempt],
    spans: Iterable[Span],
    sink: Sink,
    *,
    by_lane: bool = False,
) -> Iterator[bytes]:
    """Draw the attempts into ``sink``, and yield its output piece by piece.

    ``attempts`` arrive in the order of their ordinals, and those in one row of a lane are ordered by time and
    do not overlap. ``spans`` arrive in the same order. Within an attempt they are ordered by start time, and
    then the longest first. A slice that crosses another is never cut, but moves to a separate track. With
    ``by_lane`` the attempts arrive lane by lane, each lane is closed before the next one begins, and waits
    are not drawn.
    """
    drawing = _Drawing(lanes, sink, waits=not by_lane)
    lane: int | None = None
    coming = iter(spans)
    following = next(coming, None)

    def of(ordinal: int) -> Iterator[Span]:
        nonlocal following
        while following is not None and following.ordinal <= ordinal:
            if following.ordinal == ordinal:
                yield following
            following = next(coming, None)

    for attempt in attempts:
        if by_lane and attempt.lane != lane:
            drawing.close()
            lane = attempt.lane
        drawing.attempt(attempt, of(attempt.ordinal))
        if sink.size() >= CHUNK:
            yield sink.take()
    drawing.close()
    yield sink.take()


def _data(ids: Iterable[int]) -> list[int]:
    return [2 * number for number in ids]


def _arrows(ids: Iterable[int]) -> list[int]:
    """Return the IDs of arrows that end at an attempt. A negative number stands for the arrow of a call."""
    return [2 * number if number > 0 else 1 - 2 * number for number in ids]


def _phases(attempt: Attempt) -> list[_Slice]:
    """Return the slices for fetching, executing, and storing, as reported by the worker."""
    begin, end = attempt.begin_ns, attempt.end_ns
    if begin is None or attempt.execute_begin_ns is None:
        return []
    since = min(max(attempt.execute_begin_ns, begin), end)
    until = end if attempt.execute_end_ns is None else min(max(attempt.execute_end_ns, since), end)
    parts = (("fetching", begin, since), ("executing", since, until), ("storing", until, end))
    return [_Slice(b, e, name, PHASE, {}) for name, b, e in parts if e > b]


def _span(span: Span, took: Mapping[int, list[int]]) -> _Slice:
    extra = span.extra or ""
    # As in execution.WAITS, a span of user code never counts as blocked, whatever its name is.
    waits = BLOCKED if span.name in _BLOCKING else SPAN
    category = USER if extra.startswith('{"user":') else waits
    args = {"extra": extra[:_EXTRA_CHARS]} if extra else {}
    end = max(span.begin_ns, span.end_ns)
    return _Slice(span.begin_ns, end, span.name, category, args, tuple(_data(took.get(span.begin_ns, ()))))


_ARG_FIELDS = (
    "task_id",
    "attempt",
    "func_name",
    "type",
    "state",
    "job_id",
    "actor_id",
    "caller_task_id",
    "parent_task_id",
    "worker_pid",
    "error_type",
    "error_summary",
    "created_ns",
    "start_ns",
    "finish_ns",
    "output_bytes",
)
_ARG_NAMES = {"error_summary": "error", "finish_ns": "end_ns"}


def _args(attempt: Attempt) -> dict[str, Any]:
    args = {
        _ARG_NAMES.get(name, name): value
        for name in _ARG_FIELDS
        if (value := getattr(attempt, name)) is not None
    }
    for note in attempt.notes or ():
        args.setdefault(f"annotation.{note['name']}", note["value"])
    return args
