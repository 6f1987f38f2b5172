"""Time that is spent on starting workers repeatedly."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL
from rayscope.insights.spans import most_at_once, union_of

#: Each worker that runs at the same time as others must be started once. This many times as many starts are
#: too many.
_MIN_RATIO = 3
#: Fewer starts than this are negligible.
_MIN_STARTS = 8
#: The sketch for jobs that already have a single runtime environment.
_REUSE = (
    "pool = ray.util.ActorPool([Worker.remote() for _ in range(4)])  # started once\n"
    "results = list(pool.map(lambda worker, item: worker.work.remote(item), items))"
)


class WorkerStartup:
    """Many more workers are started than run at once, because of runtime environments or short bursts.

    Limits: at least 8 attempts waited for a worker to start, three times as many as ran at once.

    Needs: the starts of workers, which Ray records.
    """

    kind = "worker_startup"
    title = "Workers are started too often"
    advice = (
        "{starts} times a task or actor waited for a new worker, {startup_ns} in all, although at most "
        "{at_once} ran at once. A worker serves one runtime environment only. Set one runtime environment "
        "for the job, keep actors and reuse them, and let a task do more than one small step."
    )
    sketch = "ray.init(runtime_env={{...}})  # one for all tasks, instead of .options(runtime_env=...)"
    doc = "environment dependencies"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One finding if workers were started too often."""
        a = facts.attempts
        waits = np.flatnonzero((a.starting >= 0) & (a.starting < a.given) & (a.kind != CALL))
        if len(waits) < _MIN_STARTS:
            return
        begin, end = facts.held
        is_task = (a.start >= 0) & (a.actor < 0)
        lifetimes = [facts.lifetime(actor) for actor in facts.recorded.actors]
        came, went = np.array(lifetimes, dtype=np.int64).reshape(-1, 2).T
        at_once = max(1, most_at_once(np.append(begin[is_task], came), np.append(end[is_task], went)))
        if len(waits) < _MIN_RATIO * at_once:
            return
        begin, end = a.starting[waits], a.given[waits]
        yield Finding(
            # Workers that run at the same time must each be started once.
            round(union_of(begin, end) * (1 - at_once / len(waits))),
            changes=(Change("no_startup"),),
            confidence="medium",
            sketch=None if len(np.unique(a.environment.codes[waits])) > 1 else _REUSE,
            numbers={
                "starts": len(waits),
                "at_once": at_once,
                "startup_ns": int((end - begin).sum()),
            },
        )
