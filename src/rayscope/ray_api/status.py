"""The status of a cluster as in `ray status`, from what its GCS last reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import Any

from rayscope.model.usage import Autoscaler, Demand, Resources
from rayscope.ray_api.nodes import camel

_BYTES = ("memory", "object_store_memory")
_ENDED = " The cluster has ended."
_NO_AUTOSCALER = Autoscaler(version=0)

#: Used and total amounts by resource.
Amounts = dict[str, tuple[float, float]]


def logical_resources(resources: Resources) -> dict[str, str]:
    """The logical resources in use, by node."""
    return {
        node_id: "\n".join(_lines(_amounts([(node.total, node.available)])))
        for node_id, node in resources.nodes.items()
    }


def describe_status(resources: Resources | None, last_ns: int) -> str:
    """The status as text. ``resources``: None for an ended cluster."""
    time_ns = last_ns if resources is None else resources.time_ns
    time = datetime.fromtimestamp(time_ns / 1e9, timezone.utc).replace(tzinfo=None)
    header = f"{'=' * 8} Autoscaler status: {time} {'=' * 8}"
    line = "-" * len(header)
    if resources is None:
        return f"{header}\nNode status\n{line}\n{_ENDED}\n\nResources\n{line}\n{_ENDED}"
    scaler = resources.autoscaler or _NO_AUTOSCALER
    active = [f" {count} {name}" for name, count in scaler.active.items()]
    pending = [f" {name}, {count} launching" for name, count in scaler.pending.items()]
    failed = [f" {name}: {reason}" for name, reason in scaler.failed]
    usage = [f" {text}" for text in _lines(_all_amounts(resources))]
    demands = [
        f" {dict(demand.resources)}: {_number(demand)}+ pending tasks/actors" for demand in resources.demands
    ]
    parts = [
        header,
        "Node status",
        line,
        "Active:",
        *(active or [" (no active nodes)"]),
        "Pending:",
        *(pending or [" (no pending nodes)"]),
        "Recent failures:",
        *(failed or [" (no failures)"]),
        "",
        "Resources",
        line,
        "Total Usage:",
        *(usage or [" (no resources)"]),
        "",
        "Pending Demands:",
        *(demands or [" (no resource demands)"]),
    ]
    return "\n".join(parts)


def report(resources: Resources | None) -> dict[str, Any] | None:
    """The status as JSON, None for an ended cluster."""
    if resources is None:
        return None
    scaler = resources.autoscaler or _NO_AUTOSCALER
    return {
        "time": resources.time_ns / 1e9,
        "autoscalerReport": {
            "activeNodes": {camel(name): count for name, count in scaler.active.items()},
            "pendingLaunches": {camel(name): count for name, count in scaler.pending.items()},
            "failedNodes": list(scaler.failed),
        },
        "loadMetricsReport": {
            "usage": {camel(name): amounts for name, amounts in _all_amounts(resources).items()},
            "resourceDemand": [(demand.resources, _number(demand)) for demand in resources.demands],
            "usageByNode": {
                node_id: {
                    camel(name): amounts for name, amounts in _amounts([(node.total, node.available)]).items()
                }
                for node_id, node in resources.nodes.items()
            },
        },
    }


def _number(demand: Demand) -> int:
    return demand.ready + demand.infeasible + demand.backlog


def _all_amounts(resources: Resources) -> Amounts:
    return _amounts([(node.total, node.available) for node in resources.nodes.values()])


def _amounts(nodes: list[tuple[Mapping[str, float], Mapping[str, float]]]) -> Amounts:
    sums: Amounts = {}
    for total, available in nodes:
        for name, amount in total.items():
            used, whole = sums.get(name, (0.0, 0.0))
            sums[name] = used + amount - min(amount, available.get(name, 0.0)), whole + amount
    return sums


def _lines(amounts: Amounts) -> Iterator[str]:
    for name, (used, total) in sorted(amounts.items()):
        if "node:" in name or "_group_" in name:
            continue
        if name in _BYTES:
            yield f"{_memory(used)}/{_memory(total)} {name}"
        else:
            yield f"{used}/{total} {name}"


def _memory(amount: float) -> str:
    for unit, size in (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if amount >= size:
            return f"{amount / size:.2f}{unit}"
    return f"{int(amount)}B"
