"""How long a call of an async method was suspended, other than for object references."""

from __future__ import annotations

import time

_time_ns = time.time_ns
#: Suspensions shorter than this are summed up. Two longer ones with a shorter gap between them count as one
#: stretch, ns.
SHORT_NS = 1_000_000
#: Stretches of one call that are kept apart. Beyond this number those with the shortest gaps are joined.
MAX_STRETCHES = 32
#: A sum of short suspensions below this is not reported, ns.
_NEGLIGIBLE_NS = 50_000
#: A longer call reports its stretches in parts, at ages that grow by this factor.
_FIRST_PART_NS, _GROWTH = 2_000_000_000, 1.5

#: ``[begin, end, awaited, suspensions]``: when it began and ended, and how long and how often the call was
#: suspended in between. Times are in ns.
Stretch = list[int]


class Awaits:
    """The suspensions of one call of an async method.

    Time in ``await ref`` is reported as a wait of its own, so it does not count here. ``cpu_ns`` is the CPU
    time of its event loop's thread while the call ran, and ``has_run`` whether it has run at all.
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
        "cpu_ns",
        "has_run",
    )

    def __init__(self) -> None:
        self.cpu_ns = 0
        self.has_run = False
        self._began_ns = self._next_part_ns = 0
        self._suspended_at_ns = 0  # 0: it runs, or has not begun
        self._open_since_ns = 0  # the begin of a suspension that was reported before its end
        self._refs = 0  # how many references it awaits now
        self._refs_since_ns = self._refs_ns = 0
        self._blocked_before = 0  # what ``_blocked()`` was when the suspension began
        self._short_since_ns = self._short_until_ns = self._short_ns = self._short_times = 0
        self._gap_ns = SHORT_NS
        self._stretches: list[Stretch] | None = None

    def ref_awaited(self, since_ns: int) -> None:
        """The call began to await an object reference. It may await several at a time."""
        if not self._refs:
            self._refs_since_ns = since_ns
        self._refs += 1

    def ref_ready(self) -> None:
        """One of these references is ready."""
        self._refs -= 1
        if not self._refs:
            self._refs_ns += _time_ns() - self._refs_since_ns

    def start(self, queued_ns: int, started_ns: int) -> None:
        """The call came to its event loop at ``queued_ns``, and ran for the first time at ``started_ns``."""
        self.has_run = True
        self._began_ns, self._next_part_ns = queued_ns, queued_ns + _FIRST_PART_NS
        if started_ns - queued_ns >= SHORT_NS:
            self._add(queued_ns, started_ns)

    def suspend(self, cpu_ns: int) -> None:
        """The call ran, which took ``cpu_ns``, and is suspended or over."""
        self.cpu_ns += cpu_ns
        self._suspended_at_ns = now = _time_ns()
        if self._refs or self._refs_ns:
            self._blocked_before = self._blocked(now)

    def resume(self) -> bool:
        """The call continues. Returns whether :meth:`take_part` has something to report now."""
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
        """The stretches that were not reported yet. More may follow."""
        self._next_part_ns = now + int((now - self._began_ns) * (_GROWTH - 1))
        return self.take()

    def take(self) -> list[Stretch]:
        """The stretches that were not reported yet."""
        stretches, self._stretches = self._stretches or [], None
        if self._short_ns >= _NEGLIGIBLE_NS:
            stretches.append([self._short_since_ns, self._short_until_ns, self._short_ns, self._short_times])
        self._short_ns = self._short_times = 0
        return stretches

    def open_since(self, before_ns: int) -> int:
        """When the suspension began that lasts since ``before_ns`` or earlier. 0 if there is none to report:
        the call runs, it awaits references, or the suspension is marked as open.
        """
        since = self._suspended_at_ns
        is_blocked = self._refs or self._refs_ns != self._blocked_before
        return 0 if since > before_ns or is_blocked or self._open_since_ns else since

    def mark_open(self, since_ns: int) -> bool:
        """This suspension is being reported before its end. False if the call runs already."""
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
