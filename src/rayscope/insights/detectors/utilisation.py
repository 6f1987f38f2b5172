"""Workers, CPUs, GPUs and nodes that are used too little or too much."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from rayscope.insights.cpu_use import Use, busiest_percent, cpu_percent, cpu_use
from rayscope.insights.finding import Facts, Finding, NotEnoughData, Points, groups
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CALL, CREATION, NORMAL
from rayscope.insights.replay.recorded import Ints, Texts
from rayscope.insights.spans import most_at_once, union_of

#: GPUs with at least this average utilization, in %, do not count as idle.
_MIN_BUSY_PERCENT = 20.0
#: Minimum number of samples for an average. Only samples taken while a GPU was reserved count.
_GPU_MIN_SAMPLES = 3


class _Reservations(NamedTuple):
    """Reservations of GPUs as columns: the node, the start and end, the number of GPUs, and the name of the
    function or of the class of actors.
    """

    node: Ints
    begin: Ints
    end: Ints
    gpus: Any
    name: Texts


class GpuIdle:
    """GPUs are reserved but compute little.

    Limits: the GPUs of a node are less than 20 % busy on average, over at least 3 samples taken while they
    were reserved.

    Needs: Ray's GPU metrics for the time when the job ran.
    """

    kind = "gpu_idle"
    title = "Reserved GPUs are idle"
    advice = (
        "{name} reserves GPUs for {held_ns} on {nodes} nodes, and they were {busy:.0%} busy meanwhile. "
        "Prepare data on CPUs in tasks of their own, so that GPUs do not wait for it; use larger batches; "
        "or let more of them share a GPU: num_gpus={less:g}."
    )
    sketch = "{name}.options(num_gpus={less:g})  # more of them share a GPU"
    doc = "accelerator support: fractional accelerators"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Nodes whose GPUs were mostly idle while tasks or actors held them."""
        held = _reservations(facts)
        if not len(held.node):
            return
        series = facts.series("ray_node_gpus_utilization")
        busy: list[float] = []
        idle: list[Ints] = []
        for node, places in groups(held.node):
            percents = _percents(
                series.get(node, []), held.begin[places], held.end[places], held.gpus[places]
            )
            if len(percents) >= _GPU_MIN_SAMPLES and sum(percents) < _MIN_BUSY_PERCENT * len(percents):
                busy += percents
                idle.append(places)
        if not busy:
            return
        those = np.concatenate(idle)
        begin, end = held.begin[those], held.end[those]
        spent = held.gpus[those] * (end - begin)
        by_name: dict[str, float] = defaultdict(float)
        for _, places in groups(held.name.codes[those]):
            by_name[held.name[those[places[0]]]] += float(spent[places].sum())
        held_ns = union_of(begin, end)
        name = max(by_name, key=lambda one: by_name[one])
        is_function = name in facts.rows_of_function
        yield Finding(
            held_ns,
            function=name if is_function else None,
            actor_class=None if is_function else name,
            confidence="medium",
            numbers={
                "name": name,
                "less": _half_gpus(held, those, name),
                "held_ns": held_ns,
                "nodes": len(idle),
                "busy": sum(busy) / len(busy) / 100,
            },
        )


def _half_gpus(held: _Reservations, places: Ints, name: str) -> float:
    """Half of the GPUs that one task or actor reserves, so that twice as many can share them."""
    of_name = places[held.name.codes[places] == held.name.values.index(name)]
    return round(float(held.gpus[of_name].max()) / 2, 3)


def _reservations(facts: Facts) -> _Reservations:
    """All tasks and actors that held GPUs."""
    a, actors, functions = facts.attempts, facts.recorded.actors, facts.recorded.functions
    # Attempts outside of actors have the number -1, which selects the last item.
    of_actor = np.array([*(actor.resources.get("GPU", 0.0) for actor in actors), 0.0])[a.actor]
    gone = np.array([*(facts.lifetime(actor)[1] for actor in actors), -1])[a.actor]
    makes, (begin, end) = facts.is_creation, facts.held
    gpus = np.where(makes, of_actor, np.where(a.kind == NORMAL, facts.amounts_of("GPU"), 0.0))
    rows = np.flatnonzero((a.node >= 0) & (a.start >= 0) & (gpus > 0))
    names = Texts(
        np.where(makes, len(functions) + a.actor, a.function)[rows],
        [*functions, *(actor.class_name for actor in actors)],
    )
    return _Reservations(
        a.node[rows],
        np.where(makes, a.start, begin)[rows],
        np.where(makes, gone, end)[rows],
        gpus[rows],
        names,
    )


def _percents(points: Points, begins: Ints, ends: Ints, gpus: Any) -> list[float]:
    """The utilization of a node's reserved GPUs at each sample, %; 100 means that all of them are busy."""
    times, changes = np.concatenate([begins, ends]), np.concatenate([gpus, -gpus])
    order = np.lexsort((changes, times))
    reserved = np.append(0.0, np.cumsum(changes[order]))
    at = reserved[np.searchsorted(times[order], [time for time, _ in points], side="right")].tolist()
    return [
        min(100.0, percent / max(1.0, amount))
        for (_, percent), amount in zip(points, at, strict=True)
        if amount > 1e-6
    ]


#: At or above this CPU utilization, in %, the head node counts as full.
_HEAD_FULL_PERCENT = 95.0
#: The head node must be full in more than this share of the samples.
_MIN_FULL_SHARE = 0.5
#: The average CPU utilization of the other nodes must be below this, in %.
_MAX_OTHERS_PERCENT = 50.0
#: With fewer samples of the head node than this, it is not judged.
_HEAD_MIN_SAMPLES = 3


class HeadOverloaded:
    """The head node's CPUs are all busy for most of the job while the other nodes are idle.

    Limits: the head node's CPUs are at least 95 % busy in more than half of the samples, of which there are
    at least 3, while those of the other nodes are less than 50 % busy on average.

    Needs: two nodes or more, and their CPU metric for the time when the job ran.
    """

    kind = "head_overloaded"
    title = "The head node is overloaded"
    advice = (
        "The head node's CPUs were {head_busy:.0%} busy on average, and those of the other {workers} nodes "
        "{others_busy:.0%}. The scheduler, the object directory and mostly the driver run there, and wait "
        "for CPU too. Keep tasks and actors off the head node (num_cpus=0), or take a larger machine for it."
    )
    sketch = "ray start --head --num-cpus=0"
    doc = "configuring the head node of large clusters"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One finding if the head node, which is always the first of the nodes, is overloaded."""
        if len(facts.recorded.nodes) < 2:
            return
        series = facts.series("ray_node_cpu_utilization")
        head = [value for _, value in series.get(0, [])]
        others = [value for node, points in series.items() if node for _, value in points]
        full = sum(value >= _HEAD_FULL_PERCENT for value in head)
        if len(head) < _HEAD_MIN_SAMPLES or not others or full <= _MIN_FULL_SHARE * len(head):
            return
        mean = sum(others) / len(others)
        if mean < _MAX_OTHERS_PERCENT:
            yield Finding(
                round(facts.duration_ns * full / len(head)),
                confidence="medium",
                numbers={
                    "head_busy": sum(head) / len(head) / 100,
                    "others_busy": mean / 100,
                    "workers": len(series) - 1,
                    "full_share": full / len(head),
                },
            )


#: A reservation is considered about right if more than this share of it is used.
_MAX_USED_SHARE = 0.5
#: On nodes that are busier than this, in %, additional tasks would only take CPU time from the others.
_OVER_MAX_BUSY_PERCENT = 75.0
#: Waits shorter than this, in ns, are assumed to be for a worker rather than for free CPUs.
_MIN_WAIT_NS = 20_000_000
#: Minimum number of calls that counts as a pattern.
_OVER_MIN_CALLS = 4
_NEVER = 1 << 62
#: The proposed request, as a multiple of the CPUs actually used.
_SPARE_FACTOR = 1.25


class OverAskedCpus:
    """Tasks or actors reserve more CPUs than they use, while others wait for CPUs.

    Limits: they reserve more than one CPU each (one is Ray's default for tasks), and use less than half of
    the reserved CPU time in at least 4 calls. Other tasks wait for CPUs for at least 5 % of the job's time,
    and the CPUs of the nodes are at most 75 % busy.

    Needs: the tracer in the workers, for their CPU time, and the CPU metric of the nodes for the time when
    the job ran.
    """

    kind = "over_asked_cpus"
    title = "More CPUs reserved than used"
    advice = (
        "{name} reserves {reserved:g} CPUs and uses {used:.2f} of them, while other tasks waited for CPUs "
        "for {waited_ns} and the machines' CPUs were {busy:.0%} busy. Ask for num_cpus={needed:g}, so that "
        "more run at once."
    )
    sketch = "{name}.options(num_cpus={needed:g})"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions and classes of actors with reservations that keep others waiting."""
        waited = union_of(*_waits(facts))
        uses = [use for use in cpu_use(facts) if _is_idle(use)]
        if not uses or waited < facts.duration_ns / 20:
            return
        percents = cpu_percent(facts)
        for use in uses:
            busy = busiest_percent(facts, use, percents)
            cores = use.used_ns / max(1, use.held_ns)
            needed = max(0.1, math.ceil(10 * cores * _SPARE_FACTOR) / 10)
            if busy <= _OVER_MAX_BUSY_PERCENT and needed < use.cpus:
                yield Finding(
                    waited,
                    function=use.function,
                    actor_class=use.actor_class,
                    changes=(Change("num_cpus", use.name, needed),),
                    numbers={
                        "name": use.name,
                        "calls": len(use.rows),
                        "reserved": use.cpus,
                        "used": cores,
                        "needed": needed,
                        "waited_ns": waited,
                        "busy": busy / 100,
                    },
                    filters=use.filters,
                )


def _is_idle(use: Use) -> bool:
    if use.cpus <= 1 or (use.cpus >= 2 and 0.7 <= use.cores <= 1.2):
        return False  # the default of one CPU, or one busy core, which another detector reports
    return len(use.rows) >= _OVER_MIN_CALLS and 0 < use.used_ns + 1 < _MAX_USED_SHARE * use.cpus * use.held_ns


def _waits(facts: Facts) -> tuple[Ints, Ints]:
    """The periods when attempts waited for resources on a node."""
    a = facts.attempts
    until = np.full(len(a), _NEVER)
    for times in (a.starting, a.given, a.start):
        until = np.where(times >= 0, np.minimum(until, times), until)
    until[until == _NEVER] = facts.recorded.driver[1]
    waited = (a.kind <= CREATION) & (a.pending >= 0) & (until - a.pending > _MIN_WAIT_NS)
    return a.pending[waited], until[waited]


#: Minimum and maximum number of cores in use, while busy, that count as about one core. Python's global
#: interpreter lock lets only one thread compute at a time.
_ONE_CORE_RANGE = (0.7, 1.2)
#: On nodes that are busier than this, in %, other processes may have kept the actor from using more cores.
_ONE_CORE_MAX_BUSY_PERCENT = 75.0
#: Work that takes less than this share of the job's time is too short to matter.
_MIN_SHARE = 0.1


class SingleCoreActor:
    """An actor or task with several CPUs or threads computes on about one core.

    Limits: it uses 0.7 to 1.2 cores while it is busy, which is at least a tenth of the job's time. It
    reserves at least 2 CPUs or runs at least 2 calls at once. The CPUs of its node are less than 75 % busy.

    Needs: the tracer in the workers, for their CPU time, and the CPU metric of the nodes for the time when
    the job ran.
    """

    kind = "single_core_actor"
    title = "Several CPUs, one core used"
    advice = (
        "{name} reserves {reserved:g} CPUs and runs {threads} calls at once, and uses {used:.2f} cores "
        "while it is busy: Python's global lock lets one thread compute at a time. Use several actors or "
        "tasks with one CPU each, or a library that computes outside of the lock."
    )
    sketch = "workers = [{name}.options(num_cpus=1).remote() for _ in range({parts})]"
    doc = "actors: multithreading, and the global interpreter lock"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions and classes of actors that use about one core."""
        least, most = _ONE_CORE_RANGE
        uses = [
            use
            for use in cpu_use(facts)
            if least <= use.cores <= most
            and (use.cpus >= 2 or use.threads >= 2)
            and use.busy_ns >= _MIN_SHARE * facts.duration_ns
        ]
        if not uses:
            return
        percents = cpu_percent(facts)
        for use in uses:
            if busiest_percent(facts, use, percents) >= _ONE_CORE_MAX_BUSY_PERCENT:
                continue
            parts = max(round(use.cpus), use.threads)
            yield Finding(
                min(facts.duration_ns, round(use.busy_ns * (1 - 1 / parts))),
                function=use.function,
                actor_class=use.actor_class,
                # With one CPU each, more tasks can run at once.
                changes=(Change("num_cpus", use.name, 1.0),) if use.cpus >= 2 and not use.is_actor else (),
                confidence="medium",
                numbers={
                    "name": use.name,
                    "calls": len(use.rows),
                    "reserved": use.cpus,
                    "threads": use.threads,
                    "used": use.cores,
                    "parts": parts,
                    "busy_ns": use.busy_ns,
                },
                filters=use.filters,
            )


#: Calls that use at least this many times the CPUs that they reserve are assumed to run several threads ...
_UNDER_MIN_RATIO = 1.5
#: ... if they also use at least this many cores more than they reserve.
_MIN_EXTRA_CORES = 0.4
#: A node is overcommitted if its tasks use at least this share of its CPUs ...
_FULL_SHARE = 0.7
#: ... or if its CPUs are at least this busy, in %.
_UNDER_FULL_PERCENT = 90.0
#: Minimum number of calls that counts as a pattern.
_UNDER_MIN_CALLS = 2


class UnderAskedCpus:
    """Tasks or actors use more CPUs than they reserve, on a node whose CPUs are all busy.

    Limits: at least 2 calls of a function, or of actors that request CPUs, use at least 1.5 times the CPUs
    that they reserve, and at least 0.4 cores more. At least 2 tasks run at once on the node. Meanwhile, its
    tasks use at least 70 % of its CPUs, or its CPUs are at least 90 % busy.

    Needs: the tracer in the workers, for their CPU time.
    """

    kind = "under_asked_cpus"
    title = "More CPUs used than reserved"
    advice = (
        "{name} reserves {reserved:g} CPUs and uses {used:.2f} cores, so Ray puts more on a node than its "
        "CPUs can run, and all of it gets slower. Ask for num_cpus={needed:g}, or limit the threads of the "
        "libraries that it calls (OMP_NUM_THREADS)."
    )
    sketch = "{name}.options(num_cpus={needed:g})"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions and classes of actors that run more threads than they reserve CPUs, on full nodes."""
        uses = [(use, most) for use in cpu_use(facts) if _is_too_much(use, most := use.most_cores(facts))]
        if not uses:
            return
        a, nodes = facts.attempts, facts.recorded.nodes
        begin, end = facts.held
        try:
            percents = cpu_percent(facts)
        except NotEnoughData:
            percents = {}
        for use, most in uses:
            full = _full_nodes(facts, use, percents)
            rows = use.rows[np.isin(a.node[use.rows], list(full))]
            if len(rows) < _UNDER_MIN_CALLS:
                continue
            cpus = sum(nodes[node].resources.get("CPU", 1.0) for node in set(a.node[rows].tolist()))
            used = int(a.cpu_ns[rows].sum())
            excess = round(used * (1 - use.cpus / most))
            yield Finding(
                # The CPU time beyond the reservation, spread over all CPUs, is the most that other tasks can
                # have lost.
                min(union_of(begin[rows], end[rows]), round(excess / max(1.0, cpus))),
                function=use.function,
                actor_class=use.actor_class,
                confidence="medium",
                numbers={
                    "name": use.name,
                    "calls": len(rows),
                    "reserved": use.cpus,
                    "used": most,
                    "needed": math.ceil(most - 0.2),
                },
                filters=use.filters,
            )


def _is_too_much(use: Use, used_cores: float) -> bool:
    if use.is_actor and not use.cpus:
        return False  # the default reservation of an actor
    return used_cores >= max(_UNDER_MIN_RATIO * use.cpus, use.cpus + _MIN_EXTRA_CORES)


def _full_nodes(facts: Facts, use: Use, percents: Mapping[int, float]) -> set[int]:
    """The nodes that were overcommitted while they ran calls of ``use``."""
    a, (begin, end) = facts.attempts, facts.held
    full = set()
    for node in np.unique(a.node[use.rows]).tolist():
        its = use.rows[a.node[use.rows] == node]
        meanwhile = (a.node == node) & (a.start >= 0) & (begin < end[its].max()) & (begin[its].min() < end)
        if most_at_once(begin[meanwhile], end[meanwhile]) < 2:
            continue
        used = int(np.maximum(a.cpu_ns[meanwhile], 0).sum())
        cpus = facts.recorded.nodes[node].resources.get("CPU", 1.0) if node >= 0 else 1.0
        is_full = used >= _FULL_SHARE * union_of(begin[meanwhile], end[meanwhile]) * cpus
        if is_full or percents.get(node, 0.0) >= _UNDER_FULL_PERCENT:
            full.add(node)
    return full


#: Minimum ratio of worker starts to workers that run at once for a finding. A ratio of 1 is normal, because
#: each of these workers must be started once.
_STARTUP_MIN_RATIO = 3
#: If fewer workers than this were started, nothing is reported.
_MIN_STARTS = 8
#: The sketch for jobs that already have a single runtime environment.
_REUSE = (
    "pool = ray.util.ActorPool([Worker.remote() for _ in range(4)])  # started once\n"
    "results = list(pool.map(lambda worker, item: worker.work.remote(item), items))"
)


class WorkerStartup:
    """Many more workers are started than run at once, because of runtime environments or short bursts.

    Limits: at least 8 attempts waited for a worker to start, and at least three times as many as ran at once.

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
        """One finding if too many workers were started."""
        a = facts.attempts
        waits = np.flatnonzero((a.starting >= 0) & (a.starting < a.given) & (a.kind != CALL))
        if len(waits) < _MIN_STARTS:
            return
        begin, end = facts.held
        is_task = (a.start >= 0) & (a.actor < 0)
        lifetimes = [facts.lifetime(actor) for actor in facts.recorded.actors]
        came, went = np.array(lifetimes, dtype=np.int64).reshape(-1, 2).T
        at_once = max(1, most_at_once(np.append(begin[is_task], came), np.append(end[is_task], went)))
        if len(waits) < _STARTUP_MIN_RATIO * at_once:
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
