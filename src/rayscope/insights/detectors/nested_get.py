"""Tasks that wait for their arguments themselves."""

from __future__ import annotations

import bisect
from collections import Counter, defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.spans import Span, union_ns

#: Fewer tasks do not make a pattern.
_LEAST = 2
#: On a busy machine any ray.get may take so long although all is there.
_BLOCKED_NS = 10_000_000
_LATEST = 1 << 62


class NestedGet:
    """Tasks get references inside their arguments, and hold their workers until the values are there.

    Limits: at least 2 tasks of one function that get all references of their lists or dicts in one ray.get,
    and are blocked there for more than 10 ms. What it costs is the part of that after the values were made,
    and the time that Ray needed to start other workers meanwhile.

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
        """Functions whose tasks get what was nested in their arguments."""
        facts.require_tracer("their arguments")
        a = facts.attempts
        blocked: dict[str, list[tuple[int, Span]]] = defaultdict(list)
        late: dict[str, list[Span]] = defaultdict(list)
        for task, (begin, end, made) in _gets(facts).items():
            row = facts.rows_of_task[task][-1]
            function = facts.name(row)
            blocked[function].append((a.node[row], (begin, end)))
            late[function].append((min(end, max(begin, made)), end))
        for function, spans in blocked.items():
            if len(spans) >= _LEAST:
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
    """By task the begin and end of the one long get of all references that were nested in its arguments, and
    when the last of them was made; no task with several gets.
    """
    wanted = {
        (one.taker, one.key)
        for one in facts.recorded.passed
        if one.nested and one.kind == "argument" and one.taker >= 0
    }
    missing = Counter(task for task, _ in wanted)
    found: dict[int, tuple[int, int, int]] = {}
    for one in facts.recorded.passed:
        is_long = one.kind == "get" and one.end - one.begin > _BLOCKED_NS
        if not is_long or (one.taker, one.key) not in wanted:
            continue
        made = facts.attempts.ended[facts.rows_of_task[one.maker][-1]] if one.maker >= 0 else 0
        begin, end, last = found.get(one.taker, (one.begin, one.end, made))
        if (begin, end) == (one.begin, one.end):
            found[one.taker] = begin, end, max(last, made)
            missing[one.taker] -= 1
    return {task: one for task, one in found.items() if not missing[task]}


def _starts(facts: Facts, blocked: list[tuple[int, Span]]) -> list[Span]:
    """When workers started whose start began on a node while one of ``blocked`` was there; no longer than it
    was.
    """
    a = facts.attempts
    node_of = dict(zip(a.worker, a.node, strict=True))
    starts = [
        (node_of.get(worker, -1), launch, started)
        for worker, (launch, started) in enumerate(facts.recorded.workers)
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
