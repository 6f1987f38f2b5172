"""Tasks that were killed because their node ran out of memory."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.replay.recorded import Ints
from rayscope.insights.spans import union_ns

#: Ray's type of error for attempts killed by its memory monitor.
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
    sketch = "@ray.remote(memory={memory_bytes})\ndef {function}(item): ..."
    doc = "out-of-memory prevention"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with killed attempts. No replay can predict how long Ray waits before it retries."""
        a = facts.attempts
        killed = np.flatnonzero(a.error.equals(OUT_OF_MEMORY))
        for _, places in groups(a.function[killed]):
            rows = killed[places]
            function = facts.name(rows[0])
            begin, end = (column[rows] for column in facts.held)
            running = _running(facts, rows)
            nodes = set(a.node[rows].tolist()) - {-1}
            memory = [facts.recorded.nodes[node].resources.get("memory", 0.0) for node in nodes]
            # This many attempts did not fit at once.
            fit = max(1, running - 1)
            reserved = facts.amounts_of("memory")[rows].max()
            yield Finding(
                union_ns(map(facts.held_until_next, rows.tolist())),
                function=function,
                numbers={
                    "killed": len(rows),
                    "calls": len(np.unique(a.task[facts.rows_of_function[function]])),
                    "running": running,
                    "lost_ns": int((end - begin).sum()),
                    "node_memory_bytes": int(min(memory, default=0)),
                    # The reservation was not enough, so the proposal is at least 1.5 times as large.
                    "memory_bytes": int(max(min(memory, default=0) / fit, 1.5 * reserved)),
                },
                filters={"func_name": function, "state": "FAILED"},
            )


def _running(facts: Facts, killed: Ints) -> int:
    """The maximum number of attempts that ran on a node when one of ``killed`` was killed there."""
    a, (begin, end) = facts.attempts, facts.held
    has_run = (a.start >= 0) | a.error.equals(OUT_OF_MEMORY)
    most = 0
    for node, places in groups(a.node[killed]):
        there = has_run & (a.node == node)
        times = end[killed[places]]
        entered = np.searchsorted(np.sort(begin[there]), times, side="right")
        left = np.searchsorted(np.sort(end[there]), times, side="left")
        most = max(most, int((entered - left).max()))
    return most
