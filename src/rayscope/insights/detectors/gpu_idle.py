"""GPUs that are reserved and idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding, Points
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.spans import Span, union_ns

#: GPUs that are busier on average, %, do something.
_IDLE_PERCENT = 20.0
#: Samples while a GPU was reserved that make an average.
_LEAST = 3


class GpuIdle:
    """GPUs are reserved and compute little.

    Limits: busy for less than 20 % on average, over 3 samples or more while they were reserved.

    Needs: Ray's GPU metrics, from the job's time.
    """

    kind = "gpu_idle"
    title = "Reserved GPUs are idle"
    advice = (
        "{name} reserves GPUs for {held_ns} on {nodes} nodes, and they were {busy:.0%} busy meanwhile. "
        "Prepare data on CPUs in tasks of their own, so that GPUs do not wait for it; use larger batches; "
        "or let several share a GPU with num_gpus below 1."
    )
    sketch = "@ray.remote(num_gpus=0.5)"
    doc = "accelerator support: fractional accelerators"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """By node, how busy its GPUs were while tasks or actors had them."""
        held: dict[int, list[tuple[Span, float, str]]] = defaultdict(list)
        for node, span, gpus, name in _reservations(facts):
            held[node].append((span, gpus, name))
        if not held:
            return
        series = facts.series("ray_node_gpus_utilization")
        busy: list[float] = []
        spans: list[Span] = []
        spent: dict[str, float] = defaultdict(float)
        nodes = 0
        for node, its in held.items():
            percents = _percents(series.get(node, []), [(span, gpus) for span, gpus, _ in its])
            if len(percents) >= _LEAST and sum(percents) < _IDLE_PERCENT * len(percents):
                nodes += 1
                busy += percents
                spans += [span for span, _, _ in its]
                for (begin, end), gpus, name in its:
                    spent[name] += gpus * (end - begin)
        if not busy:
            return
        name = max(spent, key=lambda one: spent[one])
        is_function = name in facts.rows_of_function
        yield Finding(
            union_ns(spans),
            function=name if is_function else None,
            actor_class=None if is_function else name,
            confidence="medium",
            numbers={
                "name": name,
                "held_ns": union_ns(spans),
                "nodes": nodes,
                "busy": sum(busy) / len(busy) / 100,
            },
        )


def _reservations(facts: Facts) -> Iterable[tuple[int, Span, float, str]]:
    """(node, when, how many GPUs, of whom) of all tasks and actors that had GPUs."""
    a, recorded = facts.attempts, facts.recorded
    for row, kind in enumerate(a.kind):
        if a.node[row] < 0 or a.start[row] < 0:
            continue
        if kind == NORMAL and a.demand[row] >= 0:
            gpus = recorded.demands[a.demand[row]].get("GPU", 0.0)
            if gpus:
                yield a.node[row], facts.held(row), gpus, facts.name(row)
        elif facts.is_creation(row) and a.actor[row] >= 0:
            actor = recorded.actors[a.actor[row]]
            gpus = actor.resources.get("GPU", 0.0)
            if gpus:
                yield a.node[row], (a.start[row], facts.lifetime(actor)[1]), gpus, actor.class_name


def _percents(points: Points, held: list[tuple[Span, float]]) -> list[float]:
    """How busy the reserved GPUs of a node were at each sample, %; 100 is all of them."""
    changes = sorted(change for (begin, end), gpus in held for change in ((begin, gpus), (end, -gpus)))
    found, place, reserved = [], 0, 0.0
    for time, percent in points:
        while place < len(changes) and changes[place][0] <= time:
            reserved += changes[place][1]
            place += 1
        if reserved > 1e-6:
            found.append(min(100.0, percent / max(1.0, reserved)))
    return found
