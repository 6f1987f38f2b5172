"""Time spent on serializing and deserializing values."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.recorded import RETURN
from rayscope.insights.spans import union_of

#: The share of the time that calls hold their workers which must go into serialization.
_MIN_SHARE = 0.3
#: Below this share of the job's time another format is not worthwhile.
_MIN_JOB_SHARE = 0.1
#: Serializing smaller values is cheap; if it takes long, there is another reason.
_MIN_BYTES = 1 << 20
#: Minimum number of calls that counts as a pattern.
_MIN_CALLS = 3
#: Python objects are serialized at some 20 to 150 MB/s. Below a tenth of that, the call waits for something
#: else; above, the values are arrays, which are copied.
_BYTES_PER_S = 2 << 20, 200 << 20
#: Serialization that takes less time per call, ns, does not depend on the data.
_MIN_CALL_NS = 20_000_000


class Serialization:
    """Unpacking arguments and storing results takes a large share of a function's time.

    Limits: 10 % of the job's time, and 30 % of the time from the first byte of its arguments to the stored
    result, over at least 3 calls. On average a call has 1 MiB of data and takes 20 ms for it, at 2 to 200
    MiB/s, because arrays are faster. The first call on each worker does not count: it imports modules.

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
        """Functions that spend a large share of their time before their start and after their return."""
        a = facts.attempts
        if not facts.recorded.is_traced:
            return
        passed = facts.recorded.passed
        is_value = (passed.kind == RETURN) & (passed.maker >= 0)
        values = np.zeros(facts.recorded.tasks, dtype=np.int64)
        np.add.at(values, passed.maker[is_value], np.maximum(passed.bytes[is_value], 0))
        is_done = facts.is_warm & (a.returned >= 0) & a.state.equals("FINISHED")
        for function, rows in facts.rows_of_function.items():
            calls = rows[is_done[rows]]
            if len(calls) < _MIN_CALLS:
                continue
            data = int(a.fetched_bytes[calls].sum() + values[a.task[calls]].sum())
            # The spans in which calls unpack their arguments and store their results.
            start, returned = a.start[calls], a.returned[calls]
            begin = np.concatenate([start - a.fetching[calls], returned])
            end = np.concatenate([start, np.maximum(returned, a.ended[calls])])
            packing = int((end - begin).sum())
            whole = packing + int(np.maximum(facts.own_ns[calls], 0).sum())
            slowest, fastest = (packing / 1e9 * rate for rate in _BYTES_PER_S)
            is_much = data >= _MIN_BYTES * len(calls) and packing >= max(
                _MIN_SHARE * whole, _MIN_CALL_NS * len(calls)
            )
            if not is_much or not slowest <= data <= fastest:
                continue
            cost_ns = union_of(begin, end)
            if cost_ns < _MIN_JOB_SHARE * facts.duration_ns:
                continue
            yield Finding(
                cost_ns,
                function=function,
                numbers={
                    "calls": len(calls),
                    "packing_ns": packing,
                    "share": packing / whole,
                    "data_bytes": data,
                },
                filters={"func_name": function},
            )
