"""The same simulation as the engine's, written to be read: objects and callbacks instead of columns of numbers.

It runs normal tasks, with arguments and children, on nodes and in placement groups, and starts their workers.
Times are ms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(eq=False)
class Task:
    """``before`` ms of its own work; then it submits its children and gets their values; then ``after_ms``."""

    function: str
    before_ms: int
    after_ms: int = 0
    cpus: int = 1
    group: int = -1
    home: int = -1
    needs: list[Task] = field(default_factory=list)
    children: list[Task] = field(default_factory=list)

    given: int = -1
    started: int = -1
    ended: int = -1
    is_submitted: bool = False
    pool: Pool | None = None
    when_ended: list[Callable[[], None]] = field(default_factory=list)

    @property
    def scheduling_class(self) -> tuple[str, int, int]:
        return self.function, self.cpus, self.group


@dataclass(eq=False)
class Pool:
    """Free CPUs: of a node, or of a placement group, whose workers run on ``node``."""

    cpus: int
    node: Node


@dataclass(eq=False)
class Node:
    """``starts``: how long each further worker takes to start and to load code. Then it takes ``usual_start``."""

    free: int
    idle_workers: int = 0
    starts: list[tuple[int, int]] = field(default_factory=list)
    start_slots: int = 1
    usual_start: tuple[int, int] = (0, 0)
    starting: int = 0
    #: How long each worker that never ran anything will load code.
    unused: deque[int] = field(default_factory=deque)
    to_launch: deque[Lease] = field(default_factory=deque)

    def __post_init__(self) -> None:
        self.pool = Pool(self.free, self)
        self.starts = list(self.starts)


@dataclass(eq=False)
class Group:
    bundles: list[int]
    pool: Pool | None = None


@dataclass(eq=False)
class Lease:
    """Resources for a worker that has to start first; the class with a queued task at that time takes it."""

    scheduling_class: tuple[str, int, int]
    pool: Pool
    loading: int = 0


class Simulation:
    def __init__(self, nodes: list[Node], groups: list[Group]) -> None:
        self.nodes, self.groups = nodes, groups
        self.pending_groups: list[Group] = []
        self.now = 0
        self.events: list[tuple[int, int, Callable[[], None]]] = []
        self.count = 0
        self.queues: dict[tuple[str, int, int], deque[Task]] = {}
        self.running: dict[tuple[str, int, int], int] = {}
        self.leased: dict[tuple[str, int, int], int] = {}

    def later(self, after: int, act: Callable[[], None]) -> None:
        self.count += 1
        self.events.append((self.now + after, self.count, act))

    def run(self, tasks: list[Task]) -> int | None:
        """When a driver that reserves the groups and gets the values of these has them all; None: never."""
        missing = len(tasks)

        def got() -> None:
            nonlocal missing
            missing -= 1

        def drive() -> None:
            for group in self.groups:
                self.reserve(group)
            for task in tasks:
                self.submit(task)
            for task in tasks:
                task.when_ended.append(got)

        # The driver begins in a step of its own.
        self.later(0, lambda: self.later(0, drive))
        while self.events and missing:
            event = min(self.events)
            self.events.remove(event)
            self.now = event[0]
            event[2]()
            self.dispatch()
        return None if missing else self.now

    def reserve(self, group: Group) -> None:
        """Put each bundle on the first node with room: all of them, or none until there is more room."""
        chosen: list[Node] = []
        for bundle in group.bundles:
            node = next((node for node in self.nodes if node.pool.cpus >= bundle), None)
            if node is None:
                for chosen_node, taken in zip(chosen, group.bundles, strict=False):
                    chosen_node.pool.cpus += taken
                if group not in self.pending_groups:
                    self.pending_groups.append(group)
                return
            node.pool.cpus -= bundle
            chosen.append(node)
        if group in self.pending_groups:
            self.pending_groups.remove(group)
        group.pool = Pool(sum(group.bundles), chosen[0])

    def submit(self, task: Task) -> None:
        if task.is_submitted:
            return
        task.is_submitted = True
        missing = [need for need in task.needs if need.ended < 0]
        if not missing:
            self.arrive(task)

        def one_less() -> None:
            missing.pop()
            if not missing:
                self.later(0, lambda: self.arrive(task))

        for need in list(missing):
            need.when_ended.append(one_less)

    def arrive(self, task: Task) -> None:
        self.queues.setdefault(task.scheduling_class, deque()).append(task)

    def find_pool(self, task: Task) -> Pool | None:
        """Its group; else the node where it ran; else the one with the most free CPUs, the first of equals."""
        if task.group >= 0:
            pool = self.groups[task.group].pool
            return pool if pool is not None and pool.cpus >= task.cpus else None
        if task.home >= 0 and self.nodes[task.home].pool.cpus >= task.cpus:
            return self.nodes[task.home].pool
        best = max((node.pool for node in self.nodes), key=lambda pool: pool.cpus)
        return best if best.cpus >= task.cpus else None

    def dispatch(self) -> None:
        """Start tasks while there is room: of the class with the fewest running ones, first in first out."""
        for group in list(self.pending_groups):
            self.reserve(group)
        skipped: set[tuple[str, int, int]] = set()
        while waiting := [each for each in self.queues if each not in skipped]:
            chosen = min(waiting, key=lambda each: self.running.get(each, 0))
            pool = self.find_pool(self.queues[chosen][0])
            if pool is None:
                skipped.add(chosen)
            elif pool.node.idle_workers:
                pool.node.idle_workers -= 1
                self.lend(chosen, pool)
            elif pool.node.unused:
                self.lend(chosen, pool, pool.node.unused.popleft())
            elif self.leased.get(chosen, 0) < len(self.queues[chosen]):
                self.lease(chosen, pool)
            else:
                skipped.add(chosen)

    def take(self, scheduling_class: tuple[str, int, int], pool: Pool) -> None:
        pool.cpus -= scheduling_class[1]
        self.running[scheduling_class] = self.running.get(scheduling_class, 0) + 1

    def return_cpus(self, scheduling_class: tuple[str, int, int], pool: Pool) -> None:
        pool.cpus += scheduling_class[1]
        self.running[scheduling_class] -= 1

    def lease(self, scheduling_class: tuple[str, int, int], pool: Pool) -> None:
        lease = Lease(scheduling_class, pool)
        self.leased[scheduling_class] = self.leased.get(scheduling_class, 0) + 1
        self.take(scheduling_class, pool)
        pool.node.to_launch.append(lease)
        self.launch(pool.node)

    def release(self, lease: Lease) -> None:
        self.leased[lease.scheduling_class] -= 1
        self.return_cpus(lease.scheduling_class, lease.pool)

    def launch(self, node: Node) -> None:
        """Start workers for queued tasks, as many at once as allowed."""
        while node.to_launch and node.starting < node.start_slots:
            lease = node.to_launch.popleft()
            if lease.scheduling_class not in self.queues:
                self.release(lease)
                continue
            node.starting += 1
            took, lease.loading = node.starts.pop(0) if node.starts else node.usual_start
            self.later(took, lambda lease=lease: self.started(lease))  # type: ignore[misc]

    def started(self, lease: Lease) -> None:
        self.release(lease)
        if lease.scheduling_class in self.queues:
            self.lend(lease.scheduling_class, lease.pool, lease.loading)
        else:
            lease.pool.node.unused.append(lease.loading)
        lease.pool.node.starting -= 1
        self.launch(lease.pool.node)

    def lend(self, scheduling_class: tuple[str, int, int], pool: Pool, loading: int = 0) -> None:
        queue = self.queues[scheduling_class]
        task = queue.popleft()
        if not queue:
            del self.queues[scheduling_class]  # it comes last at its next request
        task.pool = pool
        self.take(scheduling_class, pool)
        task.given, task.started = self.now, self.now + loading
        work = lambda: self.later(task.before_ms, lambda: self.get_children(task))  # noqa: E731
        self.later(loading, work)

    def get_children(self, task: Task) -> None:
        """Submit the children. While it waits for them the task releases its CPUs."""
        assert task.pool is not None
        pool = task.pool
        for child in task.children:
            self.submit(child)
        missing = [child for child in task.children if child.ended < 0]

        def go_on() -> None:
            self.later(task.after_ms, lambda: self.finish(task))

        def one_less() -> None:
            missing.pop()
            if not missing:
                pool.cpus -= task.cpus  # at once, whether they are free or not
                self.later(0, go_on)

        if not task.children:
            self.finish(task)
        elif not missing:
            go_on()
        else:
            pool.cpus += task.cpus
            for child in list(missing):
                child.when_ended.append(one_less)

    def finish(self, task: Task) -> None:
        assert task.pool is not None
        task.ended = self.now
        task.pool.node.idle_workers += 1
        self.return_cpus(task.scheduling_class, task.pool)
        for act in task.when_ended:
            act()
