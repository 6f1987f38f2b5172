"""Tasks, actors and placement groups that wait for a long time or forever."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rayscope.cluster.nodes.demand import EPSILON, Place, amount_of, explain_group
from rayscope.insights.finding import Facts, Finding, groups
from rayscope.insights.holdings import Holding, Waiter, group_name, holdings, totals, waiters
from rayscope.insights.replay.build import DRIVER
from rayscope.insights.replay.program import CALL
from rayscope.insights.replay.recorded import Ints
from rayscope.insights.standstill import DRIVER_ROW, QuietPeriod, Stuck, deadlocked, find_quiet_period

#: How long nothing must have begun or ended for a deadlock, in ns. A short time is enough, because the held
#: resources are the evidence.
_DEADLOCK_MIN_QUIET_NS = 3_000_000_000


class Deadlock:
    """Tasks are blocked in ray.get on other tasks that can never run, because the blocked tasks hold the
    resources that these need.

    Limits: nothing was submitted, began or ended in the last 3 s of the job's record, and the blocked tasks
    leave less of a resource free than any one of the other tasks needs. CPUs count only if actors hold them:
    Ray lends the CPUs of blocked tasks to others, but not their GPUs, memory or custom resources.

    Needs: the tracer in the job's processes, which records what they wait for.
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
        quiet = find_quiet_period(facts, _DEADLOCK_MIN_QUIET_NS)
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


#: The option of a task or actor that requests a resource.
_OPTIONS = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}


class Unschedulable:
    """Tasks and actors that never start because no node has the resources that they request.

    Limits: any task or actor that requests more of a resource than the largest node has. Tasks and actors in
    placement groups are left out.

    Needs: the resources that tasks request and that the nodes have.
    """

    kind = "unschedulable"
    title = "Can't be scheduled"
    advice = (
        "Tasks of {function} never started ({tasks}): each needs {needed} {resource}, and the largest node "
        "has {largest}. Ask for less, or add a node that has it."
    )
    sketch = "{function}.options(resources={{...}})  # what the nodes have: ray status"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions that request more of a resource than any node has."""
        a, recorded = facts.attempts, facts.recorded
        never_began = (a.start < 0) & (a.given < 0) & (a.group < 0)
        stuck: dict[tuple[str, str, float, float], list[Ints]] = defaultdict(list)
        for number, demand in enumerate(recorded.demands):
            for name, needed, largest in too_large(facts, demand):
                rows = np.flatnonzero(never_began & (a.demand == number))
                for _, places in groups(a.function[rows]):
                    its = rows[places]
                    stuck[facts.name(its[0]), name, needed, largest].append(its)
                break
        for (function, name, needed, largest), parts in stuck.items():
            rows = np.concatenate(parts)
            yield Finding(
                max(0, recorded.driver[1] - int(a.created[rows].min())),
                function=function,
                rows=rows,
                is_risk=True,
                numbers={
                    "tasks": len(rows),
                    "needed": amount_of(needed, name),
                    "resource": name,
                    "largest": amount_of(largest, name),
                },
                sketch=self.sketch.replace("resources={{...}}", f"{_OPTIONS[name]}=...")
                if name in _OPTIONS
                else None,
                filters={"func_name": function, "state": "PENDING_NODE_ASSIGNMENT"},
            )


def too_large(facts: Facts, demand: Mapping[str, float]) -> Iterable[tuple[str, float, float]]:
    """The resources of which no node has enough: for each, its name, the needed amount, and the amount on the
    node that has most.
    """
    nodes = facts.recorded.nodes
    for name, needed in demand.items():
        largest = max((node.resources.get(name, 0.0) for node in nodes), default=0.0)
        if needed > largest and nodes:
            yield name, needed, largest


class UnschedulableGroup:
    """Placement groups that were never placed because the nodes cannot hold their bundles.

    Limits: any placement group with a bundle that is larger than any node, with more bundles to spread than
    there are nodes, or with more resources in total than the cluster has.

    Needs: the bundles of placement groups, and the resources of the nodes.
    """

    kind = "unschedulable_group"
    title = "Placement group can't be placed"
    advice = (
        "{group} with {bundles} bundles ({strategy}) was never placed. {reason} Ask for smaller bundles, "
        "or add nodes. Of the strategies, PACK and SPREAD ask for less than the STRICT ones."
    )
    sketch = "group = ray.util.placement_group(smaller_bundles)  # ray status shows what the nodes have"
    doc = "placement groups"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Placement groups that the nodes could not hold even if nothing else ran."""
        recorded = facts.recorded
        places = [Place(node.node_id, node.resources, node.resources) for node in recorded.nodes]
        for place, group in enumerate([*recorded.groups, *recorded.empty_groups]):
            if group.ready >= 0 or not places:
                continue
            reason = explain_group(group.strategy, group.bundles, places)
            if reason.never:
                yield Finding(
                    max(0, min(facts.removal(group), recorded.last) - group.created),
                    rows=np.flatnonzero(facts.attempts.group == place),
                    groups=(group.group_id,),
                    is_risk=True,
                    numbers={
                        "group": group_name(group),
                        "bundles": len(group.bundles),
                        "strategy": group.strategy,
                        "reason": reason.message,
                    },
                )


#: How long nothing must have begun or ended for a hang, in ns.
_HANG_MIN_QUIET_NS = 5_000_000_000
#: The share of the job's time for which nothing must have begun or ended for a hang.
_MIN_QUIET_SHARE = 0.2
#: Maximum number of attempts that the text of a finding lists from a chain. Longer chains are cut off.
_MAX_LINKS = 8


class _Chain(NamedTuple):
    """Attempts, each of which waits for the next. ``is_circle``: the last one occurs earlier in the chain."""

    rows: list[int]
    is_circle: bool


class Hang:
    """Tasks wait for each other in a circle, so nothing begins or ends any more. Shows a chain of tasks, each
    of which waits for the next.

    Limits: nothing was submitted, began or ended for the last 5 s and the last fifth of the job's time, while
    tasks wait for each other in a circle. Deadlocks over resources, and tasks that no node can run, are
    reported separately.

    Needs: the tracer in the job's processes, which records what they wait for.
    """

    kind = "hang"
    title = "The job hangs"
    advice = (
        "Nothing has begun or ended for {quiet_ns} while {open} tasks are open. Who waits for whom: {chain}. "
        "Let one of them return instead of waiting: pass references on, make the method async, or give the "
        "actor more threads (max_concurrency)."
    )
    sketch = (
        "@ray.remote(max_concurrency=2)  # so that it can be called while a call of it waits\n"
        "class Player: ..."
    )
    doc = "pattern: concurrent operations with async actor"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """One of the chains that end in a circle. Those that begin with the driver are preferred."""
        quiet = find_quiet_period(facts, max(_HANG_MIN_QUIET_NS, _MIN_QUIET_SHARE * facts.duration_ns))
        if quiet is None or deadlocked(facts, quiet):
            return
        awaited = {target for targets in quiet.targets.values() for target in targets}
        starts = [row for row in quiet.blocked if row not in awaited] or list(quiet.blocked)
        circles = [chain for chain in (_follow(quiet, row) for row in starts) if chain.is_circle]
        if circles:
            chain = max(circles, key=lambda one: one.rows[0] == DRIVER_ROW)
            last = chain.rows[-1]
            yield Finding(
                quiet.quiet_ns,
                function=None if last == DRIVER_ROW else facts.name(last),
                numbers={
                    "quiet_ns": quiet.quiet_ns,
                    "open": len(quiet.rows),
                    "chain": _text(facts, quiet, chain),
                },
                filters={} if last == DRIVER_ROW else {"func_name": facts.name(last)},
            )


def _follow(quiet: QuietPeriod, start: int) -> _Chain:
    """Follow the waits depth first, up to the first circle. If there is none, return the first branch."""
    path, first_end = [start], None
    ways = [iter(quiet.targets.get(start, ()))]
    visited = {start}
    while ways:
        target = next(ways[-1], None)
        if target is None:
            first_end = first_end or list(path)
            ways.pop()
            path.pop()
        elif target in path:
            return _Chain([*path, target], True)
        elif target not in visited:
            visited.add(target)
            path.append(target)
            ways.append(iter(quiet.targets.get(target, ())))
    return _Chain(first_end or [start], False)


def _text(facts: Facts, quiet: QuietPeriod, chain: _Chain) -> str:
    """Format a chain for the text of a finding."""
    links = []
    for row in chain.rows[:_MAX_LINKS]:
        name = DRIVER if row == DRIVER_ROW else facts.name(row)
        links.append(f"{name} ({_situation(facts, quiet, row)})")
    if chain.is_circle:
        links[-1] = f"{facts.name(chain.rows[-1])} again" if len(chain.rows) <= _MAX_LINKS else "…"
    return " → ".join(links)


def _situation(facts: Facts, quiet: QuietPeriod, row: int) -> str:
    a, wait = facts.attempts, quiet.blocked.get(row)
    if wait is not None:
        if wait.is_group:
            return "waiting for a placement group"
        return f"blocked in {'ray.wait' if wait.is_wait else 'ray.get'}"
    if row == DRIVER_ROW or a.ran[row]:
        return "executing"
    if a.kind[row] == CALL:
        return "waiting for its actor"
    return "waiting for its arguments" if quiet.targets.get(row) else "waiting for a worker"


#: Waits below this share of the job's time are treated as ordinary queueing.
_MIN_WAIT_SHARE = 0.5
#: Holders below this share of the wait are treated as taking turns.
_MIN_HELD_SHARE = 0.8


class PendingResources:
    """Tasks, actors or placement groups wait for a resource that others hold for most of the job.

    Limits: they wait for at least half of the job's time, and others hold so much of the resource for at
    least 80 % of that wait that the rest is not enough. CPUs count only if actors or placement groups hold
    them. Tasks of one function that take turns do not count.

    Needs: the requests of the job's tasks, actors and placement groups, and when they were granted. Resources
    held by other jobs are not visible.
    """

    kind = "pending_resources"
    title = "Waiting for a resource that others hold"
    advice = (
        "{waiting} of {waiter} waited for {needed} {resource}, up to {waited_ns}. Meanwhile others held "
        "{held} of the cluster's {total}, most of it {holder} ({holders}). End {holder} when it is done, let "
        "it hold less, or add {resource}."
    )
    sketch = "ray.kill(actor)  # or del actor: gives back what it holds"
    doc = "resources"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """The longest wait of each function, class of actors or placement group, if the same holders keep the
        resource throughout.
        """
        waits: dict[tuple[str, str], list[Waiter]] = defaultdict(list)
        for one in waiters(facts, max(1, round(_MIN_WAIT_SHARE * facts.duration_ns))):
            waits[one.kind, one.name].append(one)
        if not waits:
            return
        quiet = find_quiet_period(facts, 0)
        reported = {stuck.row for stuck in deadlocked(facts, quiet)} if quiet else set()
        least = _MIN_HELD_SHARE * _MIN_WAIT_SHARE * facts.duration_ns
        held = [one for one in holdings(facts) if one.end - one.begin >= least]
        has = totals(facts)
        for found in waits.values():
            longest = max(found, key=lambda one: one.end - one.begin)
            if longest.row in reported and longest.row >= 0:
                continue
            for resource, needed in longest.resources.items():
                holders = _throughout(held, longest, resource)
                total = has.get(resource, 0.0)
                amount = sum(one.resources[resource] for one in holders)
                if total - amount < needed - EPSILON <= total:
                    yield _finding(longest, found, resource, total, holders)
                    break


def _throughout(held: Sequence[Holding], waiter: Waiter, resource: str) -> list[Holding]:
    """The holders that keep some of a resource for nearly all of a wait."""
    least = _MIN_HELD_SHARE * (waiter.end - waiter.begin)
    return [
        one
        for one in held
        if resource in one.resources
        and min(one.end, waiter.end) - max(one.begin, waiter.begin) >= least
        and not (one.kind == "task" and one.name == waiter.name)
    ]


def _finding(
    waiter: Waiter, like: Sequence[Waiter], resource: str, total: float, holders: Sequence[Holding]
) -> Finding:
    by_name: dict[str, float] = defaultdict(float)
    for one in holders:
        by_name[one.name] += one.resources[resource]
    holder = max(by_name, key=by_name.__getitem__)
    waited = waiter.end - waiter.begin
    return Finding(
        waited,
        function=waiter.name if waiter.kind == "task" else None,
        actor_class=waiter.name if waiter.kind == "actor" else None,
        rows=np.concatenate([one.rows for one in like]),
        groups=tuple(group for one in like for group in one.groups),
        is_risk=True,  # it may never run, or not for a long time
        numbers={
            "waiter": waiter.name,
            "waiting": len(like),
            "waited_ns": waited,
            "needed": amount_of(waiter.resources[resource], resource),
            "resource": resource,
            "total": amount_of(total, resource),
            "held": amount_of(sum(by_name.values()), resource),
            "holder": holder,
            "holders": sum(one.name == holder for one in holders),
        },
        filters={"func_name": waiter.name} if waiter.kind == "task" else {},
    )
