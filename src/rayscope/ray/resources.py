"""Reads a cluster's free resources, pending demand, and the state of its autoscaler."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from rayscope.model.usage import Autoscaler, Demand, GroupDemand, NodeResources, Resources
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.protobuf import EnumNames, hex_id, text_map

_GROUP_STATE = EnumNames("PlacementGroupTableData", "state")
_GROUP_STRATEGY = EnumNames("PlacementGroupTableData", "strategy")
_NODE_STATUS = EnumNames("NodeState", "status")
#: Key of the report of autoscaler v1 (``DEBUG_AUTOSCALING_STATUS``).
_REPORT_KEY = b"__autoscaling_status"


def read_resources(client: GcsClient) -> Resources:
    """Read the current resources and demand. ``autoscaler`` is None if unreadable. Raises GcsError."""
    usage = client.resource_usage()
    # The nodes' own reports can lag, or be missing while a task runs there.
    draining = {node.node_id.hex() for node in client.draining_nodes()}
    unknown: dict[str, int] = {}
    nodes = {}
    for data in usage.batch:
        node_id = data.node_id.hex()
        nodes[node_id] = NodeResources(
            node_id=node_id,
            total=dict(data.resources_total),
            available=dict(data.resources_available),
            labels=text_map(data, "labels"),
            idle_ms=data.idle_duration_ms,
            is_draining=data.is_draining or node_id in draining,
        )
    demands = tuple(
        Demand(
            resources=dict(one.shape),
            ready=one.num_ready_requests_queued,
            infeasible=one.num_infeasible_requests_queued,
            backlog=one.backlog_size,
            label_selectors=_selectors(one),
        )
        for one in usage.resource_load_by_shape.resource_demands
    )
    groups = tuple(
        GroupDemand(
            id=data.placement_group_id.hex(),
            name=data.name,
            strategy=_GROUP_STRATEGY.name(data, unknown),
            state=_GROUP_STATE.name(data, unknown),
            bundles=tuple(
                dict(bundle.unit_resources) for bundle in data.bundles if hex_id(bundle.node_id) is None
            ),
        )
        for data in usage.placement_group_load.placement_group_data
    )
    return Resources(
        time_ns=time.time_ns(),
        nodes=nodes,
        demands=demands,
        groups=groups,
        autoscaler=_autoscaler(client, unknown),
    )


def _selectors(demand: Any) -> tuple[Mapping[str, str], ...]:
    """The alternatives of a demand, each as label -> condition (``v``, ``!v``, ``in(a,b)``, ``!in(a,b)``)."""
    found = []
    for selector in getattr(demand, "label_selectors", ()):
        wanted = {}
        for constraint in selector.label_constraints:
            values = ",".join(constraint.label_values)
            text = f"in({values})" if len(constraint.label_values) > 1 else values
            # In LabelSelectorOperator, 1 is IN and 2 is NOT_IN.
            wanted[constraint.label_key] = f"!{text}" if constraint.operator == 2 else text
        if wanted:
            found.append(wanted)
    return tuple(found)


def _autoscaler(client: GcsClient, unknown: dict[str, int]) -> Autoscaler | None:
    try:
        status = client.cluster_status()
        if status.autoscaling_state.autoscaler_state_version > 0:
            return _second(status, unknown)
        report = client.internal_kv(_REPORT_KEY, b"")
    except (GcsError, AttributeError, ImportError):
        return None
    return _first(report)


def _second(status: Any, unknown: dict[str, int]) -> Autoscaler:
    """Convert the ``GetClusterStatusReply`` of autoscaler v2."""
    state = status.autoscaling_state
    active: Counter[str] = Counter()
    idle: Counter[str] = Counter()
    for node in status.cluster_resource_state.node_states:
        named = _NODE_STATUS.name(node, unknown)
        if named in ("RUNNING", "DRAINING"):
            active[node.ray_node_type_name] += 1
        elif named == "IDLE":
            idle[node.ray_node_type_name] += 1
    pending: Counter[str] = Counter()
    for request in state.pending_instance_requests:
        pending[request.ray_node_type_name] += request.count
    for instance in state.pending_instances:
        pending[instance.ray_node_type_name] += 1
    return Autoscaler(
        version=2,
        active=dict(active),
        idle=dict(idle),
        pending=dict(pending),
        failed=tuple((one.ray_node_type_name, one.reason) for one in state.failed_instance_requests),
        infeasible=tuple(dict(one.resources_bundle) for one in state.infeasible_resource_requests),
    )


class _Report(msgspec.Struct):
    active_nodes: dict[str, int] = {}
    idle_nodes: dict[str, int] | None = None
    pending_nodes: list[list[Any]] = []  # ip, type, status
    pending_launches: dict[str, int] = {}
    failed_nodes: list[list[Any]] = []  # ip, type


class _Status(msgspec.Struct):
    autoscaler_report: _Report | None = None
    time: float | None = None


_decode_status = msgspec.json.Decoder(_Status).decode


def _first(report: bytes | None) -> Autoscaler | None:
    """Convert the report of autoscaler v1 in the GCS. None if it is missing or its format is unknown."""
    try:
        status = _decode_status(report or b"{}")
    except (ValueError, RecursionError):
        return None
    latest = status.autoscaler_report
    if latest is None:
        return None
    pending = Counter(latest.pending_launches)
    pending.update(str(node[1]) for node in latest.pending_nodes if len(node) > 1)
    return Autoscaler(
        version=1,
        active=latest.active_nodes,
        idle=latest.idle_nodes or {},
        pending=dict(pending),
        failed=tuple((str(node[1]), str(node[0])) for node in latest.failed_nodes if len(node) > 1),
        time_ns=int(status.time * 1e9) if status.time else None,
    )
