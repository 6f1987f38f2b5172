"""GPUs that are reserved and idle."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from rayscope.insights.finding import Facts, Finding, Points, groups
from rayscope.insights.replay.program import NORMAL
from rayscope.insights.replay.recorded import Ints, Texts
from rayscope.insights.spans import union_of

#: GPUs with at least this average use, %, are not idle.
_MIN_BUSY_PERCENT = 20.0
#: Minimum number of samples for an average, among those taken while a GPU was reserved.
_MIN_SAMPLES = 3


class _Reservations(NamedTuple):
    """Columns: the node, the begin and end, the number of GPUs, and the name of the task or actor."""

    node: Ints
    begin: Ints
    end: Ints
    gpus: Any
    name: Texts


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
        "or let more of them share a GPU: num_gpus={less:g}."
    )
    sketch = "{name}.options(num_gpus={less:g})  # more of them share a GPU"
    doc = "accelerator support: fractional accelerators"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Nodes whose GPUs were mostly idle while tasks or actors held them."""
        held = _reservations(facts)
        if not len(held.node):
            return
        series = facts.series("ray_node_gpus_utilization")
        busy: list[float] = []
        idle: list[Ints] = []
        for node, places in groups(held.node):
            percents = _percents(
                series.get(node, []), held.begin[places], held.end[places], held.gpus[places]
            )
            if len(percents) >= _MIN_SAMPLES and sum(percents) < _MIN_BUSY_PERCENT * len(percents):
                busy += percents
                idle.append(places)
        if not busy:
            return
        those = np.concatenate(idle)
        begin, end = held.begin[those], held.end[those]
        spent = held.gpus[those] * (end - begin)
        by_name: dict[str, float] = defaultdict(float)
        for _, places in groups(held.name.codes[those]):
            by_name[held.name[those[places[0]]]] += float(spent[places].sum())
        held_ns = union_of(begin, end)
        name = max(by_name, key=lambda one: by_name[one])
        is_function = name in facts.rows_of_function
        yield Finding(
            held_ns,
            function=name if is_function else None,
            actor_class=None if is_function else name,
            confidence="medium",
            numbers={
                "name": name,
                "less": _half_gpus(held, those, name),
                "held_ns": held_ns,
                "nodes": len(idle),
                "busy": sum(busy) / len(busy) / 100,
            },
        )


def _half_gpus(held: _Reservations, places: Ints, name: str) -> float:
    """Half of the GPUs that each task or actor reserves, so that twice as many share them."""
    of_name = places[held.name.codes[places] == held.name.values.index(name)]
    return round(float(held.gpus[of_name].max()) / 2, 3)


def _reservations(facts: Facts) -> _Reservations:
    """All tasks and actors that held GPUs."""
    a, actors, functions = facts.attempts, facts.recorded.actors, facts.recorded.functions
    # Attempts outside of actors have the number -1, which selects the last item.
    of_actor = np.array([*(actor.resources.get("GPU", 0.0) for actor in actors), 0.0])[a.actor]
    gone = np.array([*(facts.lifetime(actor)[1] for actor in actors), -1])[a.actor]
    makes, (begin, end) = facts.is_creation, facts.held
    gpus = np.where(makes, of_actor, np.where(a.kind == NORMAL, facts.amounts_of("GPU"), 0.0))
    rows = np.flatnonzero((a.node >= 0) & (a.start >= 0) & (gpus > 0))
    names = Texts(
        np.where(makes, len(functions) + a.actor, a.function)[rows],
        [*functions, *(actor.class_name for actor in actors)],
    )
    return _Reservations(
        a.node[rows],
        np.where(makes, a.start, begin)[rows],
        np.where(makes, gone, end)[rows],
        gpus[rows],
        names,
    )


def _percents(points: Points, begins: Ints, ends: Ints, gpus: Any) -> list[float]:
    """The use of a node's reserved GPUs at each sample, %; 100 means that all are busy."""
    times, changes = np.concatenate([begins, ends]), np.concatenate([gpus, -gpus])
    order = np.lexsort((changes, times))
    reserved = np.append(0.0, np.cumsum(changes[order]))
    at = reserved[np.searchsorted(times[order], [time for time, _ in points], side="right")].tolist()
    return [
        min(100.0, percent / max(1.0, amount))
        for (_, percent), amount in zip(points, at, strict=True)
        if amount > 1e-6
    ]
