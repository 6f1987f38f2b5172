"""Calls to ``ray.get`` that make tasks wait or copy values unnecessarily."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.handovers import find_passed_values
from rayscope.insights.holdings import HeldResources, demand_of
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.program import CREATION
from rayscope.insights.replay.recorded import ARGUMENT, GET, Ints, Wait, Waits
from rayscope.insights.spans import Span, union_ns

#: Minimum number of calls that counts as a loop.
_MIN_CALLS = 4


class GetInLoop:
    """Each call is submitted and waited for before the next one is submitted.

    Limits: at least 4 such calls of one function by one caller, each followed by ray.get or ray.wait, of
    which fewer than half have the previous value as an argument. Values over 100 KB that are passed by value
    are recognized by their size, unless all have the same size. Smaller ones leave no trace, so a loop that
    passes them on is reported nevertheless.

    Needs: the tracer in the caller, for its waits and the objects that they name.
    """

    kind = "get_in_loop"
    title = "ray.get in a loop"
    advice = (
        "{calls} calls of {function} are submitted one at a time, each followed by ray.get, so at most one "
        "of them runs at a time. Submit all of them first, then get all results with one ray.get. If each "
        "call needs the result of the one before, pass the reference instead of the value."
    )
    sketch = "refs = [{function}.remote(item) for item in items]\nresults = ray.get(refs)"
    doc = "anti-pattern: calling ray.get in a loop harms parallelism"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Loops in which one caller submits a function and gets its value before the next submission."""
        held: HeldResources | None = None
        handed_on = {(one.maker, one.taker) for one in find_passed_values(facts) if one.is_certain}
        for task, waits in facts.waits(_MIN_CALLS):
            for function, gets in _loops(facts, task, waits, handed_on):
                rows = facts.last_rows[[one for one, _ in gets]]
                own = np.maximum(facts.own_ns[rows], 0)
                blocked = np.array([wait.end - wait.begin for _, wait in gets])
                # Use the median, because some calls took longer only because workers had to start, which they
                # must in any case.
                usual = round(len(gets) * float(np.median(blocked)))
                held = held or HeldResources(facts)
                fitting = held.fitting(demand_of(facts, rows[0]), int(facts.attempts.created[rows[0]]))
                at_once = max(int(own.max()), round(int(own.sum()) / max(1.0, min(facts.cpus, fitting))))
                yield Finding(
                    max(0, usual - at_once),
                    function=function,
                    caller=facts.caller(task),
                    changes=(Change("one_get", function),),
                    # small values that are passed from one call to the next leave no trace
                    confidence="medium",
                    numbers={"calls": len(gets), "blocked_ns": int(blocked.sum())},
                    filters={"func_name": function},
                )


def _loops(
    facts: Facts, task: int, waits: list[Wait], handed_on: set[tuple[int, int]]
) -> Iterator[tuple[str, list[tuple[int, Wait]]]]:
    """For each function, the calls to ray.get and ray.wait in which a caller waited only for the task that it
    had submitted last. Each call comes with that task.

    ``handed_on``: pairs of tasks, the second of which got the value of the first by value.
    """
    a = facts.attempts
    submitted = facts.children(task).tolist()
    first_rows = facts.first_rows
    created = a.created[first_rows[submitted]].tolist()
    found: dict[str, list[tuple[int, Wait]]] = {}
    at, before, depends = 0, -1, 0
    for wait in waits:
        since = at
        while at < len(submitted) and created[at] <= wait.begin:
            at += 1
        names = {one for one, _ in wait.named}
        if wait.summed_ns >= 0 or len(names) != 1 or at - since != 1 or wait.objects > 1:
            continue
        (awaited,) = names
        if awaited != submitted[at - 1]:
            continue
        row = first_rows[awaited]
        arguments = facts.recorded.arguments.of(awaited)
        if (before, awaited) in handed_on or (
            before >= 0 and any(made_by == before for made_by, _ in arguments)
        ):
            depends += 1
        before = awaited
        if a.kind[row] != CREATION:
            found.setdefault(facts.name(row), []).append((awaited, wait))
    for function, gets in found.items():
        # Calls of a single actor run one at a time, no matter how they are submitted.
        actors = set(a.actor[first_rows[[one for one, _ in gets]]].tolist())
        if len(gets) >= _MIN_CALLS and depends < len(gets) / 2 and (actors == {-1} or len(actors) > 1):
            yield function, gets


#: A node spills objects to disk when this share of its object store is in use: Ray's
#: object_spilling_threshold.
_SPILLING_SHARE = 0.8


class ManyObjectsGet:
    """One ray.get needs more objects at once than the object store of the node can hold.

    Limits: one ray.get of more than 80 % of the node's object store, where Ray begins to write objects to
    disk. A get by the driver is compared with the largest object store of all nodes. The cost is the part of
    the get after all its values were created.

    Needs: the tracer in the caller, for the sizes of the values that it gets.
    """

    kind = "many_objects_get"
    title = "Too many objects in one ray.get"
    advice = (
        "One ray.get needed {objects} objects of {got_bytes} at once, and the object store of the node has "
        "{store_bytes}. What does not fit goes to disk and back, or the job fails. Take the results in "
        "batches as they complete, with ray.wait, and let go of each batch."
    )
    sketch = (
        "while refs:\n    done, refs = ray.wait(refs, num_returns=min(100, len(refs)))\n"
        "    process(ray.get(done))"
    )
    doc = "anti-pattern: fetching too many objects at once with ray.get causes failure"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Gets that need too much of the object store of their node."""
        facts.require_tracer("their waits")
        a, waits = facts.attempts, facts.recorded.waits
        large, named = _large_gets(facts), np.diff(waits.first_named)
        sizes, stores = _bytes(waits), _stores(facts)
        awaited = a.function[facts.last_rows[waits.named_task[waits.first_named[large]]]]
        for task, of_task in groups(waits.task[large]):
            for number, places in groups(awaited[of_task]):
                gets = large[of_task[places]]
                most = gets[sizes[gets].argmax()]
                function = facts.recorded.functions[number] if number >= 0 else ""
                yield Finding(
                    union_ns(_fetching(facts, get) for get in gets.tolist()),
                    function=function,
                    caller=facts.caller(task),
                    numbers={
                        "objects": int(max(waits.objects[most], named[most])),
                        "got_bytes": int(sizes[most]),
                        "store_bytes": int(stores[most]),
                        "gets": len(gets),
                    },
                    filters={"func_name": function},
                )


def _large_gets(facts: Facts) -> Ints:
    """The individual calls to ray.get, made by the last attempts of tasks, that need too much of the node's
    object store.
    """
    waits, store = facts.recorded.waits, _stores(facts)
    found: Ints = np.flatnonzero(waits.is_last_get & (store > 0) & (_bytes(waits) > _SPILLING_SHARE * store))
    return found


def _stores(facts: Facts) -> Any:
    """For each wait, the size of its node's object store, or of the largest one if the node is unknown."""
    stores = [node.resources.get("object_store_memory", 0.0) for node in facts.recorded.nodes]
    # The driver and tasks without a node have the number -1, which selects the last item.
    nodes = np.append(facts.attempts.node[facts.last_rows], -1)[facts.recorded.waits.task]
    return np.array([*stores, max(stores, default=0.0)])[nodes]


def _bytes(waits: Waits) -> Ints:
    """The total size, in bytes, of the objects of each wait. It is extrapolated, because only the first 256
    objects are known individually.
    """
    named = np.maximum(np.diff(waits.first_named), 1)
    return np.rint(waits.bytes * np.maximum(waits.objects / named, 1.0)).astype(np.int64)


def _fetching(facts: Facts, get: int) -> Span:
    """The part of a get after the last of its values was created."""
    waits = facts.recorded.waits
    named = waits.named_task[waits.first_named[get] : waits.first_named[get + 1]]
    made = int(facts.attempts.ended[facts.last_rows[named]].max())
    begin, end = int(waits.begin[get]), int(waits.end[get])
    return min(end, max(begin, made)), end


#: Minimum number of tasks that counts as a pattern.
_MIN_TASKS = 2
#: Tasks blocked for less than this, in ns, are ignored: on a busy machine, any ray.get may take this long
#: even if all values are ready.
_MIN_BLOCKED_NS = 10_000_000
#: If a task works for more than this share of the time from its first get to its last, we assume that it gets
#: the values one by one on purpose.
_MAX_WORK_SHARE = 0.1
_LATEST = 1 << 62


class NestedGet:
    """Tasks get references inside their arguments, and hold their workers until the values are ready.

    Limits: at least 2 tasks of one function get all references in their lists or dicts, one after the other
    without other work in between, and are blocked for more than 10 ms each. The cost is the part of that time
    after the values were created, plus the time to start other workers in the meantime.

    Needs: the tracer in the caller and in the workers.
    """

    kind = "nested_get"
    title = "ray.get on references inside arguments"
    advice = (
        "{calls} calls of {function} got references inside their arguments with ray.get, and waited in it "
        "for {blocked_ns} in all. Each held a worker meanwhile, and Ray started {workers} others. Pass the "
        "references as arguments of their own: then Ray starts the task when the values are there."
    )
    sketch = "@ray.remote\ndef {function}(*values): ...\n\n\nref = {function}.remote(*refs)"
    doc = "anti-pattern: calling ray.get on task arguments harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose tasks get references that were nested in their arguments."""
        facts.require_tracer("their arguments")
        a = facts.attempts
        blocked: dict[str, list[tuple[int, Span]]] = defaultdict(list)
        late: dict[str, list[Span]] = defaultdict(list)
        last_rows = facts.last_rows
        for task, (begin, end, made) in _gets(facts).items():
            row = last_rows[task]
            function = facts.name(row)
            blocked[function].append((int(a.node[row]), (begin, end)))
            late[function].append((min(end, max(begin, made)), end))
        for function, spans in blocked.items():
            if len(spans) >= _MIN_TASKS:
                starts = _starts(facts, spans)
                yield Finding(
                    union_ns([*late[function], *starts]),
                    function=function,
                    confidence="medium",  # the workers might have been started anyway
                    numbers={
                        "calls": len(spans),
                        "blocked_ns": sum(end - begin for _, (begin, end) in spans),
                        "workers": len(starts),
                    },
                    filters={"func_name": function},
                )


def _gets(facts: Facts) -> dict[int, tuple[int, int, int]]:
    """The tasks that get the references nested in their arguments without other work in between. Each has the
    start and end of these gets, and the time at which the last of the values was created.
    """
    passed = facts.recorded.passed
    is_get = (passed.kind == GET) & (passed.taker >= 0)
    # Ignore tasks without gets.
    is_nested = passed.nested & (passed.kind == ARGUMENT) & np.isin(passed.taker, passed.taker[is_get])
    wanted: dict[int, set[int]] = defaultdict(set)
    for task, key in zip(passed.taker[is_nested].tolist(), passed.key[is_nested].tolist(), strict=True):
        wanted[task].add(key)
    is_get &= np.isin(passed.taker, np.fromiter(wanted, np.int64, len(wanted)))
    spans: dict[int, list[Span]] = defaultdict(list)
    made: dict[int, int] = defaultdict(int)
    got: dict[int, set[int]] = defaultdict(set)
    ended = facts.attempts.ended[facts.last_rows]
    columns = (passed.maker, passed.taker, passed.key, passed.begin, passed.end)
    for maker, task, key, begin, end in zip(*(column[is_get].tolist() for column in columns), strict=True):
        if key in wanted[task]:
            spans[task].append((begin, end))
            got[task].add(key)
            made[task] = max(made[task], int(ended[maker]) if maker >= 0 else 0)
    found = {}
    for task, of_task in spans.items():
        begin, end, blocked = of_task[0][0], max(end for _, end in of_task), union_ns(of_task)
        # A get of a value that is ready returns immediately and is not recorded, so it is enough if most of
        # the values have a recorded get.
        is_most = len(got[task]) > len(wanted[task]) / 2
        if is_most and blocked > _MIN_BLOCKED_NS and end - begin - blocked <= _MAX_WORK_SHARE * (end - begin):
            found[task] = begin, end, made[task]
    return found


def _starts(facts: Facts, blocked: list[tuple[int, Span]]) -> list[Span]:
    """The spans of worker starts that began on a node while one of the ``blocked`` tasks was blocked there,
    cut off when that task was no longer blocked.
    """
    a = facts.attempts
    node_of = np.full(len(facts.recorded.workers) + 1, -1)
    node_of[a.worker] = a.node
    starts = [
        (node, launch, started)
        for node, (launch, started) in zip(node_of.tolist(), facts.recorded.workers, strict=False)
        if launch is not None and started is not None
    ]
    merged: dict[int, list[Span]] = defaultdict(list)
    for node, (begin, end) in sorted(blocked):
        of_node = merged[node]
        if of_node and begin <= of_node[-1][1]:
            of_node[-1] = of_node[-1][0], max(of_node[-1][1], end)
        else:
            of_node.append((begin, end))
    found = []
    for node, launch, started in [*starts, *facts.recorded.unused_workers]:
        place = bisect.bisect_right(merged[node], (launch, _LATEST)) - 1
        if place >= 0 and launch < merged[node][place][1]:
            found.append((launch, min(started, merged[node][place][1])))
    return found


#: Minimum number of values that counts as a pattern.
_MIN_VALUES = 2


class UnnecessaryGet:
    """A caller gets a large value, and passes it by value to the next task.

    Limits: at least 2 values of one function, each over 100 KB, are passed to another call after the caller
    got them. They are recognized by their size: the argument is as large as the value, and the task that
    created the value was not itself called with a value of that size.

    Needs: the tracer in the caller and in the workers.
    """

    kind = "unnecessary_get"
    title = "Values are got only to be passed on"
    advice = (
        "The caller got {calls} values of {function} with ray.get, {value_bytes} each, and passed them by "
        "value to {taker}, so each was fetched and stored once more, in {copying_ns} in all. If the caller "
        "does nothing else with them, pass the references."
    )
    sketch = "ref = {function}.remote(item)\nresult = {taker}.remote(ref)  # not ray.get(ref)"
    doc = "anti-pattern: calling ray.get unnecessarily harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose values pass through their caller. The cost is the time to get and copy them."""
        facts.require_tracer("their arguments")
        a, last_rows = facts.attempts, facts.last_rows
        spans: dict[tuple[str, str, int], list[Span]] = defaultdict(list)
        values: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for one in find_passed_values(facts):
            if one.is_certain:
                made_by, taken_by = last_rows[one.maker], last_rows[one.taker]
                key = facts.name(made_by), facts.name(taken_by), int(a.parent[taken_by])
                begin = min(one.end, max(one.begin, int(a.returned[made_by])))
                spans[key] += [(begin, one.end), facts.submission(one.taker)]
                values[key].append(one.bytes)
        for (function, taker, caller), sizes in values.items():
            if len(sizes) >= _MIN_VALUES:
                copying_ns = union_ns(spans[function, taker, caller])
                yield Finding(
                    copying_ns,
                    function=function,
                    caller=facts.caller(caller),
                    confidence="medium",  # the caller may need the values
                    numbers={
                        "calls": len(sizes),
                        "value_bytes": max(sizes),
                        "copying_ns": copying_ns,
                        "taker": taker,
                    },
                    filters={"func_name": function},
                )
