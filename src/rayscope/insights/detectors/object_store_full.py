"""An object store that is too small for the job's objects."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups

#: Spilled bytes below this are negligible.
_MIN_SPILLED_BYTES = 10 << 20


class ObjectStoreFull:
    """The object store of a node is full, so Ray writes objects to disk and reads them again.

    Limits: 10 MiB or more are spilled during the job.

    Needs: Ray's metrics of the object store, from the job's time.
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
        """One finding about all spilled objects, from the first to the last sample with spilled bytes."""
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
    """The bytes of the objects created by each function. Each object counts once."""
    a, passed = facts.attempts, facts.recorded.passed
    rows = passed.created_rows
    # The driver has no function. It is the last of the makers, with the number -1.
    functions = np.append(a.function[facts.last_rows], -1)[passed.maker[rows]]
    names = [*facts.recorded.functions, "the driver"]
    sizes = np.maximum(passed.bytes[rows], 0)
    return {names[function]: int(sizes[places].sum()) for function, places in groups(functions)}
