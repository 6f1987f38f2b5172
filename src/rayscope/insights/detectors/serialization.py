"""Time that goes into packing and unpacking values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.spans import Span, union_ns

#: Of the time that calls hold their workers, packing and unpacking take so much.
_SHARE = 0.3
#: Smaller values are cheap to pack; what takes long with them has another reason.
_BYTES = 1 << 20
_LEAST = 3
#: Python objects are packed at some 20 to 150 MB/s. What is slower than a tenth of that waits for something;
#: what is faster are arrays, which are copied.
_BYTES_PER_S = 2 << 20, 200 << 20
#: Packing that takes less of each call is no matter of its data.
_CALL_NS = 20_000_000


class Serialization:
    """Unpacking arguments and storing results takes a large share of a function's time.

    Limits: 30 % of the time from the first byte of its arguments to the stored result, over 3 calls or
    more, with 1 MiB of data and 20 ms of packing a call on average, at 2 to 200 MiB/s: arrays are faster. The
    first call on each worker does not count: it imports modules.

    Needs: the tracer in the workers, for the bytes.
    """

    kind = "serialization"
    title = "Time goes into packing data"
    advice = (
        "{calls} calls of {function} took {packing_ns} for unpacking their arguments and storing their "
        "results ({share:.0%} of their time), {data_bytes} in all. Arrays of NumPy and Arrow tables are not "
        "copied at all; lists, dicts and objects of your own are packed one by one. Pass arrays, or smaller "
        "values."
    )
    sketch = "return numpy.array(values)  # or pyarrow.table(...), instead of a list of Python objects"
    doc = "serialization"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions by the share of their time before their start and after their return."""
        a = facts.attempts
        if not facts.recorded.is_traced:
            return
        returned: dict[int, int] = defaultdict(int)
        for passed in facts.recorded.passed:
            if passed.kind == "return" and passed.maker >= 0:
                returned[passed.maker] += max(0, passed.bytes)
        for function, rows in facts.rows_of_function.items():
            calls = [
                row
                for row in rows
                if facts.is_warm(row) and a.returned[row] >= 0 and a.state[row] == "FINISHED"
            ]
            if len(calls) < _LEAST:
                continue
            data = sum(a.fetched_bytes[row] + returned[a.task[row]] for row in calls)
            spans = [span for row in calls for span in _packing(facts, row)]
            packing = sum(end - begin for begin, end in spans)
            whole = packing + sum(max(0, facts.own_ns(row)) for row in calls)
            slowest, fastest = (packing / 1e9 * rate for rate in _BYTES_PER_S)
            is_much = data >= _BYTES * len(calls) and packing >= max(_SHARE * whole, _CALL_NS * len(calls))
            if not is_much or not slowest <= data <= fastest:
                continue
            yield Finding(
                union_ns(spans),
                function=function,
                numbers={
                    "calls": len(calls),
                    "packing_ns": packing,
                    "share": packing / whole,
                    "data_bytes": data,
                },
                filters={"func_name": function},
            )


def _packing(facts: Facts, row: int) -> tuple[Span, Span]:
    """When an attempt unpacked its arguments, and stored its result."""
    a = facts.attempts
    return (a.start[row] - a.fetching[row], a.start[row]), (
        a.returned[row],
        max(a.returned[row], a.ended[row]),
    )
