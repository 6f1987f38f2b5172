"""The workers of a simulation's nodes, including those still starting."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from rayscope.insights.replay.program import Programs
from rayscope.insights.replay.simulation.interface import Engine
from rayscope.insights.replay.simulation.pools import Pools


class Workers:
    """The workers of the nodes. A task needs an idle worker, or a new one, which takes time to start.

    A new worker starts for a lease, which holds the resources that a scheduling class needs. Once started, it
    runs whichever task is then first in the queue of the class. Unlike Ray, the simulation never stops idle
    workers.
    """

    def __init__(
        self,
        engine: Engine,
        pools: Pools,
        programs: Programs,
        queues: list[deque[int]],
        running: list[int],
        demands: list[int],
        run_next: Callable[[int, int, int], None],
    ) -> None:
        """``queues``, ``running`` and ``demands`` have one item for each class. ``run_next`` starts a class's
        next run.
        """
        self._engine = engine
        self._pools = pools
        self._queues, self._running, self._demands = queues, running, demands
        self._run_next = run_next
        self._programs = programs
        nodes = len(programs.nodes)
        self.idle = programs.idle_workers.copy()
        #: For each node, the time to load code, ns, of each worker that has started but has not run a task
        #: yet.
        self._unused: list[deque[int]] = [deque() for _ in range(nodes)]
        self._started = [0] * nodes
        self._starting = [0] * nodes
        #: The class, the pool, and the time to load code of each lease.
        self._leases: list[tuple[int, int, int]] = []
        self._to_launch: list[deque[int]] = [deque() for _ in range(nodes)]
        self._leased = [0] * len(queues)

    def run_next(self, of_class: int, pool: int) -> bool:
        """Run a class's next task on a worker, or start a worker for it.

        Returns False if enough workers for the class are starting already.
        """
        node = self._pools.node_of(pool)
        if self.idle[node]:
            self.idle[node] -= 1
            self._run_next(of_class, pool, 0)
        elif self._unused[node]:
            self._run_next(of_class, pool, self._unused[node].popleft())
        elif self._leased[of_class] < len(self._queues[of_class]):
            self._lease(of_class, pool, node)
        else:
            return False
        return True

    def _lease(self, of_class: int, pool: int, node: int) -> None:
        lease = len(self._leases)
        self._leases.append((of_class, pool, 0))
        self._leased[of_class] += 1
        self._running[of_class] += 1
        self._pools.take(self._demands[of_class], pool)
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
        self._engine.start_worker_after(took_ns, lease)

    def _release(self, lease: int) -> None:
        """End a lease: its worker has started or is no longer needed."""
        of_class, pool, _ = self._leases[lease]
        self._leased[of_class] -= 1
        self._running[of_class] -= 1
        self._pools.take(self._demands[of_class], pool, -1)
        self._engine.has_room = True

    def start(self, lease: int) -> None:
        """Hand a started worker to the next run of its class."""
        of_class, pool, loading_ns = self._leases[lease]
        node = self._pools.node_of(pool)
        self._release(lease)
        if self._queues[of_class]:
            self._run_next(of_class, pool, loading_ns)
        else:
            self._unused[node].append(loading_ns)
        self._starting[node] -= 1
        to_launch = self._to_launch[node]
        while to_launch and self._starting[node] < self._programs.start_slots[node]:
            following = to_launch.popleft()
            if self._queues[self._leases[following][0]]:
                self._launch(following)
            else:
                self._release(following)
