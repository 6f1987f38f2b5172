"""Tasks that wait for others, which need the resources that the first ones hold."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from rayscope.cluster.nodes.demand import amount_of
from rayscope.insights.finding import Facts, Finding
from rayscope.insights.standstill import Stuck, deadlocked, find_quiet_period

#: How long nothing must have begun or ended, ns. A short time is enough, because the held resources are the
#: evidence.
_MIN_QUIET_NS = 3_000_000_000


class Deadlock:
    """Tasks are blocked in ray.get for others that can never run, because the blocked tasks hold what these
    need.

    Limits: nothing was submitted, began or ended in the last 3 s of the job's record, and the waiting tasks
    leave less of a resource than each of the others needs. CPUs count only if actors hold them: Ray lends the
    CPUs of blocked tasks to others, but not their GPUs, memory or custom resources.

    Needs: the tracer in the job's processes: who waits for whom.
    """

    kind = "deadlock"
    title = "Deadlock: who waits holds what is waited for"
    advice = (
        "{tasks} of {function} need {needed} {resource} each. All that would suffice is held by {holders} of "
        "{holder}, blocked in ray.get until these run. Nothing has run for {quiet_ns}, and nothing will. Let "
        "{holder} hold less {resource}, limit how many of them run at once, or let the caller submit "
        "{function} and pass on the references."
    )
    sketch = (
        "# Let the caller chain the tasks instead of waiting inside one:\n"
        "refs = [outer.remote({function}.remote(item)) for item in items]"
    )
    doc = "pattern: using nested tasks to achieve nested parallelism"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions with attempts that can never run."""
        quiet = find_quiet_period(facts, _MIN_QUIET_NS)
        if quiet is None:
            return
        by_function: dict[str, list[Stuck]] = defaultdict(list)
        for stuck in deadlocked(facts, quiet):
            by_function[facts.name(stuck.row)].append(stuck)
        for function, found in by_function.items():
            first = found[0]
            holder, holders = Counter(one.name for one in first.holders).most_common(1)[0]
            yield Finding(
                quiet.quiet_ns,
                function=function,
                caller=holder,
                numbers={
                    "tasks": len(found),
                    "needed": amount_of(first.needed, first.resource),
                    "resource": first.resource,
                    "holder": holder,
                    "holders": holders,
                    "quiet_ns": quiet.quiet_ns,
                },
                filters={"func_name": function},
            )
