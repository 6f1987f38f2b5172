"""Attempts on lanes as slices on tracks, in which any two are apart or one inside the other."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

#: What a slice is about; also its category in the files.
ATTEMPT, FAILED, DRIVER, PHASE, BLOCKED, USER, SPAN, WAIT = (
    "task",
    "failed",
    "driver",
    "phase",
    "blocked",
    "user",
    "span",
    "wait",
)
_BLOCKING = frozenset({"ray.get", "ray.wait", "await", "placement_group.wait"})
#: A sink is emptied once it holds so many bytes.
CHUNK = 1 << 18
#: The processes that stand for no node.
WAITING, UNKNOWN_NODE = "waiting to run", "unknown node"
_EXTRA_CHARS = 500
Args = Mapping[str, Any]


class Lane(NamedTuple):
    """A worker's lane, or a driver's (``job_id`` is given)."""

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
        """What the node is called."""
        if self.node_id is None:
            return UNKNOWN_NODE
        said = " ".join(filter(None, (self.node_name, "(head)" if self.is_head else "")))
        return f"node {said} {self.node_id[:8]}" if said else f"node {self.node_id[:8]}"

    @property
    def name(self) -> str:
        """What the worker or driver is called."""
        if self.job_id is not None:
            who = f"driver of job {self.job_id}"
        else:
            who = self.actor_name or self.class_name or "worker"
        return who if self.pid is None else f"{who} {self.pid}"


class Attempt(NamedTuple):
    """An attempt in row ``row`` of its lane, or a driver (``type`` is ``DRIVER_TASK``). Times in ns.

    ``created_ns`` to ``begin_ns`` it waited (drawn in ``wait_row``, None: not drawn); without ``begin_ns`` it
    waited to the end. ``gives`` are the ids of the arrows that begin here, ``takes`` of those that end here,
    with the begin of the span that took them, if it was one.
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
    """What was measured inside the attempt of that ordinal. Times in ns; ``extra`` is JSON."""

    ordinal: int
    name: str
    begin_ns: int
    end_ns: int
    extra: str | None = None


class Sink(Protocol):
    """Writes slices. Those of one track come properly nested, in the order of their begins.

    ``key`` names a track, ``of`` the process it belongs to and ``name`` is how it is called; ``gives`` and
    ``takes`` are ids of arrows.
    """

    def track(self, key: object, of: str, name: str) -> int:
        """The number of a track, made when it is first named."""

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
        """A slice opens."""

    def end(self, track: int, begin: int, end: int, takes: Iterable[int]) -> None:
        """The slice that was opened last on this track closes."""

    def instant(
        self, track: int, at: int, name: str, category: str, args: Args, gives: Iterable[int]
    ) -> None:
        """Something that takes no time."""

    def counter(self, of: str, name: str, at: int, value: float) -> None:
        """A number of a process at a time."""

    def take(self) -> bytes:
        """What was written since this was last called."""

    def size(self) -> int:
        """How many bytes :meth:`take` would give."""


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
    """The slices of a track that are open: (begin, end, arrows that end there), the outermost first."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.open: list[tuple[int, int, tuple[int, ...]]] = []

    def close(self, until: int | None, sink: Sink) -> None:
        """Close what has ended by ``until``; None: everything."""
        while self.open and (until is None or self.open[-1][1] <= until):
            begin, end, takes = self.open.pop()
            sink.end(self.number, begin, end, takes)

    def put(self, one: _Slice, sink: Sink, gives: Iterable[int] = (), takes: Iterable[int] = ()) -> None:
        sink.begin(self.number, one.begin, one.end, one.name, one.category, one.args, gives, takes)
        self.open.append((one.begin, one.end, one.takes))


class _Drawing:
    def __init__(self, lanes: Iterable[Lane], sink: Sink, waits: bool) -> None:
        self.lanes = {lane.lane: lane for lane in lanes}
        self.sink = sink
        self.waits = waits
        self.tracks: dict[tuple[object, ...], _Track] = {}
        self.beside: dict[int, list[_Track]] = {}

    def on(self, lane: int, row: int) -> _Track:
        """The track of a row of a lane; the first bears the lane's name alone."""
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

    def crossing(self, lane: int, one: _Slice) -> _Track:
        """A track of a lane that has room for a slice which crosses the others."""
        rows = self.beside.setdefault(lane, [])
        for track in rows:
            track.close(one.begin, self.sink)
            if not track.open:
                return track
        of = self.lanes[lane]
        name = f"{of.name} overlapping ({len(rows) + 1})"
        rows.append(_Track(self.sink.track((lane, "overlapping", len(rows)), of.node, name)))
        return rows[-1]

    def attempt(self, one: Attempt, spans: Iterable[Span]) -> None:
        args = _args(one)
        if self.waits and one.type != "DRIVER_TASK":
            self._wait(one, args)
        if one.begin_ns is None or one.lane is None:
            return
        took: dict[int, list[int]] = {}
        whole: list[int] = []
        for arrow in one.takes or ():
            at = arrow["at_ns"]
            whole.append(arrow["id"]) if at is None else took.setdefault(at, []).append(arrow["id"])
        category = DRIVER if one.type == "DRIVER_TASK" else FAILED if one.state == "FAILED" else ATTEMPT
        track = self.on(one.lane, one.row)
        track.close(one.begin_ns, self.sink)
        if one.caller_lane is not None and one.caller_row is not None:
            caller = self.on(one.caller_lane, one.caller_row).number
            # Ids of calls are odd and those of data even, so that they do not meet.
            self.sink.instant(
                caller,
                one.created_ns,
                f"call {one.name}",
                "call",
                {"task_id": one.task_id},
                [2 * one.ordinal + 1],
            )
            whole.append(-one.ordinal)
        box = _Slice(one.begin_ns, one.end_ns, one.name or "(unnamed)", category, args)
        track.put(box, self.sink, _data(one.gives or ()), _arrows(whole))
        depth = len(track.open)
        inner = heapq.merge(_phases(one), (_span(span, took) for span in spans), key=lambda s: s.order)
        for part in inner:
            while len(track.open) > depth and track.open[-1][1] <= part.begin:
                begin, end, takes = track.open.pop()
                self.sink.end(track.number, begin, end, takes)
            inside = part.begin >= track.open[-1][0] and part.end <= track.open[-1][1]
            (track if inside else self.crossing(one.lane, part)).put(part, self.sink)
        if category == FAILED:
            track.close(one.end_ns - 1, self.sink)
            self.sink.instant(
                track.number,
                one.end_ns,
                f"FAILED {one.error_type or ''}".strip(),
                FAILED,
                {"error": one.error_summary or "", "task_id": one.task_id},
                (),
            )

    def _wait(self, one: Attempt, args: Args) -> None:
        ran = one.begin_ns is not None
        end = one.end_ns if one.begin_ns is None else one.begin_ns
        name = one.name or "(unnamed)"
        if one.wait_row is None:
            if not ran:
                first = self.waiting(0).number
                self.sink.instant(first, one.created_ns, f"{name} has not run", WAIT, args, ())
            return
        track = self.waiting(one.wait_row)
        track.close(one.created_ns, self.sink)
        told = {"task_id": one.task_id, "attempt": one.attempt} if ran else args
        track.put(_Slice(one.created_ns, end, name, WAIT, told), self.sink)
        begins = [("waiting_args", one.created_ns)]
        for phase, at in (("waiting_node", one.node_assignment_ns), ("queued", one.submitted_ns)):
            if at is not None:
                begins.append((phase, min(max(at, begins[-1][1]), end)))
        ends = [at for _, at in begins[1:]] + [end]
        for (phase, begin), until in zip(begins, ends, strict=True):
            if until > begin:
                track.close(begin, self.sink)
                track.put(_Slice(begin, until, phase, WAIT, {}), self.sink)

    def close(self) -> None:
        """Close everything."""
        for track in (*self.tracks.values(), *(t for rows in self.beside.values() for t in rows)):
            track.close(None, self.sink)


def draw(
    lanes: Iterable[Lane],
    attempts: Iterable[Attempt],
    spans: Iterable[Span],
    sink: Sink,
    *,
    by_lane: bool = False,
) -> Iterator[bytes]:
    """What ``sink`` makes of the attempts, piece by piece.

    ``attempts`` come with rising ordinals, those of a row of a lane in the order of time and without overlap;
    ``spans`` in the same order, those of an attempt by begin and then the longest first. A slice that crosses
    another one is put on a track beside it, never cut. ``by_lane``: they come lane by lane, each is closed
    before the next begins, and what waits is not drawn.
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
    """Ids of arrows; a negative one is that of a call."""
    return [2 * number if number > 0 else 1 - 2 * number for number in ids]


def _phases(one: Attempt) -> list[_Slice]:
    """Fetching, executing and storing, as the worker tells them."""
    begin, end = one.begin_ns, one.end_ns
    if begin is None or one.execute_begin_ns is None:
        return []
    since = min(max(one.execute_begin_ns, begin), end)
    until = end if one.execute_end_ns is None else min(max(one.execute_end_ns, since), end)
    parts = (("fetching", begin, since), ("executing", since, until), ("storing", until, end))
    return [_Slice(b, e, name, PHASE, {}) for name, b, e in parts if e > b]


def _span(span: Span, took: Mapping[int, list[int]]) -> _Slice:
    extra = span.extra or ""
    # As in flow_sql.WAITS: a span of a user's own blocks nobody, whatever its name.
    waits = BLOCKED if span.name in _BLOCKING else SPAN
    category = USER if extra.startswith('{"user":') else waits
    args = {"extra": extra[:_EXTRA_CHARS]} if extra else {}
    end = max(span.begin_ns, span.end_ns)
    return _Slice(span.begin_ns, end, span.name, category, args, tuple(_data(took.get(span.begin_ns, ()))))


_TOLD = (
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
_AS = {"error_summary": "error", "finish_ns": "end_ns"}


def _args(one: Attempt) -> dict[str, Any]:
    args = {_AS.get(name, name): value for name in _TOLD if (value := getattr(one, name)) is not None}
    for note in one.notes or ():
        args.setdefault(f"annotation.{note['name']}", note["value"])
    return args
