"""A driver that does the work itself, or submits too slowly to keep the cluster busy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayscope.insights.finding import DRIVER, Facts, Finding, blocked_ns
from rayscope.insights.replay.build import DRIVER as DRIVER_FUNCTION
from rayscope.insights.replay.changes import Change

#: A driver that computes for less than this share of the job's time does not hold it up.
_MIN_SHARE = 0.25


class DriverBound:
    """The driver computes between its submissions for much of the job, while the cluster has nothing to do.

    Limits: from its first submission to its last, the driver computes for at least a quarter of the job's
    time, and meanwhile the average number of running tasks is at most half of the number of CPUs. Work before
    the first and after the last submission does not count.

    Needs: the tracer in the driver: its waits.
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
        """The driver's own time from its first submission to its last, if little ran meanwhile."""
        mine = facts.children(DRIVER)
        waits = next((of for task, of in facts.waits() if task == DRIVER), [])
        if len(mine) < 2:
            return
        begin, end = facts.created(mine[0]), min(facts.created(mine[-1]), facts.recorded.driver[1])
        idle = _gaps(begin, end, [(wait.begin, wait.end) for wait in waits if wait.summed_ns < 0])
        own = sum(until - since for since, until in idle) - sum(
            blocked_ns(wait) for wait in waits if wait.summed_ns >= 0 and wait.end <= end
        )
        if own < _MIN_SHARE * facts.duration_ns:
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
    """The sum of the times that attempts executed within the spans."""
    starts, ends = facts.attempts.start, facts.attempts.returned
    known = (starts >= 0) & (ends > starts)
    bounds = np.array(spans, dtype=np.int64).reshape(-1, 2)

    def passed(times: Any) -> Any:
        """For each time, the sum of how much of the attempts came before it."""
        times = np.sort(times)
        sums = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(times)])
        count = np.searchsorted(times, bounds)
        return bounds * count - sums[count]

    executed = passed(starts[known]) - passed(ends[known])
    return float((executed[:, 1] - executed[:, 0]).sum())


def _gaps(begin: int, end: int, waits: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans between the waits."""
    found, at = [], begin
    for since, until in sorted(waits):
        if since > at:
            found.append((at, min(since, end)))
        at = max(at, until)
    if at < end:
        found.append((at, end))
    return found
