"""CPUs that are idle until the last task of a stage is done, for only then the next stage begins."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.holdings import granted
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Wait

#: Fewer tasks are no stage.
_LEAST_TASKS = 3
#: The tail of a stage begins when no more than this share of the CPUs has work.
_BUSY = 0.5
#: A single task that takes so many times the median is a straggler, which is told as such.
_STRAGGLES = 3.0
#: One barrier between two stages is what most programs have; and tails that cost less of the job's time
#: come of tasks that are not equally long.
_BARRIERS, _SHARE = 2, 0.1


class IdleGap:
    """CPUs are idle behind a barrier: the next stage is submitted when the last task of a stage is done.

    Limits: at least 2 times a caller waits for all of at least 3 tasks with one ray.get, at the end of which
    at least half of the CPUs that the stage used have nothing to do, and then submits more; what is idle then
    comes to at least 10 % of the CPUs' time. A stage whose last task takes three times the median is left
    out: that is a straggler. Tasks without CPUs and calls of actors are left out.

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
        busy = None
        for task, waits in facts.waits():
            barriers = list(_barriers(facts, task, waits))
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
                function = facts.name(facts.rows_of_task[longest.named[0][0]][-1])
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


def _barriers(facts: Facts, task: int, waits: list[Wait]) -> Iterable[tuple[Wait, int]]:
    """The gets of all that was submitted, each with how long the stage after it lasted."""
    a = facts.attempts
    submitted = facts.children.get(task, [])
    created = np.array([facts.created(one) for one in submitted], dtype=np.int64)
    stages = [wait for wait in waits if not wait.is_wait and wait.summed_ns < 0 and _is_stage(facts, wait)]
    for place, wait in enumerate(stages):
        until = stages[place + 1].begin if place + 1 < len(stages) else facts.recorded.driver[1]
        first = np.searchsorted(created, wait.end)
        last = np.searchsorted(created, max(until, wait.end), "right")
        following = submitted[first:last]
        done = max((a.returned[facts.rows_of_task[one][-1]] for one in following), default=-1)
        if done > wait.end:
            yield wait, done - wait.end


def _is_stage(facts: Facts, wait: Wait) -> bool:
    """Whether a get waits for several tasks with CPUs, without a straggler among them."""
    a, recorded = facts.attempts, facts.recorded
    rows = [facts.rows_of_task[one][-1] for one in {one for one, _ in wait.named}]
    if len(rows) < _LEAST_TASKS:
        return False
    if any(a.kind[row] != NORMAL or a.demand[row] < 0 for row in rows):
        return False
    if not all(recorded.demands[a.demand[row]].get("CPU") for row in rows):
        return False
    own = [facts.own_ns(row) for row in rows]
    return min(own) >= 0 and max(own) < _STRAGGLES * statistics.median(own)


class _Busy:
    """How many CPUs had work, over time. What waits for its worker to start has its CPUs already."""

    def __init__(self, facts: Facts) -> None:
        a, demands = facts.attempts, facts.recorded.demands
        changes: dict[int, float] = defaultdict(float)
        for row, kind in enumerate(a.kind):
            begin = granted(facts, row)
            if kind != NORMAL or begin < 0 or a.returned[row] <= begin or a.demand[row] < 0:
                continue
            cpus = demands[a.demand[row]].get("CPU", 0.0)
            changes[begin] += cpus
            changes[a.returned[row]] -= cpus
            for wait in facts.recorded.waits.get((a.task[row], a.number[row]), ()):
                if wait.summed_ns < 0:
                    changes[wait.begin] -= cpus
                    changes[wait.end] += cpus
        self._times = np.array(sorted(changes), dtype=np.int64)
        self._used: Any = np.cumsum([changes[at] for at in sorted(changes)])
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
