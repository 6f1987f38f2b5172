"""The simulation's events, and how runs execute their steps.

- A normal task, or the creation of an actor, needs its arguments and then resources on a node or in its
  placement group (:mod:`.scheduler`), and a worker (:mod:`.workers`).
- A call needs its arguments and a turn at its actor (:mod:`.actors`). Calls of one caller arrive in the order
  of submission.
- A blocked task releases its CPUs, and takes them again as soon as it continues, even if they are not free.
  Actors keep theirs until they end (:mod:`.pools`).
- A retried task repeats its recorded attempts one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

from rayscope.insights.replay.program import (
    CALL,
    COMPUTE,
    CREATION,
    END,
    KILL,
    NORMAL,
    RESERVE,
    SUBMIT,
    UNIT,
    WAIT,
    YIELD,
    Programs,
    Wait,
)
from rayscope.insights.replay.simulation.actors import Actors
from rayscope.insights.replay.simulation.pools import Pools
from rayscope.insights.replay.simulation.scheduler import Scheduler

#: Kinds of events. Each event is about a run, a node or a lease.
_STEP = 0
_ARRIVED = 1
_ENDED = 2
_DONE = 3
_TIMEOUT = 4
_NODE = 5
_WORKER = 6
#: Number of events between checks of whether anyone is still waiting for the answer.
_EVENTS_PER_CHECK = 8192


class Blocked(NamedTuple):
    """A wait of a run. ``by``: the run whose signal ended the wait, or -1 after a timeout."""

    run: int
    begin_ns: int
    end_ns: int
    by: int


class Replayed(NamedTuple):
    """The result of a replay. Lists have one item for each run. Times are ns since the start (-1: never).

    ``argument``: the run that set the last argument that it waited for. ``cause``: if it waited in a queue,
    the run that released the capacity. ``reserved_ns``: reserved CPUs multiplied by the time for which they
    were reserved.
    """

    duration_ns: int
    is_stuck: bool
    reserved_ns: float
    ready_ns: list[int]
    given_ns: list[int]
    started_ns: list[int]
    ended_ns: list[int]
    submitter: list[int]
    argument: list[int]
    cause: list[int]
    blocked: list[Blocked]


def replay(programs: Programs, check: Callable[[float], None] = lambda part: None) -> Replayed:
    """Run ``programs``. ``check`` is called regularly, and at the end, with the progress (0 to 1). It may
    raise an exception to stop the replay.
    """
    return Simulation(programs).run(check)


class Simulation:
    """The state of a replay. Lists with one item for each run, signal, or counter have names in the singular.

    ``has_room``: whether resources or workers became free since the last dispatch. ``made_room``: the run
    that freed them.
    """

    def __init__(self, programs: Programs) -> None:
        self.programs = programs
        runs = len(programs.kind)
        self.now = 0
        self.has_room = False
        self.made_room = -1
        self._heap: list[tuple[int, int, int, int]] = []
        self._order = 0

        self.ready_ns, self.given_ns = [-1] * runs, [-1] * runs
        self.started_ns, self.ended_ns = [-1] * runs, [-1] * runs
        self.submitter, self.argument, self.cause = [-1] * runs, [-1] * runs, [-1] * runs
        self.waiting_for = [-1] * runs
        self.blocked: list[Blocked] = []
        self._at = programs.first.copy()
        self._missing = [0] * runs
        self._is_submitted, self._has_arrived = bytearray(runs), bytearray(runs)
        self._is_parked = bytearray(runs)
        self._blocked_since, self._timeout_of = [-1] * runs, [-1] * runs

        self._is_there = bytearray(programs.signals)
        #: The runs that wait for each signal: ``run`` if it waits for arguments, and ``~run`` if it is
        #: blocked.
        self._waiters: list[list[int] | None] = [None] * programs.signals
        self._count, self._counter_waiter = [0] * programs.counters, [-1] * programs.counters

        self.pools = Pools(self, programs)
        self._scheduler = Scheduler(self, self.pools, programs)
        self._actors = Actors(self, self.pools, programs)

    def run(self, check: Callable[[float], None]) -> Replayed:
        """Run until all drivers have ended, or until nothing can happen any more."""
        self._plan_nodes_and_drivers()
        heap, ended_ns, scheduler = self._heap, self.ended_ns, self._scheduler
        runs = max(1, len(ended_ns))
        left = set(self.programs.roots)
        events = ends = 0
        while heap and left:
            self.now, number, event, run = heappop(heap)
            if event == _STEP:
                self._execute_steps(run)
            elif event == _DONE:
                self._finish(run)
            elif event == _ENDED:
                self._end_call(run)
                ends += 1
            elif event == _ARRIVED:
                self._arrive(run)
            elif event == _TIMEOUT:
                if self._timeout_of[run] == number:
                    self._resume(run, -1)
            elif event == _WORKER:
                scheduler.workers.start(run)
            else:
                node, sign = (run, 1) if run >= 0 else (~run, -1)
                self.pools.add_node(node, sign)
                self.has_room = True
            if self.has_room:
                scheduler.dispatch()
            events += 1
            if not events % _EVENTS_PER_CHECK:
                check(min(1.0, ends / runs) * 0.99)
            if event in (_STEP, _DONE) and run in left and ended_ns[run] >= 0:
                left.discard(run)
        check(1.0)
        return self._result(is_stuck=bool(left))

    def _plan_nodes_and_drivers(self) -> None:
        programs = self.programs
        for node, (begin_ns, end_ns) in enumerate(zip(programs.node_from, programs.node_until, strict=True)):
            if begin_ns > 0:
                self._later(begin_ns, _NODE, node)
            if end_ns >= 0:
                self._later(end_ns, _NODE, ~node)
        for root, begin_ns in zip(programs.roots, programs.root_begins, strict=True):
            self._later(begin_ns, _ARRIVED, root)

    def _result(self, *, is_stuck: bool) -> Replayed:
        return Replayed(
            duration_ns=max((self.ended_ns[root] for root in self.programs.roots), default=0),
            is_stuck=is_stuck,
            reserved_ns=self.pools.reserved_until(self.now) / UNIT,
            ready_ns=self.ready_ns,
            given_ns=self.given_ns,
            started_ns=self.started_ns,
            ended_ns=self.ended_ns,
            submitter=self.submitter,
            argument=self.argument,
            cause=self.cause,
            blocked=self.blocked,
        )

    def _later(self, time_ns: int, event: int, run: int) -> int:
        """Add an event. Returns its number."""
        self._order = order = self._order + 1
        heappush(self._heap, (time_ns, order, event, run))
        return order

    def start_worker_after(self, duration_ns: int, lease: int) -> None:
        """Let the worker of a lease finish starting after ``duration_ns``."""
        self._later(self.now + duration_ns, _WORKER, lease)

    def mark_room(self, run: int) -> None:
        """Note that ``run`` freed resources or a worker."""
        self.has_room, self.made_room = True, run

    def _submit(self, run: int, by: int) -> None:
        if self._is_submitted[run]:
            return
        self._is_submitted[run] = 1
        self.submitter[run] = by
        lacking = self._wait_for(self.programs.arguments[run], run)
        is_call = self.programs.kind[run] == CALL
        if is_call:
            self._actors.outstanding[self.programs.actor[run]] += 1
        lead_ns = self.programs.lead[run]
        if lacking:
            self._missing[run] = lacking
        elif lead_ns or is_call:
            self._later(self.now + lead_ns, _ARRIVED, run)
        else:
            self._arrive(run)

    def _wait_for(self, signals: tuple[int, ...], waiter: int) -> int:
        """Add a waiter to those of the signals that have not been set yet. Returns the number of these
        signals.
        """
        lacking = 0
        is_there, waiters = self._is_there, self._waiters
        for signal in signals:
            if not is_there[signal]:
                lacking += 1
                others = waiters[signal]
                if others is None:
                    waiters[signal] = [waiter]
                else:
                    others.append(waiter)
        return lacking

    def _arrive(self, run: int) -> None:
        """Put a run that has its arguments into a queue."""
        programs, has_arrived = self.programs, self._has_arrived
        kind, before = programs.kind[run], programs.before[run]
        if before >= 0 and not has_arrived[before]:
            self._is_parked[run] = 1
            return
        has_arrived[run] = 1
        self.ready_ns[run] = self.now
        if kind <= CREATION:
            self._scheduler.enqueue(run)
        elif kind == CALL:
            self._actors.enqueue(run, programs.actor[run])
        else:
            self.begin(run)
        following = programs.after[run]
        if following >= 0 and self._is_parked[following]:
            self._is_parked[following] = 0
            self._later(self.now, _ARRIVED, following)

    def begin(self, run: int, loading_ns: int = 0) -> None:
        """Start a run that has everything it needs."""
        programs, now = self.programs, self.now
        self.given_ns[run] = now
        if self.ready_ns[run] < now:
            self.cause[run] = self.made_room
        starts = now + programs.delay[run] + loading_ns
        self.started_ns[run] = starts
        if programs.first[run] >= 0:
            self._later(starts, _STEP, run)
            return
        ends = starts + int(programs.alone[run] * programs.factor[run])
        if programs.kind[run] == CALL:
            self._later(ends, _ENDED, run)
        else:
            self._later(ends + programs.tail[run], _DONE, run)

    def _execute_steps(self, run: int) -> None:
        """Execute the next steps of a run."""
        programs = self.programs
        steps, numbers, at = programs.step, programs.number, self._at[run]
        while True:
            step, number = steps[at], numbers[at]
            at += 1
            if step == COMPUTE:
                self._at[run] = at
                self._later(self.now + int(number * programs.factor[run]), _STEP, run)
                return
            if step == SUBMIT:
                self._submit(number, run)
            elif step == WAIT:
                wait = programs.waits[number]
                if self._block(run, number, wait):
                    self._at[run] = at
                    return
                if wait.after_ns:
                    self._at[run] = at
                    self._later(self.now + wait.after_ns, _STEP, run)
                    return
            elif step == END:
                self._end(run)
                return
            else:
                self._execute(step, number, run)

    def _execute(self, step: int, number: int, run: int) -> None:
        """Execute a step that takes no time."""
        if step == YIELD:
            self._set_signal(number, run)
        elif step == KILL:
            self._actors.kill(number)
        elif step == RESERVE:
            self.pools.reserve(number)
        else:
            self.pools.remove(number)
            self.mark_room(run)

    def _block(self, run: int, number: int, wait: Wait) -> bool:
        """Block a run in a wait. Returns False if the wait is already satisfied."""
        if wait.counter >= 0:
            if self._count[wait.counter] >= wait.needed:
                return False
            self._counter_waiter[wait.counter] = run
        else:
            lacking = self._wait_for(wait.signals, ~run)
            if not lacking:
                return False
            self._missing[run] = lacking
        self.waiting_for[run], self._blocked_since[run] = number, self.now
        if wait.timeout_ns >= 0:
            self._timeout_of[run] = self._later(self.now + wait.timeout_ns, _TIMEOUT, run)
        self.pools.shift_cpus(run, release=True)
        self._actors.lend(run, wait)
        return True

    def _resume(self, run: int, by: int) -> None:
        wait = self.programs.waits[self.waiting_for[run]]
        if wait.counter >= 0:
            self._counter_waiter[wait.counter] = -1
        self.waiting_for[run] = self._timeout_of[run] = -1
        self.pools.shift_cpus(run, release=False)
        self._actors.take_back(run)
        self.blocked.append(Blocked(run, self._blocked_since[run], self.now, by))
        self._later(self.now + wait.after_ns, _STEP, run)

    def _set_signal(self, signal: int, by: int) -> None:
        if self._is_there[signal]:
            return
        self._is_there[signal] = 1
        counter = self.programs.counted_by[signal]
        if counter >= 0:
            self._count[counter] += 1
            waiter = self._counter_waiter[counter]
            if waiter >= 0:
                wait = self.programs.waits[self.waiting_for[waiter]]
                if self._count[counter] >= wait.needed:
                    self._resume(waiter, by)
        waiters = self._waiters[signal]
        if waiters is None:
            return
        self._waiters[signal] = None
        missing = self._missing
        for waiter in waiters:
            run = waiter if waiter >= 0 else ~waiter
            missing[run] -= 1
            if missing[run] == 0:
                if waiter >= 0:
                    self.argument[run] = by
                    self._later(self.now + self.programs.lead[run], _ARRIVED, run)
                else:
                    self._resume(run, by)

    def _end(self, run: int) -> None:
        """End the last step of a run."""
        tail_ns = self.programs.tail[run]
        if self.programs.kind[run] == CALL:
            self._end_call(run)
        elif tail_ns:
            self._later(self.now + tail_ns, _DONE, run)
        else:
            self._finish(run)

    def _end_call(self, run: int) -> None:
        """End the last step of a call, so that its actor can run the next one."""
        self.made_room = run
        self._actors.leave(run)
        tail_ns = self.programs.tail[run]
        if tail_ns:
            self._later(self.now + tail_ns, _DONE, run)
        else:
            self._finish(run)

    def _finish(self, run: int) -> None:
        """Make the end of a run known to its owner, and start what follows it."""
        programs, scheduler, kind = self.programs, self._scheduler, self.programs.kind[run]
        self.ended_ns[run] = self.now
        if kind == NORMAL:
            scheduler.workers.idle[self.pools.node_of(self.pools.where[run])] += 1
            self.pools.return_resources(run)
            self.mark_room(run)
            scheduler.running[scheduler.class_of[run]] -= 1
        elif kind == CREATION:
            scheduler.running[scheduler.class_of[run]] -= 1
            self._actors.create(run, programs.actor[run])
        elif kind == CALL:
            self._actors.finish_call(programs.actor[run])
        retry, signal = programs.again[run], programs.signal[run]
        if retry >= 0:
            self._is_submitted[retry] = 1
            self.submitter[retry] = run
            if programs.kind[retry] == CALL:
                self._actors.outstanding[programs.actor[retry]] += 1
            self._later(self.now + programs.again_after[run], _ARRIVED, retry)
        elif signal >= 0:
            self._set_signal(signal, run)
