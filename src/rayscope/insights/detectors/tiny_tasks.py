"""Tasks that do less work than it costs to run them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.changes import Change

#: Ray's guide says that tasks should take at least about 10 ms. Running a task costs Ray some milliseconds.
_MAX_TINY_NS = 10_000_000
#: Ray's approximate overhead per call, in ns.
_CALL_OVERHEAD_NS = 1_000_000
#: The overhead must add up to this share of the job's time.
_MIN_SHARE = 0.05
#: A batch should take about this long, in ns.
_BATCH_NS = 100_000_000
#: Minimum number of calls that counts as a pattern.
_MIN_CALLS = 200


class TinyTasks:
    """Many calls of a function that each run less than 10 ms.

    Limits: at least 200 calls whose median and mean are both less than 10 ms, without the time that they are
    blocked. At a millisecond each, running them costs 5 % of the job's time.

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
        """Functions with short calls."""
        a = facts.attempts
        for function, calls in facts.calls_of_function.items():
            cost_ns = len(calls) * _CALL_OVERHEAD_NS
            if len(calls) < _MIN_CALLS or cost_ns < _MIN_SHARE * facts.duration_ns:
                continue
            # Ray drops the execution time of some calls if there are many.
            known = calls[a.returned[calls] < a.ended[calls]]
            own = facts.own_ns[known if len(known) > len(calls) / 2 else calls]
            median = int(np.median(own))
            if median >= _MAX_TINY_NS or own.mean() >= _MAX_TINY_NS:
                continue
            batch = min(max(2, round(_BATCH_NS / max(median, 100_000))), max(2, len(calls) // 4))
            # If an actor is busy with many calls, these are not recorded one by one.
            is_method = bool((a.actor[calls] >= 0).all())
            at_once = 1 if is_method else max(1.0, facts.cpus)
            yield Finding(
                min(round(cost_ns / at_once), facts.duration_ns),
                function=function,
                changes=() if is_method else (Change("batch", function, batch),),
                numbers={"calls": len(calls), "median_ns": median, "batch": batch},
                filters={"func_name": function},
            )
