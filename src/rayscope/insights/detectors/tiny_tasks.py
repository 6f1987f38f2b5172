"""Tasks that do less work than it costs to run them."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change

#: Ray's guide: tasks should run at least about 10 ms; a task costs Ray some milliseconds.
_TINY_NS = 10_000_000
#: What a batch should take.
_BATCH_NS = 100_000_000
_LEAST = 200


class TinyTasks:
    """Many calls of a function that each run less than 10 ms.

    Limits: at least 200 calls whose median and mean are both less than 10 ms, without the time that they are
    blocked.

    Needs: when calls began and ended.
    """

    kind = "tiny_tasks"
    title = "Tasks too fine-grained"
    advice = (
        "{calls} calls of {function} run {median_ns} each in the median, less than it costs Ray to run a "
        "task. Let each call do the work of about {batch}."
    )
    sketch = (
        "@ray.remote\ndef {function}_batch(items):\n    return [{function}_one(item) for item in items]\n\n"
        "refs = [{function}_batch.remote(items[at:at + {batch}]) for at in range(0, len(items), {batch})]"
    )
    doc = "anti-pattern: over-parallelizing with too fine-grained tasks harms speedup"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions by the median of what their calls compute."""
        for function, rows in facts.rows_of_function.items():
            own = [ns for row in rows if not facts.is_creation(row) and (ns := facts.own_ns(row)) >= 0]
            if len(own) < _LEAST:
                continue
            median = int(statistics.median(own))
            if median >= _TINY_NS or sum(own) / len(own) >= _TINY_NS:
                continue
            batch = min(max(2, round(_BATCH_NS / max(median, 100_000))), max(2, len(own) // 4))
            yield Finding(
                0,
                function=function,
                changes=(Change("batch", function, batch),),
                numbers={"calls": len(own), "median_ns": median, "batch": batch},
                filters={"func_name": function},
            )
