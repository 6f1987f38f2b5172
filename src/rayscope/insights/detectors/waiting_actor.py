"""Actors that keep their CPU while they wait for tasks that need one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from rayscope.cluster.nodes.demand import amount_of
from rayscope.insights.finding import DRIVER, Facts, Finding
from rayscope.insights.holdings import demand_of, granted, ready_times
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL
from rayscope.insights.spans import Span, union_ns
from rayscope.insights.standstill import deadlocked, find_quiet_period

#: Below this share of the job's time it is an ordinary queue.
_MIN_SHARE = 0.05
#: On a busy machine, it may take this long, ns, until a task gets a free CPU.
_MIN_WAIT_NS = 100_000_000


class _Delay(NamedTuple):
    """A call of an actor waited for a task that waited for a CPU. ``actor``: the actor's number."""

    actor: int
    caller: int
    row: int
    span: Span


class WaitingActor:
    """Actors hold CPUs while they wait in ray.get for tasks that wait for a CPU.

    Limits: the tasks that they wait for wait for CPUs for 0.1 s or more each, and for 5 % of the job's time
    in total. The cost is this time multiplied by the share of the CPUs that the waiting actors hold. Normal
    tasks are left out: Ray lends their CPUs to others while they wait. If the tasks can never run, it is a
    deadlock.

    Needs: the tracer in the actors: what they wait for.
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
        """Classes of actors that wait for tasks and hold the CPUs that these need."""
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
    """The times in which an actor waited for a task that waited for the actor's CPU."""
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
