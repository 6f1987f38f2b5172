"""More objects got at once than fit into the object store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import DRIVER, Facts, Finding
from rayscope.insights.replay.recorded import Wait
from rayscope.insights.spans import Span, union_ns

#: From this share of its object store on a node writes objects to disk: Ray's object_spilling_threshold.
_SHARE = 0.8


class ManyObjectsGet:
    """One ray.get needs more objects at once than the object store of the node can hold.

    Limits: one ray.get of more than 80 % of the node's object store, where Ray begins to write objects to
    disk. For a driver the largest node counts. What it costs is how long it took after the values were made.

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
        """Gets by their bytes and the object store of their node."""
        a = facts.attempts
        stores = [node.resources.get("object_store_memory", 0.0) for node in facts.recorded.nodes]
        for task, waits in facts.waits():
            node = -1 if task == DRIVER else int(a.node[facts.last_rows[task]])
            store = stores[node] if node >= 0 else max(stores, default=0.0)
            found: dict[str, list[tuple[Wait, int]]] = defaultdict(list)
            for wait in waits:
                size = _bytes(wait)
                if store and size > _SHARE * store and not wait.is_wait and wait.summed_ns < 0:
                    found[facts.caller(wait.named[0][0])].append((wait, size))
            for function, gets in found.items():
                wait, most = max(gets, key=lambda one: one[1])
                yield Finding(
                    union_ns(_fetching(facts, one) for one, _ in gets),
                    function=function,
                    caller=facts.caller(task),
                    numbers={
                        "objects": max(wait.objects, len(wait.named)),
                        "got_bytes": most,
                        "store_bytes": int(store),
                        "gets": len(gets),
                    },
                    filters={"func_name": function},
                )


def _bytes(wait: Wait) -> int:
    """The bytes of all objects of a get: the first 256 are known one by one."""
    return round(wait.bytes * max(1.0, wait.objects / max(1, len(wait.named))))


def _fetching(facts: Facts, wait: Wait) -> Span:
    """A get from when the last of its values was made."""
    made = int(facts.attempts.ended[facts.last_rows[[one for one, _ in wait.named]]].max())
    return min(wait.end, max(wait.begin, made)), wait.end
