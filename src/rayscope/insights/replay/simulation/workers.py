"""The workers of a simulation's nodes, and those that start."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from rayscope.insights.replay.program import Programs

if TYPE_CHECKING:
    from rayscope.insights.replay.simulation.engine import Simulation
    from rayscope.insights.replay.simulation.scheduler import Scheduler


class Workers:
    """The workers of the nodes. A task needs an idle worker, or a new one, which takes time to start.

    A new worker starts for a lease of a scheduling class, with its resources. It runs whichever task is first
    in the queue when it has started. Unlike Ray, the simulation never stops idle workers.
    """

    def __init__(
        self, simulation: Simulation, scheduler: Scheduler, programs: Programs, classes: int
    ) -> None:
        self._simulation = simulation
        self._scheduler = scheduler
        self._pools = simulation.pools
        self._programs = programs
        nodes = len(programs.nodes)
        self.idle = programs.idle_workers.copy()
        #: For each node, how long each started worker without a task loads code.
        self._unused: list[deque[int]] = [deque() for _ in range(nodes)]
        self._started = [0] * nodes
        self._starting = [0] * nodes
        #: The class, the pool, and the time to load code of each lease.
        self._leases: list[tuple[int, int, int]] = []
        self._to_launch: list[deque[int]] = [deque() for _ in range(nodes)]
        self._leased = [0] * classes

    def run_next(self, of_class: int, pool: int) -> bool:
        """Run a class's next task on a worker, or start a worker for it.

        Returns False if enough workers for the class are starting already.
        """
        node = self._pools.node_of(pool)
        if self.idle[node]:
            self.idle[node] -= 1
            self._scheduler.run_next(of_class, pool)
        elif self._unused[node]:
            self._scheduler.run_next(of_class, pool, self._unused[node].popleft())
        elif self._leased[of_class] < len(self._scheduler.queues[of_class]):
            self._lease(of_class, pool, node)
        else:
            return False
        return True

    def _lease(self, of_class: int, pool: int, node: int) -> None:
        lease = len(self._leases)
        self._leases.append((of_class, pool, 0))
        self._leased[of_class] += 1
        self._scheduler.running[of_class] += 1
        self._pools.take(self._scheduler.demand_of(of_class), pool)
        if self._starting[node] < self._programs.start_slots[node]:
            self._launch(lease)
        else:
            self._to_launch[node].append(lease)

    def _launch(self, lease: int) -> None:
        of_class, pool, _ = self._leases[lease]
        node = self._pools.node_of(pool)
        starts, started = self._programs.worker_starts[node], self._started[node]
        took_ns, loading_ns = starts[started] if started < len(starts) else self._programs.usual_start
        self._started[node] += 1
        self._starting[node] += 1
        self._leases[lease] = of_class, pool, loading_ns
        self._simulation.start_worker_after(took_ns, lease)

    def _release(self, lease: int) -> None:
        """End a lease: its worker has started or is no longer needed."""
        of_class, pool, _ = self._leases[lease]
        self._leased[of_class] -= 1
        self._scheduler.running[of_class] -= 1
        self._pools.take(self._scheduler.demand_of(of_class), pool, -1)
        self._simulation.has_room = True

    def start(self, lease: int) -> None:
        """Hand a started worker to the next run of its class."""
        of_class, pool, loading_ns = self._leases[lease]
        node = self._pools.node_of(pool)
        self._release(lease)
        if self._scheduler.queues[of_class]:
            self._scheduler.run_next(of_class, pool, loading_ns)
        else:
            self._unused[node].append(loading_ns)
        self._starting[node] -= 1
        to_launch = self._to_launch[node]
        while to_launch and self._starting[node] < self._programs.start_slots[node]:
            following = to_launch.popleft()
            if self._scheduler.queues[self._leases[following][0]]:
                self._launch(following)
            else:
                self._release(following)
