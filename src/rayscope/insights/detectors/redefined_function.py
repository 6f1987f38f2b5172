"""A remote function or class that is defined many times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, function_or_class
from rayscope.insights.spans import Span, union_ns

#: Several functions may share a name. This many definitions come from a loop, ...
_MIN_DEFINITIONS = 5
#: ... if each is called at most this often on average.
_MAX_CALLS_EACH = 4


class RedefinedFunction:
    """A remote function or class is defined anew for nearly each call, so each definition is loaded anew.

    Limits: at least 5 definitions of one name that are called at most 4 times each on average.

    Needs: Ray's hashes of functions, which are always recorded. The time to send the definitions is known
    only with the tracer in the caller.
    """

    kind = "redefined_function"
    title = "A function is redefined for each call"
    advice = (
        "{function} was defined {definitions} times for {calls} calls. Each definition was pickled, uploaded "
        "and loaded by workers, which took {loading_ns} in all. Define it once, outside of the loop or the "
        "function that calls it, and pass what differs as arguments."
    )
    sketch = "@ray.remote\ndef {function}(item): ...\n\n\nrefs = [{function}.remote(item) for item in items]"
    doc = "anti-pattern: redefining the same remote function or class harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Names with many definitions. The first definition, and a worker's first load, cost nothing."""
        a = facts.attempts
        exports: dict[str, list[Span]] = defaultdict(list)
        for one in facts.recorded.sendings:
            if one.kind == "export":
                exports[one.code].append((one.begin, one.end))
        is_known = ~a.code.equals("")
        for name, rows in facts.rows_of_function.items():
            known = rows[is_known[rows]]
            numbers = list(dict.fromkeys(a.code.codes[known].tolist()))
            if len(numbers) < _MIN_DEFINITIONS or len(known) > _MAX_CALLS_EACH * len(numbers):
                continue
            codes = [a.code.values[number] for number in numbers]
            began = known[a.start[known] >= 0]
            began = began[np.argsort(a.start[began], kind="stable")]
            _, firsts = np.unique(a.worker[began], return_index=True)
            spans = [span for code in codes[1:] for span in exports[code]]
            spans += map(facts.loading, np.delete(began, firsts).tolist())
            function, actor_class = function_or_class(name)
            yield Finding(
                union_ns(spans),
                function=function,
                actor_class=actor_class,
                numbers={
                    "definitions": len(codes),
                    "calls": len(known),
                    "loading_ns": sum(end - begin for begin, end in spans),
                },
                filters={"func_name": name},
            )
