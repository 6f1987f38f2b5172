"""Actors that are created for a call or two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.program import CALL
from rayscope.insights.spans import union_of

#: Actors of a class that are enough for a pattern.
_MIN_ACTORS = 20
#: Maximum number of actors with more calls than this are reused well enough.
_MAX_CALLS = 3
#: Creating an actor takes Ray a process, and so about a second, ns. Actors that work for longer are worth it.
_MAX_WORK_NS = 1_000_000_000


class ShortLivedActors:
    """Many actors of a class that each live for one or few short calls.

    Limits: at least 20 actors of a class that have ended or had their last call, with at most 3 calls each,
    whose mean execution time is less than 1 s and less than the time to start the actor.

    Needs: when actors were created, and when their calls began and ended.
    """

    kind = "short_lived_actors"
    title = "Actors that live for a call or two"
    advice = (
        "{actors} actors of {actor_class} ran {calls:.1f} calls each in the mean, for {work_ns} in all of "
        "its life; starting one took {start_ns}, for each gets a process of its own. Use tasks, whose "
        "processes Ray uses again, or keep a few actors and give them all calls (ray.util.ActorPool)."
    )
    sketch = (
        "pool = ray.util.ActorPool([{actor_class}.remote() for _ in range(4)])\n"
        "results = list(pool.map(lambda actor, item: actor.work.remote(item), items))"
    )
    doc = "pattern: using an actor pool"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Classes whose average actor works less than it took to start."""
        a, recorded = facts.attempts, facts.recorded
        made: dict[str, list[int]] = defaultdict(list)
        is_made = facts.is_creation & (a.number == 0) & (a.actor >= 0) & (a.returned >= 0)
        for row in np.flatnonzero(is_made).tolist():
            made[recorded.actors[a.actor[row]].class_name].append(row)
        called = np.flatnonzero((a.kind == CALL) & (a.actor >= 0))
        calls_of = np.bincount(a.actor[called], minlength=len(recorded.actors))
        work_of = np.zeros(len(recorded.actors), dtype=np.int64)
        np.add.at(work_of, a.actor[called], np.maximum(facts.own_ns[called], 0))
        # An actor has its resources when Ray begins to start it.
        granted_ns = np.where(a.starting >= 0, a.starting, np.where(a.given >= 0, a.given, a.created))
        for name, rows in made.items():
            if not name or len(rows) < _MIN_ACTORS:
                continue
            calls, begin, end = calls_of[a.actor[rows]], granted_ns[rows], a.returned[rows]
            start, work = float((end - begin).mean()), float(work_of[a.actor[rows]].mean())
            if calls.max() <= _MAX_CALLS and work < min(_MAX_WORK_NS, start):
                yield Finding(
                    union_of(begin, end),
                    actor_class=name,
                    confidence="medium",  # each may need a process of its own
                    numbers={
                        "actors": len(rows),
                        "calls": float(calls.mean()),
                        "work_ns": round(work),
                        "start_ns": round(start),
                    },
                )
