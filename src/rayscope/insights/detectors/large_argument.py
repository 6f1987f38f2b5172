"""The same large value passed by value several times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.handovers import find_passed_values
from rayscope.insights.spans import union_ns

#: Copies of a value that are enough for a pattern.
_MIN_COPIES = 4


class LargeArgument:
    """The same large value is passed by value to many calls, and stored anew for each of them.

    Limits: at least 4 calls of one function by one task or the driver, each with an argument over 100 KB of
    the same size and content. The content is compared by samples of its bytes.

    Needs: the tracer in the workers, which see the arguments.
    """

    kind = "large_argument"
    title = "A large argument is copied for each call"
    advice = (
        "{calls} calls of {function} got the same value of {argument_bytes} by value, so it was pickled and "
        "stored {calls} times. Store it once with ray.put, and pass the reference."
    )
    sketch = "value_ref = ray.put(value)\nrefs = [{function}.remote(value_ref, item) for item in items]"
    doc = "anti-pattern: passing the same large argument by value repeatedly harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions that get the same value several times. Submitting all copies but one is the cost."""
        facts.require_tracer("their arguments")
        a = facts.attempts
        contents = {
            (one.task, one.bytes): one.code for one in facts.recorded.sendings if one.kind == "content"
        }
        # Values that the caller got from other tasks are separate values, even if they are equal.
        handed_on = {one.taker for one in find_passed_values(facts) if one.is_certain}
        same: dict[tuple[int, str, int, str], set[int]] = defaultdict(set)
        passed = facts.recorded.passed
        by_value = passed.by_value & (passed.taker >= 0)
        for taker, size in zip(passed.taker[by_value].tolist(), passed.bytes[by_value].tolist(), strict=True):
            if (taker, size) in contents and taker not in handed_on:
                row = facts.last_rows[taker]
                same[int(a.parent[row]), facts.name(row), size, contents[taker, size]].add(taker)
        for (caller, function, size, _), tasks in same.items():
            if len(tasks) < _MIN_COPIES:
                continue
            copies = sorted((facts.submission(task) for task in tasks), key=lambda span: span[1] - span[0])
            yield Finding(
                union_ns(copies[:-1]),
                function=function,
                caller=facts.caller(caller),
                numbers={
                    "calls": len(tasks),
                    "argument_bytes": size,
                    "copying_ns": sum(end - begin for begin, end in copies[:-1]),
                },
                filters={"func_name": function},
            )
