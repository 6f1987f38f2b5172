"""Why something that asks for resources has no place: what is short, and how much the best node has of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

#: Below this an amount is nothing: Ray reckons in ten-thousandths.
EPSILON = 1e-4

Amounts = Mapping[str, float]

#: What would let something run, by the code of the reason why it does not.
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
    """A living node: what it has, what of it is free, and its labels."""

    node_id: str
    total: Amounts
    available: Amounts
    labels: Mapping[str, str] = {}
    is_draining: bool = False


class Reason(msgspec.Struct, frozen=True):
    """Why it waits. ``wanted`` of ``resource`` is asked for; the node that comes nearest, ``node_id``, has
    ``total`` of it, ``free`` of that now.

    ``code``: ``no_nodes``, ``no_resource`` (no node has any of it), ``too_large`` (no node has so much),
    ``together`` (some nodes have each, none has all), ``labels`` (no node with the labels has room at all),
    ``few_nodes`` (more bundles to spread than nodes), ``cluster_too_small`` (each bundle would fit, not all
    at once), ``in_group`` (it waits for its placement group), ``busy`` (``nodes`` could hold it, all are
    taken), ``fits`` (there is room: it is being placed or starts), ``worker_start`` (its resources are
    reserved, but no worker has started with them for a while), ``runtime_env`` (that is being built on
    ``nodes``, one of them ``node_id``), ``runtime_env_failed`` (``error`` says why).
    ``never``: not before the cluster changes.
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


def explain(wanted: Amounts, places: Sequence[Place], selectors: Sequence[Mapping[str, str]] = ()) -> Reason:
    """Why nothing of this shape runs now. ``selectors``: alternatives of labels that a node must have."""
    wanted = {name: amount for name, amount in wanted.items() if amount > EPSILON}
    in_group = next((name for name in wanted if "_group_" in name), None)
    if in_group is not None:
        return Reason("in_group", False, "Waiting for room in its placement group.", in_group)
    if not places:
        return Reason("no_nodes", True, "The cluster has no live nodes.")
    chosen = [place for place in places if not place.is_draining and _matches(place.labels, selectors)]
    if not chosen:
        return Reason("labels", True, "No available node has the labels it requires.")
    able = [place for place in chosen if not _short(wanted, place.total)]
    if not able:
        return _infeasible(wanted, chosen)
    ready = [place for place in able if not _short(wanted, place.available)]
    if ready:
        return Reason(
            "fits",
            False,
            "There is room for it: it is being scheduled, or its worker is starting.",
            nodes=len(able),
        )
    best = min(able, key=lambda place: _lack(wanted, place.available))
    name = _worst(wanted, best.available)
    free, most = best.available.get(name, 0.0), best.total.get(name, 0.0)
    return Reason(
        "busy",
        False,
        f"{_nodes(len(able))} could run it, but {'it is' if len(able) == 1 else 'all are'} busy. It needs "
        f"{amount_of(wanted[name], name)} {name}; at most {amount_of(free, name)} of {amount_of(most, name)} "
        "are free.",
        name,
        wanted[name],
        most,
        free,
        best.node_id,
        len(able),
    )


def explain_group(strategy: str, bundles: Sequence[Amounts], places: Sequence[Place]) -> Reason:
    """Why a placement group has no place. ``bundles``: those that have none yet."""
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
    """What would let it run, in a sentence."""
    total = "–" if reason.total is None else amount_of(reason.total, reason.resource or "")
    return _REMEDIES[reason.code].format(resource=reason.resource or "room", total=total)


def amount_of(value: float, name: str) -> str:
    """An amount in words: bytes of memory, else a plain number."""
    if not name.endswith("memory"):
        return f"{value:.4f}".rstrip("0").rstrip(".")
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(value) < 1024:
            return f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} TiB"


def _infeasible(wanted: Amounts, chosen: Sequence[Place]) -> Reason:
    most = {name: max(place.total.get(name, 0.0) for place in chosen) for name in wanted}
    short = [name for name in wanted if most[name] < wanted[name] - EPSILON]
    if not short:
        best = min(chosen, key=lambda place: _lack(wanted, place.total))
        name = _worst(wanted, best.total)
        return Reason(
            "together",
            True,
            "No node has everything it needs at once; the closest has "
            f"{amount_of(best.total.get(name, 0.0), name)} of {amount_of(wanted[name], name)} {name}.",
            name,
            wanted[name],
            best.total.get(name, 0.0),
            best.available.get(name, 0.0),
            best.node_id,
        )
    name = min(short, key=lambda one: most[one] / wanted[one])
    if most[name] <= EPSILON:
        return Reason("no_resource", True, f"No node has any {name}.", name, wanted[name], 0.0, 0.0)
    best = max(chosen, key=lambda place: place.total.get(name, 0.0))
    return Reason(
        "too_large",
        True,
        f"Needs {amount_of(wanted[name], name)} {name} on one node; the biggest node has "
        f"{amount_of(most[name], name)}.",
        name,
        wanted[name],
        most[name],
        best.available.get(name, 0.0),
        best.node_id,
    )


def _short(wanted: Amounts, has: Amounts) -> bool:
    return any(has.get(name, 0.0) < amount - EPSILON for name, amount in wanted.items())


def _lack(wanted: Amounts, has: Amounts) -> tuple[int, float]:
    """How many resources are short, and by what part altogether."""
    parts = [max(0.0, 1 - has.get(name, 0.0) / amount) for name, amount in wanted.items()]
    return sum(part > 1e-9 for part in parts), sum(parts)


def _worst(wanted: Amounts, has: Amounts) -> str:
    return min(wanted, key=lambda name: has.get(name, 0.0) / wanted[name])


def _nodes(many: int) -> str:
    return "1 node" if many == 1 else f"{many} nodes"


def _placed(bundles: Sequence[Amounts], rooms: list[dict[str, float]], strategy: str) -> bool:
    """Whether all find a place, the largest first; each on another node if they must spread."""
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
    """Whether a label's value is what ``v``, ``!v``, ``in(a,b)`` or ``!in(a,b)`` asks for."""
    negated = text.startswith("!")
    text = text.removeprefix("!")
    allowed = text[3:-1].split(",") if text.startswith("in(") and text.endswith(")") else [text]
    return (value in allowed) is not negated
