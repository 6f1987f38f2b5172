"""Objects that fill the object store, or are expensive to move or to serialize."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, Points, groups
from rayscope.insights.holdings import ready_times
from rayscope.insights.replay.delays import Reserved
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import ARGUMENT, RETURN, Ints, Recorded
from rayscope.insights.spans import union_of

#: If fewer bytes than this are spilled, nothing is reported.
_MIN_SPILLED_BYTES = 10 << 20


class ObjectStoreFull:
    """The object store of a node is full, so Ray writes objects to disk and reads them again.

    Limits: 10 MiB or more are spilled during the job.

    Needs: Ray's metrics of the object store for the time when the job ran.
    """

    kind = "object_store_full"
    title = "The object store spills to disk"
    advice = (
        "The job spilled {spilled_bytes} to disk; {nodes} object stores of {capacity_bytes} each were full. "
        "Most of the data comes from {name} ({made_bytes} in all). Drop references as soon as they are not "
        "needed, submit fewer tasks ahead, return less, or give Ray a larger object store."
    )
    sketch = "while refs:\n    [done], refs = ray.wait(refs)\n    use(ray.get(done))\n    del done"
    doc = "object spilling"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One finding about all spilled objects. Its cost is the time from the first sample with spilled
        bytes to the end of the job.
        """
        series = facts.series("ray_object_store_memory", Location="SPILLED")
        grown = {node: max(value for _, value in points) - points[0][1] for node, points in series.items()}
        full = [node for node, size in grown.items() if size > 0]
        spilled = sum(grown[node] for node in full)
        if spilled < _MIN_SPILLED_BYTES:
            return
        since = min(next(time for time, value in series[node] if value > series[node][0][1]) for node in full)
        name, size = max(_bytes_by_function(facts).items(), key=lambda one: one[1], default=("", 0))
        capacity = [facts.recorded.nodes[node].resources.get("object_store_memory", 0.0) for node in full]
        yield Finding(
            max(0, facts.recorded.driver[1] - since),
            function=name if name in facts.rows_of_function else None,
            confidence="low",  # how long the job waited for the disk is not recorded
            numbers={
                "spilled_bytes": round(spilled),
                "capacity_bytes": round(max(capacity)),
                "nodes": len(full),
                "name": name or "functions whose results nobody told",
                "made_bytes": size,
            },
            filters={"func_name": name} if name in facts.rows_of_function else {},
        )


def _bytes_by_function(facts: Facts) -> dict[str, int]:
    """The total bytes of the objects created by each function. Each object counts once."""
    a, passed = facts.attempts, facts.recorded.passed
    rows = passed.created_rows
    # The driver has no function. Its number is -1, which selects the last item.
    functions = np.append(a.function[facts.last_rows], -1)[passed.maker[rows]]
    names = [*facts.recorded.functions, "the driver"]
    sizes = np.maximum(passed.bytes[rows], 0)
    return {names[function]: int(sizes[places].sum()) for function, places in groups(functions)}


#: Objects count as leaked if they were not used during this last share of the job's time ...
_MIN_UNUSED_SHARE = 0.5
#: ... and for at least this long before its end, in ns.
_MIN_UNUSED_NS = 20_000_000_000
#: Leaked objects are reported if they take at least this share of the object store. Smaller amounts leave
#: enough space for other objects.
_LEAK_MIN_SHARE = 0.25
#: At least this share of the leaked bytes must still be in memory. The rest may have been freed, or the sizes
#: may be inexact.
_MIN_PRESENT_SHARE = 0.8


class LeakedObjects:
    """Objects fill the object store although they have not been used for a long time, because something keeps
    their references.

    Limits: objects over 100 KB that no task got or was called with during the last half of the job's time,
    and at least during the last 20 s, take at least a quarter of the object store, and at least 80 % of their
    bytes are still in memory at the end of the job.

    Needs: the tracer, for the objects and their uses, and the metric of the object store for the time when
    the job ran.
    """

    kind = "leaked_objects"
    title = "Objects nobody uses fill the object store"
    advice = (
        "{objects} objects of {name}, {unused_bytes} in all, were still in the object store at the end of "
        "the job, although nobody had used them for {unused_ns} or longer. Something keeps their "
        "references: a list, an attribute of an actor, or a closure. Delete them (del refs) once their "
        "values are used, so that Ray can free the memory before it has to spill."
    )
    sketch = "results.append(summary(ray.get(ref)))\ndel ref  # not refs.append(ref)"
    doc = "memory management"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One finding about the function that created most of the unused bytes."""
        facts.require_tracer("their objects")
        end = facts.recorded.driver[1]
        unused_ns = max(round(_MIN_UNUSED_SHARE * facts.duration_ns), _MIN_UNUSED_NS)
        store = sum(node.resources.get("object_store_memory", 0.0) for node in facts.recorded.nodes)
        by_maker = _unused(facts, end - unused_ns)
        whole = sum(size for _, size in by_maker.values())
        if not store or whole < _LEAK_MIN_SHARE * store:
            return
        if _in_memory(facts.series("ray_object_store_memory"), end) < _MIN_PRESENT_SHARE * whole:
            return
        name, (objects, size) = max(by_maker.items(), key=lambda one: one[1][1])
        is_function = name in facts.rows_of_function
        yield Finding(
            0,
            function=name if is_function else None,
            is_risk=True,
            confidence="medium",  # they may have been needed later
            numbers={
                "objects": objects,
                "name": name or "the driver",
                "unused_bytes": size,
                "unused_ns": unused_ns,
                "store_bytes": int(store),
            },
            filters={"func_name": name} if is_function else {},
        )


def _unused(facts: Facts, since: int) -> dict[str, tuple[int, int]]:
    """For each function ("" for the driver), the number and bytes of its objects that were not used after
    ``since``.
    """
    passed = facts.recorded.passed
    keys, places = np.unique(passed.key, return_inverse=True)
    last = np.zeros(len(keys), dtype=np.int64)
    np.maximum.at(last, places, passed.end)
    unused = passed.created_rows[
        (last[places] < since)[passed.created_rows] & (passed.bytes[passed.created_rows] > 0)
    ]
    found: dict[str, tuple[int, int]] = defaultdict(lambda: (0, 0))
    makers, sizes = passed.maker[unused], passed.bytes[unused]
    for maker, size in zip(makers.tolist(), sizes.tolist(), strict=True):
        objects, before = found[facts.caller(maker)]
        found[facts.caller(maker)] = objects + 1, before + size
    return found


def _in_memory(series: dict[int, Points], end: int) -> float:
    """The bytes in the object stores, including spilled ones, when the job ended."""
    at_end = ([value for time, value in points if time <= end] for points in series.values())
    return sum(values[-1] for values in at_end if values)


#: Arguments smaller than this, in bytes, are ignored, because they are transferred quickly.
_LOCALITY_MIN_BYTES = 10 << 20
#: Minimum number of calls that counts as a pattern.
_LOCALITY_MIN_CALLS = 3
#: At least this share of a function's calls must run on a different node from their data.
_LOCALITY_MIN_SHARE = 0.2


class Locality:
    """Tasks fetch large arguments from another node although that node had room for them.

    Limits: at least 3 calls, and at least a fifth of all calls of the function, each fetched 10 MiB or more
    from a node that had enough free CPUs for it.

    Needs: two nodes or more, and the tracer, for the sizes of the arguments.
    """

    kind = "locality"
    title = "Tasks run away from their data"
    advice = (
        "{away} of {calls} calls of {function} fetched {moved_bytes} from other nodes which had room for "
        "them. Ray prefers the node that has most of a task's arguments: leave out scheduling_strategy "
        "(SPREAD, node affinity) and pass the references as arguments, not inside of lists."
    )
    sketch = '{function}.options(scheduling_strategy="DEFAULT").remote(ref)'
    doc = "scheduling: locality-aware scheduling"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose tasks fetched large arguments from other nodes."""
        a, recorded = facts.attempts, facts.recorded
        if len(recorded.nodes) < 2:
            return
        candidates = list(_candidates(facts))
        if not candidates:
            return
        away: dict[str, list[tuple[int, int]]] = defaultdict(list)
        came, reserved = ready_times(facts), Reserved(recorded)
        for home, rows, sizes in candidates:
            free = reserved.free_at(home, came[rows].tolist())
            for row, size, cpus in zip(rows.tolist(), sizes.tolist(), free, strict=True):
                if _fits(recorded, recorded.nodes[home].resources, int(a.demand[row]), cpus):
                    away[facts.name(row)].append((row, size))
        lead = np.maximum(a.start - came, 0)
        for function, found in away.items():
            calls = facts.rows_of_function[function]
            if len(found) < max(_LOCALITY_MIN_CALLS, _LOCALITY_MIN_SHARE * len(calls)):
                continue
            gone = np.array([row for row, _ in found])
            usual = calls[(a.start[calls] >= 0) & ~np.isin(calls, gone)]
            usually = round(float(np.median(lead[usual]))) if len(usual) else 0
            begin = a.start[gone] - np.maximum(lead[gone] - usually, 0)
            yield Finding(
                union_of(begin, a.start[gone]),
                function=function,
                confidence="medium",
                numbers={
                    "away": len(found),
                    "calls": len(calls),
                    "moved_bytes": sum(size for _, size in found),
                },
                filters={"func_name": function},
            )


def _candidates(facts: Facts) -> Iterable[tuple[int, Ints, Ints]]:
    """For each node, the attempts that ran elsewhere although this node had most of their arguments."""
    a, passed, last_rows = facts.attempts, facts.recorded.passed, facts.last_rows
    is_known = (passed.kind == ARGUMENT) & ~passed.nested & (passed.maker >= 0) & (passed.taker >= 0)
    # One number for each pair of task and node. The unknown node, -1, is one of the nodes.
    nodes = len(facts.recorded.nodes) + 1
    numbers = passed.taker[is_known] * nodes + a.node[last_rows[passed.maker[is_known]]] + 1
    numbers, places = np.unique(numbers, return_inverse=True)
    sizes = np.zeros(len(numbers), dtype=np.int64)
    np.add.at(sizes, places, np.maximum(passed.bytes[is_known], 0))
    tasks, homes = numbers // nodes, numbers % nodes - 1
    order = np.lexsort((homes, sizes, tasks))
    most = order[np.diff(tasks[order], append=-1) != 0]
    rows, homes, sizes = last_rows[tasks[most]], homes[most], sizes[most]
    is_away = (homes >= 0) & (a.node[rows] >= 0) & (homes != a.node[rows]) & (sizes >= _LOCALITY_MIN_BYTES)
    is_away &= (a.kind[rows] == NORMAL) & (a.group[rows] < 0) & (a.start[rows] >= 0)
    for home, places in groups(homes[is_away]):
        yield home, rows[is_away][places], sizes[is_away][places]


def _fits(recorded: Recorded, resources: dict[str, float], demand: int, free: float) -> bool:
    """Whether a node has the demanded resources in total, and ``free`` CPUs are enough."""
    asked = recorded.demands[demand] if demand >= 0 else {}
    return free >= asked.get("CPU", 0.0) and all(
        resources.get(name, 0.0) >= needed for name, needed in asked.items()
    )


#: Serialization must take at least this share of the time for which calls hold their workers.
_SERIALIZATION_MIN_SHARE = 0.3
#: If serialization takes less than this share of the job's time, another data format is not worthwhile.
_MIN_JOB_SHARE = 0.1
#: Functions with less data per call than this, in bytes, are ignored: serializing it is cheap, so if it takes
#: long, there is another reason.
_SERIALIZATION_MIN_BYTES = 1 << 20
#: Minimum number of calls that counts as a pattern.
_SERIALIZATION_MIN_CALLS = 3
#: Minimum and maximum bytes per second that count as serialization. Python objects are serialized at some 20
#: to 150 MB/s. Below a tenth of that, the call waits for something else. Above the maximum, the values are
#: arrays, which are only copied.
_BYTES_PER_S = 2 << 20, 200 << 20
#: If serialization takes less than this per call, in ns, we assume that its cost does not depend on the data.
_MIN_CALL_NS = 20_000_000


class Serialization:
    """Unpacking arguments and storing results takes a large share of a function's time.

    Limits: over at least 3 calls, serialization takes at least 10 % of the job's time, and at least 30 % of
    the time from when a call begins to unpack its arguments until its result is stored. On average a call has
    at least 1 MiB of data and takes at least 20 ms for it, at 2 to 200 MiB/s; arrays are faster. The first
    call on each worker does not count, because it imports modules.

    Needs: the tracer in the workers, for the sizes of the data.
    """

    kind = "serialization"
    title = "Time goes into packing data"
    advice = (
        "{calls} calls of {function} took {packing_ns} for unpacking their arguments and storing their "
        "results ({share:.0%} of their time), {data_bytes} in all. Arrays of NumPy and Arrow tables are not "
        "copied at all; lists, dicts and objects of your own are packed one by one. Pass arrays, or smaller "
        "values."
    )
    sketch = "return numpy.array(values)  # or pyarrow.table(...), instead of a list of Python objects"
    doc = "serialization"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose calls spend a large share of their time unpacking arguments and storing results."""
        a = facts.attempts
        if not facts.recorded.is_traced:
            return
        passed = facts.recorded.passed
        is_value = (passed.kind == RETURN) & (passed.maker >= 0)
        values = np.zeros(facts.recorded.tasks, dtype=np.int64)
        np.add.at(values, passed.maker[is_value], np.maximum(passed.bytes[is_value], 0))
        is_done = facts.is_warm & (a.returned >= 0) & a.state.equals("FINISHED")
        for function, rows in facts.rows_of_function.items():
            calls = rows[is_done[rows]]
            if len(calls) < _SERIALIZATION_MIN_CALLS:
                continue
            per_call = a.fetched_bytes[calls] + values[a.task[calls]]
            data = int(per_call.sum())
            # The spans in which calls unpack their arguments and store their results.
            start, returned = a.start[calls], a.returned[calls]
            begin = np.concatenate([start - a.fetching[calls], returned])
            end = np.concatenate([start, np.maximum(returned, a.ended[calls])])
            took_ns = (end - begin).reshape(2, -1).sum(axis=0)
            packing = int(took_ns.sum())
            whole = packing + int(np.maximum(facts.own_ns[calls], 0).sum())
            slowest, fastest = (packing / 1e9 * rate for rate in _BYTES_PER_S)
            is_much = data >= _SERIALIZATION_MIN_BYTES * len(calls) and packing >= max(
                _SERIALIZATION_MIN_SHARE * whole, _MIN_CALL_NS * len(calls)
            )
            if not is_much or not slowest <= data <= fastest:
                continue
            # On a busy machine, copying arrays may take as long on average, but some of the copies are fast.
            if np.quantile(per_call / np.maximum(took_ns, 1), 0.9) * 1e9 > _BYTES_PER_S[1]:
                continue
            cost_ns = union_of(begin, end)
            if cost_ns < _MIN_JOB_SHARE * facts.duration_ns:
                continue
            yield Finding(
                cost_ns,
                function=function,
                numbers={
                    "calls": len(calls),
                    "packing_ns": packing,
                    "share": packing / whole,
                    "data_bytes": data,
                },
                filters={"func_name": function},
            )
