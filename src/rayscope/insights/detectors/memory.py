"""Memory that is reserved too little or too much, or that grows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.holdings import granted, ready_times
from rayscope.insights.memory import MIB, is_killed, is_measured, object_bytes, own_memory, with_spare
from rayscope.insights.outliers import describe_actor
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Ints, MemoryKill
from rayscope.insights.spans import most_at_once, union_of

#: Minimum number of measured attempts that counts as a pattern.
_MIN_CALLS = 5
#: Functions whose attempts use less than this, in bytes, are hardly larger than an empty worker.
_MIN_USED_BYTES = 500 * MIB


class MemoryNotRequested:
    """Tasks without memory= run at once on a node whose memory they exceed.

    Limits: at least 5 attempts of a function were measured, and 99 % of them used up to 500 MiB or more. They
    reserve no memory. The highest number that ran at once on a node, times their mean use, exceeds the memory
    that Ray has for tasks on that node. Objects of the object store do not count, because processes share
    them. Tasks in placement groups are left out, and so are functions with attempts that were killed for lack
    of memory, which `oom_kill` reports.

    Needs: the tracer in the workers, for the memory of their tasks.
    """

    kind = "memory_not_requested"
    title = "No memory is reserved"
    advice = (
        "{calls} measured attempts of {function} used {mean_bytes} of memory on average, most of them up to "
        "{peak_bytes}, and reserve none. {at_once} ran at once on a node, which is {together_bytes} on "
        "average, and the node has {node_memory_bytes} for tasks. Reserve {memory_bytes} for each with "
        "memory=, so that at most {fit} run at once there."
    )
    sketch = "{function}.options(memory={memory_bytes})"
    doc = "out-of-memory prevention"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions of tasks that may fill a node."""
        a = facts.attempts
        used, killed = own_memory(facts), is_killed(facts)
        is_chosen = (a.kind == NORMAL) & (a.group < 0) & (facts.amounts_of("memory") <= 0) & (a.node >= 0)
        begin, end = facts.held
        for function, all_rows in facts.rows_of_function.items():
            rows = all_rows[is_chosen[all_rows] & (a.start[all_rows] >= 0)]
            known = rows[used[rows] >= 0]
            if len(known) < _MIN_CALLS or killed[all_rows].any():
                continue
            mean, peak = int(used[known].mean()), int(np.quantile(used[known], 0.99))
            if peak < _MIN_USED_BYTES:
                continue
            fullest: list[tuple[float, int, int, int]] = []
            for node, places in groups(a.node[rows]):
                has = int(facts.recorded.nodes[node].resources.get("memory", 0.0))
                at_once = most_at_once(begin[rows[places]], end[rows[places]])
                memory = min(with_spare(peak), has)
                if at_once * mean > has > 0 and has // memory < at_once:
                    fullest.append((at_once * mean / has, at_once, has, memory))
            if fullest:
                _, at_once, has, memory = max(fullest)
                yield Finding(
                    0,
                    function=function,
                    is_risk=True,
                    confidence="medium",  # the peaks may not coincide
                    numbers={
                        "calls": len(known),
                        "mean_bytes": mean,
                        "peak_bytes": peak,
                        "at_once": at_once,
                        "together_bytes": at_once * mean,
                        "node_memory_bytes": has,
                        "memory_bytes": memory,
                        "fit": has // memory,
                    },
                    filters={"func_name": function},
                )


#: Minimum number of measured attempts from which a smaller reservation is proposed.
_UNUSED_MIN_CALLS = 10
#: A reservation of which more than this share is used is about right.
_MAX_USED_SHARE = 0.5
#: Reservations that leave less than this unused, in bytes, are about right.
_MIN_UNUSED_BYTES = 256 * MIB
#: Waits shorter than this, in ns, are assumed to be for a worker rather than for memory.
_MIN_WAIT_NS = 20_000_000
#: Waits below this share of the job's time are ordinary queueing.
_MIN_WAITED_SHARE = 0.05


class MemoryRequestedUnused:
    """Tasks reserve much more memory than they use, and wait for memory.

    Limits: at least 10 attempts with the same memory= were measured. 99 % of them used less than half of it,
    including objects of the object store, and leave 256 MiB or more unused. As many as fit into a node's
    memory ran there at once, while its other resources had room for more. Tasks of the function waited for at
    least 5 % of the job's time. Tasks in placement groups are left out.

    Needs: the tracer in the workers, for the memory of their tasks.
    """

    kind = "memory_requested_unused"
    title = "More memory reserved than used"
    advice = (
        "{function} reserves {reserved_bytes} of memory, and most of its {calls} measured attempts used up "
        "to {peak_bytes}: {unused_bytes} stay unused. Only {fit} fit on a node at once, and tasks of it "
        "waited for {waited_ns}. Reserve {memory_bytes}, so that {could} run at once."
    )
    sketch = "{function}.options(memory={memory_bytes})"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions of tasks whose reservations keep others of them waiting."""
        a, known = facts.attempts, is_measured(facts)
        begin, end = facts.held
        ready, got = ready_times(facts), granted(facts)
        is_chosen = (a.kind == NORMAL) & (a.group < 0) & (facts.amounts_of("memory") > 0) & (a.node >= 0)
        for function, all_rows in facts.rows_of_function.items():
            chosen = all_rows[is_chosen[all_rows] & (a.start[all_rows] >= 0)]
            for demand, places in groups(a.demand[chosen]):
                rows = chosen[places]
                measured = rows[known[rows]]
                if len(measured) < _UNUSED_MIN_CALLS:
                    continue
                asks = facts.recorded.demands[demand]
                reserved, peak = int(asks["memory"]), int(np.quantile(a.peak_memory[measured], 0.99))
                memory = with_spare(peak)
                if peak >= _MAX_USED_SHARE * reserved or reserved - peak < _MIN_UNUSED_BYTES:
                    continue
                [(node, _)] = Counter(a.node[rows].tolist()).most_common(1)
                there = rows[a.node[rows] == node]
                has = facts.recorded.nodes[node].resources
                fit, could = _room(has, asks), _room(has, {**asks, "memory": memory})
                waits = rows[got[rows] - ready[rows] > _MIN_WAIT_NS]
                waited = union_of(ready[waits], got[waits])
                if (
                    not 0 < fit < could
                    or most_at_once(begin[there], end[there]) < fit
                    or waited < _MIN_WAITED_SHARE * facts.duration_ns
                ):
                    continue
                yield Finding(
                    round(waited * (1 - fit / could)),
                    function=function,
                    confidence="medium",  # more at once may be slower
                    numbers={
                        "calls": len(measured),
                        "reserved_bytes": reserved,
                        "peak_bytes": peak,
                        "unused_bytes": reserved - peak,
                        "memory_bytes": memory,
                        "fit": fit,
                        "could": could,
                        "waited_ns": waited,
                    },
                    filters={"func_name": function},
                )


def _room(has: dict[str, float], asks: dict[str, float]) -> int:
    """How many tasks that ask for these resources fit on a node at once."""
    return min(int(has.get(name, 0.0) / amount + 1e-9) for name, amount in asks.items() if amount > 0)


#: Minimum number of measured calls that shows a trend.
_MIN_GROWING_CALLS = 20
#: The square of the correlation between the number of the call and the size of the process must be this high.
_MIN_FIT = 0.9
#: Growth below this, in bytes, is ignored.
_MIN_GROWN_BYTES = 100 * MIB
#: Growth below this share of the first size is ignored.
_MIN_GROWN_SHARE = 0.2
#: The growth in the last quarter of the calls must be at least this share of a quarter of all growth.
_MIN_LATE_SHARE = 0.5


class ActorMemoryGrows:
    """The process of an actor grows with each call, as if it kept something of each.

    Limits: at least 20 calls of an actor were measured since it last started. The size of the process when
    they begin rises steadily to the end: it fits a line with R² of 0.9 or more. It grows by more than 100 MiB
    and by more than 20 %, even without all objects of the object store that its calls used. Actors that run
    several calls at once are left out.

    Needs: the tracer in the actors, for the memory of their calls.
    """

    kind = "actor_memory_grows"
    title = "An actor's memory grows with each call"
    advice = (
        "The process of {actor} grew from {first_bytes} to {last_bytes} during {calls} calls, which is "
        "{each_bytes} with each. {actors} of {actor_class} grew so. If it keeps results or a cache on "
        "purpose, limit them; otherwise look for what holds on to old values, for example with tracemalloc, "
        "or restart the actor now and then."
    )
    sketch = ""  # what it keeps is not recorded
    doc = "debugging memory issues"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """For each class, the actor that grew most."""
        a, known, objects = facts.attempts, is_measured(facts), object_bytes(facts)
        grown: dict[str, list[tuple[int, int, Ints]]] = defaultdict(list)
        for actor, calls in facts.calls_of_actor.items():
            began = calls[a.start[calls] >= 0]
            began = began[np.argsort(a.start[began], kind="stable")]
            began = began[a.worker[began] == a.worker[began[-1:]]]
            rows = began[known[began]]
            if len(rows) >= _MIN_GROWING_CALLS and (growth := _growth(a.start_memory[rows])):
                private = growth - int(objects[began].sum())
                if private > max(_MIN_GROWN_BYTES, _MIN_GROWN_SHARE * a.start_memory[rows[0]]):
                    grown[facts.recorded.actors[actor].class_name].append((growth, actor, rows))
        for name, found in grown.items():
            growth, actor, rows = max(found, key=lambda one: one[:2])
            place = describe_actor(facts, actor, rows)
            first, last = a.start_memory[rows[[0, -1]]].tolist()
            yield Finding(
                0,
                actor_class=name,
                is_risk=True,
                confidence="medium",  # it may be meant to keep what it gets
                numbers={
                    "actor": place.name,
                    "actors": len(found),
                    "calls": len(rows),
                    "first_bytes": first,
                    "last_bytes": last,
                    "grown_bytes": growth,
                    "each_bytes": growth // (len(rows) - 1),
                },
                filters=place.filters,
            )


def _growth(sizes: Any) -> int:
    """How much a process grew, in bytes, if it did so steadily; otherwise 0."""
    growth = int(sizes[-1] - sizes[0])
    if growth <= 0 or np.corrcoef(np.arange(len(sizes)), sizes)[0, 1] ** 2 < _MIN_FIT:
        return 0
    late = sizes[-1] - sizes[-(len(sizes) // 4) - 1]
    return growth if late >= _MIN_LATE_SHARE * growth / 4 else 0


#: A function that holds this share of a node's memory holds more than any other process.
_MIN_FILLED_SHARE = 0.5


class _Process(NamedTuple):
    """A process: the function or class of actors that it runs, and its size in bytes, 0 if unknown."""

    name: str
    is_actor: bool
    bytes: int


class FilledNodeMemory:
    """A process was killed because its node was out of memory, which another function had mostly filled.

    Limits: Ray's memory monitor or the kernel killed a process of the job. Those of one function or class of
    actors held at least half of the node's memory then, without objects of the object store. Their sizes are
    the highest during the call that they ran, or in actors during the latest call. If the killed process ran
    the same function, only `oom_kill` reports it.

    Needs: the tracer in the workers, for the memory of their calls. Kills by the kernel, and the sizes of
    killed processes, are known from the agent on the node.
    """

    kind = "filled_node_memory"
    title = "Another function filled the node's memory"
    advice = (
        "{kills} processes of {killed} were killed because the node {node} was out of memory. Then "
        "{processes} processes of {name} held {held_bytes} there, the largest {peak_bytes}, of "
        "{node_memory_bytes} in all. Reserve memory for {name} with memory=, so that the two share no node "
        "beyond its memory, or let {name} use less."
    )
    sketch = "{name}.options(memory={memory_bytes})"
    doc = "out-of-memory prevention"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Pairs of what was killed and what held the most memory, at the time when it held most."""
        own, until = own_memory(facts), facts.duration_ns
        found: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for kill in facts.recorded.memory_kills:
            if 0 <= kill.time <= until and (one := _filled(facts, kill, own)):
                found[str(one.numbers["name"]), str(one.numbers["killed"])].append(one)
        for same in found.values():
            most = max(same, key=lambda one: one.numbers["held_bytes"])
            yield Finding(
                0,
                function=most.function,
                actor_class=most.actor_class,
                is_risk=True,
                confidence="medium",  # the sizes are of the whole call, not of that time
                numbers={**most.numbers, "kills": len(same)},
                filters=most.filters,
            )


def _filled(facts: Facts, kill: MemoryKill, own: Ints) -> Finding | None:
    """The function that filled the node of a killed process, unless the process ran that function too.
    ``own``: see :func:`own_memory`.
    """
    processes = _processes(facts, kill, own)
    killed = processes.get(kill.worker)
    if killed is None:
        return None
    by_name: dict[tuple[str, bool], list[int]] = defaultdict(list)
    for one in processes.values():
        if one.bytes:
            by_name[one.name, one.is_actor].append(one.bytes)
    if not by_name:
        return None
    (name, is_actor), sizes = max(by_name.items(), key=lambda one: sum(one[1]))
    node = facts.recorded.nodes[kill.node]
    total = kill.total_bytes if kill.total_bytes > 0 else int(node.resources.get("memory", 0.0))
    if name == killed.name or not total or sum(sizes) < _MIN_FILLED_SHARE * total:
        return None
    return Finding(
        0,
        function=None if is_actor else name,
        actor_class=name if is_actor else None,
        numbers={
            "name": name,
            "killed": killed.name,
            "node": node.name or node.node_id[:8],
            "processes": len(sizes),
            "held_bytes": sum(sizes),
            "peak_bytes": max(sizes),
            "node_memory_bytes": total,
            "memory_bytes": min(with_spare(max(sizes)), total),
        },
        filters={"node_id": node.node_id},
    )


def _processes(facts: Facts, kill: MemoryKill, own: Ints) -> dict[int, _Process]:
    """The processes of the job on a node when one of them was killed, by their worker."""
    a, (begin, end) = facts.attempts, facts.held
    actors = facts.recorded.actors
    gone = np.array([*(facts.lifetime(actor)[1] for actor in actors), -1])[a.actor]
    is_there = (a.node == kill.node) & (a.worker >= 0) & (begin <= kill.time)
    is_there &= ((a.start >= 0) & ((end >= kill.time) | (gone >= kill.time))) | (a.worker == kill.worker)
    rows = np.flatnonzero(is_there)
    rows = rows[np.argsort(begin[rows], kind="stable")]
    # A restarted actor has another worker.
    last_of_actor = dict(zip(a.actor[rows].tolist(), a.worker[rows].tolist(), strict=True))
    sizes = {one.worker: one.bytes for one in facts.recorded.memory_kills}
    found = {}
    for worker, places in groups(a.worker[rows]):
        latest, known = int(rows[places[-1]]), own[rows[places]]
        actor = int(a.actor[latest])
        if actor >= 0 and last_of_actor[actor] != worker:
            continue
        class_name = actors[actor].class_name if actor >= 0 else ""
        size = max(int(known[known >= 0][-1]) if (known >= 0).any() else 0, sizes.get(worker, 0), 0)
        found[worker] = _Process(class_name or facts.name(latest), bool(class_name), size)
    return found
