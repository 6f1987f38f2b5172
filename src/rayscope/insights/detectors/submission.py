"""Tasks that are too small, or submitted too slowly, too early or in an unfortunate order."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayscope.insights.finding import DRIVER, Facts, Finding, blocked_ns, groups
from rayscope.insights.holdings import granted
from rayscope.insights.replay.build import DRIVER as DRIVER_FUNCTION
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Bools, Ints, Wait

#: A driver that computes for less than this share of the job's time is assumed not to hold the job up.
_DRIVER_MIN_SHARE = 0.25


class DriverBound:
    """The driver computes between its submissions for much of the job, while the cluster has nothing to do.

    Limits: from its first submission to its last, the driver computes for at least a quarter of the job's
    time, and meanwhile the average number of running tasks is at most half of the number of CPUs. Work before
    the first and after the last submission does not count.

    Needs: the tracer in the driver, for its waits.
    """

    kind = "driver_bound"
    title = "The driver is the bottleneck"
    advice = (
        "The driver computed for {own_ns} ({share:.0%} of the job) between its submissions, with "
        "{running:.1f} tasks running on average meanwhile. Move its work into tasks, or submit from several "
        "tasks."
    )
    sketch = "@ray.remote\ndef prepare_and_run(part):\n    return [work(prepare(item)) for item in part]"
    doc = "pattern: using nested tasks to achieve nested parallelism"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """The driver's own time from its first submission to its last, if little ran in the meantime."""
        mine = facts.children(DRIVER)
        waits = next((of for task, of in facts.waits() if task == DRIVER), [])
        if len(mine) < 2:
            return
        begin, end = facts.created(mine[0]), min(facts.created(mine[-1]), facts.recorded.driver[1])
        idle = _gaps(begin, end, [(wait.begin, wait.end) for wait in waits if wait.summed_ns < 0])
        own = sum(until - since for since, until in idle) - sum(
            blocked_ns(wait) for wait in waits if wait.summed_ns >= 0 and wait.end <= end
        )
        if own < _DRIVER_MIN_SHARE * facts.duration_ns:
            return
        running = _executed_ns(facts, idle) / max(1, own)
        if running > max(1.0, facts.cpus) / 2:
            return
        yield Finding(
            own,
            changes=(Change("speed", DRIVER_FUNCTION, 4.0),),
            numbers={"own_ns": own, "share": own / facts.duration_ns, "running": running},
        )


def _executed_ns(facts: Facts, spans: list[tuple[int, int]]) -> float:
    """The total time that attempts executed within the spans, ns."""
    starts, ends = facts.attempts.start, facts.attempts.returned
    known = (starts >= 0) & (ends > starts)
    bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)

    def passed(times: Any) -> Any:
        """For each begin and end of the spans: the sum of the times that had passed since each of the earlier
        ``times``.
        """
        times = np.sort(times)
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(times)])
        count = np.searchsorted(times, bounds)
        return bounds * count - sums[count]

    executed = passed(starts[known]) - passed(ends[known])
    return float((executed[:, 1] - executed[:, 0]).sum())


def _gaps(begin: int, end: int, waits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans from ``begin`` to ``end`` that are not in any wait."""
    found, at = [], begin
    for since, until in sorted(waits):
        if since > at:
            found.append((at, min(since, end)))
        at = max(at, until)
    if at < end:
        found.append((at, end))
    return found


#: Minimum number of tasks that counts as a stage.
_MIN_TASKS = 3
#: The tail of a stage begins when no more than this share of the CPUs have work.
_MAX_BUSY_SHARE = 0.5
#: A call that takes at least this many times its function's median is a straggler, which is reported
#: separately.
_STRAGGLER_RATIO = 3.0
#: If more than this share of a function's calls take that long, none of them is a straggler.
_MAX_STRAGGLER_SHARE = 0.2
#: Minimum number of barriers of a caller for a finding. A single barrier between two stages is normal.
_MIN_BARRIERS = 2
#: If the tails cost less than this share of the job's time, they are attributed to tasks of different
#: lengths.
_GAP_MIN_SHARE = 0.1


class IdleGap:
    """CPUs are idle at a barrier, because the next stage is submitted only when the last task of a stage has
    ended.

    Limits: at least twice, a caller waits with one ray.get for all of at least 3 tasks, and then submits
    more. At the end of these waits at least half of the CPUs that the stage used are idle. The idle CPU time
    is at least 10 % of the CPU time of the cluster during the job. Stages that contain stragglers, tasks that
    request no CPUs, or calls of actors are left out.

    Needs: the tracer in the caller, for its waits and the objects that they name.
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
            if len(tails) >= _MIN_BARRIERS and cost >= _GAP_MIN_SHARE * facts.duration_ns:
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
    """Whether a get waits for several tasks that request CPUs, none of which is a straggler."""
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
    """Whether each attempt is one of the few of its function that take many times the median."""
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
        """The length of the last part of a wait, when only a few CPUs had work, and the CPU time for which
        they had work then. Both are in ns.
        """
        first, last = np.searchsorted(self._times, [begin, end])
        lengths = np.diff(np.append(self._times[first:last], end))
        used = self._used[first:last]
        # If Ray has fewer workers than there are CPUs, not all CPUs get work. So compare with the maximum
        # number that had work.
        most = min(self._most, _MAX_BUSY_SHARE * float(used.max(initial=0.0)))
        full = np.flatnonzero(used > most + 1e-6)
        since = full[-1] + 1 if len(full) else 0
        return int(lengths[since:].sum()), float((lengths[since:] * used[since:]).sum())


_MIN_RESULTS = 5
_NEVER = 1 << 62


class SubmissionOrder:
    """A caller waits for one result while others of the same batch, which it processes later, are ready.

    Limits: at least 5 tasks of one function that were all submitted before the caller waits for the first of
    them. The caller works between the waits.

    Needs: the tracer in the caller, for its waits and the objects that they name.
    """

    kind = "submission_order"
    title = "Results processed in submission order"
    advice = (
        "Results of {function} are taken one by one in the order of submission; for {blocked_ns} the caller "
        "waited for one while later ones were ready to be processed. Take them as they complete, with "
        "ray.wait."
    )
    sketch = "while refs:\n    [done], refs = ray.wait(refs)\n    process(ray.get(done))"
    doc = "anti-pattern: processing results in submission order using ray.get increases runtime"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Batches whose results are got one by one in the order of submission, with work between the gets."""
        facts.require_tracer("their waits")
        a, waits = facts.attempts, facts.recorded.waits
        first_rows, last_rows = facts.first_rows, facts.last_rows
        single = _single_gets(facts)
        awaited = waits.named_task[waits.first_named[single]]
        for task, places in groups(waits.task[single]):
            for _, of_function in groups(a.function[last_rows[awaited[places]]]):
                gets = places[of_function]
                tasks, begin, end = awaited[gets], waits.begin[single[gets]], waits.end[single[gets]]
                if len(gets) < _MIN_RESULTS or a.created[first_rows[tasks]].max() > begin[0]:
                    continue
                ended = a.ended[last_rows[tasks]]
                # For each get except the last: the first time at which one of the later results was ready.
                later = np.minimum.accumulate(np.where(ended >= 0, ended, _NEVER)[:0:-1])[::-1]
                blocked = int(np.maximum(end[:-1] - np.maximum(begin[:-1], later), 0).sum())
                between = int(np.maximum(begin[1:] - end[:-1], 0).sum())
                cost = min(blocked, between)
                if cost > 0:
                    function = facts.name(last_rows[tasks[0]])
                    yield Finding(
                        cost,
                        function=function,
                        caller=facts.caller(task),
                        confidence="medium",
                        numbers={"calls": len(gets), "blocked_ns": blocked, "between_ns": between},
                        filters={"func_name": function},
                    )


def _single_gets(facts: Facts) -> Ints:
    """The calls to ray.get that wait for a single task each, made by the last attempts of callers with enough
    such calls.
    """
    waits = facts.recorded.waits
    first, end = waits.first_named[:-1], waits.first_named[1:]
    found: Ints = np.flatnonzero(waits.is_last_get & (end > first))
    # The tasks that a wait names are sorted, so it is enough to compare the first with the last.
    found = found[waits.named_task[first[found]] == waits.named_task[end[found] - 1]]
    callers = waits.task[found] + 1  # the driver is -1
    has_enough = np.bincount(callers)[callers] >= _MIN_RESULTS
    return found[has_enough]


#: Calls shorter than this, in ns, are tiny. Ray's guide says that tasks should take at least about 10 ms,
#: because running a task costs Ray a few milliseconds.
_MAX_TINY_NS = 10_000_000
#: Ray's approximate overhead per call, in ns.
_CALL_OVERHEAD_NS = 1_000_000
#: The overhead of all calls must add up to at least this share of the job's time.
_TINY_MIN_SHARE = 0.05
#: A batch should take about this long, in ns.
_BATCH_NS = 100_000_000
#: Minimum number of calls that counts as a pattern.
_MIN_CALLS = 200


class TinyTasks:
    """Many calls of a function run for less than 10 ms each.

    Limits: at least 200 calls whose median and mean execution times are both less than 10 ms, excluding the
    time that they are blocked. At an overhead of one millisecond each, they cost at least 5 % of the job's
    time.

    Needs: when calls began and ended.
    """

    kind = "tiny_tasks"
    title = "Tasks too fine-grained"
    advice = (
        "{calls} calls of {function} run {median_ns} each in the median, less than it costs Ray to run a "
        "task. Let each call do the work of about {batch}."
    )
    sketch = (
        "@ray.remote\ndef {function}_batch(items):\n    return [{function}_one(item) for item in items]\n\n"
        "refs = [{function}_batch.remote(items[at:at + {batch}]) for at in range(0, len(items), {batch})]"
    )
    doc = "anti-pattern: over-parallelizing with too fine-grained tasks harms speedup"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with short calls."""
        a = facts.attempts
        for function, calls in facts.calls_of_function.items():
            cost_ns = len(calls) * _CALL_OVERHEAD_NS
            if len(calls) < _MIN_CALLS or cost_ns < _TINY_MIN_SHARE * facts.duration_ns:
                continue
            # Ray drops the execution times of some calls if there are many calls.
            known = calls[a.returned[calls] < a.ended[calls]]
            own = facts.own_ns[known if len(known) > len(calls) / 2 else calls]
            median = int(np.median(own))
            if median >= _MAX_TINY_NS or own.mean() >= _MAX_TINY_NS:
                continue
            batch = min(max(2, round(_BATCH_NS / max(median, 100_000))), max(2, len(calls) // 4))
            # The time that a busy actor spends on each call is not recorded, so merging its calls is not
            # replayed.
            is_method = bool((a.actor[calls] >= 0).all())
            at_once = 1 if is_method else max(1.0, facts.cpus)
            yield Finding(
                min(round(cost_ns / at_once), facts.duration_ns),
                function=function,
                changes=() if is_method else (Change("batch", function, batch),),
                numbers={"calls": len(calls), "median_ns": median, "batch": batch},
                filters={"func_name": function},
            )


#: A caller should not have more pending tasks than this. Ray is tested with up to a million queued tasks on a
#: node. Each pending task costs its owner a few kB of memory, and costs the scheduler some time, which is
#: noticeable above about ten thousand tasks.
_MAX_PENDING = 10_000


class UnboundedPending:
    """A caller submits far more tasks than can run at once, without waiting for earlier ones in between.

    Limits: more than 10,000 tasks of one caller are pending at once. The cost is at most the time for which
    the caller continued to submit. Above all, pending tasks cost memory.

    Needs: when tasks were submitted and began.
    """

    kind = "unbounded_pending"
    title = "Too many pending tasks"
    advice = (
        "{caller_name} had {pending} tasks pending at once and submitted more for {submitting_ns}. Each of "
        "them, its arguments and its result cost memory until it is done. Limit how many are pending: once "
        "there are a few for each CPU, wait with ray.wait before submitting the next."
    )
    sketch = (
        "refs = []\nfor item in items:\n    if len(refs) >= 1000:\n        done, refs = ray.wait(refs)\n"
        "        process(ray.get(done))\n    refs.append(work.remote(item))"
    )
    doc = "pattern: using ray.wait to limit the number of pending tasks"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Callers with too many pending tasks at once."""
        end = facts.recorded.last
        for caller in facts.callers:
            tasks = facts.children(caller)
            if len(tasks) <= _MAX_PENDING:
                continue
            rows = facts.first_rows[tasks]
            created, started = facts.attempts.created[rows], granted(facts)[rows]
            started = np.sort(np.where(started < 0, end, started))
            # The number of pending tasks at each submission.
            pending = np.arange(1, len(rows) + 1) - np.searchsorted(started, created, "right")
            over = np.flatnonzero(pending > _MAX_PENDING)
            if len(over):
                submitting = int(created[over[-1]] - created[over[0]])
                function = facts.name(rows[over[0]])
                yield Finding(
                    submitting,
                    function=function,
                    caller=facts.caller(caller),
                    confidence="low",
                    numbers={
                        "caller_name": facts.caller(caller) or "The driver",
                        "pending": int(pending.max()),
                        "submitting_ns": submitting,
                    },
                    filters={"func_name": function},
                )
