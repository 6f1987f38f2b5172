"""Free resources of nodes and placement groups, and which of them each run holds."""

from __future__ import annotations

from rayscope.insights.replay.program import CPU, CREATION, NORMAL, Programs
from rayscope.insights.replay.simulation.interface import Engine

Demand = tuple[tuple[int, int], ...]


class Pools:
    """Pools of free resources: first those of the nodes, then those of the placement groups.

    ``where``: for each run, the pool whose resources it holds, or -1. ``reserved``: reserved CPUs multiplied
    by the time for which they were reserved.
    """

    def __init__(self, engine: Engine, programs: Programs) -> None:
        self._engine = engine
        self._programs = programs
        self.nodes = len(programs.nodes)
        self.free = [
            node.copy() if begins <= 0 else [0] * len(node)
            for node, begins in zip(programs.nodes, programs.node_from, strict=True)
        ]
        self.free += [[0] * len(programs.resources) for _ in programs.groups]
        self.where = [-1] * len(programs.kind)
        self.reserved = 0.0
        self.pending_groups: list[int] = []
        self._placed: list[list[int] | None] = [None] * len(programs.groups)
        self._demand = programs.demand
        self._demands = programs.demands
        self._group, self._home = programs.group, programs.home
        #: The number of CPUs in each demand. The last item stands for no demand.
        self._cpus = [_amount_of_cpus(demand) for demand in programs.demands] + [0]

    def add_node(self, node: int, sign: int) -> None:
        """Add the resources of a node that joins, or subtract them if ``sign`` is -1."""
        for resource, amount in enumerate(self._programs.nodes[node]):
            self.free[node][resource] += sign * amount

    def node_of(self, pool: int) -> int:
        """Return the node of a pool."""
        if pool < self.nodes:
            return pool
        chosen = self._placed[pool - self.nodes]
        return chosen[0] if chosen else 0

    def find(self, run: int) -> int:
        """Return the pool with the resources that a run needs, or -1.

        It is the node where the run was recorded, else the one with the most free CPUs.
        """
        demand, group, home = self._demand[run], self._group[run], self._home[run]
        needed = self._demands[demand] if demand >= 0 else ()
        free = self.free
        if group >= 0:
            pool = self.nodes + group
            return pool if self._placed[group] is not None and _fits(free[pool], needed) else -1
        if home >= 0 and _fits(free[home], needed):
            return home
        best, most, least = -1, -1, self._cpus[demand]
        for node in range(self.nodes):
            left = free[node][CPU]
            if left > most and left >= least and _fits(free[node], needed):
                best, most = node, left
        if best < 0 and not needed:
            return max(0, home)
        return best

    def take(self, demand: int, pool: int, sign: int = 1) -> None:
        """Take the resources of a demand from a pool, or return them if ``sign`` is -1."""
        if demand >= 0:
            for resource, amount in self._demands[demand]:
                self.free[pool][resource] -= sign * amount
                if resource == CPU:
                    self.reserved -= sign * amount * self._engine.now

    def return_resources(self, run: int) -> None:
        """Return the resources of a run."""
        if self.where[run] >= 0 and self._demand[run] >= 0:
            self.take(self._demand[run], self.where[run], -1)
            self._engine.mark_room(run)

    def shift_cpus(self, run: int, *, release: bool) -> None:
        """Release the CPUs of a blocked task, or take them again, even if they are not free."""
        if self._programs.kind[run] != NORMAL or self._demand[run] < 0:
            return
        for resource, amount in self._demands[self._demand[run]]:
            if resource == CPU:
                released = amount if release else -amount
                self.free[self.where[run]][CPU] += released
                self.reserved += released * self._engine.now
        if release:
            self._engine.mark_room(run)

    def reserve(self, group: int) -> None:
        """Find a node for each bundle of a placement group, and reserve all of them or none."""
        bundles = self._programs.groups[group].bundles
        chosen: list[int] = []
        for bundle in bundles:
            node = next((one for one in range(self.nodes) if _fits(self.free[one], bundle)), -1)
            if node < 0:
                break
            _add(self.free[node], bundle, -1)
            chosen.append(node)
        if len(chosen) < len(bundles):
            for node, bundle in zip(chosen, bundles, strict=False):
                _add(self.free[node], bundle)
            if group not in self.pending_groups:
                self.pending_groups.append(group)
            return
        if group in self.pending_groups:
            self.pending_groups.remove(group)
        self._placed[group] = chosen
        self._engine.has_room = True
        for bundle in bundles:
            _add(self.free[self.nodes + group], bundle)

    def remove(self, group: int) -> None:
        """Return the bundles of a placement group to their nodes."""
        chosen = self._placed[group]
        if chosen is not None:
            for node, bundle in zip(chosen, self._programs.groups[group].bundles, strict=True):
                _add(self.free[node], bundle)
                _add(self.free[self.nodes + group], bundle, -1)
        elif group in self.pending_groups:
            self.pending_groups.remove(group)

    def reserved_until(self, end_ns: int) -> float:
        """Return ``reserved``, including the CPUs that runs still hold, as if they were returned at
        ``end_ns``.
        """
        kind, ended_ns, waiting_for = (
            self._programs.kind,
            self._engine.ended_ns,
            self._engine.waiting_for,
        )
        return self.reserved + sum(
            self._cpus[self._demand[run]] * end_ns
            for run, pool in enumerate(self.where)
            if pool >= 0 and (ended_ns[run] < 0 or kind[run] == CREATION) and waiting_for[run] < 0
        )


def _amount_of_cpus(demand: Demand) -> int:
    return next((amount for resource, amount in demand if resource == CPU), 0)


def _add(pool: list[int], amounts: Demand, sign: int = 1) -> None:
    for resource, amount in amounts:
        pool[resource] += sign * amount


def _fits(pool: list[int], needed: Demand) -> bool:
    for resource, amount in needed:  # noqa: SIM110 (a generator takes twice the time)
        if pool[resource] < amount:
            return False
    return True
