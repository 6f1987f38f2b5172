"""How much CPU the functions and actors of a job reserved, and used."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from rayscope.insights.finding import Facts, NotEnoughData
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.spans import Span, union_ns

#: The CPU time of so much of what ran must be known. Of the last call on a worker it often is not.
_KNOWN = 0.5

#: In shorter calls Ray's own threads, and what is imported, may take more CPU than the function.
_LONG_NS = 1_000_000_000


class Use(NamedTuple):
    """The calls of a function, or of all actors of a class, that reserve so many CPUs each.

    ``used_ns``: their CPU time; ``busy_ns``: how long they executed, unblocked, those of an actor together;
    ``held_ns``: how long they held their CPUs. ``threads``: calls that ran at once in one actor, at most.
    """

    name: str
    is_actor: bool
    cpus: float
    rows: list[int]
    used_ns: int
    busy_ns: int
    held_ns: int
    threads: int

    @property
    def function(self) -> str | None:
        """The function, of calls of one."""
        return None if self.is_actor else self.name

    @property
    def actor_class(self) -> str | None:
        """The class, of actors."""
        return self.name if self.is_actor else None

    @property
    def filters(self) -> dict[str, str]:
        """Of the views that show the calls."""
        return {} if self.is_actor else {"func_name": self.name}

    @property
    def cores(self) -> float:
        """The cores that one of them uses while it is busy, on average."""
        return self.used_ns / max(1, self.busy_ns)

    def most_cores(self, facts: Facts) -> float:
        """The cores that the greediest call but one used: on a full node all get less than they want."""
        a = facts.attempts
        each = [a.cpu_ns[row] / own for row in self.rows if (own := facts.own_ns(row)) >= _LONG_NS]
        return sorted(each)[-2] if len(each) > 1 else 0.0


def cpu_use(facts: Facts) -> list[Use]:
    """All functions and classes whose CPU time is known. Raises NotEnoughData where none is."""
    if all(used < 0 for used in facts.attempts.cpu_ns):
        raise NotEnoughData("The tracer was not in the workers, so nobody knows the CPU time of their tasks.")
    return _of_functions(facts) + _of_classes(facts)


def _of_functions(facts: Facts) -> list[Use]:
    a = facts.attempts
    groups: dict[tuple[int, int], list[int]] = defaultdict(list)
    for row, kind in enumerate(a.kind):
        if kind == NORMAL and a.start[row] >= 0 and a.returned[row] >= 0:
            groups[a.function[row], a.demand[row]].append(row)
    found = []
    for (_, demand), rows in groups.items():
        own = {row: facts.own_ns(row) for row in rows}
        known = [row for row in rows if a.cpu_ns[row] >= 0]
        whole, busy = sum(own.values()), sum(own[row] for row in known)
        if known and busy >= _KNOWN * whole:
            cpus = facts.recorded.demands[demand].get("CPU", 0.0) if demand >= 0 else 0.0
            used = sum(a.cpu_ns[row] for row in known)
            found.append(Use(facts.name(rows[0]), False, cpus, known, used, busy, busy, 1))
    return found


def _of_classes(facts: Facts) -> list[Use]:
    a, actors = facts.attempts, facts.recorded.actors
    classes: dict[str, list[int]] = defaultdict(list)
    for actor in facts.calls_of_actor:
        classes[actors[actor].class_name].append(actor)
    found = []
    for name, members in classes.items():
        rows, busy, held, threads, whole = [], 0, 0, 1, 0
        for actor in members:
            spans: list[Span] = []
            for row in facts.calls_of_actor[actor]:
                if a.start[row] >= 0 and a.returned[row] >= 0:
                    whole += facts.own_ns(row)
                    if a.cpu_ns[row] >= 0:
                        rows.append(row)
                        spans.append((a.start[row], a.start[row] + facts.own_ns(row)))
            busy += union_ns(spans)
            threads = max(threads, _usually_at_once(spans))
            begin, end = facts.lifetime(actors[actor])
            held += max(0, end - begin)
        if rows and sum(facts.own_ns(row) for row in rows) >= _KNOWN * whole:
            used = sum(a.cpu_ns[row] for row in rows)
            cpus = actors[members[0]].resources.get("CPU", 0.0)
            found.append(Use(name, True, cpus, rows, used, busy, held, threads))
    return found


def _usually_at_once(spans: list[Span]) -> int:
    """How many calls ran at once, on average while any did."""
    return round(sum(end - begin for begin, end in spans) / max(1, union_ns(spans)))


def busiest_percent(facts: Facts, use: Use, percents: Mapping[int, float]) -> float:
    """How busy the busiest of the nodes was that ran some of the calls; 100 where nobody knows."""
    nodes = {facts.attempts.node[row] for row in use.rows} & percents.keys()
    return max((percents[node] for node in nodes), default=100.0)


def cpu_percent(facts: Facts) -> dict[int, float]:
    """By node, how busy its CPUs were in the job's time on average. Raises NotEnoughData."""
    series = facts.series("ray_node_cpu_utilization")
    return {node: sum(value for _, value in points) / len(points) for node, points in series.items()}
