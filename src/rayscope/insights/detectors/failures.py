"""Nodes, processes and results that were lost, and other risks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.memory import is_killed, is_killed_by_kernel
from rayscope.insights.replay.changes import Change
from rayscope.insights.replay.recorded import STOPPED, Bools, Ints
from rayscope.insights.risks import find_data_issues, find_risks
from rayscope.insights.spans import union_ns, union_of

#: An attempt that ended more than this before its node died, in ns, was not lost with the node. Ray notices
#: the death of a node within seconds.
_NOTICED_NS = 60_000_000_000
#: Ray's reason for a node that was stopped on purpose.
_EXPECTED_REASON = "EXPECTED_TERMINATION"


class NodeDeath:
    """A node died, and the attempts that were running on it were lost.

    Limits: a node died while the job ran, without being stopped on purpose, and attempts of the job failed on
    it.

    Needs: the deaths of nodes, which Ray always records.
    """

    kind = "node_death"
    title = "A node died"
    advice = (
        "The node {node} died ({death}). {lost} attempts that ran on it were lost, with {lost_ns} of work, "
        "most of {name}; {again} were tried again. Look at that machine: was it preempted, or out of "
        "memory? Checkpoint long work, and keep the driver and what must not be lost on nodes that stay."
    )
    sketch = (
        "# Ray retries tasks, but restarts no actor by itself.\n"
        "@ray.remote(max_restarts=3, max_task_retries=3)\nclass Keeper: ..."
    )
    doc = "fault tolerance: nodes"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Nodes that died, with the attempts that failed as a result. No replay can predict how long Ray
        takes to notice that a node died.
        """
        a, (since, until) = facts.attempts, facts.recorded.driver
        dead = {
            place: node
            for place, node in enumerate(facts.recorded.nodes)
            if node.death not in ("", _EXPECTED_REASON) and since <= node.end <= until
        }
        if not dead:
            return
        has_failed = a.state.equals("FAILED") & ~a.error.equals("TASK_EXECUTION_EXCEPTION")
        for place, node in dead.items():
            was_there = (a.start <= node.end) & (a.ended >= node.end - _NOTICED_NS)
            rows = np.flatnonzero((a.node == place) & has_failed & was_there)
            if not len(rows):
                continue
            begin, end = (column[rows] for column in facts.held)
            again = rows[rows != facts.last_rows[a.task[rows]]]
            [(name, _)] = Counter(facts.name(row) for row in rows.tolist()).most_common(1)
            yield Finding(
                union_ns(map(facts.held_until_next, rows.tolist())),
                function=name,
                numbers={
                    "node": node.name or node.node_id[:8],
                    "node_id": node.node_id,
                    "death": node.death[:200],
                    "name": name,
                    "lost": len(rows),
                    "again": len(again),
                    "lost_ns": int((end - begin).sum()),
                },
                filters={"node_id": node.node_id, "state": "FAILED"},
            )


class OomKill:
    """Attempts that Ray's memory monitor or the kernel killed because their node ran out of memory.

    Limits: none; one killed attempt is enough.

    Needs: the types of the attempts' errors, which Ray always records. Kills by the kernel are known only if
    the agent on the node can read the kernel's log or its count of them.
    """

    kind = "oom_kill"
    title = "Killed for lack of memory"
    advice = (
        "Attempts of {function} were killed ({killed} in all) because their node ran out of memory, with "
        "{running} tasks and calls running on it at once; {lost_ns} of work was lost. Reserve "
        "{memory_bytes} for each with memory=, so that fewer run at once on a node, or let each use less. If "
        "one alone does not fit, take a larger node."
    )
    sketch = "@ray.remote(memory={memory_bytes})\ndef {function}(item): ..."
    doc = "out-of-memory prevention"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with killed attempts. No replay can predict how long Ray waits before it retries."""
        a = facts.attempts
        killed = np.flatnonzero(is_killed(facts))
        for _, places in groups(a.function[killed]):
            rows = killed[places]
            function = facts.name(rows[0])
            begin, end = (column[rows] for column in facts.held)
            running = _running(facts, rows)
            nodes = set(a.node[rows].tolist()) - {-1}
            memory = [facts.recorded.nodes[node].resources.get("memory", 0.0) for node in nodes]
            # The attempts that ran at once did not fit, so assume that one fewer would have.
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
    """The maximum number of attempts that were running on a node when one of the ``killed`` attempts was
    killed there.
    """
    a, (begin, end) = facts.attempts, facts.held
    has_run = (a.start >= 0) | is_killed(facts)
    most = 0
    for node, places in groups(a.node[killed]):
        there = has_run & (a.node == node)
        times = end[killed[places]]
        entered = np.searchsorted(np.sort(begin[there]), times, side="right")
        left = np.searchsorted(np.sort(end[there]), times, side="left")
        most = max(most, int((entered - left).max()))
    return most


#: Types of errors that other detectors report, or that are intended.
_OTHER_ERRORS = ("NODE_DIED", "OUT_OF_MEMORY", STOPPED)


class Retries:
    """Attempts that failed and were retried.

    Limits: any attempt that had begun and was followed by another attempt of the same task. Restarts of
    actors are left out, and so are attempts that Ray's libraries stopped on purpose.

    Needs: when attempts began and ended.
    """

    kind = "retries"
    title = "Work lost to retries"
    advice = (
        "Attempts of {function} failed and were retried ({failed} in all): {lost_ns} of work was lost. The "
        "failures of {function} show why."
    )
    sketch = ""  # the code already has the options
    doc = "fault tolerance: tasks"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that were followed by another attempt."""
        a = facts.attempts
        is_last = np.isin(np.arange(len(a)), facts.last_rows)

        # Tasks that ran again although an attempt had finished are reported by the detector `reconstruction`.
        has_other_finding = a.state.equals("FINISHED") | a.error.equals(*_OTHER_ERRORS)
        has_other_finding |= is_killed_by_kernel(facts)
        is_lost = (a.start >= 0) & ~is_last & ~facts.is_creation & ~has_other_finding
        spans = np.maximum(np.maximum(a.returned, a.ended) - a.start, 0)
        for function, rows in facts.rows_of_function.items():
            lost = rows[is_lost[rows]]
            if len(lost):
                spent = int(spans[lost].sum())
                yield Finding(
                    spent,
                    function=function,
                    changes=(Change("no_retries", function),),
                    rows=lost,
                    numbers={"failed": len(lost), "lost_ns": spent},
                    filters={"func_name": function, "state": "FAILED"},
                )


class Reconstruction:
    """Tasks that had finished ran again because the values that they had returned were lost.

    Limits: one such task is enough.

    Needs: the attempts and their states, which Ray always records.
    """

    kind = "reconstruction"
    title = "Lost results were made again"
    advice = (
        "Finished tasks of {function} ran again ({again}), for {again_ns} in all, because their results were "
        "lost, mostly with the node that had them. Write what is expensive to make to shared "
        "storage, or keep it on nodes that stay."
    )
    sketch = ""
    doc = "fault tolerance: objects"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that follow a finished attempt of the same task."""
        a = facts.attempts
        is_made_again = _is_made_again(facts)
        for function, rows in facts.rows_of_function.items():
            again = rows[is_made_again[rows]]
            if len(again):
                begin, end = (column[again] for column in facts.held)
                yield Finding(
                    union_of(begin, end),
                    function=function,
                    changes=(Change("no_retries", function),),
                    numbers={
                        "again": len(np.unique(a.task[again])),
                        "again_ns": int((end - begin).sum()),
                    },
                    filters={"func_name": function},
                )


def _is_made_again(facts: Facts) -> Bools:
    """For each attempt, whether it follows a finished attempt of the same task."""
    a = facts.attempts
    found = np.zeros(len(a), dtype=np.bool_)
    found[1:] = (a.task[1:] == a.task[:-1]) & a.state.equals("FINISHED")[:-1]
    return found & (a.start >= 0)


class ForkedProcess:
    """A driver, task or actor forks, so that the new process shares Ray's connections.

    Limits: one call to ``os.fork`` is enough. ``multiprocessing`` and ``concurrent.futures`` call it on Linux
    before Python 3.14. Programs started by ``subprocess`` do not count, and neither do forks by torch and
    Ray's libraries. The number of forks by a process is rounded down to a power of ten.

    Needs: the tracer in the process that forks.
    """

    kind = "forked_process"
    title = "A driver or worker forks"
    advice = (
        "Processes forked at {place}: at least {forks}. A forked process shares Ray's connections, but has "
        "none of the threads that serve them: messages may get mixed up, and the process may hang on a lock "
        'that such a thread held. Start processes with the method "spawn", or use tasks and actors instead.'
    )
    sketch = (
        'context = multiprocessing.get_context("spawn")\n'
        "with ProcessPoolExecutor(mp_context=context) as pool: ..."
    )
    doc = "anti-pattern: forking new processes in application code"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions, and the driver, with the places where they fork."""
        return find_risks(facts, "fork", "forks")


class DataIssue:
    """Ray Data warned about an operator while it executed a dataset, for example that tasks hang or use much
    memory.

    Limits: those of Ray Data's issue detectors, which are configured, switched on and switched off in
    ``DataContext.issue_detectors_config``. Ray 2.60 looks for hanging tasks only if the program adds that
    detector. For each dataset, operator and kind of issue, a process reports only the first message, up to
    1000 characters. Ray 2.50 loses most of them.

    Needs: the tracer in the process that executes the dataset: the driver, or an actor.
    """

    kind = "data_issue"
    title = "Ray Data reports an issue"
    advice = "Ray Data says of the operator {operator} ({issue}): {message}"
    sketch = ""
    doc = "Ray Data: monitoring your workload"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One finding for each operator and issue."""
        return find_data_issues(facts)
