"""Values that a caller gets only to pass them on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.handovers import find_passed_values
from rayscope.insights.spans import Span, union_ns

#: Values that are enough for a pattern.
_MIN_VALUES = 2


class UnnecessaryGet:
    """A caller gets a large value, and passes it by value to the next task.

    Limits: at least 2 values over 100 KB of one function that are passed to another call after they were got.
    Value and argument have the same size, and the task that created the value was not called with one of that
    size.

    Needs: the tracer in the caller and in the workers.
    """

    kind = "unnecessary_get"
    title = "Values are got only to be passed on"
    advice = (
        "The caller got {calls} values of {function} with ray.get, {value_bytes} each, and passed them by "
        "value to {taker}, so each was fetched and stored once more, in {copying_ns} in all. If the caller "
        "does nothing else with them, pass the references."
    )
    sketch = "ref = {function}.remote(item)\nresult = {taker}.remote(ref)  # not ray.get(ref)"
    doc = "anti-pattern: calling ray.get unnecessarily harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose values pass through their caller. Getting and copying them is the cost."""
        facts.require_tracer("their arguments")
        a, last_rows = facts.attempts, facts.last_rows
        spans: dict[tuple[str, str, int], list[Span]] = defaultdict(list)
        values: dict[tuple[str, str, int], list[int]] = defaultdict(list)
        for one in find_passed_values(facts):
            if one.is_certain:
                made_by, taken_by = last_rows[one.maker], last_rows[one.taker]
                key = facts.name(made_by), facts.name(taken_by), int(a.parent[taken_by])
                begin = min(one.end, max(one.begin, int(a.returned[made_by])))
                spans[key] += [(begin, one.end), facts.submission(one.taker)]
                values[key].append(one.bytes)
        for (function, taker, caller), sizes in values.items():
            if len(sizes) >= _MIN_VALUES:
                copying_ns = union_ns(spans[function, taker, caller])
                yield Finding(
                    copying_ns,
                    function=function,
                    caller=facts.caller(caller),
                    confidence="medium",  # the caller may need the values
                    numbers={
                        "calls": len(sizes),
                        "value_bytes": max(sizes),
                        "copying_ns": copying_ns,
                        "taker": taker,
                    },
                    filters={"func_name": function},
                )
