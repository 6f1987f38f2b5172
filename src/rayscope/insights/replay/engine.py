"""A discrete-event simulation that runs programs on nodes as Ray would.

- A normal task, or the creation of an actor, needs its arguments and then resources on a node or in its
  placement group. Scheduling classes (function and resources) are served fairly: first the class with the
  fewest running tasks, and within a class in the order of arrival.
- A call needs its arguments and a turn at its actor. Calls of one caller arrive in the order of submission.
- A task needs a worker: an idle one, or a new one, which takes time to start and then runs the first task in
  the queue.
- A blocked task releases its CPUs, and takes them again as soon as it continues, even if they are not free.
  Actors keep theirs until they end.
- A retried task repeats its recorded attempts one after the other.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from rayscope.insights.replay.program import (
    CALL,
    COMPUTE,
    CPU,
    CREATION,
    END,
    KILL,
    NORMAL,
    RESERVE,
    SUBMIT,
    UNIT,
    WAIT,
    YIELD,
    Programs,
)

#: Kinds of events. Each event has a run, a node or a lease.
_STEP = 0
_ARRIVED = 1
_ENDED = 2
_DONE = 3
_TIMEOUT = 4
_NODE = 5
_WORKER = 6
#: Number of events between checks of whether anyone is still waiting for the answer.
_EVENTS_PER_CHECK = 8192


class Blocked(NamedTuple):
    """A wait of a run, and the run whose signal ended it (-1: none)."""

    run: int
    begin_ns: int
    end_ns: int
    by: int


class Replayed(NamedTuple):
    """The result of a replay. Lists have one item for each run; times are since the begin (-1: never).

    ``cause``: the run that made it ready (the task of its last argument, or its submitter) or, if it waited
    in a queue, the run that released the capacity. ``reserved_ns``: reserved CPUs multiplied by the time.
    """

    duration_ns: int
    is_stuck: bool
    reserved_ns: float
    ready_ns: list[int]
    given_ns: list[int]
    started_ns: list[int]
    ended_ns: list[int]
    submitter: list[int]
    argument: list[int]
    cause: list[int]
    blocked: list[Blocked]


def replay(programs: Programs, check: Callable[[float], None] = lambda part: None) -> Replayed:
    """Run ``programs``. ``check`` is called regularly, and at the end, with the progress (0 to 1). It may
    raise to stop.
    """
    p = programs
    kind, first, alone, factor = p.kind, p.first, p.alone, p.factor
    lead, delay, tail, arguments, signal = p.lead, p.delay, p.tail, p.arguments, p.signal
    again, again_after, actor, before, after = p.again, p.again_after, p.actor, p.before, p.after
    demand, demands, home, group = p.demand, p.demands, p.home, p.group
    step_of, number_of, waits, counted_by = p.step, p.number, p.waits, p.counted_by
    runs, nodes = len(kind), len(p.nodes)

    heap: list[tuple[int, int, int, int]] = []
    push, pop = heapq.heappush, heapq.heappop
    now = order = 0

    at = first.copy()
    missing = [0] * runs
    is_submitted, has_arrived, is_parked = bytearray(runs), bytearray(runs), bytearray(runs)
    ready_ns, given_ns, started_ns, ended_ns = [-1] * runs, [-1] * runs, [-1] * runs, [-1] * runs
    submitter, argument, cause = [-1] * runs, [-1] * runs, [-1] * runs
    where = [-1] * runs
    blocked_since, waiting_for, timeout_of = [-1] * runs, [-1] * runs, [-1] * runs
    is_there = bytearray(p.signals)
    waiters: list[list[int] | None] = [None] * p.signals
    count, counter_waiter = [0] * p.counters, [-1] * p.counters
    blocked: list[Blocked] = []

    # Pools of free resources: first those of the nodes, then those of the placement groups.
    free = [
        node.copy() if begins <= 0 else [0] * len(node)
        for node, begins in zip(p.nodes, p.node_from, strict=True)
    ]
    free += [[0] * len(p.resources) for _ in p.groups]
    placed: list[list[int] | None] = [None] * len(p.groups)
    pending_groups: list[int] = []
    # Scheduling classes: the queue and the number of running tasks of each, and the classes with queued
    # tasks.
    classes: dict[tuple[int, int, int], int] = {}
    class_of = [-1] * runs
    for run in range(runs):
        if kind[run] <= CREATION:
            key = (p.function[run], demand[run], group[run])
            class_of[run] = classes.setdefault(key, len(classes))
    queues: list[deque[int]] = [deque() for _ in classes]
    class_demands = [(of_demand, of_group) for _, of_demand, of_group in classes]
    #: The CPUs of each demand. The last item stands for no demand.
    cpus = [next((amount for resource, amount in needed if resource == CPU), 0) for needed in demands] + [0]
    running = [0] * len(classes)
    waiting: list[int] = []
    has_room = False
    # Workers: the idle ones on each node; the unused ones with their time to load code; the number of started
    # ones; and the leases they start for. Unlike Ray, the simulation never stops idle workers.
    idle = p.idle_workers.copy()
    unused: list[deque[int]] = [deque() for _ in range(nodes)]
    started_workers = [0] * nodes
    leases: list[tuple[int, int, int]] = []
    starting = [0] * nodes
    to_launch: list[deque[int]] = [deque() for _ in range(nodes)]
    leased = [0] * len(classes)

    # The creation of an actor may not be recorded. Such an actor is alive from the begin.
    created_actors = {actor[run] for run in range(runs) if kind[run] == CREATION}
    is_alive = bytearray(which not in created_actors for which in range(len(p.slots)))
    is_killed = bytearray(len(p.slots))
    slots, busy, outstanding = p.slots, [0] * len(p.slots), [0] * len(p.slots)
    calls: list[deque[int]] = [deque() for _ in slots]
    actor_run = [-1] * len(slots)
    shared = [p.shared.get(of) for of in p.actor_class]
    served_by = actor.copy()
    made_room = -1
    reserved = 0.0

    def later(time_ns: int, event: int, run: int) -> int:
        nonlocal order
        order += 1
        push(heap, (time_ns, order, event, run))
        return order

    def submit(run: int, by: int) -> None:
        if is_submitted[run]:
            return
        is_submitted[run] = 1
        submitter[run] = by
        lacking = 0
        for needed in arguments[run]:
            if not is_there[needed]:
                lacking += 1
                found = waiters[needed]
                if found is None:
                    waiters[needed] = [run]
                else:
                    found.append(run)
        if kind[run] == CALL:
            outstanding[actor[run]] += 1
        if lacking:
            missing[run] = lacking
        elif lead[run] or kind[run] == CALL:
            later(now + lead[run], _ARRIVED, run)
        else:
            arrive(run)

    def dependency_ready(run: int, by: int) -> None:
        """A dependency of ``run`` became available."""
        missing[run] -= 1
        if missing[run] == 0:
            argument[run] = by
            later(now + lead[run], _ARRIVED, run)

    def arrive(run: int) -> None:
        nonlocal has_room
        what = kind[run]
        if before[run] >= 0 and not has_arrived[before[run]]:
            is_parked[run] = 1
            return
        has_arrived[run] = 1
        ready_ns[run] = now
        if what <= CREATION:
            queue = class_of[run]
            if not queues[queue]:
                waiting.append(queue)
            queues[queue].append(run)
            has_room = True
        elif what == CALL:
            of = actor[run]
            team = shared[of]
            if team is not None:
                for one in team:  # its own actor, unless another one has a shorter queue
                    if load(one) < load(of):
                        of = one
                served_by[run] = of
            calls[of].append(run)
            serve(of)
        else:
            begin(run)
        following = after[run]
        if following >= 0 and is_parked[following]:
            is_parked[following] = 0
            later(now, _ARRIVED, following)

    def load(of: int) -> int:
        return 2 * (busy[of] + len(calls[of])) + (not is_alive[of])

    def serve(of: int) -> None:
        """Let an actor start as many calls as it has free slots."""
        queue = calls[of]
        while queue and is_alive[of] and busy[of] < slots[of]:
            busy[of] += 1
            begin(queue.popleft())

    def begin(run: int, loading: int = 0) -> None:
        """Start a run that has everything it needs."""
        given_ns[run] = now
        if ready_ns[run] < now:
            cause[run] = made_room
        starts = now + delay[run] + loading
        started_ns[run] = starts
        if first[run] >= 0:
            later(starts, _STEP, run)
        elif kind[run] == CALL:
            later(starts + int(alone[run] * factor[run]), _ENDED, run)
        else:
            later(starts + int(alone[run] * factor[run]) + tail[run], _DONE, run)

    def fits(pool: list[int], needed: tuple[tuple[int, int], ...]) -> bool:
        for resource, amount in needed:  # noqa: SIM110 (a generator takes twice the time)
            if pool[resource] < amount:
                return False
        return True

    def place(run: int) -> int:
        """The pool with the resources that a run needs, or -1: the node where it was recorded, else the one
        with the most free CPUs.
        """
        needed = demands[demand[run]] if demand[run] >= 0 else ()
        if group[run] >= 0:
            return (
                nodes + group[run]
                if placed[group[run]] is not None and fits(free[nodes + group[run]], needed)
                else -1
            )
        if home[run] >= 0 and fits(free[home[run]], needed):
            return home[run]
        best, most, least = -1, -1, cpus[demand[run]]
        for node in range(nodes):
            left = free[node][CPU]
            if left > most and left >= least and fits(free[node], needed):
                best, most = node, left
        if best < 0 and not needed:
            return max(0, home[run])
        return best

    def take(of: int, pool: int, sign: int = 1) -> None:
        """Take the resources of a demand from a pool, or return them if ``sign`` is -1."""
        nonlocal reserved
        if of >= 0:
            for resource, amount in demands[of]:
                free[pool][resource] -= sign * amount
                if resource == CPU:
                    reserved -= sign * amount * now

    def return_resources(run: int) -> None:
        if where[run] >= 0 and demand[run] >= 0:
            take(demand[run], where[run], -1)
            mark_room(run)

    def shift_cpus(run: int, back: bool) -> None:
        """Release the CPUs of a blocked task, or take them again."""
        nonlocal reserved, has_room, made_room
        if kind[run] == NORMAL and demand[run] >= 0:
            for resource, amount in demands[demand[run]]:
                if resource == CPU:
                    free[where[run]][CPU] += amount if back else -amount
                    reserved += amount * now if back else -amount * now
            if back:
                has_room, made_room = True, run

    def dispatch() -> None:
        """Start whatever fits into the free resources."""
        nonlocal has_room
        has_room = False
        if pending_groups:
            for one in pending_groups.copy():
                reserve(one)
        # If a class does not fit, other classes with the same demand do not fit either.
        lacking: set[tuple[int, int]] = set()
        enough: set[int] = set()
        while True:
            chosen = waiting
            if lacking or enough:
                chosen = [one for one in waiting if class_demands[one] not in lacking and one not in enough]
            if not chosen:
                return
            queue = chosen[0] if len(chosen) == 1 else min(chosen, key=running.__getitem__)
            run = queues[queue][0]
            found = place(run)
            if found < 0:
                lacking.add(class_demands[queue])
                continue
            node = node_of(found)
            if kind[run] == CREATION:
                run_next(queue, found)
            elif idle[node]:
                idle[node] -= 1
                run_next(queue, found)
            elif unused[node]:
                run_next(queue, found, unused[node].popleft())
            elif leased[queue] < len(queues[queue]):
                # A worker must start first. Whichever task is first in the queue by then gets it.
                leases.append((queue, found, 0))
                leased[queue] += 1
                running[queue] += 1
                take(demand[run], found)
                if starting[node] < p.start_slots[node]:
                    launch(len(leases) - 1)
                else:
                    to_launch[node].append(len(leases) - 1)
            else:
                enough.add(queue)

    def node_of(pool: int) -> int:
        if pool < nodes:
            return pool
        chosen = placed[pool - nodes]
        return chosen[0] if chosen else 0

    def run_next(queue: int, pool: int, loading: int = 0) -> None:
        """Start the first run of a class on a worker, which may have to load code first."""
        run = queues[queue].popleft()
        if not queues[queue]:
            waiting.remove(queue)
        where[run] = pool
        take(demand[run], pool)
        running[queue] += 1
        begin(run, loading)

    def launch(lease: int) -> None:
        """Start a worker for a lease."""
        queue, pool, _ = leases[lease]
        node = node_of(pool)
        starts = p.worker_starts[node]
        took, loading = (
            starts[started_workers[node]] if started_workers[node] < len(starts) else p.usual_start
        )
        started_workers[node] += 1
        starting[node] += 1
        leases[lease] = queue, pool, loading
        later(now + took, _WORKER, lease)

    def release(lease: int) -> None:
        """End a lease: its worker has started or is no longer needed."""
        nonlocal has_room
        queue, pool, _ = leases[lease]
        leased[queue] -= 1
        running[queue] -= 1
        take(class_demands[queue][0], pool, -1)
        has_room = True

    def start_worker(lease: int) -> None:
        """Hand a started worker to the next run of its class."""
        nonlocal has_room
        queue, pool, loading = leases[lease]
        release(lease)
        if queues[queue]:
            run_next(queue, pool, loading)
        else:
            unused[node_of(pool)].append(loading)
            has_room = True
        node = node_of(pool)
        starting[node] -= 1
        while to_launch[node] and starting[node] < p.start_slots[node]:
            following = to_launch[node].popleft()
            if queues[leases[following][0]]:
                launch(following)
            else:
                release(following)

    def reserve(which: int) -> None:
        """Find a node for each bundle of a placement group, and reserve all of them or none."""
        nonlocal has_room
        chosen: list[int] = []
        for bundle in p.groups[which].bundles:
            node = next((one for one in range(nodes) if fits(free[one], bundle)), -1)
            if node < 0:
                break
            for resource, amount in bundle:
                free[node][resource] -= amount
            chosen.append(node)
        if len(chosen) < len(p.groups[which].bundles):
            for node, bundle in zip(chosen, p.groups[which].bundles, strict=False):
                for resource, amount in bundle:
                    free[node][resource] += amount
            if which not in pending_groups:
                pending_groups.append(which)
            return
        if which in pending_groups:
            pending_groups.remove(which)
        placed[which] = chosen
        has_room = True
        for bundle in p.groups[which].bundles:
            for resource, amount in bundle:
                free[nodes + which][resource] += amount

    def remove(which: int) -> None:
        chosen = placed[which]
        if chosen is not None:
            for node, bundle in zip(chosen, p.groups[which].bundles, strict=True):
                for resource, amount in bundle:
                    free[node][resource] += amount
                    free[nodes + which][resource] -= amount
        elif which in pending_groups:
            pending_groups.remove(which)

    def retire_actor(of: int) -> None:
        """Release the resources of a killed actor that has no outstanding calls."""
        if is_killed[of] and outstanding[of] == 0 and actor_run[of] >= 0:
            return_resources(actor_run[of])
            where[actor_run[of]] = -1

    def set_signal(which: int, by: int) -> None:
        if is_there[which]:
            return
        is_there[which] = 1
        counter = counted_by[which]
        if counter >= 0:
            count[counter] += 1
            waiter = counter_waiter[counter]
            if waiter >= 0 and count[counter] >= waits[waiting_for[waiter]].needed:
                resume(waiter, by)
        found = waiters[which]
        if found is not None:
            waiters[which] = None
            for item in found:
                if item >= 0:
                    dependency_ready(item, by)
                else:
                    missing[~item] -= 1
                    if missing[~item] == 0:
                        resume(~item, by)

    def resume(run: int, by: int) -> None:
        wait = waits[waiting_for[run]]
        if wait.counter >= 0:
            counter_waiter[wait.counter] = -1
        waiting_for[run] = timeout_of[run] = -1
        shift_cpus(run, back=False)
        blocked.append(Blocked(run, blocked_since[run], now, by))
        later(now + wait.after_ns, _STEP, run)

    def block(run: int, which: int) -> bool:
        """Block a run in a wait. Returns False if the wait is already satisfied."""
        wait = waits[which]
        if wait.counter >= 0:
            if count[wait.counter] >= wait.needed:
                return False
            counter_waiter[wait.counter] = run
        else:
            lacking = 0
            for needed in wait.signals:
                if not is_there[needed]:
                    lacking += 1
                    found = waiters[needed]
                    if found is None:
                        waiters[needed] = [~run]
                    else:
                        found.append(~run)
            if not lacking:
                return False
            missing[run] = lacking
        waiting_for[run], blocked_since[run] = which, now
        if wait.timeout_ns >= 0:
            timeout_of[run] = later(now + wait.timeout_ns, _TIMEOUT, run)
        shift_cpus(run, back=True)
        return True

    def execute_steps(run: int) -> None:
        """Execute the next steps of a run."""
        place_in_program = at[run]
        while True:
            what, which = step_of[place_in_program], number_of[place_in_program]
            place_in_program += 1
            if what == COMPUTE:
                at[run] = place_in_program
                later(now + int(which * factor[run]), _STEP, run)
                return
            if what == SUBMIT:
                submit(which, run)
            elif what == WAIT:
                if block(run, which):
                    at[run] = place_in_program
                    return
                if waits[which].after_ns:
                    at[run] = place_in_program
                    later(now + waits[which].after_ns, _STEP, run)
                    return
            elif what == END:
                if kind[run] == CALL:
                    end(run)
                elif tail[run]:
                    later(now + tail[run], _DONE, run)
                else:
                    finish(run)
                return
            elif what == YIELD:
                set_signal(which, run)
            elif what == KILL:
                is_killed[which] = 1
                retire_actor(which)
            elif what == RESERVE:
                reserve(which)
            else:
                remove(which)
                mark_room(run)

    def mark_room(run: int) -> None:
        nonlocal has_room, made_room
        has_room, made_room = True, run

    def end(run: int) -> None:
        """End the last step of a call, so that its actor can run the next one."""
        nonlocal made_room
        of = served_by[run]
        busy[of] -= 1
        made_room = run
        serve(of)
        if tail[run]:
            later(now + tail[run], _DONE, run)
        else:
            finish(run)

    def finish(run: int) -> None:
        """Make the end of a run known."""
        ended_ns[run] = now
        what = kind[run]
        if what == NORMAL:
            idle[node_of(where[run])] += 1
            return_resources(run)
            mark_room(run)
            running[class_of[run]] -= 1
        elif what == CREATION:
            running[class_of[run]] -= 1
            is_alive[actor[run]] = 1
            actor_run[actor[run]] = run
            retire_actor(actor[run])
            serve(actor[run])
        elif what == CALL:
            outstanding[actor[run]] -= 1
            retire_actor(actor[run])
        if again[run] >= 0:
            is_submitted[again[run]] = 1
            submitter[again[run]] = run
            if kind[again[run]] == CALL:
                outstanding[actor[again[run]]] += 1
            later(now + again_after[run], _ARRIVED, again[run])
        elif signal[run] >= 0:
            set_signal(signal[run], run)

    for node in range(nodes):
        if p.node_from[node] > 0:
            later(p.node_from[node], _NODE, node)
        if p.node_until[node] >= 0:
            later(p.node_until[node], _NODE, ~node)
    for root, begins in zip(p.roots, p.root_begins, strict=True):
        later(begins, _ARRIVED, root)
    left = set(p.roots)
    events = ends = 0
    while heap and left:
        now, number, event, run = pop(heap)
        if event == _STEP:
            execute_steps(run)
        elif event == _DONE:
            finish(run)
        elif event == _ENDED:
            end(run)
            ends += 1
        elif event == _ARRIVED:
            arrive(run)
        elif event == _TIMEOUT:
            if timeout_of[run] == number:
                resume(run, -1)
        elif event == _WORKER:
            start_worker(run)
        else:
            node, sign = (run, 1) if run >= 0 else (~run, -1)
            for resource, amount in enumerate(p.nodes[node]):
                free[node][resource] += sign * amount
            has_room = True
        if has_room:
            dispatch()
        events += 1
        if not events % _EVENTS_PER_CHECK:
            check(min(1.0, ends / max(1, runs)) * 0.99)
        if event in (_STEP, _DONE) and run in left and ended_ns[run] >= 0:
            left.discard(run)
    for run in range(runs):
        if (
            where[run] >= 0
            and demand[run] >= 0
            and (ended_ns[run] < 0 or kind[run] == CREATION)
            and waiting_for[run] < 0
        ):
            reserved += sum(amount * now for resource, amount in demands[demand[run]] if resource == CPU)
    check(1.0)
    return Replayed(
        duration_ns=max((ended_ns[root] for root in p.roots), default=0),
        is_stuck=bool(left),
        reserved_ns=reserved / UNIT,
        ready_ns=ready_ns,
        given_ns=given_ns,
        started_ns=started_ns,
        ended_ns=ended_ns,
        submitter=submitter,
        argument=argument,
        cause=cause,
        blocked=blocked,
    )
