"""Actors that are made for a call or two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.program import CREATION
from rayscope.insights.spans import union_ns

#: Fewer actors of a class are no habit; and one that is called more often is used.
_LEAST, _CALLS = 20, 3
#: An actor takes Ray a process and so about a second; one that works for longer is worth it.
_WORK_NS = 1_000_000_000


class ShortLivedActors:
    """Many actors of a class that each live for one or few short calls.

    Limits: at least 20 actors of a class that have ended or had their last call, with at most 3 calls each,
    that execute for less than 1 s and less than it took to start the actor, in the mean.

    Needs: when actors were made, and when their calls began and ended.
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
        """Classes by the mean of their actors."""
        a, recorded = facts.attempts, facts.recorded
        made: dict[str, list[int]] = defaultdict(list)
        for row, kind in enumerate(a.kind):
            if kind == CREATION and a.number[row] == 0 and a.actor[row] >= 0 and a.returned[row] >= 0:
                made[recorded.actors[a.actor[row]].class_name].append(row)
        for name, rows in made.items():
            if not name or len(rows) < _LEAST:
                continue
            calls = [facts.calls_of_actor.get(a.actor[row], []) for row in rows]
            work = [sum(max(0, facts.own_ns(call)) for call in of_actor) for of_actor in calls]
            starts = [(_begin(facts, row), a.returned[row]) for row in rows]
            start = sum(end - begin for begin, end in starts) / len(rows)
            mean = sum(work) / len(rows)
            if max(map(len, calls)) <= _CALLS and mean < min(_WORK_NS, start):
                yield Finding(
                    union_ns(starts),
                    actor_class=name,
                    confidence="medium",  # each may need a process of its own
                    numbers={
                        "actors": len(rows),
                        "calls": sum(map(len, calls)) / len(rows),
                        "work_ns": round(mean),
                        "start_ns": round(start),
                    },
                )


def _begin(facts: Facts, row: int) -> int:
    """When Ray began to start an actor, which had its resources then."""
    a = facts.attempts
    return next(at for at in (a.starting[row], a.given[row], a.created[row]) if at >= 0)
