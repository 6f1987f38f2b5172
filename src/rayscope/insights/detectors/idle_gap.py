"""CPUs that are idle until the last task of a stage is done, for only then the next stage begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import granted
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Bools, Wait

#: Fewer tasks are no stage.
_LEAST_TASKS = 3
#: The tail of a stage begins when no more than this share of the CPUs has work.
_BUSY = 0.5
#: Few tasks of a function that take so many times the median are stragglers, which are told as such.
_STRAGGLES, _FEW = 3.0, 0.2
#: One barrier between two stages is what most programs have; and tails that cost less of the job's time
#: come of tasks that are not equally long.
_BARRIERS, _SHARE = 2, 0.1


class IdleGap:
    """CPUs are idle behind a barrier: the next stage is submitted when the last task of a stage is done.

    Limits: at least 2 times a caller waits for all of at least 3 tasks with one ray.get, at the end of which
    at least half of the CPUs that the stage used have nothing to do, and then submits more; what is idle then
    comes to at least 10 % of the CPUs' time. Stages with stragglers, which few calls of a function are, tasks
    without CPUs, and calls of actors are left out.

    Needs: the tracer in the caller: its waits, and the objects that they name.
    """

    kind = "idle_gap"
    title = "CPUs idle at barriers"
    advice = (
        "{barriers} times ray.get waits for all of a stage before the next one is submitted; the {cpus:g} "
        "CPUs were {idle_share:.0%} idle for the last {tail_ns} of these stages. Pass the references on, so "
        "that a task begins when its own arguments are ready, or take results as they complete with ray.wait."
    )
    sketch = (
        "prepared = [prepare.remote(item) for item in items]\n"
        "done = ray.get([train.remote(ref) for ref in prepared])"
    )
    doc = "anti-pattern: calling ray.get unnecessarily harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """By caller the tails of its stages."""
        busy, straggles = None, _straggles(facts)
        for task, waits in facts.waits(_BARRIERS):
            barriers = list(_barriers(facts, task, waits, straggles))
            if len(barriers) < _BARRIERS or not facts.cpus:
                continue
            busy = busy or _Busy(facts)
            tails = [(busy.tail(wait.begin, wait.end), next_ns, wait) for wait, next_ns in barriers]
            tails = [one for one in tails if one[0][0] > 0]
            cost = sum(
                min(round(length - executed / facts.cpus), next_ns)
                for (length, executed), next_ns, _ in tails
            )
            whole = sum(length for (length, _), _, _ in tails)
            if len(tails) >= _BARRIERS and cost >= _SHARE * facts.duration_ns:
                longest = max(tails, key=lambda one: one[0][0])[2]
                used = sum(executed for (_, executed), _, _ in tails)
                function = facts.caller(longest.named[0][0])
                yield Finding(
                    cost,
                    function=function,
                    caller=facts.caller(task),
                    confidence="medium",  # the next stage may need all values of the one before
                    numbers={
                        "barriers": len(tails),
                        "tail_ns": whole,
                        "idle_share": max(0.0, 1 - used / (whole * facts.cpus)),
                        "cpus": facts.cpus,
                    },
                    filters={"func_name": function},
                )


def _barriers(facts: Facts, task: int, waits: list[Wait], straggles: Bools) -> Iterable[tuple[Wait, int]]:
    """The gets of all that was submitted, each with how long the stage after it lasted."""
    a = facts.attempts
    stages = [
        wait
        for wait in waits
        if not wait.is_wait and wait.summed_ns < 0 and _is_stage(facts, wait, straggles)
    ]
    if len(stages) < _BARRIERS:
        return
    submitted = facts.children(task)
    created = a.created[facts.first_rows[submitted]]
    for place, wait in enumerate(stages):
        until = stages[place + 1].begin if place + 1 < len(stages) else facts.recorded.driver[1]
        first = np.searchsorted(created, wait.end)
        last = np.searchsorted(created, max(until, wait.end), "right")
        done = int(a.returned[facts.last_rows[submitted[first:last]]].max(initial=-1))
        if done > wait.end:
            yield wait, done - wait.end


def _is_stage(facts: Facts, wait: Wait, straggles: Bools) -> bool:
    """Whether a get waits for several tasks with CPUs, without a straggler among them."""
    a = facts.attempts
    named = {one for one, _ in wait.named}
    if len(named) < _LEAST_TASKS:
        return False
    rows = facts.last_rows[list(named)]
    if (a.kind[rows] != NORMAL).any() or not facts.cpus_asked[rows].all():
        return False
    own = facts.own_ns[rows]
    return bool(own.min() >= 0) and not straggles[rows].any()


def _straggles(facts: Facts) -> Bools:
    """By attempt whether it is one of the few of its function that take many times as long as the others."""
    found = np.zeros(len(facts.attempts), dtype=np.bool_)
    for rows in facts.rows_of_function.values():
        is_long = facts.own_ns[rows] >= _STRAGGLES * np.median(facts.own_ns[rows])
        if is_long.sum() <= _FEW * len(rows):
            found[rows] = is_long
    return found


class _Busy:
    """How many CPUs had work, over time. What waits for its worker to start has its CPUs already."""

    def __init__(self, facts: Facts) -> None:
        a, waits, waiting = facts.attempts, facts.recorded.waits, facts.recorded.waiting_rows
        begin, cpus = granted(facts), facts.cpus_asked
        had = (a.kind == NORMAL) & (begin >= 0) & (a.returned > begin)
        rows = np.flatnonzero(had)
        # A task that is blocked gives its CPUs back meanwhile.
        blocked = np.flatnonzero((waiting >= 0) & (waits.summed_ns < 0))
        blocked = blocked[had[waiting[blocked]]]
        times = [begin[rows], a.returned[rows], waits.end[blocked], waits.begin[blocked]]
        of_rows, of_waits = cpus[rows], cpus[waiting[blocked]]
        self._times, places = np.unique(np.concatenate(times), return_inverse=True)
        changes = np.concatenate([of_rows, -of_rows, of_waits, -of_waits])
        self._used: Any = np.cumsum(np.bincount(places, weights=changes, minlength=len(self._times)))
        self._most = _BUSY * facts.cpus

    def tail(self, begin: int, end: int) -> tuple[int, float]:
        """How long at the end of a wait few CPUs had work, and their CPU time then."""
        first, last = np.searchsorted(self._times, [begin, end])
        lengths = np.diff(np.append(self._times[first:last], end))
        used = self._used[first:last]
        # Where Ray has fewer workers than there are CPUs for, all of these are busy until the end.
        most = min(self._most, _BUSY * float(used.max(initial=0.0)))
        full = np.flatnonzero(used > most + 1e-6)
        since = full[-1] + 1 if len(full) else 0
        return int(lengths[since:].sum()), float((lengths[since:] * used[since:]).sum())
