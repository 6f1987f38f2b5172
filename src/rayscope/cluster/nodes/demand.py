"""Explains why a resource request is pending: which resource is short, and how much the best node has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

#: Amounts of resources below this count as zero. Ray counts in ten-thousandths.
EPSILON = 1e-4

Amounts = Mapping[str, float]

#: Remedies by the code of the reason.
_REMEDIES = {
    "no_nodes": "Start a node.",
    "no_resource": "Add a node that has {resource}, or do not ask for it.",
    "too_large": "Ask for at most {total} {resource}, or add a larger node.",
    "together": "Ask for less {resource}, or add a node that has everything at once.",
    "labels": "Add a node with these labels, or change its label selector.",
    "few_nodes": "Add nodes, or use a strategy that may put several bundles on one node (PACK or SPREAD).",
    "cluster_too_small": "Add nodes, or ask for fewer or smaller bundles.",
    "in_group": "It runs when something else in its placement group ends, or in a group with larger bundles.",
    "arguments": "It runs when the tasks that make its arguments have finished.",
    "busy": "It runs when enough {resource} is free on one node: when a holder ends, or a node is added.",
    "fits": "It runs by itself soon.",
    "worker_start": "If it lasts longer than a minute, the worker process dies as it starts: raylet.out and "
    "the newest worker logs of the node say why.",
    "runtime_env": "It runs when its environment is built.",
    "runtime_env_failed": "Fix its runtime environment, and submit it again.",
}


class Place(msgspec.Struct, frozen=True):
    """A live node: its total and free resources, and its labels."""

    node_id: str
    total: Amounts
    available: Amounts
    labels: Mapping[str, str] = {}
    is_draining: bool = False


class Reason(msgspec.Struct, frozen=True):
    """Why a request is pending. The request needs ``wanted`` of ``resource``. The closest node, ``node_id``,
    has ``total`` of it, of which ``free`` is available now.

    ``code``: ``no_nodes``, ``no_resource`` (no node has any of it), ``too_large`` (no node has enough),
    ``together`` (each resource is on some node, but no node has all), ``labels`` (no node with the labels is
    large enough), ``few_nodes`` (more bundles to spread than nodes), ``cluster_too_small`` (each bundle would
    fit, but not all at once), ``in_group`` (it waits for its placement group), ``arguments`` (it waits for
    its arguments), ``busy`` (``nodes`` nodes could hold it, but all are occupied), ``fits`` (there is
    capacity: it is being placed or is starting), ``worker_start`` (its resources are reserved, but no worker
    has started with them for a while), ``runtime_env`` (its environment is being built on ``nodes`` nodes,
    among them ``node_id``), ``runtime_env_failed`` (``error`` says why). ``never``: it cannot run unless the
    cluster changes.
    """

    code: str
    never: bool
    message: str
    resource: str | None = None
    wanted: float | None = None
    total: float | None = None
    free: float | None = None
    node_id: str | None = None
    nodes: int = 0
    error: str | None = None


def explain(demand: Amounts, places: Sequence[Place], selectors: Sequence[Mapping[str, str]] = ()) -> Reason:
    """Why a request of this shape is pending. ``selectors``: a node must have the labels of one of these."""
    demand = {name: amount for name, amount in demand.items() if amount > EPSILON}
    in_group = next((name for name in demand if "_group_" in name), None)
    if in_group is not None:
        return Reason("in_group", False, "Waiting for room in its placement group.", in_group)
    if not places:
        return Reason("no_nodes", True, "The cluster has no live nodes.")
    chosen = [place for place in places if not place.is_draining and _matches(place.labels, selectors)]
    if not chosen:
        return Reason("labels", True, "No available node has the labels it requires.")
    able = [place for place in chosen if not _short(demand, place.total)]
    if not able:
        return _infeasible(demand, chosen)
    ready = [place for place in able if not _short(demand, place.available)]
    if ready:
        return Reason(
            "fits",
            False,
            "There is room for it: it is being scheduled, or its worker is starting.",
            nodes=len(able),
        )
    best = min(able, key=lambda place: _lack(demand, place.available))
    name = _worst(demand, best.available)
    free, most = best.available.get(name, 0.0), best.total.get(name, 0.0)
    return Reason(
        "busy",
        False,
        f"{_nodes(len(able))} could run it, but {'it is' if len(able) == 1 else 'all are'} busy. It needs "
        f"{amount_of(demand[name], name)} {name}; at most {amount_of(free, name)} of {amount_of(most, name)} "
        "are free.",
        name,
        demand[name],
        most,
        free,
        best.node_id,
        len(able),
    )


def explain_group(strategy: str, bundles: Sequence[Amounts], places: Sequence[Place]) -> Reason:
    """Why a placement group is pending. ``bundles``: the bundles that have no node yet."""
    if strategy == "STRICT_PACK":
        whole: dict[str, float] = {}
        for bundle in bundles:
            for name, amount in bundle.items():
                whole[name] = whole.get(name, 0.0) + amount
        return explain(whole, places)
    reasons = [explain(bundle, places) for bundle in bundles]
    worst = next((reason for reason in reasons if reason.never), None)
    if worst is not None:
        return worst
    taking = [place for place in places if not place.is_draining]
    if strategy == "STRICT_SPREAD" and len(bundles) > len(taking):
        return Reason(
            "few_nodes",
            True,
            f"Its {len(bundles)} bundles must be on different nodes, but only {_nodes(len(taking))} can "
            "take any.",
            wanted=float(len(bundles)),
            total=float(len(taking)),
        )
    if not _placed(bundles, [dict(place.total) for place in taking], strategy):
        return Reason(
            "cluster_too_small",
            True,
            "Each bundle fits on its own, but the cluster cannot hold all of them at once.",
        )
    busy = next((reason for reason in reasons if reason.code == "busy"), None)
    if busy is not None:
        return busy
    if not _placed(bundles, [dict(place.available) for place in taking], strategy):
        return Reason(
            "busy", False, "Its bundles would fit, but too much is in use to place all of them at once."
        )
    return Reason("fits", False, "There is room for it: it is being scheduled.", nodes=len(taking))


def remedy(reason: Reason) -> str:
    """A sentence about what would let the request run."""
    total = "–" if reason.total is None else amount_of(reason.total, reason.resource or "")
    return _REMEDIES[reason.code].format(resource=reason.resource or "room", total=total)


def amount_of(value: float, name: str) -> str:
    """An amount as text: in units of bytes for memory, otherwise a plain number."""
    if not name.endswith("memory"):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _infeasible(demand: Amounts, chosen: Sequence[Place]) -> Reason:
    most = {name: max(place.total.get(name, 0.0) for place in chosen) for name in demand}
    short = [name for name in demand if most[name] < demand[name] - EPSILON]
    if not short:
        best = min(chosen, key=lambda place: _lack(demand, place.total))
        name = _worst(demand, best.total)
        return Reason(
            "together",
            True,
            "No node has everything it needs at once; the closest has "
            f"{amount_of(best.total.get(name, 0.0), name)} of {amount_of(demand[name], name)} {name}.",
            name,
            demand[name],
            best.total.get(name, 0.0),
            best.available.get(name, 0.0),
            best.node_id,
        )
    name = min(short, key=lambda one: most[one] / demand[one])
    if most[name] <= EPSILON:
        return Reason("no_resource", True, f"No node has any {name}.", name, demand[name], 0.0, 0.0)
    best = max(chosen, key=lambda place: place.total.get(name, 0.0))
    return Reason(
        "too_large",
        True,
        f"Needs {amount_of(demand[name], name)} {name} on one node; the biggest node has "
        f"{amount_of(most[name], name)}.",
        name,
        demand[name],
        most[name],
        best.available.get(name, 0.0),
        best.node_id,
    )


def _short(demand: Amounts, has: Amounts) -> bool:
    return any(has.get(name, 0.0) < amount - EPSILON for name, amount in demand.items())


def _lack(demand: Amounts, has: Amounts) -> tuple[int, float]:
    """The number of resources that are short, and the sum of their missing fractions."""
    parts = [max(0.0, 1 - has.get(name, 0.0) / amount) for name, amount in demand.items()]
    return sum(part > 1e-9 for part in parts), sum(parts)


def _worst(demand: Amounts, has: Amounts) -> str:
    return min(demand, key=lambda name: has.get(name, 0.0) / demand[name])


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _placed(bundles: Sequence[Amounts], rooms: list[dict[str, float]], strategy: str) -> bool:
    """Whether all bundles fit if the largest are placed first, and each on a different node if they must
    spread.
    """
    for bundle in sorted(bundles, key=lambda one: -sum(one.values())):
        room = next((room for room in rooms if not _short(bundle, room)), None)
        if room is None:
            return False
        for name, amount in bundle.items():
            room[name] = room.get(name, 0.0) - amount
        if strategy == "STRICT_SPREAD":
            rooms.remove(room)
    return True


def _matches(labels: Mapping[str, str], selectors: Sequence[Mapping[str, str]]) -> bool:
    return not selectors or any(
        all(_holds(labels.get(key), text) for key, text in selector.items()) for selector in selectors
    )


def _holds(value: str | None, text: str) -> bool:
    """Whether a label's value satisfies a condition: ``v``, ``!v``, ``in(a,b)`` or ``!in(a,b)``."""
    negated = text.startswith("!")
    text = text.removeprefix("!")
    allowed = text[3:-1].split(",") if text.startswith("in(") and text.endswith(")") else [text]
    return (value in allowed) is not negated
