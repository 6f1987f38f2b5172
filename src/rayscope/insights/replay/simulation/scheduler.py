"""Assigns resources and workers to the tasks of a simulation, as Ray's raylets do."""

from __future__ import annotations

from collections import deque

from rayscope.insights.replay.program import CREATION, Programs
from rayscope.insights.replay.simulation.interface import Engine
from rayscope.insights.replay.simulation.pools import Pools
from rayscope.insights.replay.simulation.workers import Workers


class Scheduler:
    """The queues of normal tasks and of actors' creations, by scheduling class.

    Scheduling classes (function, resources, and placement group) are served fairly: first the class with the
    fewest running tasks, and within a class in the order of arrival. ``running``: the number of running tasks
    of each class, including those for which a worker is starting.
    """

    def __init__(self, engine: Engine, pools: Pools, programs: Programs) -> None:
        self._engine = engine
        self._kind, self._demand = programs.kind, programs.demand
        self._pools = pools
        classes: dict[tuple[int, int, int], int] = {}
        self.class_of = [-1] * len(programs.kind)
        for run, kind in enumerate(programs.kind):
            if kind <= CREATION:
                key = (programs.function[run], programs.demand[run], programs.group[run])
                self.class_of[run] = classes.setdefault(key, len(classes))
        self.queues: list[deque[int]] = [deque() for _ in classes]
        self.running = [0] * len(classes)
        self._demands = [(demand, group) for _, demand, group in classes]
        #: The classes with queued tasks.
        self._waiting: list[int] = []
        demands = [demand for _, demand, _ in classes]
        self.workers = Workers(engine, pools, programs, self.queues, self.running, demands, self.run_next)

    def enqueue(self, run: int) -> None:
        """Put a run into the queue of its class."""
        of_class = self.class_of[run]
        if not self.queues[of_class]:
            self._waiting.append(of_class)
        self.queues[of_class].append(run)
        self._engine.has_room = True

    def dispatch(self) -> None:
        """Start all queued tasks that fit into the free resources."""
        self._engine.has_room = False
        for group in self._pools.pending_groups.copy():
            self._pools.reserve(group)
        # If a class does not fit, other classes with the same demand do not fit either.
        lacking: set[tuple[int, int]] = set()
        enough: set[int] = set()
        waiting, running, demands = self._waiting, self.running, self._demands
        find_pool, queues = self._pools.find, self.queues
        while True:
            chosen = waiting
            if lacking or enough:
                chosen = [one for one in waiting if demands[one] not in lacking and one not in enough]
            if not chosen:
                return
            of_class = chosen[0] if len(chosen) == 1 else min(chosen, key=running.__getitem__)
            run = queues[of_class][0]
            pool = find_pool(run)
            if pool < 0:
                lacking.add(demands[of_class])
            elif self._kind[run] == CREATION:
                self.run_next(of_class, pool)
            elif not self.workers.run_next(of_class, pool):
                enough.add(of_class)

    def run_next(self, of_class: int, pool: int, loading_ns: int = 0) -> None:
        """Start the first run of a class on a worker, which may have to load code first."""
        run = self.queues[of_class].popleft()
        if not self.queues[of_class]:
            self._waiting.remove(of_class)
        self._pools.where[run] = pool
        self._pools.take(self._demand[run], pool)
        self.running[of_class] += 1
        self._engine.begin(run, loading_ns)
