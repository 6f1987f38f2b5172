"""Tasks that return references to what they put."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.spans import Span, union_ns

#: A pickled reference has some 250 bytes; a value that is smaller holds none.
_REFERENCE_BYTES = 150
#: Fewer tasks do not make a pattern.
_LEAST = 4


class ReturnPut:
    """Tasks put their result into the object store and return a reference to it, instead of the result.

    Limits: at least 4 calls, and half of the calls of their function, whose caller gets or passes on what
    they put and whose own value is large enough to hold a reference.

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
        """Functions whose callers take what their tasks put; how long they were in ray.get for that."""
        facts.require_tracer("what they put")
        a = facts.attempts
        maker_of: dict[int, int] = {}
        for one in facts.recorded.passed:
            if one.kind != "put" or one.maker < 0:
                continue
            if a.returned_bytes[facts.rows_of_task[one.maker][-1]] >= _REFERENCE_BYTES:
                maker_of[one.key] = one.maker
        tasks: dict[str, set[int]] = defaultdict(set)
        gets: dict[str, list[Span]] = defaultdict(list)
        for one in facts.recorded.passed:
            maker = maker_of.get(one.key, -1)
            if maker < 0 or one.kind == "put" or one.taker < -1:
                continue
            row = facts.rows_of_task[maker][-1]
            by = one.taker
            if one.kind == "argument":
                by = a.parent[facts.rows_of_task[one.taker][0]]
            if by == a.parent[row] and one.end >= a.returned[row] >= 0:
                tasks[facts.name(row)].add(maker)
                if one.kind == "get":
                    gets[facts.name(row)].append((max(one.begin, a.returned[row]), one.end))
        for function, makers in tasks.items():
            if len(makers) >= max(_LEAST, len(facts.rows_of_function[function]) / 2):
                blocked_ns = union_ns(gets[function])
                yield Finding(
                    blocked_ns,
                    function=function,
                    caller=facts.caller(a.parent[facts.rows_of_task[min(makers)][0]]),
                    numbers={"calls": len(makers), "blocked_ns": blocked_ns},
                    filters={"func_name": function},
                )
