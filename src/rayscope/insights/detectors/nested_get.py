"""Tasks that get their arguments themselves."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.replay.recorded import ARGUMENT, GET
from rayscope.insights.spans import Span, union_ns

#: Minimum number of tasks for a pattern.
_MIN_TASKS = 2
#: On a busy machine, any ray.get may take this long although all values are ready.
_MIN_BLOCKED_NS = 10_000_000
#: Tasks that work for a larger share of the time between their gets take values one by one on purpose.
_MAX_WORK_SHARE = 0.1
_LATEST = 1 << 62


class NestedGet:
    """Tasks get references inside their arguments, and hold their workers until the values are ready.

    Limits: at least 2 tasks of one function that get all references in their lists or dicts, one after the
    other without work in between, and are blocked there for more than 10 ms. The cost is the part of that
    time after the values were created, and the time to start other workers meanwhile.

    Needs: the tracer in the caller and in the workers.
    """

    kind = "nested_get"
    title = "ray.get on references inside arguments"
    advice = (
        "{calls} calls of {function} got references inside their arguments with ray.get, and waited in it "
        "for {blocked_ns} in all. Each held a worker meanwhile, and Ray started {workers} others. Pass the "
        "references as arguments of their own: then Ray starts the task when the values are there."
    )
    sketch = "@ray.remote\ndef {function}(*values): ...\n\n\nref = {function}.remote(*refs)"
    doc = "anti-pattern: calling ray.get on task arguments harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose tasks get references that were nested in their arguments."""
        facts.require_tracer("their arguments")
        a = facts.attempts
        blocked: dict[str, list[tuple[int, Span]]] = defaultdict(list)
        late: dict[str, list[Span]] = defaultdict(list)
        last_rows = facts.last_rows
        for task, (begin, end, made) in _gets(facts).items():
            row = last_rows[task]
            function = facts.name(row)
            blocked[function].append((int(a.node[row]), (begin, end)))
            late[function].append((min(end, max(begin, made)), end))
        for function, spans in blocked.items():
            if len(spans) >= _MIN_TASKS:
                starts = _starts(facts, spans)
                yield Finding(
                    union_ns([*late[function], *starts]),
                    function=function,
                    confidence="medium",  # the workers might have been started anyway
                    numbers={
                        "calls": len(spans),
                        "blocked_ns": sum(end - begin for _, (begin, end) in spans),
                        "workers": len(starts),
                    },
                    filters={"func_name": function},
                )


def _gets(facts: Facts) -> dict[int, tuple[int, int, int]]:
    """The tasks that get the references nested in their arguments without other work in between. Each has the
    begin and end of these gets, and the time at which the last of the values was created.
    """
    passed = facts.recorded.passed
    is_get = (passed.kind == GET) & (passed.taker >= 0)
    # Tasks without gets need no further queries.
    is_nested = passed.nested & (passed.kind == ARGUMENT) & np.isin(passed.taker, passed.taker[is_get])
    wanted: dict[int, set[int]] = defaultdict(set)
    for task, key in zip(passed.taker[is_nested].tolist(), passed.key[is_nested].tolist(), strict=True):
        wanted[task].add(key)
    is_get &= np.isin(passed.taker, np.fromiter(wanted, np.int64, len(wanted)))
    spans: dict[int, list[Span]] = defaultdict(list)
    made: dict[int, int] = defaultdict(int)
    got: dict[int, set[int]] = defaultdict(set)
    ended = facts.attempts.ended[facts.last_rows]
    columns = (passed.maker, passed.taker, passed.key, passed.begin, passed.end)
    for maker, task, key, begin, end in zip(*(column[is_get].tolist() for column in columns), strict=True):
        if key in wanted[task]:
            spans[task].append((begin, end))
            got[task].add(key)
            made[task] = max(made[task], int(ended[maker]) if maker >= 0 else 0)
    found = {}
    for task, of_task in spans.items():
        begin, end, blocked = of_task[0][0], max(end for _, end in of_task), union_ns(of_task)
        # A value that is ready is got immediately, which is not recorded.
        is_most = len(got[task]) > len(wanted[task]) / 2
        if is_most and blocked > _MIN_BLOCKED_NS and end - begin - blocked <= _MAX_WORK_SHARE * (end - begin):
            found[task] = begin, end, made[task]
    return found


def _starts(facts: Facts, blocked: list[tuple[int, Span]]) -> list[Span]:
    """The spans of worker starts that began on a node while one of the ``blocked`` tasks was there, cut off
    at the end of that task.
    """
    a = facts.attempts
    node_of = np.full(len(facts.recorded.workers) + 1, -1)
    node_of[a.worker] = a.node
    starts = [
        (node, launch, started)
        for node, (launch, started) in zip(node_of.tolist(), facts.recorded.workers, strict=False)
        if launch is not None and started is not None
    ]
    merged: dict[int, list[Span]] = defaultdict(list)
    for node, (begin, end) in sorted(blocked):
        of_node = merged[node]
        if of_node and begin <= of_node[-1][1]:
            of_node[-1] = of_node[-1][0], max(of_node[-1][1], end)
        else:
            of_node.append((begin, end))
    found = []
    for node, launch, started in [*starts, *facts.recorded.unused_workers]:
        place = bisect.bisect_right(merged[node], (launch, _LATEST)) - 1
        if place >= 0 and launch < merged[node][place][1]:
            found.append((launch, min(started, merged[node][place][1])))
    return found
