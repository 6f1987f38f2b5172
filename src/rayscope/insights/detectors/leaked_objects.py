"""Objects that stay in the object store although nothing uses them any more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, Points

#: Objects count as leaked if they were unused for this share of the job's time.
_MIN_UNUSED_SHARE = 0.5
#: They must also have been unused for this long, in ns.
_MIN_UNUSED_NS = 20_000_000_000
#: Leaked objects that take less of the object store leave enough space for others.
_MIN_SHARE = 0.25
#: At least this share of the leaked bytes must still be in memory. The rest may have been freed, or sizes are
#: inexact.
_MIN_PRESENT_SHARE = 0.8


class LeakedObjects:
    """Objects fill the object store although they have not been used for long: something keeps their
    references.

    Limits: objects over 100 KB that no task got or was called with in the last half of the job's time, and at
    least in the last 20 s, take a quarter of the object store or more, and are in memory at its end.

    Needs: the tracer, for the objects and their uses, and the metric of the object store from the job's time.
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
        """The function that owns most of the unused objects."""
        facts.require_tracer("their objects")
        end = facts.recorded.driver[1]
        unused_ns = max(round(_MIN_UNUSED_SHARE * facts.duration_ns), _MIN_UNUSED_NS)
        store = sum(node.resources.get("object_store_memory", 0.0) for node in facts.recorded.nodes)
        by_maker = _unused(facts, end - unused_ns)
        whole = sum(size for _, size in by_maker.values())
        if not store or whole < _MIN_SHARE * store:
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
    """The number and bytes of each function's objects not used after a time; "" is the driver."""
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
