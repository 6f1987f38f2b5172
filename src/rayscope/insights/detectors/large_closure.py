"""Functions that capture large objects."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, function_or_class
from rayscope.insights.replay.recorded import Sending
from rayscope.insights.spans import union_ns

#: Code alone takes some KB. Ray warns at 10 MB and refuses functions of 100 MB.
_LARGE_BYTES = 1_000_000


class LargeClosure:
    """A function or a class of actors captures a large object, which each worker loads along with its code.

    Limits: a pickled function or class of more than 1 MB.

    Needs: the tracer in the process that calls the function first.
    """

    kind = "large_closure"
    title = "A function carries a large object along"
    advice = (
        "{function} is {code_bytes} when pickled, since it uses a large object that is defined outside of "
        "it. Ray uploads it with the code, and each worker downloads and unpickles it: {loading_ns} for "
        "{workers} workers. Store the object with ray.put, and pass the reference as an argument."
    )
    sketch = "data_ref = ray.put(data)\nrefs = [{function}.remote(data_ref, item) for item in items]"
    doc = "anti-pattern: closure capturing large objects harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Large functions. The cost is the time to send and load their code."""
        facts.require_tracer("their functions")
        a = facts.attempts
        large: dict[str, list[Sending]] = defaultdict(list)
        for one in facts.recorded.sendings:
            if one.kind == "export" and one.bytes > _LARGE_BYTES:
                large[one.code].append(one)
        for code, sent in large.items():
            rows = np.flatnonzero(a.code.equals(code))
            if not len(rows):
                continue
            loads = [facts.loading(row) for row in rows[a.loading[rows] > 0].tolist()]
            name = facts.name(rows[0])
            function, actor_class = function_or_class(name)
            yield Finding(
                union_ns([*loads, *((one.begin, one.end) for one in sent)]),
                function=function,
                actor_class=actor_class,
                numbers={
                    "code_bytes": max(one.bytes for one in sent),
                    "workers": len(set(a.worker[rows].tolist()) - {-1}),
                    "loading_ns": sum(end - begin for begin, end in loads),
                },
                filters={"func_name": name},
            )
