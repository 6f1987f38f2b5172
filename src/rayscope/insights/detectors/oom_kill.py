"""Tasks that were killed because their node ran out of memory."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Callable, Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.spans import union_ns

#: Ray's type of the error of an attempt that its memory monitor killed.
OUT_OF_MEMORY = "OUT_OF_MEMORY"


class OomKill:
    """Attempts that Ray's memory monitor killed because their node ran out of memory.

    Limits: none; one killed attempt is enough.

    Needs: the types of the attempts' errors, which Ray always records.
    """

    kind = "oom_kill"
    title = "Killed for lack of memory"
    advice = (
        "{killed} attempts of {function} were killed because their node ran out of memory, with {running} "
        "tasks and calls running on it at once; {lost_ns} of work were lost. Reserve "
        "{memory_bytes} for each with memory=, so that fewer run at once on a node, or let each use less. If "
        "one alone does not fit, take a larger node."
    )
    sketch = "@ray.remote(memory={memory_bytes})\ndef {function}(...): ..."
    doc = "out-of-memory prevention"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that were killed. No replay knows how long Ray waits before it retries."""
        a = facts.attempts
        killed: dict[str, list[int]] = defaultdict(list)
        for row, error in enumerate(a.error):
            if error == OUT_OF_MEMORY:
                killed[facts.name(row)].append(row)
        if not killed:
            return
        running_at = _running(facts)
        for function, rows in killed.items():
            spans = [facts.held(row) for row in rows]
            running = max(running_at(a.node[row], end) for row, (_, end) in zip(rows, spans, strict=True))
            memory = [
                facts.recorded.nodes[a.node[row]].resources.get("memory", 0.0)
                for row in rows
                if a.node[row] >= 0
            ]
            # So many did not fit at once.
            fit = max(1, running - 1)
            yield Finding(
                union_ns(map(facts.held_until_next, rows)),
                function=function,
                numbers={
                    "killed": len(rows),
                    "calls": len({a.task[row] for row in facts.rows_of_function[function]}),
                    "running": running,
                    "lost_ns": sum(end - begin for begin, end in spans),
                    "node_memory_bytes": int(min(memory, default=0)),
                    "memory_bytes": int(min(memory, default=0) / fit),
                },
                filters={"func_name": function, "state": "FAILED"},
            )


def _running(facts: Facts) -> Callable[[int, int], int]:
    """How many attempts ran on a node at a time."""
    begins: dict[int, list[int]] = defaultdict(list)
    ends: dict[int, list[int]] = defaultdict(list)
    for row, node in enumerate(facts.attempts.node):
        if facts.attempts.start[row] >= 0 or facts.attempts.error[row] == OUT_OF_MEMORY:
            begin, end = facts.held(row)
            begins[node].append(begin)
            ends[node].append(end)
    for times in (*begins.values(), *ends.values()):
        times.sort()

    def at(node: int, time: int) -> int:
        return bisect.bisect_right(begins[node], time) - bisect.bisect_left(ends[node], time)

    return at
