"""Measures how long a call of an async method was suspended, excluding waits for object references."""

from __future__ import annotations

import time
from typing import Any

_time_ns = time.time_ns
#: Suspensions shorter than this, in ns, are added up instead of recorded one by one. Longer suspensions are
#: merged if the gap between them is shorter than this. If there are too many, larger gaps are closed, too.
SHORT_NS = 1_000_000
#: Maximum number of stretches recorded per call. Beyond this, those with the shortest gaps between them are
#: merged.
MAX_STRETCHES = 32
#: Sums of short suspensions below this are not reported, in ns.
_NEGLIGIBLE_NS = 50_000
#: Age of a call at which its first stretches are reported, in ns.
_FIRST_PART_NS = 2_000_000_000
#: Each later report follows once the call is this many times as old as at the previous report.
_GROWTH = 1.5

#: ``[begin, end, awaited, suspensions]``: the time range, the time suspended within it, and how often the
#: call was suspended. Times are in ns.
Stretch = list[int]


class Awaits:
    """The suspensions of one call of an async method.

    Time in ``await ref`` is reported as a separate wait and not counted here.

    Attributes:
        cpu_ns: CPU time of the event loop's thread while the call ran.
        has_run: whether the call has run at all.
        coroutine: the call's coroutine, None during its first step. ``thread``: the thread of its event loop.
    """

    __slots__ = (
        "_began_ns",
        "_blocked_before",
        "_gap_ns",
        "_next_part_ns",
        "_open_since_ns",
        "_refs",
        "_refs_ns",
        "_refs_since_ns",
        "_short_ns",
        "_short_since_ns",
        "_short_times",
        "_short_until_ns",
        "_stretches",
        "_suspended_at_ns",
        "coroutine",
        "cpu_ns",
        "has_run",
        "thread",
    )

    def __init__(self) -> None:
        self.cpu_ns = 0
        self.has_run = False
        self.coroutine: Any = None
        self.thread = 0
        self._began_ns = self._next_part_ns = 0
        self._suspended_at_ns = 0  # 0 while it runs or before it starts
        self._open_since_ns = 0  # when a suspension began that was reported before it ended
        self._refs = 0  # number of references that the call is awaiting
        self._refs_since_ns = self._refs_ns = 0
        self._blocked_before = 0  # the value of ``_blocked()`` when the suspension began
        self._short_since_ns = self._short_until_ns = self._short_ns = self._short_times = 0
        self._gap_ns = SHORT_NS
        self._stretches: list[Stretch] | None = None

    @property
    def is_suspended(self) -> bool:
        """Whether the call is suspended now, or has ended."""
        return self._suspended_at_ns > 0

    def ref_awaited(self, since_ns: int) -> None:
        """Called when the call starts to await an object reference. It can await several at once."""
        if not self._refs:
            self._refs_since_ns = since_ns
        self._refs += 1

    def ref_ready(self) -> None:
        """Called when one of the awaited references is ready."""
        self._refs -= 1
        if not self._refs:
            self._refs_ns += _time_ns() - self._refs_since_ns

    def start(self, queued_ns: int, started_ns: int) -> None:
        """Called once the call runs. It reached its event loop at ``queued_ns`` and first ran at
        ``started_ns``.
        """
        self.has_run = True
        self._began_ns, self._next_part_ns = queued_ns, queued_ns + _FIRST_PART_NS
        if started_ns - queued_ns >= SHORT_NS:
            self._add(queued_ns, started_ns)

    def suspend(self, cpu_ns: int) -> None:
        """Called when the call is suspended or has ended, after it used ``cpu_ns`` of CPU time."""
        self.cpu_ns += cpu_ns
        self._suspended_at_ns = now = _time_ns()
        if self._refs or self._refs_ns:
            self._blocked_before = self._blocked(now)

    def resume(self) -> bool:
        """Called when the call continues. Returns whether :meth:`take_part` has something to report."""
        now, since = _time_ns(), self._suspended_at_ns
        self._suspended_at_ns = 0
        awaited = now - since
        if self._refs or self._refs_ns:
            awaited -= self._blocked(now) - self._blocked_before
        if self._open_since_ns:
            begin, self._open_since_ns, self._next_part_ns = self._open_since_ns, 0, 0
            self._stretches = [*(self._stretches or ()), [begin, now, max(0, min(awaited, now - begin)), 1]]
        elif awaited >= SHORT_NS:
            self._add(now - awaited, now)
        elif awaited > 0:
            if not self._short_ns:
                self._short_since_ns = now - awaited
            self._short_until_ns = now
            self._short_ns += awaited
            self._short_times += 1
        return now >= self._next_part_ns

    def take_part(self, now: int) -> list[Stretch]:
        """Take the stretches of a running call that have not been reported yet."""
        self._next_part_ns = now + int((now - self._began_ns) * (_GROWTH - 1))
        return self.take()

    def take(self) -> list[Stretch]:
        """Take the stretches that have not been reported yet."""
        stretches, self._stretches = self._stretches or [], None
        if self._short_ns >= _NEGLIGIBLE_NS:
            stretches.append([self._short_since_ns, self._short_until_ns, self._short_ns, self._short_times])
        self._short_ns = self._short_times = 0
        return stretches

    def open_since(self, before_ns: int) -> int:
        """When the current suspension began, or 0 if that was after ``before_ns``.

        Also 0 if the call is running, awaits references, or its suspension is already marked as open.
        """
        since = self._suspended_at_ns
        is_blocked = self._refs or self._refs_ns != self._blocked_before
        return 0 if since > before_ns or is_blocked or self._open_since_ns else since

    def mark_open(self, since_ns: int) -> bool:
        """Mark the current suspension as reported before its end. False if the call is running again."""
        self._open_since_ns = since_ns
        if self._suspended_at_ns == since_ns:
            return True
        self._open_since_ns = 0
        return False

    def _blocked(self, now: int) -> int:
        return self._refs_ns + (now - self._refs_since_ns if self._refs else 0)

    def _add(self, begin: int, end: int) -> None:
        if self._stretches is None:
            self._stretches = []
        _append(self._stretches, [begin, end, end - begin, 1], self._gap_ns)
        while len(self._stretches) > MAX_STRETCHES:
            self._gap_ns *= 4
            joined: list[Stretch] = []
            for stretch in self._stretches:
                _append(joined, stretch, self._gap_ns)
            self._stretches = joined


def _append(stretches: list[Stretch], stretch: Stretch, gap_ns: int) -> None:
    if stretches and stretch[0] - stretches[-1][1] < gap_ns:
        last = stretches[-1]
        last[1] = stretch[1]
        last[2] += stretch[2]
        last[3] += stretch[3]
    else:
        stretches.append(stretch)
