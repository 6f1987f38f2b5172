"""How much CPU the functions and actors of a job reserved and used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from rayscope.insights.finding import Facts, NotEnoughData, groups
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Ints
from rayscope.insights.spans import union_of

#: Functions and classes are left out if the CPU time is known for less than this share of their execution
#: time. It is often missing for a worker's last call.
_MIN_KNOWN_SHARE = 0.5

#: Calls shorter than this, in ns, do not count for :attr:`Use.most_cores`, because Ray's own threads and
#: imports may use more CPU time than the function itself.
_MIN_LONG_NS = 1_000_000_000


class Use(NamedTuple):
    """The calls of a function, or of all actors of a class, that reserve ``cpus`` CPUs each.

    ``used_ns``: their CPU time; ``busy_ns``: how long they executed without being blocked, where overlapping
    calls of one actor count once; ``held_ns``: how long they held their CPUs. ``threads``: the highest number
    of calls that ran at once in one actor. ``rows``: the calls whose CPU time is known.
    """

    name: str
    is_actor: bool
    cpus: float
    rows: Ints
    used_ns: int
    busy_ns: int
    held_ns: int
    threads: int

    @property
    def function(self) -> str | None:
        """The function's name, or None if this is a class of actors."""
        return None if self.is_actor else self.name

    @property
    def actor_class(self) -> str | None:
        """The class's name, or None if this is a function."""
        return self.name if self.is_actor else None

    @property
    def filters(self) -> dict[str, str]:
        """Filters with which views show these calls."""
        return {} if self.is_actor else {"func_name": self.name}

    @property
    def cores(self) -> float:
        """The number of cores that one task or actor uses on average while it is busy."""
        return self.used_ns / max(1, self.busy_ns)

    def most_cores(self, facts: Facts) -> float:
        """The average number of cores that the call with the second highest number used, among calls of 1 s
        or longer; 0 if there are fewer than two. The average of all calls would be too low, because on a full
        node most of them get fewer cores than they could use.
        """
        rows = self.rows[facts.own_ns[self.rows] >= _MIN_LONG_NS]
        each = facts.attempts.cpu_ns[rows] / facts.own_ns[rows]
        return float(np.sort(each)[-2]) if len(each) > 1 else 0.0


def cpu_use(facts: Facts) -> list[Use]:
    """All functions and classes whose CPU time is known. Raises NotEnoughData if there are none."""
    if not (facts.attempts.cpu_ns >= 0).any():
        raise NotEnoughData("The tracer was not in the workers, so nobody knows the CPU time of their tasks.")
    return _of_functions(facts) + _of_classes(facts)


def _of_functions(facts: Facts) -> list[Use]:
    a, own = facts.attempts, facts.own_ns
    ran = np.flatnonzero((a.kind == NORMAL) & (own >= 0))
    found = []
    for _, of_function in groups(a.function[ran]):
        for demand, places in groups(a.demand[ran[of_function]]):
            rows = ran[of_function[places]]
            known = rows[a.cpu_ns[rows] >= 0]
            busy = int(own[known].sum())
            if len(known) and busy >= _MIN_KNOWN_SHARE * own[rows].sum():
                cpus = facts.recorded.demands[demand].get("CPU", 0.0) if demand >= 0 else 0.0
                used = int(a.cpu_ns[known].sum())
                found.append(Use(facts.name(rows[0]), False, cpus, known, used, busy, busy, 1))
    return found


def _of_classes(facts: Facts) -> list[Use]:
    a, own, actors = facts.attempts, facts.own_ns, facts.recorded.actors
    classes: dict[str, list[int]] = defaultdict(list)
    for actor in facts.calls_of_actor:
        classes[actors[actor].class_name].append(actor)
    found = []
    for name, members in classes.items():
        calls, busy, held, threads, whole = [], 0, 0, 1, 0
        for actor in members:
            ran = facts.calls_of_actor[actor]
            ran = ran[own[ran] >= 0]
            known = ran[a.cpu_ns[ran] >= 0]
            calls.append(known)
            whole += int(own[ran].sum())
            executing = union_of(a.start[known], a.start[known] + own[known])
            busy += executing
            # The average number of calls that run at once, not counting periods when none runs.
            threads = max(threads, round(int(own[known].sum()) / max(1, executing)))
            begin, end = facts.lifetime(actors[actor])
            held += max(0, end - begin)
        rows = np.concatenate(calls)
        if len(rows) and own[rows].sum() >= _MIN_KNOWN_SHARE * whole:
            used = int(a.cpu_ns[rows].sum())
            cpus = actors[members[0]].resources.get("CPU", 0.0)
            found.append(Use(name, True, cpus, rows, used, busy, held, threads))
    return found


def busiest_percent(facts: Facts, use: Use, percents: Mapping[int, float]) -> float:
    """CPU utilization, in %, of the busiest node that ran some of the calls; 100 if it is unknown."""
    nodes = set(np.unique(facts.attempts.node[use.rows]).tolist()) & percents.keys()
    return max((percents[node] for node in nodes), default=100.0)


def cpu_percent(facts: Facts) -> dict[int, float]:
    """Average CPU utilization of each node during the job, in %. Raises NotEnoughData."""
    series = facts.series("ray_node_cpu_utilization")
    return {node: sum(value for _, value in points) / len(points) for node, points in series.items()}
