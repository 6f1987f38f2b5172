"""More objects in one get than the object store can hold."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.replay.recorded import Ints, Waits
from rayscope.insights.spans import Span, union_ns

#: A node spills objects to disk from this share of its object store on: Ray's object_spilling_threshold.
_SPILLING_SHARE = 0.8


class ManyObjectsGet:
    """One ray.get needs more objects at once than the object store of the node can hold.

    Limits: one ray.get of more than 80 % of the node's object store, where Ray begins to write objects to
    disk. For a driver, the largest node counts. The cost is the duration of the get after the values were
    created.

    Needs: the tracer in the caller: the sizes of what it gets.
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
    """The single gets of last attempts that need too much of their object store."""
    waits, store = facts.recorded.waits, _stores(facts)
    found: Ints = np.flatnonzero(waits.is_last_get & (store > 0) & (_bytes(waits) > _SPILLING_SHARE * store))
    return found


def _stores(facts: Facts) -> Any:
    """The size of the node's object store for each wait; the largest store if the node is unknown."""
    stores = [node.resources.get("object_store_memory", 0.0) for node in facts.recorded.nodes]
    # The driver and tasks without a node have the number -1, which selects the last item.
    nodes = np.append(facts.attempts.node[facts.last_rows], -1)[facts.recorded.waits.task]
    return np.array([*stores, max(stores, default=0.0)])[nodes]


def _bytes(waits: Waits) -> Ints:
    """The bytes of all objects of each wait. Only the first 256 objects are known individually."""
    named = np.maximum(np.diff(waits.first_named), 1)
    return np.rint(waits.bytes * np.maximum(waits.objects / named, 1.0)).astype(np.int64)


def _fetching(facts: Facts, get: int) -> Span:
    """The span of a get after the last of its values was created."""
    waits = facts.recorded.waits
    named = waits.named_task[waits.first_named[get] : waits.first_named[get + 1]]
    made = int(facts.attempts.ended[facts.last_rows[named]].max())
    begin, end = int(waits.begin[get]), int(waits.end[get])
    return min(end, max(begin, made)), end
