"""The chain of work and waits that decided how long a job took: walked back from the end of its driver.

The walk asks a :class:`Record` for one task after the other. What it asks for ended shortly before the time
that it has come to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

#: A task's end is told by another clock than the wait for it, and a little later than its value arrived.
SLACK_NS = 50_000_000
MAX_STEPS = 20_000
#: What an attempt does by itself, between its waits. The time of a driver without a tracer is ``unknown``.
_OWN = ("executing", "unknown")
#: Phases of which each function is a cause of its own.
_OF_FUNCTION = ("executing", "awaiting")
#: Phases in which an attempt keeps no worker busy.
_BEFORE_RUN = ("waiting_args", "waiting_node", "starting_worker", "queued", "retrying", "unknown")
#: Task ids of actor creations begin so.
_CREATION = "f" * 16


class Attempt(Protocol):
    """One attempt, times in ns: ``begins`` are (phase, begin) in the order of the phases, unknown ones left
    out, the first of them the submission; ``end_ns`` is its end, or until when it has run.
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
    """A stretch in which an attempt waited for others. ``phase``: what it was in as long as nothing came."""

    @property
    def begin_ns(self) -> int: ...
    @property
    def end_ns(self) -> int: ...
    @property
    def phase(self) -> str: ...


A = TypeVar("A", bound=Attempt)
W = TypeVar("W", bound=Wait)


class Record(Protocol[A, W]):
    """What is known of the tasks; every answer may be None."""

    def running(self, task_id: str, at_ns: int) -> A | None:
        """The attempt of a task that ran at a time, or the last that began before it."""

    def retried(self, attempt: A) -> A | None:
        """The attempt of the same task before this one."""

    def wait(self, attempt: A, before_ns: int) -> W | None:
        """Of the waits of an attempt that began before a time the one that ended last, not after it."""

    def awaited(self, attempt: A, wait: W, before_ns: int) -> A | None:
        """The attempt that ended a wait: of those it was for the one that ended last, not after a time; or
        one that yielded what was waited for and runs on. None if the wait timed out.
        """

    def argument(self, attempt: A, before_ns: int) -> A | None:
        """Of the tasks that made an attempt's arguments, the attempt that ended last, not after a time."""

    def before(self, attempt: A, before_ns: int) -> A | None:
        """The attempt that ended last on the same worker, not after a time."""


class Link(NamedTuple):
    """A stretch of the path: what happened in it, in which attempt.

    ``held_ns``: how much of it a later attempt on the path was ready to run and waited for the worker or
    actor that this one kept busy.
    """

    task_id: str
    attempt: int
    name: str
    phase: str
    begin_ns: int
    end_ns: int
    held_ns: int = 0


class Path(NamedTuple):
    """``links`` in the order of time: each begins where the one before ends, the first at ``begin_ns``."""

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
    """The path back from the end of ``last``, the driver, to ``begin_ns``.

    Within an attempt: its waits lead to what it waited for, the rest it ran itself. Before it ran: waiting
    for arguments leads to who made the last of them, waiting for a node or in a queue to who held the worker
    until then, and its submission to the attempt that submitted it. Of an attempt whose known submitter was
    over by then, that is whoever awaited it, if that ran already. What nobody can tell is a link ``unknown``;
    after ``steps`` attempts, or when ``out_of_time``, everything before is (``truncated``).
    """
    links: list[Link] = []
    end = now = max(last.end_ns, begin_ns)
    attempt: A | None = last
    seen: set[tuple[str, int]] = set()
    waiters: dict[tuple[str, int], A] = {}
    held_since: dict[tuple[str, int], int] = {}
    truncated = False

    def link(of: A | None, phase: str, since: int) -> None:
        """One link from ``since`` until now; now is ``since`` then."""
        nonlocal now
        since = max(since, begin_ns)
        if since >= now:
            return
        seen.clear()
        key = ("", 0, "") if of is None else (of.task_id, of.attempt, of.name)
        held = 0 if phase in _BEFORE_RUN else max(0, now - max(since, held_since.get(key[:2], now)))
        following = links[-1] if links else None
        if following and following[:4] == (*key, phase):
            links[-1] = following._replace(begin_ns=since, held_ns=following.held_ns + held)
        else:
            links.append(Link(*key, phase, since, now, held))
        now = since

    def fresh(found: A | None) -> A | None:
        """An attempt that the walk may go on in: at this time it has not been there."""
        return None if found is None or (found.task_id, found.attempt) in seen else found

    def follow(of: A, phase: str, found: A | None, since: int) -> A | None:
        """Go on in ``found`` if it ended after ``since``; the time from its end until now is ``of``'s."""
        found = fresh(found)
        if found is None or found.end_ns <= since:
            link(of, phase, since)
            return None
        link(of, phase, found.end_ns)
        return found

    def run(of: A, phase: str, since: int) -> A | None:
        """What an attempt did by itself, and its waits."""
        while now > max(since, begin_ns):
            wait = record.wait(of, now)
            if wait is None or wait.end_ns <= since:
                break
            link(of, phase, wait.end_ns)
            begun = max(wait.begin_ns, since)
            found = follow(of, wait.phase, record.awaited(of, wait, now + SLACK_NS), begun)
            if found is not None:
                if found.begins and found.begins[0][1] <= wait.begin_ns:
                    waiters[found.task_id, found.attempt] = of
                return found
        link(of, phase, since)
        return None

    def submitter(of: A) -> A | None:
        parent = record.running(of.parent_task_id, now) if of.parent_task_id else None
        if parent is not None and parent.end_ns >= now:
            return fresh(parent)
        # Ray names the creation of an actor as the parent of what its coroutines and threads submit.
        waiter = waiters.get((of.task_id, of.attempt))
        if waiter is not None and any(name in _OWN and begin <= now for name, begin in waiter.begins):
            return fresh(waiter)
        if parent is not None:
            link(None, "unknown", parent.end_ns)
        return fresh(parent)

    def back(of: A) -> A | None:
        """Explain the time in which this attempt was there; who it leads to, if to anybody."""
        for phase, since in reversed(stretches(of)):
            if since >= now:
                continue
            if phase in _OWN:
                found = run(of, phase, since)
            elif phase == "waiting_args":
                found = follow(of, phase, record.argument(of, now + SLACK_NS), since)
            elif phase in ("waiting_node", "queued"):
                found = follow(of, phase, record.before(of, now), since)
                # What waits for its own actor to be created waits for no slot.
                if found is not None and not found.task_id.startswith(_CREATION):
                    ready = (begin for name, begin in stretches(of) if name in ("waiting_node", "queued"))
                    held_since[found.task_id, found.attempt] = next(ready)
            else:
                found = None
                link(of, phase, since)
            if found is not None or now <= begin_ns:
                return found
        if of.attempt > 0 and (earlier := fresh(record.retried(of))) is not None:
            link(of, "retrying", earlier.end_ns)
            return earlier
        return submitter(of)

    while attempt is not None and now > begin_ns:
        if steps <= 0 or out_of_time():
            truncated = True
            break
        steps -= 1
        seen.add((attempt.task_id, attempt.attempt))
        attempt = back(attempt)
    link(None, "unknown", begin_ns)
    return Path(links[::-1], begin_ns, end, truncated)


def stretches(of: Attempt) -> list[tuple[str, int]]:
    """The phases of an attempt with their begins, none earlier than the one before it."""
    reached = 0
    found = []
    for phase, begin in of.begins:
        reached = max(reached, begin)
        found.append((phase, reached))
    return found


def split_awaiting(path: Path, stretches: Mapping[tuple[str, int], Sequence[tuple[int, int, int]]]) -> Path:
    """The path with links ``awaiting`` where calls of async methods were suspended.

    ``stretches``: by task and attempt (begin, end, how much of it was awaited), in the order of their begins.
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
    """What of the path is one function's; ``held_ns`` as of :class:`Link`."""

    name: str
    is_driver: bool
    links: int
    total_ns: int
    by_phase: dict[str, int]
    held_ns: int


def shares(path: Path, is_driver: Callable[[str], bool]) -> list[Share]:
    """The path by function, the one with the most time first. A function of a driver's name is not one.

    ``is_driver`` tells it of a task's id.
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
    """What held a job up: a function that executed or awaited, or another phase of all functions.

    ``name``: the function with the most of it, "" if it is not known; ``functions``: of how many it is;
    ``held_ns`` as of :class:`Link`.
    """

    phase: str
    name: str
    is_driver: bool
    functions: int
    total_ns: int
    held_ns: int


def causes(path: Path, is_driver: Callable[[str], bool]) -> list[Cause]:
    """A path by cause, the largest first: each function that executed or awaited is one, and each other
    phase. The driver's executing before all others is ``preparing``, and after them ``finishing``.
    """
    found: dict[tuple[str, ...], list[tuple[int, Share]]] = defaultdict(list)
    links = list(path.links)
    if len(links) > 1:
        for place, phase in ((0, "preparing"), (-1, "finishing")):
            if links[place].phase == "executing" and is_driver(links[place].task_id):
                links[place] = links[place]._replace(phase=phase)
    for share in shares(path._replace(links=links), is_driver):
        for phase, total in share.by_phase.items():
            key = (phase, share.name, str(share.is_driver)) if phase in _OF_FUNCTION else (phase,)
            found[key].append((total, share))
    summed = []
    for (phase, *_), parts in found.items():
        _, most = max(parts, key=lambda part: part[0])
        held = most.held_ns if phase == "executing" else 0
        total = sum(part[0] for part in parts)
        summed.append(Cause(phase, most.name, most.is_driver, len(parts), total, held))
    return sorted(summed, key=lambda cause: -cause.total_ns)
