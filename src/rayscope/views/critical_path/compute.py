"""The chain of work and waits that determined how long a job took, walked back from its driver's end.

The walk queries a :class:`Record` for one task at a time, and only for tasks that ended shortly before the
time that the walk has reached.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

#: Tolerance in ns. The recorded end of a task is taken from a different clock than the wait for the task, and
#: is a little later than the arrival of the task's value.
SLACK_NS = 50_000_000
MAX_STEPS = 20_000
#: Phases in which an attempt runs its own code, between its waits. An untraced driver has only ``unknown``.
_OWN = ("executing", "unknown")
#: Phases in which each function counts as a cause of its own.
OF_FUNCTION = ("executing", "awaiting")
#: Phases in which an attempt does not keep a worker busy.
_BEFORE_RUN = ("waiting_args", "waiting_node", "starting_worker", "queued", "retrying", "unknown")
#: Prefix of the task IDs of actor creations.
_CREATION = "f" * 16


class Attempt(Protocol):
    """One attempt. Times are in ns.

    ``begins`` lists (phase, begin) in chronological order, without phases that are not recorded. The first
    one is the submission. ``end_ns`` is the attempt's end, or the current time if it is still running.
    """

    @property
    def task_id(self) -> str: ...
    @property
    def attempt(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def begins(self) -> list[tuple[str, int]]: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def parent_task_id(self) -> str | None: ...


class Wait(Protocol):
    """A period in which an attempt waited for others. ``phase`` is the attempt's phase during the wait."""

    @property
    def begin_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def phase(self) -> str: ...


A = TypeVar("A", bound=Attempt)
W = TypeVar("W", bound=Wait)


class Record(Protocol[A, W]):
    """Lookups in the record of a job. Each method may return None."""

    def running(self, task_id: str, at_ns: int) -> A | None:
        """Return the attempt of a task that was running at ``at_ns``, or the last that began before it."""

    def retried(self, attempt: A) -> A | None:
        """Return the previous attempt of the same task."""

    def wait(self, attempt: A, before_ns: int) -> W | None:
        """Return an attempt's latest wait to end by ``before_ns``, of those that began earlier."""

    def awaited(self, attempt: A, wait: W, before_ns: int) -> A | None:
        """Return the attempt that ended a wait, or None if the wait timed out.

        That is the last awaited attempt that ended by ``before_ns``, or a running one that yielded the
        awaited value.
        """

    def argument(self, attempt: A, before_ns: int) -> A | None:
        """Return the attempt that ended last by ``before_ns`` among those that produced an argument."""

    def before(self, attempt: A, before_ns: int) -> A | None:
        """Return the last attempt that ended on the same worker by ``before_ns``."""


class Link(NamedTuple):
    """A stretch of the path that one attempt spent in one phase.

    ``held_ns`` is how long a later attempt on the path was ready to run but waited for the worker or actor
    that this attempt kept busy.
    """

    task_id: str
    attempt: int
    name: str
    phase: str
    begin_ns: int
    end_ns: int
    held_ns: int = 0


class Path(NamedTuple):
    """The critical path. ``links`` are in chronological order, without gaps. The first begins at
    ``begin_ns``.
    """

    links: list[Link]
    begin_ns: int
    end_ns: int
    truncated: bool


def walk(
    record: Record[A, W],
    last: A,
    begin_ns: int,
    *,
    steps: int = MAX_STEPS,
    out_of_time: Callable[[], bool] = lambda: False,
) -> Path:
    """Walk back from the end of ``last``, the driver, to ``begin_ns``, and return the path.

    While an attempt ran, its waits lead to the attempts that it waited for, and the rest is its own work.
    Before it ran, waiting for arguments leads to the producer of the last argument, waiting for a node or in
    a queue leads to the attempt that held the worker until then, and the submission leads to the submitter.
    If the submitter is unknown or had already ended, the path continues with an attempt that awaited this
    one, provided that it was running. Time that cannot be explained becomes a link ``unknown``. The walk
    stops after ``steps`` attempts or once ``out_of_time`` returns true. Then the time before that is
    ``unknown``, too, and the path is ``truncated``.
    """
    return _Walk(record, max(last.end_ns, begin_ns), begin_ns).back_from(last, steps, out_of_time)


class _Walk(Generic[A, W]):
    """The state of a walk: the time ``_now`` that it has reached, and the links after it, latest first."""

    def __init__(self, record: Record[A, W], end_ns: int, begin_ns: int) -> None:
        self._record = record
        self._begin_ns = begin_ns
        self._end = self._now = end_ns
        self._links: list[Link] = []
        #: The attempts that the walk has visited since it last moved back in time.
        self._seen: set[tuple[str, int]] = set()
        #: Maps some attempts to an attempt that waited for them.
        self._waiters: dict[tuple[str, int], A] = {}
        #: Maps attempts to the time since which another attempt has waited for their worker or actor.
        self._held_since: dict[tuple[str, int], int] = {}

    def back_from(self, last: A, steps: int, out_of_time: Callable[[], bool]) -> Path:
        attempt: A | None = last
        truncated = False
        while attempt is not None and self._now > self._begin_ns:
            if steps <= 0 or out_of_time():
                truncated = True
                break
            steps -= 1
            self._seen.add((attempt.task_id, attempt.attempt))
            attempt = self._explain(attempt)
        self._add_link(None, "unknown", self._begin_ns)
        return Path(self._links[::-1], self._begin_ns, self._end, truncated)

    def _add_link(self, source: A | None, phase: str, since: int) -> None:
        """Add a link from ``since`` to ``_now``, and move ``_now`` back to ``since``."""
        now, since = self._now, max(since, self._begin_ns)
        if since >= now:
            return
        self._seen.clear()
        key = ("", 0, "") if source is None else (source.task_id, source.attempt, source.name)
        held = 0 if phase in _BEFORE_RUN else max(0, now - max(since, self._held_since.get(key[:2], now)))
        following = self._links[-1] if self._links else None
        if following and following[:4] == (*key, phase):
            self._links[-1] = following._replace(begin_ns=since, held_ns=following.held_ns + held)
        else:
            self._links.append(Link(*key, phase, since, now, held))
        self._now = since

    def _unvisited(self, target: A | None) -> A | None:
        """Return the attempt, or None if the walk has already visited it since it last moved back in time."""
        return None if target is None or (target.task_id, target.attempt) in self._seen else target

    def _follow(self, source: A, phase: str, target: A | None, since: int) -> A | None:
        """Return ``target`` if it ended after ``since``. Attribute the time after its end to ``source``.

        Otherwise, attribute all of the time since ``since`` to ``source`` and return None.
        """
        target = self._unvisited(target)
        if target is None or target.end_ns <= since:
            self._add_link(source, phase, since)
            return None
        self._add_link(source, phase, target.end_ns)
        return target

    def _walk_through(self, source: A, phase: str, since: int) -> A | None:
        """Walk back through an attempt's own work and waits. Return the attempt to which a wait leads."""
        record = self._record
        while self._now > max(since, self._begin_ns):
            wait = record.wait(source, self._now)
            if wait is None or wait.end_ns <= since:
                break
            self._add_link(source, phase, wait.end_ns)
            awaited = record.awaited(source, wait, self._now + SLACK_NS)
            target = self._follow(source, wait.phase, awaited, max(wait.begin_ns, since))
            if target is not None:
                if target.begins and target.begins[0][1] <= wait.begin_ns:
                    self._waiters[target.task_id, target.attempt] = source
                return target
        self._add_link(source, phase, since)
        return None

    def _submitter(self, source: A) -> A | None:
        now = self._now
        parent = self._record.running(source.parent_task_id, now) if source.parent_task_id else None
        if parent is not None and parent.end_ns >= now:
            return self._unvisited(parent)
        # Ray names an actor's creation as the parent of everything that its coroutines and threads submit.
        waiter = self._waiters.get((source.task_id, source.attempt))
        if waiter is not None and any(name in _OWN and begin <= now for name, begin in waiter.begins):
            return self._unvisited(waiter)
        if parent is not None:
            self._add_link(None, "unknown", parent.end_ns)
        return self._unvisited(parent)

    def _explain(self, source: A) -> A | None:
        """Explain the time of this attempt. Return the attempt that the path continues with, if any."""
        for phase, since in reversed(stretches(source)):
            if since >= self._now:
                continue
            target = self._explain_phase(source, phase, since)
            if target is not None or self._now <= self._begin_ns:
                return target
        if source.attempt > 0 and (earlier := self._unvisited(self._record.retried(source))) is not None:
            self._add_link(source, "retrying", earlier.end_ns)
            return earlier
        return self._submitter(source)

    def _explain_phase(self, source: A, phase: str, since: int) -> A | None:
        if phase in _OWN:
            return self._walk_through(source, phase, since)
        if phase == "waiting_args":
            return self._follow(source, phase, self._record.argument(source, self._now + SLACK_NS), since)
        if phase in ("waiting_node", "queued"):
            target = self._follow(source, phase, self._record.before(source, self._now), since)
            # A call that waits for its own actor to be created is not waiting for a busy worker or actor.
            if target is not None and not target.task_id.startswith(_CREATION):
                ready = (begin for name, begin in stretches(source) if name in ("waiting_node", "queued"))
                self._held_since[target.task_id, target.attempt] = next(ready)
            return target
        self._add_link(source, phase, since)
        return None


def stretches(of: Attempt) -> list[tuple[str, int]]:
    """Return an attempt's phases and their start times, none of which is earlier than the one before it."""
    reached = 0
    found = []
    for phase, begin in of.begins:
        reached = max(reached, begin)
        found.append((phase, reached))
    return found


def split_awaiting(path: Path, stretches: Mapping[tuple[str, int], Sequence[tuple[int, int, int]]]) -> Path:
    """Return the path with links ``awaiting`` for the time when calls of async methods were suspended.

    ``stretches`` maps (task ID, attempt) to (begin, end, ns awaited in between), ordered by start time.
    """
    links: list[Link] = []
    for link in path.links:
        at = link.begin_ns

        def add(phase: str, until: int, of: Link = link) -> None:
            nonlocal at
            if until > at:
                held = of.held_ns * (until - at) // (of.end_ns - of.begin_ns)
                links.append(of._replace(phase=phase, begin_ns=at, end_ns=until, held_ns=held))
                at = until

        known = stretches.get((link.task_id, link.attempt), ()) if link.phase == "executing" else ()
        for begin, end, awaited in known:
            first, last = max(begin, at), min(end, link.end_ns)
            if last > first:
                add(link.phase, first)
                add("awaiting", first + awaited * (last - first) // (end - begin))
        add(link.phase, link.end_ns)
    return path._replace(links=links)


class Share(NamedTuple):
    """One function's share of the path. ``held_ns`` has the same meaning as in :class:`Link`."""

    name: str
    is_driver: bool
    links: int
    total_ns: int
    by_phase: dict[str, int]
    held_ns: int


def shares(path: Path, is_driver: Callable[[str], bool]) -> list[Share]:
    """Return each function's share of the path, longest first. ``is_driver`` takes a task ID.

    A function that has the same name as a driver is kept separate from it.
    """
    phases: dict[tuple[str, bool], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    links: dict[tuple[str, bool], int] = defaultdict(int)
    held: dict[tuple[str, bool], int] = defaultdict(int)
    for link in path.links:
        key = (link.name, is_driver(link.task_id))
        phases[key][link.phase] += link.end_ns - link.begin_ns
        links[key] += 1
        held[key] += link.held_ns
    found = [
        Share(*key, links[key], sum(spent.values()), dict(spent), held[key]) for key, spent in phases.items()
    ]
    return sorted(found, key=lambda share: (-share.total_ns, share.name, share.is_driver))


class Cause(NamedTuple):
    """A cause of a job's duration: a function that executed or awaited, or some other phase of any function.

    ``name`` is the function with the most time in it, or "" if unknown. ``functions`` is the number of
    functions. ``held_ns`` has the same meaning as in :class:`Link`.
    """

    phase: str
    name: str
    is_driver: bool
    functions: int
    total_ns: int
    held_ns: int


def causes(path: Path, is_driver: Callable[[str], bool]) -> list[Cause]:
    """Return the causes of a path's duration, the largest first.

    Each function that executed or awaited is one cause. Each other phase is one cause for all functions. The
    driver's execution time before all other links is ``preparing``, and after them ``finishing``.
    """
    found: dict[tuple[str, ...], list[tuple[int, Share]]] = defaultdict(list)
    links = list(path.links)
    if len(links) > 1:
        for place, phase in ((0, "preparing"), (-1, "finishing")):
            if links[place].phase == "executing" and is_driver(links[place].task_id):
                links[place] = links[place]._replace(phase=phase)
    for share in shares(path._replace(links=links), is_driver):
        for phase, total in share.by_phase.items():
            key = (phase, share.name, str(share.is_driver)) if phase in OF_FUNCTION else (phase,)
            found[key].append((total, share))
    summed = []
    for (phase, *_), parts in found.items():
        _, most = max(parts, key=lambda part: part[0])
        held = most.held_ns if phase == "executing" else 0
        total = sum(part[0] for part in parts)
        summed.append(Cause(phase, most.name, most.is_driver, len(parts), total, held))
    return sorted(summed, key=lambda cause: -cause.total_ns)
