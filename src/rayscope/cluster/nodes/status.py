"""Computes which resources of a cluster are in use, by whom, and which requests are pending and why."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from rayscope.cluster.nodes import schemas
from rayscope.cluster.nodes.demand import Place, Reason, explain, explain_group, remedy
from rayscope.cluster.placement.compute import WorkerRow, held
from rayscope.cluster.placement.reservations import Group, reservation
from rayscope.model.usage import Autoscaler, Demand, Resources
from rayscope.ray.agents.runtime_envs import RuntimeEnv
from rayscope.storage.sql.pages import fields_of

#: Maximum number of holders of resources that are listed, the largest first.
_MAX_HOLDERS = 50
#: Maximum number of holders that are listed per pending request.
_MAX_PENDING_HOLDERS = 5
#: A worker process that has not started within this time, ns, may never start.
WORKER_START_NS = 15 * 10**9
_MARKS = "node:"
#: Maximum number of characters that are kept from the end of a runtime environment's error.
_MAX_ERROR = 1000

Amounts = Mapping[str, float]


def places_of(resources: Resources, labels: Mapping[str, Mapping[str, str]]) -> list[Place]:
    """The live nodes. ``labels``: the recorded labels, for nodes whose labels the GCS does not report."""
    return [
        Place(node_id, node.total, node.available, node.labels or labels.get(node_id, {}), node.is_draining)
        for node_id, node in resources.nodes.items()
    ]


def amounts(resources: Iterable[tuple[Amounts, Amounts]]) -> dict[str, schemas.AmountOf]:
    """Sum (total, available) pairs into ``total``, ``available`` and ``used`` by resource. The marker
    resources that Ray adds for nodes and placement groups, such as ``node:<ip>``, are left out.
    """
    found: dict[str, schemas.AmountOf] = {}
    for total, available in resources:
        for name, amount in total.items():
            if name.startswith(_MARKS) or "_group_" in name:
                continue
            sums = found.setdefault(name, {"total": 0.0, "available": 0.0, "used": 0.0})
            free = min(amount, available.get(name, 0.0))
            sums["total"] += amount
            sums["available"] += free
            sums["used"] += amount - free
    return {
        name: {
            "total": round(sums["total"], 4),
            "available": round(sums["available"], 4),
            "used": round(sums["used"], 4),
        }
        for name, sums in sorted(found.items())
    }


def holders(
    workers: Sequence[WorkerRow], groups: Sequence[Group]
) -> tuple[list[schemas.ResourceHolder], int]:
    """The holders of resources (actors by class, tasks by function, groups), and how many are left out."""
    sums: dict[tuple[schemas.HolderKind, str], schemas.ResourceHolder] = {}

    def add(kind: schemas.HolderKind, name: str, resources: Amounts, identity: str | None) -> None:
        if not resources:
            return
        one = sums.setdefault(
            (kind, name), {"kind": kind, "name": name, "id": identity, "count": 0, "resources": {}}
        )
        one["count"] += 1
        one["id"] = identity if one["count"] == 1 else None
        for resource, amount in resources.items():
            one["resources"][resource] = round(one["resources"].get(resource, 0.0) + amount, 4)

    known_groups = {group.id for group in groups}
    for worker in workers:
        reserved = held(worker)
        if reserved.group in known_groups:
            continue
        if worker.actor_id is not None:
            add("actor", worker.actor_class or "", reserved.resources, worker.actor_id)
        else:
            add("task", worker.function or "", reserved.resources, worker.id)
    for group in groups:
        whole: dict[str, float] = {}
        for _, _, resources in group.bundles:
            for name, amount in (resources or {}).items():
                whole[name] = whole.get(name, 0.0) + amount
        add("placement_group", group.name or group.id[:12], whole, group.id)
    ordered = sorted(sums.values(), key=lambda one: (-max(one["resources"].values()), one["name"]))
    return ordered[:_MAX_HOLDERS], max(0, len(ordered) - _MAX_HOLDERS)


def pending_of(
    rows: Iterable[Mapping[str, Any]],
    resources: Resources,
    places: Sequence[Place],
    runtime_envs: Sequence[RuntimeEnv] = (),
) -> list[schemas.PendingItem]:
    """Pending requests, with their resources and the reasons why they are pending.

    ``rows``: from :func:`rayscope.cluster.nodes.sql.pending`.
    """
    asked = [dict(demand.resources) for demand in resources.demands]
    groups = {group.id: group for group in resources.groups}
    found: list[schemas.PendingItem] = []
    for row in rows:
        bundles: list[Amounts] | None = None
        strategy: str | None = None
        if row["kind"] == "placement_group":
            group = groups.get(row["id"])
            bundles = (
                list(group.bundles)
                if group is not None
                else [b["resources"] for b in _list(row["bundles"]) if not b.get("node_id")]
            )
            strategy = row["strategy"] or "PACK"
            shape = _summed(bundles)
            reason = explain_group(strategy, bundles, places)
        else:
            wanted = reservation(row["required_resources"])
            shape = dict(wanted.resources)
            # An actor needs a CPU to be placed, even if it holds none while it lives.
            if row["kind"] == "actor" and "CPU" not in shape and {**shape, "CPU": 1.0} in asked:
                shape["CPU"] = 1.0
            if wanted.group is not None or row["placement_group_id"]:
                reason = Reason("in_group", False, "Waiting for room in its placement group.")
            elif row["state"] == "DEPENDENCIES_UNREADY":
                reason = Reason("arguments", False, "Waiting for its arguments.")
            else:
                reason = explain(shape, places, _selectors(row["label_selector"]))
                if row["runtime_env"] and reason.code in ("fits", "busy"):
                    # While its environment is being built, the request's own resources are already reserved.
                    reason = _unbuilt(row["runtime_env"], runtime_envs) or reason
        item = {
            **fields_of(row, schemas.PendingItem),
            "bundles": bundles,
            "strategy": strategy,
            "resources": shape,
            "reason": _explained(reason),
            "holders": [],
            "holders_left_out": 0,
        }
        found.append(cast(schemas.PendingItem, item))
    return sorted(found, key=lambda one: (not one["reason"]["never"], one["since_ns"] or 0))


def short_resources(pending: Iterable[schemas.PendingItem]) -> set[str]:
    """The resources that pending requests need and that others hold."""
    reasons = (one["reason"] for one in pending)
    return {one["resource"] for one in reasons if one["code"] == "busy" and one["resource"] is not None}


def add_holders(
    pending: Iterable[schemas.PendingItem],
    rows: Mapping[str, Sequence[Mapping[str, Any]]],
    places: Sequence[Place],
) -> None:
    """Add the holders to pending requests. ``rows``: from :func:`sql.resource_holders`, by resource."""
    for one in pending:
        resource, wanted = one["reason"]["resource"], one["reason"]["wanted"] or 0.0
        if one["reason"]["code"] != "busy" or resource is None or resource not in rows:
            continue
        able = {place.node_id for place in places if place.total.get(resource, 0.0) >= wanted}
        shown = [
            cast(schemas.PendingHolder, {**fields_of(row, schemas.PendingHolder), "amount": amount})
            for row in rows[resource]
            if (amount := _held_of(row, resource, able)) > 0
        ]
        shown.sort(key=lambda holder: (-holder["amount"], holder["since_ns"] or 0))
        one["holders"] = shown[:_MAX_PENDING_HOLDERS]
        one["holders_left_out"] = max(0, len(shown) - _MAX_PENDING_HOLDERS)


def may_lack_worker(pending: schemas.PendingItem, now_ns: int) -> bool:
    """Whether a task or an actor has waited for a while for a busy resource without a recorded holder."""
    return (
        pending["reason"]["code"] == "busy"
        and pending["kind"] != "placement_group"
        and not pending["holders"]
        and pending["since_ns"] is not None
        and pending["since_ns"] < now_ns - WORKER_START_NS
    )


def explain_missing_workers(
    pending: Iterable[schemas.PendingItem], places: Sequence[Place], started: Container[str], now_ns: int
) -> None:
    """Change the reason of requests that wait for a worker process. Ray reserves resources before the process
    starts, so they seem to be busy.

    ``started``: the nodes on which something has started within :data:`WORKER_START_NS`. There, the resources
    may be held by tasks that are too short to be recorded.
    """
    for one in pending:
        if not may_lack_worker(one, now_ns):
            continue
        resource, wanted = one["reason"]["resource"] or "", one["reason"]["wanted"] or 0.0
        able = [place.node_id for place in places if place.total.get(resource, 0.0) >= wanted]
        if any(node in started for node in able):
            continue
        reason = Reason(
            "worker_start",
            False,
            f"Its {resource} is reserved, but no worker has started with it yet: the worker process is still "
            "starting, or dies as it starts.",
            resource,
            node_id=one["reason"]["node_id"],
            nodes=len(able),
        )
        one["reason"] = _explained(reason)


def shape_of(demand: Demand) -> schemas.Shape:
    """Pending requests of one shape, as returned by the API."""
    return cast(schemas.Shape, msgspec.structs.asdict(demand))


def autoscaler_of(report: Autoscaler) -> schemas.AutoscalerStatus:
    """The autoscaler's report, as returned by the API."""
    return cast(schemas.AutoscalerStatus, msgspec.structs.asdict(report))


def _explained(reason: Reason) -> schemas.ReasonItem:
    return cast(schemas.ReasonItem, {**msgspec.structs.asdict(reason), "remedy": remedy(reason)})


def _held_of(row: Mapping[str, Any], resource: str, nodes: Container[str]) -> float:
    """How much of a resource a row holds on some nodes. For tasks in a placement group, only the group
    counts.
    """
    if row["kind"] == "placement_group":
        bundles = (one for one in _list(row["bundles"]) if one.get("node_id") in nodes)
        return round(sum(float(one["resources"].get(resource, 0.0)) for one in bundles), 4)
    held = reservation(row["required_resources"])
    return held.resources.get(resource, 0.0) if held.group is None and row["node_id"] in nodes else 0.0


def _unbuilt(runtime_env: str, runtime_envs: Sequence[RuntimeEnv]) -> Reason | None:
    """The reason if a request waits for its runtime environment, else None."""
    found = [one for one in runtime_envs if one.runtime_env in (runtime_env, None)]
    building = [one.node_id for one in found if one.is_built is None]
    if building:
        return Reason(
            "runtime_env",
            False,
            "Building its runtime environment.",
            node_id=building[0],
            nodes=len(building),
        )
    failed = next((one for one in found if one.is_built is False), None)
    if failed is None:
        return None
    # The message of the error is at the end of its traceback.
    error = (failed.error or "").strip()[-_MAX_ERROR:]
    message = f"Building its runtime environment failed: {error}"
    return Reason("runtime_env_failed", False, message, node_id=failed.node_id, nodes=1, error=error)


def _summed(bundles: Iterable[Amounts]) -> dict[str, float]:
    whole: dict[str, float] = {}
    for bundle in bundles:
        for name, amount in bundle.items():
            whole[name] = round(whole.get(name, 0.0) + amount, 4)
    return whole


def _selectors(text: str | None) -> list[dict[str, str]]:
    found = msgspec.json.decode(text) if text else None
    return [{str(key): str(value) for key, value in found.items()}] if isinstance(found, dict) else []


def _list(text: str | None) -> list[dict[str, Any]]:
    found = msgspec.json.decode(text) if text else []
    return found if isinstance(found, list) else []
