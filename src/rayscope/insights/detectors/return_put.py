"""Tasks that return references to objects that they put."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import DRIVER, Facts, Finding
from rayscope.insights.replay.recorded import ARGUMENT, GET, PUT
from rayscope.insights.spans import Span, union_ns

#: A pickled reference takes some 250 bytes, so smaller values contain none.
_MIN_REFERENCE_BYTES = 150
#: Minimum number of tasks for a pattern.
_MIN_TASKS = 4


class ReturnPut:
    """Tasks put their result into the object store and return a reference to it, instead of the result.

    Limits: at least 4 calls, and half of the calls of their function. Their caller gets or passes on what
    they put, and their own value is large enough to contain a reference.

    Needs: the tracer in the caller and in the workers.
    """

    kind = "return_put"
    title = "Tasks return references of ray.put"
    advice = (
        "{calls} calls of {function} store their result with ray.put and return the reference. The caller "
        "must get twice, which took {blocked_ns} more; small results cannot be sent along with the answer, "
        "and all are lost with the worker that put them. Return the values, with num_returns or a generator "
        "for several."
    )
    sketch = "@ray.remote\ndef {function}(item):\n    return result  # not ray.put(result)"
    doc = "anti-pattern: returning ray.put() ObjectRefs from a task harms performance and fault tolerance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose callers use what their tasks put. The cost is the time in ray.get for that."""
        facts.require_tracer("what they put")
        a = facts.attempts
        passed, last_rows = facts.recorded.passed, facts.last_rows
        is_put = (passed.kind == PUT) & (passed.maker >= 0)
        is_put[is_put] = a.returned_bytes[last_rows[passed.maker[is_put]]] >= _MIN_REFERENCE_BYTES
        maker_of = dict(zip(passed.key[is_put].tolist(), passed.maker[is_put].tolist(), strict=True))
        is_taken = (passed.kind != PUT) & (passed.taker >= DRIVER) & np.isin(passed.key, passed.key[is_put])
        tasks: dict[str, set[int]] = defaultdict(set)
        gets: dict[str, list[Span]] = defaultdict(list)
        columns = (passed.kind, passed.key, passed.taker, passed.begin, passed.end)
        for kind, key, taker, begin, end in zip(*(one[is_taken].tolist() for one in columns), strict=True):
            row = int(last_rows[maker_of[key]])
            by = a.parent[facts.first_rows[taker]] if kind == ARGUMENT and taker >= 0 else taker
            if by == a.parent[row] and end >= a.returned[row] >= 0:
                tasks[facts.name(row)].add(maker_of[key])
                if kind == GET:
                    gets[facts.name(row)].append((max(begin, int(a.returned[row])), end))
        for function, makers in tasks.items():
            if len(makers) >= max(_MIN_TASKS, len(facts.rows_of_function[function]) / 2):
                blocked_ns = union_ns(gets[function])
                yield Finding(
                    blocked_ns,
                    function=function,
                    is_risk=True,
                    caller=facts.caller(int(a.parent[facts.first_rows[min(makers)]])),
                    numbers={"calls": len(makers), "blocked_ns": blocked_ns},
                    filters={"func_name": function},
                )
