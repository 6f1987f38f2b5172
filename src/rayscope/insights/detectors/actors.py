"""Actors that others wait for, that wait themselves, or that are not worth their resources."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rayscope.cluster.nodes.demand import amount_of
from rayscope.insights.finding import DRIVER, Facts, Finding
from rayscope.insights.holdings import Holding, demand_of, granted, holdings, ready_times, totals
from rayscope.insights.outliers import describe_actor
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL
from rayscope.insights.replay.recorded import Ints
from rayscope.insights.sketches import method_of
from rayscope.insights.spans import Span, union_ns, union_of
from rayscope.insights.standstill import deadlocked, find_quiet_period

#: Actors with fewer calls than this are not examined.
_MIN_CALLS = 8
#: A bottleneck is busy for at least this share of the time between its first and last call.
_MIN_BUSY_SHARE = 0.7
#: At least this many calls wait for a bottleneck on average.
_MIN_QUEUED_CALLS = 0.8
#: Fewer actors than this are not a pool.
_MIN_POOL_ACTORS = 2
#: Number of actors that are added to the class in the replay that predicts the saving.
_EXTRA_ACTORS = 3


class ActorBottleneck:
    """An actor is busy nearly all the time while calls queue for it.

    Limits: the actor has at least 8 calls, which run one at a time. The time from its first call to its last
    is at least 5 % of the job's time. During that time the actor executes for at least 70 %, not counting the
    time when it is blocked, and at least 0.8 calls wait for it on average. Pools of such actors are left out
    if they need CPUs and have at least as many actors as the cluster has CPUs.

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
            known = rows[(a.ran[rows] > 0) & (a.start[rows] >= 0) & (a.returned[rows] >= 0)]
            queued = rows[a.ran[rows] == 0]
            if not len(known) or len(known) + len(queued) < _MIN_CALLS:
                continue
            start, returned = a.start[known], a.returned[known]
            # Before its first call, the actor was still starting, so waits are counted from that call on.
            begin, end = int(start.min()), int(returned.max())
            # Calls that wait for their arguments do not wait for the actor. Calls that never began count as
            # waiting until the end.
            calls = np.concatenate([known, queued])
            began = np.concatenate([start, np.full(len(queued), end)])
            ready = np.where(a.given[calls] >= 0, a.given[calls], a.created[calls])
            waited = int(np.maximum(began - np.maximum(ready, begin), 0).sum())
            queue = waited / max(1, end - begin)
            if queue < _MIN_QUEUED_CALLS or end - begin < facts.duration_ns / 20:
                continue
            executing = union_of(start, returned)
            # While an actor is blocked, what it waits for is the bottleneck.
            busy = min(executing, int(facts.own_ns[known].sum())) / max(1, end - begin)
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
                    sketch=_calling(self.sketch, facts, known),
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
                # Report the actor with the most time on the critical path, as the verdict does, or else the
                # one for which calls waited longest in total.
                yield max(
                    found,
                    key=lambda one: (facts.on_path_ns(one) or 0, one.numbers["queue"] * one.cost_ns),
                )


def _calling(sketch: str, facts: Facts, calls: Ints) -> str:
    """A sketch that calls the actor's own method instead of ``work``. ``calls``: calls of the actor."""
    return sketch.replace(".work.", f".{method_of(facts.name(calls[0]))}.") if len(calls) else sketch


#: Actors that live for less than this share of the job's time are ignored.
_MIN_LIFE_SHARE = 0.5
#: Actors that are busy for more than this share of their life are not idle.
_MAX_BUSY_SHARE = 0.1
#: The sketch for actors that hold GPUs or resources other than CPUs. They need these, so requesting fewer is
#: no remedy.
_END_WHEN_DONE = (
    "actor = {actor_class}.remote()\nresult = ray.get(actor.work.remote())\n"
    "ray.kill(actor)  # it gives back what it holds"
)


class IdleActors:
    """Actors hold CPUs, GPUs or other resources and are idle most of the time, while others wait for them.

    Limits: they live for at least half of the job's time, execute for less than 10 % of their life, and tasks
    or other actors wait for the same resource in the meantime. Actors in placement groups are left out.

    Needs: the resources that actors hold, and when their calls began and ended.
    """

    kind = "idle_actors"
    title = "Idle actors hold resources"
    advice = (
        "{actors} of {actor_class} held {held} of the cluster's {total} {resource} and executed for "
        "{busy:.1%} of their life, while tasks waited for {resource} for {waited_ns}. Let them ask for less "
        "(num_cpus=0 for actors that mostly wait), make fewer of them, or end them when they are done."
    )
    sketch = "{actor_class}.options(num_cpus=0).remote()"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Classes whose idle actors hold a resource that others wait for."""
        idle: dict[str, list[tuple[Holding, int]]] = defaultdict(list)
        for one in holdings(facts):
            life = min(one.end, facts.recorded.last) - one.begin
            if one.kind == "actor" and life >= _MIN_LIFE_SHARE * facts.duration_ns:
                busy = _executed_ns(facts, one)
                if busy < _MAX_BUSY_SHARE * life:
                    idle[one.name].append((one, busy))
        if not idle:
            return
        waited, has = _waited(facts), totals(facts)
        for name, found in idle.items():
            yield from _findings(facts, name, found, waited, has)


def _findings(
    facts: Facts,
    name: str,
    idle: Sequence[tuple[Holding, int]],
    waited: dict[str, list[tuple[int, int]]],
    has: dict[str, float],
) -> Iterable[Finding]:
    """One finding for a class of actors, about the resource whose holding costs the most time."""
    begin, end = min(one.begin for one, _ in idle), max(one.end for one, _ in idle)
    found = []
    for resource in {resource for one, _ in idle for resource in one.resources}:
        held = sum(one.resources.get(resource, 0.0) for one, _ in idle)
        waits = [(max(since, begin), min(until, end)) for since, until in waited.get(resource, ())]
        blocked = union_ns([(since, until) for since, until in waits if until > since])
        # At best, a larger supply of the resource shortens the wait in proportion.
        cost = round(blocked * min(1.0, held / max(held, has.get(resource, 0.0))))
        found.append((cost, blocked, resource, held))
    cost, blocked, resource, held = max(found, default=(0, 0, "", 0.0))
    if cost > 0:
        lived = sum(one.end - one.begin for one, _ in idle)
        yield Finding(
            cost,
            actor_class=name,
            changes=(Change("num_cpus", name, 0.0),) if resource == "CPU" else (),
            confidence="medium",  # the actor's own threads are not recorded
            sketch=None if resource == "CPU" else _END_WHEN_DONE,
            numbers={
                "actors": len(idle),
                "resource": resource,
                "held": amount_of(held, resource),
                "total": amount_of(has.get(resource, 0.0), resource),
                "busy": sum(busy for _, busy in idle) / max(1, lived),
                "waited_ns": blocked,
            },
        )


def _executed_ns(facts: Facts, holding: Holding) -> int:
    """How long at least one call of an actor was executing, ns."""
    a = facts.attempts
    rows = facts.calls_of_actor.get(int(a.actor[holding.row]))
    if rows is None:
        return 0
    rows = rows[a.ran[rows] > 0]
    return union_of(a.start[rows], np.where(a.returned[rows] >= 0, a.returned[rows], facts.recorded.last))


def _waited(facts: Facts) -> dict[str, list[tuple[int, int]]]:
    """The periods when tasks and actors waited, by the resource that they waited for."""
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    begin, end = ready_times(facts), granted(facts)
    for row in np.flatnonzero((facts.attempts.kind != CALL) & (end > begin)).tolist():
        for resource in demand_of(facts, row):
            found[resource].append((int(begin[row]), int(end[row])))
    return found


#: Minimum number of actors of a class that counts as a pattern.
_MIN_ACTORS = 20
#: Actors with more calls than this are considered to be reused well enough.
_MAX_CALLS = 3
#: Actors that work for longer than this, in ns, are considered worth the cost of their creation. Ray starts a
#: process for each actor, which takes about a second.
_MAX_WORK_NS = 1_000_000_000


class ShortLivedActors:
    """Many actors of a class are created for only one or a few short calls each.

    Limits: at least 20 actors of a class were created, and none of them had more than 3 calls. The mean
    execution time of an actor is less than 1 s and less than the mean time to start one.

    Needs: when actors were created, and when their calls began and ended.
    """

    kind = "short_lived_actors"
    title = "Actors that live for a call or two"
    advice = (
        "{actors} actors of {actor_class} ran {calls:.1f} calls each and worked for {work_ns} in their life, "
        "on average; starting one took {start_ns}, because each gets a process of its own. Use tasks, whose "
        "processes Ray reuses, or keep a few actors and give them all calls (ray.util.ActorPool)."
    )
    sketch = (
        "pool = ray.util.ActorPool([{actor_class}.remote() for _ in range(4)])\n"
        "results = list(pool.map(lambda actor, item: actor.work.remote(item), items))"
    )
    doc = "pattern: using an actor pool"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Classes whose average actor works for less time than it took to start."""
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
                    confidence="medium",  # each actor may need a process of its own
                    sketch=_calling(self.sketch, facts, called[np.isin(a.actor[called], a.actor[rows])]),
                    numbers={
                        "actors": len(rows),
                        "calls": float(calls.mean()),
                        "work_ns": round(work),
                        "start_ns": round(start),
                    },
                )


#: Waits below this share of the job's time are treated as ordinary queueing.
_MIN_SHARE = 0.05
#: Waits shorter than this, in ns, do not count: on a busy machine, it may take this long until a task gets a
#: free CPU.
_MIN_WAIT_NS = 100_000_000


class _Delay(NamedTuple):
    """A period when a call of an actor waited for a task that was waiting for a CPU.

    ``actor``: the number of the actor. ``caller``: the row of the call. ``row``: the row of the task.
    """

    actor: int
    caller: int
    row: int
    span: Span


class WaitingActor:
    """Actors hold CPUs while they wait in ray.get for tasks that wait for a CPU.

    Limits: each of these tasks waits for a CPU for at least 0.1 s, and all of them for at least 5 % of the
    job's time in total. The cost is this total multiplied by the share of the CPUs that the waiting actors
    hold. Waits of normal tasks are left out, because Ray lends their CPUs to others in the meantime. If the
    tasks can never run, a deadlock is reported instead.

    Needs: the tracer in the actors, which records what they wait for.
    """

    kind = "waiting_actor"
    title = "Actors hold CPUs while they wait for tasks"
    advice = (
        "{actors} of {actor_class} waited in ray.get for {tasks} tasks of {name}, which waited up to "
        "{waited_ns} for a CPU. Meanwhile the waiting actors held {held} of the cluster's {total} CPUs. Ray "
        "lends the CPU of a waiting task to others, but not that of an actor. Let {actor_class} reserve no "
        "CPU, or let it return the references and the caller get them."
    )
    sketch = (
        "@ray.remote(num_cpus=0)  # it waits; the tasks that it starts use the CPUs\nclass {actor_class}: ..."
    )
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Classes of actors that wait for tasks and hold the CPUs that these tasks need."""
        delays: dict[str, list[_Delay]] = defaultdict(list)
        for one in _delays(facts):
            delays[facts.recorded.actors[one.actor].class_name].append(one)
        if not delays:
            return
        quiet = find_quiet_period(facts, 0)
        stuck = {one.row for one in deadlocked(facts, quiet)} if quiet else set()
        for name, of_class in delays.items():
            waited = union_ns(one.span for one in of_class)
            if waited < _MIN_SHARE * facts.duration_ns or any(one.row in stuck for one in of_class):
                continue
            actors = {one.actor for one in of_class}
            held = sum(facts.recorded.actors[actor].resources["CPU"] for actor in actors)
            functions = Counter(facts.name(one.row) for one in of_class)
            rows = np.unique([one.row for one in of_class])
            yield Finding(
                round(waited * min(1.0, held / facts.cpus)),
                actor_class=name,
                changes=(Change("num_cpus", name, 0.0),),
                rows=rows,
                confidence="medium",  # the actor may compute between its waits
                numbers={
                    "actors": len(actors),
                    "tasks": len(rows),
                    "name": functions.most_common(1)[0][0],
                    "waited_ns": max(end - begin for _, _, _, (begin, end) in of_class),
                    "held": amount_of(held, "CPU"),
                    "total": amount_of(facts.cpus, "CPU"),
                },
                filters={"func_name": facts.name(of_class[0].caller)},
            )


def _delays(facts: Facts) -> Iterator[_Delay]:
    """The periods when an actor that holds CPUs waited for a task that was waiting for a CPU."""
    a, begin, until = facts.attempts, ready_times(facts), granted(facts)
    until = np.where(until >= 0, until, np.where(a.ended >= 0, a.ended, facts.recorded.last))
    for task, waits in facts.waits():
        if task == DRIVER:
            continue
        caller = int(facts.last_rows[task])
        actor = int(a.actor[caller])
        if actor < 0 or facts.recorded.actors[actor].resources.get("CPU", 0.0) <= 0:
            continue
        for wait in waits:
            for target, _ in wait.named:
                row = int(facts.last_rows[target])
                if a.kind[row] == CALL or demand_of(facts, row).get("CPU", 0.0) <= 0:
                    continue
                span = max(wait.begin, int(begin[row])), min(wait.end, int(until[row]))
                if span[1] - span[0] >= _MIN_WAIT_NS:
                    yield _Delay(actor, caller, row, span)
