"""CPUs that are idle until the last task of a stage ends, because only then the next stage begins."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import granted
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Bools, Wait

#: Minimum number of tasks for a stage.
_MIN_TASKS = 3
#: The tail of a stage begins when the CPUs that have work fall to this share.
_MAX_BUSY_SHARE = 0.5
#: A call that takes this many times the median of its function is a straggler, which is reported separately.
_STRAGGLER_RATIO = 3.0
#: Only up to this share of a function's calls are stragglers.
_MAX_STRAGGLER_SHARE = 0.2
#: A single barrier between two stages is normal.
_MIN_BARRIERS = 2
#: Tails below this share of the job's time are due to tasks of different lengths.
_MIN_SHARE = 0.1


class IdleGap:
    """CPUs are idle at a barrier: the next stage is submitted only when the last task of a stage has ended.

    Limits: at least twice, a caller waits with one ray.get for all of at least 3 tasks, and then submits
    more. At the end of these waits at least half of the CPUs that the stage used are idle, and the idle time
    is at least 10 % of the CPUs' time. Stages with stragglers, tasks without CPUs, and calls of actors are
    left out.

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
        """Callers with stages that leave CPUs idle at their ends."""
        busy, straggles = None, _find_stragglers(facts)
        for task, waits in facts.waits(_MIN_BARRIERS):
            barriers = list(_barriers(facts, task, waits, straggles))
            if len(barriers) < _MIN_BARRIERS or not facts.cpus:
                continue
            busy = busy or _Busy(facts)
            tails = [(busy.tail(wait.begin, wait.end), next_ns, wait) for wait, next_ns in barriers]
            tails = [one for one in tails if one[0][0] > 0]
            cost = sum(
                min(round(length - executed / facts.cpus), next_ns)
                for (length, executed), next_ns, _ in tails
            )
            whole = sum(length for (length, _), _, _ in tails)
            if len(tails) >= _MIN_BARRIERS and cost >= _MIN_SHARE * facts.duration_ns:
                longest = max(tails, key=lambda one: one[0][0])[2]
                used = sum(executed for (_, executed), _, _ in tails)
                function = facts.caller(longest.named[0][0])
                yield Finding(
                    cost,
                    function=function,
                    caller=facts.caller(task),
                    confidence="medium",  # the next stage may need all values of the previous one
                    numbers={
                        "barriers": len(tails),
                        "tail_ns": whole,
                        "idle_share": max(0.0, 1 - used / (whole * facts.cpus)),
                        "cpus": facts.cpus,
                    },
                    filters={"func_name": function},
                )


def _barriers(facts: Facts, task: int, waits: list[Wait], straggles: Bools) -> Iterable[tuple[Wait, int]]:
    """The gets that wait for a whole stage, each with the duration of the next stage, ns."""
    a = facts.attempts
    stages = [
        wait
        for wait in waits
        if not wait.is_wait and wait.summed_ns < 0 and _is_stage(facts, wait, straggles)
    ]
    if len(stages) < _MIN_BARRIERS:
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
    """Whether a get waits for several tasks with CPUs and without stragglers."""
    a = facts.attempts
    named = {one for one, _ in wait.named}
    if len(named) < _MIN_TASKS:
        return False
    rows = facts.last_rows[list(named)]
    if (a.kind[rows] != NORMAL).any() or not facts.cpus_asked[rows].all():
        return False
    own = facts.own_ns[rows]
    return bool(own.min() >= 0) and not straggles[rows].any()


def _find_stragglers(facts: Facts) -> Bools:
    """Whether each attempt is one of a few of its function that take many times the median."""
    found = np.zeros(len(facts.attempts), dtype=np.bool_)
    for rows in facts.rows_of_function.values():
        is_long = facts.own_ns[rows] >= _STRAGGLER_RATIO * np.median(facts.own_ns[rows])
        if is_long.sum() <= _MAX_STRAGGLER_SHARE * len(rows):
            found[rows] = is_long
    return found


class _Busy:
    """The number of CPUs with work over time. A task whose worker is still starting already has its CPUs."""

    def __init__(self, facts: Facts) -> None:
        a, waits, waiting = facts.attempts, facts.recorded.waits, facts.recorded.waiting_rows
        begin, cpus = granted(facts), facts.cpus_asked
        had = (a.kind == NORMAL) & (begin >= 0) & (a.returned > begin)
        rows = np.flatnonzero(had)
        # A blocked task releases its CPUs.
        blocked = np.flatnonzero((waiting >= 0) & (waits.summed_ns < 0))
        blocked = blocked[had[waiting[blocked]]]
        times = [begin[rows], a.returned[rows], waits.end[blocked], waits.begin[blocked]]
        of_rows, of_waits = cpus[rows], cpus[waiting[blocked]]
        self._times, places = np.unique(np.concatenate(times), return_inverse=True)
        changes = np.concatenate([of_rows, -of_rows, of_waits, -of_waits])
        self._used: Any = np.cumsum(np.bincount(places, weights=changes, minlength=len(self._times)))
        self._most = _MAX_BUSY_SHARE * facts.cpus

    def tail(self, begin: int, end: int) -> tuple[int, float]:
        """How long few CPUs had work at the end of a wait, and their CPU time then."""
        first, last = np.searchsorted(self._times, [begin, end])
        lengths = np.diff(np.append(self._times[first:last], end))
        used = self._used[first:last]
        # If Ray has fewer workers than there are CPUs, these are busy until the end.
        most = min(self._most, _MAX_BUSY_SHARE * float(used.max(initial=0.0)))
        full = np.flatnonzero(used > most + 1e-6)
        since = full[-1] + 1 if len(full) else 0
        return int(lengths[since:].sum()), float((lengths[since:] * used[since:]).sum())
