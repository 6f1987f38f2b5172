"""Extracts from the record how long Ray itself delayed each attempt. Excludes the program's own work and
waits for other tasks.

An attempt that waited for a slot began when the slot became free. That time is inferred from what ran before
it on the same worker or actor, or from the reservations on its node.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from rayscope.insights.replay.program import CALL, CREATION, NORMAL, UNLIMITED
from rayscope.insights.replay.recorded import LARGE_BYTES, Recorded

#: A task whose start took longer than this, in ns, may have waited for resources.
_MIN_LONG_NS = 20_000_000
#: A task that gets an idle worker is assumed to start this long after it gets its resources, in ns, if the
#: usual delay of its function is unknown.
_USUAL_NS = 2_000_000
#: Starting a worker is assumed to take at least this long, in ns.
FASTEST_START_NS = 50_000_000
#: Two calls run at the same time if they overlap by more than this, in ns.
_OVERLAP_NS = 100_000


class Delays(NamedTuple):
    """Delays of each attempt in ns, as in :class:`Programs`. ``slots``: how many calls each actor runs at
    once.

    ``starts``: for each node, the workers that tasks had to wait for, each with the time to start it and then
    to load code. ``idle``: for each node, the number of workers that were already there.
    """

    lead: list[int]
    delay: list[int]
    startup: list[int]
    transfer: list[int]
    slots: list[int]
    starts: dict[int, list[tuple[int, int]]]
    idle: dict[int, int]


def measure(recorded: Recorded, ready: list[int]) -> Delays:
    """Measure the delays of all attempts that began. ``ready``: when each had been submitted and had its
    arguments.
    """
    attempts = recorded.lists
    rows = len(attempts.task)
    delays = Delays([0] * rows, [0] * rows, [0] * rows, [0] * rows, [1] * len(recorded.actors), {}, {})
    _of_tasks(recorded, ready, delays)
    _of_calls(recorded, ready, delays)
    for row in range(rows):
        if attempts.start[row] < 0:
            continue
        left = delays.delay[row]
        startup = 0
        if attempts.kind[row] != CALL:
            if attempts.kind[row] == CREATION and 0 <= attempts.starting[row] <= attempts.given[row]:
                startup = attempts.given[row] - max(attempts.starting[row], attempts.start[row] - left)
            startup = min(left, max(0, startup) + attempts.loading[row])
        delays.startup[row] = startup
        if attempts.fetched_bytes[row] >= LARGE_BYTES:
            delays.transfer[row] = min(left - startup, attempts.fetching[row])
    return delays


def _of_tasks(recorded: Recorded, ready: list[int], delays: Delays) -> None:
    attempts = recorded.lists
    start, ended, worker, given = attempts.start, attempts.ended, attempts.worker, attempts.given
    order = sorted(
        (row for row in range(len(start)) if start[row] >= 0 and attempts.kind[row] <= CREATION),
        key=start.__getitem__,
    )
    last: dict[int, int] = {}
    long = []
    fresh = []
    for row in order:
        pending = min(max(ready[row], attempts.pending[row]), start[row])
        delays.lead[row] = max(0, pending - ready[row])
        free = last.get(worker[row], -1) if worker[row] >= 0 else -1
        base = min(start[row], max(pending, free))
        delays.delay[row] = start[row] - base
        if start[row] - base > _MIN_LONG_NS:
            long.append(row)
        if attempts.kind[row] == NORMAL and worker[row] >= 0:
            if worker[row] not in last:
                fresh.append(row)
            last[worker[row]] = max(free, ended[row])
    if long:
        reserved = Reserved(recorded)
        for row in long:
            base = start[row] - delays.delay[row]
            until = given[row] if given[row] >= 0 else start[row]
            if attempts.starting[row] >= 0:
                until = min(until, attempts.starting[row])
            delays.delay[row] = start[row] - max(base, reserved.free_since(row, base, until))
    _split_off_starts(recorded, fresh, delays)


def _split_off_starts(recorded: Recorded, fresh: list[int], delays: Delays) -> None:
    """Attribute the time to start a worker and to load code to the worker, not to its first task."""
    attempts = recorded.lists
    is_fresh = set(fresh)
    others: dict[int, list[int]] = defaultdict(list)
    for row, start in enumerate(attempts.start):
        if start >= 0 and attempts.kind[row] == NORMAL and row not in is_fresh:
            others[attempts.function[row]].append(delays.delay[row])
    usual = {function: int(np.median(found)) for function, found in others.items()}
    first = min(attempts.created, default=0)
    ready: dict[int, list[int]] = defaultdict(list)
    starts: list[tuple[int, int, int, int]] = []
    for row in sorted(fresh, key=lambda row: _launched(recorded, row)):
        delay, node, given = delays.delay[row], attempts.node[row], attempts.given[row]
        delays.delay[row] = usually = min(delay, usual.get(attempts.function[row], _USUAL_NS))
        since = attempts.start[row] - delay
        given = min(max(given, since), attempts.start[row])
        loading = max(0, attempts.start[row] - given - usually)
        # If as many workers are already starting as the node can start at once, the next one waits.
        slots = recorded.start_slots.get(node, UNLIMITED)
        before = [time for time in ready[node] if time > since]
        if len(before) >= slots:
            since = min(given, sorted(before)[-slots])
        waited = given - since
        launch, started = recorded.workers[attempts.worker[row]]
        if launch is not None and started is not None and launch > first:
            waited = max(waited, started - launch)
        if waited > FASTEST_START_NS or loading > FASTEST_START_NS:
            starts.append((_launched(recorded, row), node, waited, loading))
            ready[node].append(given)
        else:
            delays.idle[node] = delays.idle.get(node, 0) + 1
    # Add the workers that started too late to be used.
    loads = [loading for *_, loading in starts]
    usually = int(np.median(loads)) if loads else 0
    for node, launch, started in recorded.unused_workers:
        starts.append((launch, node, max(0, started - max(launch, first)), usually))
    for _, node, waited, loading in sorted(starts):
        delays.starts.setdefault(node, []).append((waited, loading))


def _launched(recorded: Recorded, row: int) -> int:
    launch = recorded.workers[recorded.lists.worker[row]][0]
    return recorded.lists.given[row] if launch is None else launch


class Reserved:
    """The number of free CPUs of each node over time."""

    def __init__(self, recorded: Recorded) -> None:
        a, waits = recorded.attempts, recorded.waits
        self._node = a.node
        is_actor = (a.kind == CREATION) & (a.actor >= 0)
        of_demand = np.array([*(demand.get("CPU", 0.0) for demand in recorded.demands), 0.0])
        of_actor = np.array([*(actor.resources.get("CPU", 0.0) for actor in recorded.actors), 0.0])
        end_of_actor = np.array([*(actor.end for actor in recorded.actors), -1])
        holds = (a.start >= 0) & (a.kind <= CREATION) & (a.group < 0)
        self._needs: Any = np.where(holds, np.where(is_actor, of_actor[a.actor], of_demand[a.demand]), 0.0)
        end = np.where(is_actor, end_of_actor[a.actor], a.ended)
        given = np.where((a.given >= 0) & (a.given <= a.start), a.given, a.start)
        took = np.flatnonzero(self._needs)
        gave = took[end[took] >= 0]
        # A blocked task releases its CPUs.
        blocked = np.flatnonzero(recorded.waiting_rows >= 0)
        rows = recorded.waiting_rows[blocked]
        is_task = (self._needs[rows] > 0) & (a.kind[rows] != CREATION)
        blocked, rows = blocked[is_task], rows[is_task]
        row = np.concatenate([took, gave, rows, rows])
        time = np.concatenate([given[took], end[gave], waits.begin[blocked], waits.end[blocked]])
        sign = np.repeat([-1.0, 1.0, 1.0, -1.0], [len(took), len(gave), len(rows), len(rows)])
        change = sign * self._needs[row]
        self._total = {place: node.resources.get("CPU", 0.0) for place, node in enumerate(recorded.nodes)}
        self._times: dict[int, Any] = {}
        self._free: dict[int, Any] = {}
        for node in np.unique(a.node[row]).tolist():
            of_node = np.flatnonzero(a.node[row] == node)
            order = of_node[np.lexsort((change[of_node], time[of_node]))]
            self._times[node] = time[order]
            self._free[node] = self._total.get(node, float("inf")) + np.cumsum(change[order])

    def free_at(self, node: int, times: list[int]) -> list[float]:
        """The number of free CPUs of a node at each of ``times``."""
        whole = self._total.get(node, float("inf"))
        if node not in self._times:
            return [whole] * len(times)
        free = np.concatenate([[whole], self._free[node]])
        return [float(one) for one in free[np.searchsorted(self._times[node], times, "right")]]

    def free_since(self, row: int, since: int, until: int) -> int:
        """The time, no earlier than ``since``, from which a node always had enough free CPUs for an attempt,
        up to ``until``.
        """
        node, needs = self._node[row], self._needs[row]
        if not needs or node not in self._times:
            return since
        times, free = self._times[node], self._free[node]
        first = max(0, int(np.searchsorted(times, since, "right")) - 1)
        last = int(np.searchsorted(times, until, "left"))
        lacking = np.flatnonzero(free[first:last] < needs - 1e-6)
        if not len(lacking):
            return since
        at = first + int(lacking[-1]) + 1
        return min(until, int(times[at])) if at < len(times) else until


def _of_calls(recorded: Recorded, ready: list[int], delays: Delays) -> None:
    attempts = recorded.lists
    calls: dict[int, list[int]] = defaultdict(list)
    created: dict[int, int] = {}
    for row, start in enumerate(attempts.start):
        actor = attempts.actor[row]
        if start < 0 or actor < 0:
            continue
        if attempts.kind[row] == CALL:
            calls[actor].append(row)
        elif attempts.kind[row] == CREATION and attempts.ended[row] >= 0:
            created[actor] = min(created.get(actor, attempts.ended[row]), attempts.ended[row])
    for actor, rows in calls.items():
        rows.sort(key=attempts.start.__getitem__)
        slots = _slots(recorded, rows, ready)
        delays.slots[actor] = slots
        # When each slot of the actor becomes free again.
        free = [0] * (slots if slots < UNLIMITED else 0)
        gaps: list[int] = []
        unrecorded: list[tuple[int, int]] = []
        for row in rows:
            start, returned = attempts.start[row], attempts.returned[row]
            arrived = min(start, max(ready[row], created.get(actor, 0)))
            room = min(start, heapq.heappop(free)) if free else -1
            if slots < UNLIMITED:
                heapq.heappush(free, returned if returned >= 0 else 1 << 62)
            if created.get(actor, 0) > max(ready[row], room):
                # The call arrived before the actor was created.
                delays.delay[row] = start - arrived
                unrecorded.append((row, arrived - ready[row]))
            elif room > arrived:
                delays.delay[row] = start - room
                gaps.append(start - room)
                unrecorded.append((row, room - ready[row]))
            else:
                delays.lead[row] = start - arrived
        usual_gap = int(np.median(gaps)) if gaps else 0
        leads = [delays.lead[row] for row in rows if delays.lead[row]]
        usual_lead = int(np.median(leads)) if leads else 0
        for row in rows:
            if delays.lead[row]:
                delays.delay[row] = min(usual_gap, delays.lead[row])
                delays.lead[row] -= delays.delay[row]
        for row, most in unrecorded:
            delays.lead[row] = max(0, min(usual_lead, most))


def _slots(recorded: Recorded, rows: list[int], ready: list[int]) -> int:
    """How many calls an actor can run at once: the maximum number observed. It is unlimited if that number is
    more than 1 and no further calls had to wait while it was reached.
    """
    attempts = recorded.lists
    running: list[int] = []
    most = 1
    for row in rows:
        start = attempts.start[row]
        while running and running[0] <= start + _OVERLAP_NS:
            heapq.heappop(running)
        returned = attempts.returned[row]
        heapq.heappush(running, returned if returned >= 0 else 1 << 62)
        most = max(most, len(running))
    if most == 1:
        return 1
    running.clear()
    for row in rows:
        start = attempts.start[row]
        room = -1
        while running and running[0] <= start:
            ended = heapq.heappop(running)
            if len(running) + 1 >= most:
                room = ended
        if room > ready[row] + 5_000_000 and start - room < 5_000_000:
            return most
        returned = attempts.returned[row]
        heapq.heappush(running, returned if returned >= 0 else 1 << 62)
    return UNLIMITED
