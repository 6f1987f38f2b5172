"""An actor that everything else waits for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.outliers import describe_actor
from rayscope.insights.replay.changes import Change
from rayscope.insights.spans import union_of

#: Minimum number of calls of an actor for a judgment.
_MIN_CALLS = 8
#: A bottleneck is busy for at least this share of the time between its first and last call.
_MIN_BUSY_SHARE = 0.7
#: At least this many calls wait for it on average.
_MIN_QUEUED_CALLS = 0.8
#: Fewer actors than this are not a pool.
_MIN_POOL_ACTORS = 2
#: Additional actors of the class in the replay that predicts the saving.
_EXTRA_ACTORS = 3


class ActorBottleneck:
    """An actor is busy nearly all the time while calls queue for it.

    Limits: at least 8 calls that run one at a time; between the first and the last of them, which is at
    least 5 % of the job's time, the actor is busy for 70 %, and 0.8 calls wait for it on average. Pools of at
    least as many such actors as the cluster has CPUs are left out if they need CPUs.

    Needs: when calls were submitted, began and ended.
    """

    kind = "actor_bottleneck"
    title = "An actor is the bottleneck"
    advice = (
        "{actor} was busy {busy:.0%} of the time between its first call and its last, while {queue:.1f}"
        " calls waited for it on average. Spread its calls over several actors, or let it run calls "
        "concurrently if they mostly wait (async methods, max_concurrency)."
    )
    sketch = (
        "pool = [{actor_class}.remote() for _ in range({more})]\n"
        "refs = [pool[at % {more}].work.remote(item) for at, item in enumerate(items)]"
    )
    doc = "pattern: using a tree of actors / actor pool"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Actors that were busy most of the time while calls waited."""
        a = facts.attempts
        by_class: dict[str, list[Finding]] = defaultdict(list)
        needs_cpu: dict[str, bool] = defaultdict(bool)
        members = Counter(facts.recorded.actors[actor].class_name for actor in facts.calls_of_actor)
        for actor, rows in facts.calls_of_actor.items():
            known = rows[(a.start[rows] >= 0) & (a.returned[rows] >= 0)]
            if len(known) < _MIN_CALLS:
                continue
            start, returned = a.start[known], a.returned[known]
            # Before its first call, the actor was starting.
            begin, end = int(start.min()), int(returned.max())
            # Calls that wait for their arguments do not wait for the actor.
            ready = np.where(a.given[known] >= 0, a.given[known], a.created[known])
            waited = int(np.maximum(start - np.maximum(ready, begin), 0).sum())
            queue = waited / max(1, end - begin)
            if queue < _MIN_QUEUED_CALLS or end - begin < facts.duration_ns / 20:
                continue
            executing = union_of(start, returned)
            busy = executing / max(1, end - begin)
            overlap = int((returned - start).sum()) / max(1, executing)
            if busy < _MIN_BUSY_SHARE or overlap > 1.5:
                continue
            name = facts.recorded.actors[actor].class_name
            place = describe_actor(facts, actor, known)
            needs_cpu[name] |= facts.recorded.actors[actor].resources.get("CPU", 0.0) > 0
            by_class[name].append(
                Finding(
                    end - begin,
                    actor_class=name,
                    changes=(Change("actors", name, _EXTRA_ACTORS),),
                    rows=rows,
                    confidence="medium",  # the actor's state may not be divisible
                    numbers={
                        "actor": place.name,
                        "busy": busy,
                        "queue": queue,
                        "calls": len(known),
                        "more": members[name] + _EXTRA_ACTORS,
                    },
                    filters={"func_name": facts.name(known[0]), **place.filters},
                )
            )
        for name, found in by_class.items():
            # If a pool is as large as the cluster and its actors need CPUs, its calls wait for CPUs, not for
            # actors.
            if not needs_cpu[name] or len(found) < max(_MIN_POOL_ACTORS, facts.cpus):
                yield max(found, key=lambda finding: finding.cost_ns)
