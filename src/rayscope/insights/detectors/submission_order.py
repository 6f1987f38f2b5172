"""Results that are processed in the order of submission although others are ready."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.replay.recorded import Ints

_MIN_RESULTS = 5
_NEVER = 1 << 62


class SubmissionOrder:
    """A caller waits for one result while others of the same batch, which it processes later, are ready.

    Limits: at least 5 results of one function that were all submitted before the first of them is waited for,
    with work between the waits.

    Needs: the tracer in the caller: its waits, and the objects that they name.
    """

    kind = "submission_order"
    title = "Results processed in submission order"
    advice = (
        "Results of {function} are taken one by one in the order of submission; for {blocked_ns} the caller "
        "waited for one while later ones were ready to be processed. Take them as they complete, with "
        "ray.wait."
    )
    sketch = "while refs:\n    [done], refs = ray.wait(refs)\n    process(ray.get(done))"
    doc = "anti-pattern: processing results in submission order using ray.get increases runtime"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Batches whose results are got one by one in the order of submission, with work between the gets."""
        facts.require_tracer("their waits")
        a, waits = facts.attempts, facts.recorded.waits
        first_rows, last_rows = facts.first_rows, facts.last_rows
        single = _single_gets(facts)
        awaited = waits.named_task[waits.first_named[single]]
        for task, places in groups(waits.task[single]):
            for _, of_function in groups(a.function[last_rows[awaited[places]]]):
                gets = places[of_function]
                tasks, begin, end = awaited[gets], waits.begin[single[gets]], waits.end[single[gets]]
                if len(gets) < _MIN_RESULTS or a.created[first_rows[tasks]].max() > begin[0]:
                    continue
                ended = a.ended[last_rows[tasks]]
                # For each get except the last: the first time at which one of the later results was ready.
                later = np.minimum.accumulate(np.where(ended >= 0, ended, _NEVER)[:0:-1])[::-1]
                blocked = int(np.maximum(end[:-1] - np.maximum(begin[:-1], later), 0).sum())
                between = int(np.maximum(begin[1:] - end[:-1], 0).sum())
                cost = min(blocked, between)
                if cost > 0:
                    function = facts.name(last_rows[tasks[0]])
                    yield Finding(
                        cost,
                        function=function,
                        caller=facts.caller(task),
                        confidence="medium",
                        numbers={"calls": len(gets), "blocked_ns": blocked, "between_ns": between},
                        filters={"func_name": function},
                    )


def _single_gets(facts: Facts) -> Ints:
    """The gets for a single task each, in last attempts with enough of them; not ray.wait."""
    waits = facts.recorded.waits
    first, end = waits.first_named[:-1], waits.first_named[1:]
    found: Ints = np.flatnonzero(waits.is_last_get & (end > first))
    # The tasks that a wait names are sorted, so that the first and the last suffice.
    found = found[waits.named_task[first[found]] == waits.named_task[end[found] - 1]]
    callers = waits.task[found] + 1  # the driver is -1
    has_enough = np.bincount(callers)[callers] >= _MIN_RESULTS
    return found[has_enough]
