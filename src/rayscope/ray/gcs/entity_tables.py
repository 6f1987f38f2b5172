"""Converts the GCS's actor, node, worker, job and placement group tables (``gcs.proto``) to entities.

Fields that never change go to ``fields``, with the names used by :mod:`rayscope.ray.events.entities`. Values
that are true only at the time of the snapshot go to ``observed``. Values match those of Ray's state API.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from rayscope.model import Entity
from rayscope.model.entity import Value
from rayscope.ray.common import canonical_json, clean_error, redact_runtime_env, redact_text
from rayscope.ray.protobuf import EnumNames, has, hex_id, known, ms_to_ns, text_map

_ACTOR_STATE = EnumNames("ActorTableData", "state")
_NODE_STATE = EnumNames("GcsNodeInfo", "state")
_NODE_DEATH = EnumNames("NodeDeathInfo", "reason")
_WORKER_TYPE = EnumNames("WorkerTableData", "worker_type")
_WORKER_EXIT = EnumNames("WorkerTableData", "exit_type")
_PG_STATE = EnumNames("PlacementGroupTableData", "state")
_PG_STRATEGY = EnumNames("PlacementGroupTableData", "strategy")
_PG_SCHEDULING = EnumNames("PlacementGroupStats", "scheduling_state")
# Prefix of the namespaces of Ray's own drivers (Serve's, the dashboard's), which Ray's job list excludes.
_INTERNAL_NAMESPACE = "_ray_internal_"

_GPU = re.compile(r"GPU(_group_[0-9a-f]+)?")

Unknown = dict[str, int]


def actor(data: Any, now_ns: int, unknown: Unknown) -> Entity:
    """Convert an ``ActorTableData``."""
    selector = text_map(data, "label_selector")
    fields: dict[str, Value | None] = {
        "job_id": hex_id(data.job_id),
        "class_name": data.class_name,
        "name": data.name,
        "ray_namespace": data.ray_namespace,
        "is_detached": data.is_detached,
        "required_resources": canonical_json(dict(data.required_resources)),
        "placement_group_id": hex_id(getattr(data, "placement_group_id", b"")),
        "runtime_env": redact_runtime_env(data.serialized_runtime_env),
        "call_site": getattr(data, "call_site", ""),
        "label_selector": canonical_json(selector) if selector else None,
        "max_restarts": data.max_restarts,
    }
    observed: dict[str, Value | None] = {
        "state": _ACTOR_STATE.name(data, unknown),
        "node_id": hex_id(getattr(data, "node_id", b"")) or hex_id(data.address.node_id),
        "worker_id": hex_id(data.address.worker_id),
        "pid": data.pid or None,
        "num_restarts": data.num_restarts,
        "repr_name": getattr(data, "repr_name", ""),
        "gpus": _gpus(data),
        "start_ns": ms_to_ns(data.start_time),
        "end_ns": ms_to_ns(data.end_time),
    }
    if has(data, "death_cause"):
        cause = death_cause(data.death_cause)
        observed["death_cause"] = canonical_json(cause) if cause else None
        observed["death_reason"] = death_reason(cause)
    return Entity("actor", data.actor_id.hex(), known(fields), {}, now_ns, known(observed))


def _gpus(data: Any) -> str | None:
    """JSON of a GPU's index -> the share that the raylet assigned to an actor, or None if it has no GPU.

    In a placement group, Ray lists each GPU under three names. The one with the bundle's index is ignored.
    """
    given = {
        str(one.index): one.quantity
        for resource in data.resource_mapping
        if _GPU.fullmatch(resource.name)
        for one in resource.resource_ids
    }
    return canonical_json(given) if given else None


def death_cause(cause: Any) -> dict[str, Any]:
    """An ``ActorDeathCause`` in the form of Ray's state API, without the pickled exception."""
    found = _to_dict(cause)
    for context in found.values():
        if isinstance(context, dict):
            context.pop("serialized_exception", None)
    return found


def death_reason(cause: dict[str, Any]) -> str:
    """The error text of a death cause, from the context that is set, or '' if there is none."""
    for context in cause.values():
        if isinstance(context, dict):
            text = context.get("error_message") or context.get("formatted_exception_string")
            if text:
                return clean_error(str(text))
    return ""


def _to_dict(message: Any) -> dict[str, Any]:
    """Convert a message as Ray's ``message_to_dict`` does: snake case, enum names, hex IDs, all scalars."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if field.message_type is not None:
            if field.has_presence and message.HasField(field.name):
                found[field.name] = _to_dict(value)
        elif field.has_presence and not message.HasField(field.name):
            continue
        elif field.enum_type is not None:
            named = field.enum_type.values_by_number.get(value)
            found[field.name] = named.name if named is not None else str(value)
        elif isinstance(value, bytes):
            is_id = field.name.endswith("_id")
            found[field.name] = value.hex() if is_id else base64.b64encode(value).decode()
        else:
            found[field.name] = value
    return found


def node(data: Any, now_ns: int, unknown: Unknown) -> Entity:
    """Convert a ``GcsNodeInfo``."""
    fields: dict[str, Value | None] = {
        "node_ip": data.node_manager_address,
        "node_name": data.node_name,
        "hostname": data.node_manager_hostname,
        "is_head": data.is_head_node,
        "instance_id": data.instance_id,
        "instance_type": data.instance_type_name,
        "labels": canonical_json(text_map(data, "labels")),
        "start_ns": ms_to_ns(data.start_time_ms),
        "metrics_export_port": _port(data.metrics_export_port),
        "dashboard_agent_port": _port(getattr(data, "dashboard_agent_listen_port", 0)),
        "node_manager_port": _port(data.node_manager_port),
        "session_dir": getattr(data, "session_dir", ""),
    }
    state = _NODE_STATE.name(data, unknown)
    observed: dict[str, Value | None] = {
        "state": state,
        "end_ns": ms_to_ns(data.end_time_ms),
        "resources_total": canonical_json(dict(data.resources_total)),
    }
    if state == "DEAD" and has(data, "death_info"):
        observed["death_reason"] = _NODE_DEATH.name(data.death_info, unknown)
        observed["death_message"] = clean_error(data.death_info.reason_message)
    return Entity("node", data.node_id.hex(), known(fields), {}, now_ns, known(observed))


def _port(number: int) -> int | None:
    """A port, or None for Ray's 0 or -1 (nothing listens)."""
    return number if number > 0 else None


def worker(data: Any, now_ns: int, unknown: Unknown) -> Entity:
    """Convert a ``WorkerTableData``. Drivers are workers too."""
    address = data.worker_address
    fields: dict[str, Value | None] = {
        "node_id": hex_id(address.node_id),
        "pid": data.pid or None,
        "worker_type": _WORKER_TYPE.name(data, unknown),
        "ip": address.ip_address,
        "job_id": hex_id(getattr(data, "job_id", b"")),
        "start_ns": ms_to_ns(data.start_time_ms),
        "launch_ns": ms_to_ns(getattr(data, "worker_launch_time_ms", 0)),
        "launched_ns": ms_to_ns(getattr(data, "worker_launched_time_ms", 0)),
    }
    observed: dict[str, Value | None] = {
        "state": "ALIVE" if data.is_alive else "DEAD",
        "end_ns": ms_to_ns(data.end_time_ms),
    }
    if has(data, "exit_type"):
        observed["exit_type"] = _WORKER_EXIT.name(data, unknown)
    if has(data, "exit_detail"):
        observed["exit_detail"] = clean_error(data.exit_detail)
    if has(data, "num_paused_threads"):
        observed["paused_threads"] = data.num_paused_threads
    if has(data, "memory_used_bytes_at_death"):  # Ray sets it only if its memory monitor killed the worker
        observed["death_memory_bytes"] = data.memory_used_bytes_at_death or None
    return Entity("worker", address.worker_id.hex(), known(fields), {}, now_ns, known(observed))


def job(data: Any, now_ns: int, unknown: Unknown) -> Entity:
    """Convert a ``JobTableData``, which describes a driver.

    Like Ray's state API, the GCS reports success for any driver that ended. For submitted jobs it adds
    details from the job API (``job_info``), which then take precedence.
    """
    config = data.config
    metadata = {str(key): str(value) for key, value in config.metadata.items()}
    submission_id = metadata.get("job_submission_id")
    fields: dict[str, Value | None] = {
        "type": "SUBMISSION" if submission_id else "DRIVER",
        "entrypoint": redact_text(data.entrypoint),
        "driver_pid": data.driver_pid or None,
        "driver_ip": data.driver_ip_address or data.driver_address.ip_address,
        "driver_node_id": hex_id(data.driver_address.node_id),
        "start_ns": ms_to_ns(data.start_time),
        "runtime_env": redact_runtime_env(config.runtime_env_info.serialized_runtime_env),
        "metadata": redact_text(canonical_json(metadata)) if metadata else None,
        "submission_id": submission_id,
        "namespace": config.ray_namespace,
        "is_internal": True if config.ray_namespace.startswith(_INTERNAL_NAMESPACE) else None,
    }
    observed: dict[str, Value | None] = {
        "state": "SUCCEEDED" if data.is_dead else "RUNNING",
        "end_ns": ms_to_ns(data.end_time),
    }
    if submission_id and has(data, "job_info") and data.job_info.status:
        info = data.job_info
        observed = {
            "state": info.status,
            "message": clean_error(info.message),
            "error_type": getattr(info, "error_type", ""),
            "exit_code": info.driver_exit_code if has(info, "driver_exit_code") else None,
            "start_ns": ms_to_ns(info.start_time),
            "end_ns": ms_to_ns(info.end_time),
        }
    return Entity("job", data.job_id.hex(), known(fields), {}, now_ns, known(observed))


def placement_group(data: Any, now_ns: int, unknown: Unknown) -> Entity:
    """Convert a ``PlacementGroupTableData``."""
    stats = data.stats
    fields: dict[str, Value | None] = {
        "name": data.name,
        "job_id": hex_id(data.creator_job_id),
        "creator_actor_id": hex_id(data.creator_actor_id),
        "strategy": _PG_STRATEGY.name(data, unknown),
        "is_detached": data.is_detached,
        "created_ns": stats.creation_request_received_ns
        or ms_to_ns(getattr(data, "placement_group_creation_timestamp_ms", 0)),
    }
    bundles = [
        {
            "index": bundle.bundle_id.bundle_index,
            "resources": dict(bundle.unit_resources),
            "node_id": hex_id(bundle.node_id),
        }
        for bundle in data.bundles
    ]
    summary = {
        "scheduling_state": _PG_SCHEDULING.name(stats, unknown),
        "scheduling_attempt": stats.scheduling_attempt,
        "creation_request_received_ns": stats.creation_request_received_ns,
        "scheduling_started_time_ns": stats.scheduling_started_time_ns,
        "scheduling_latency_us": stats.scheduling_latency_us,
        "end_to_end_creation_latency_us": stats.end_to_end_creation_latency_us,
        "highest_retry_delay_ms": stats.highest_retry_delay_ms,
    }
    observed: dict[str, Value | None] = {
        "state": _PG_STATE.name(data, unknown),
        "bundles": _json_list(bundles),
        "stats": canonical_json(summary),
    }
    identity = data.placement_group_id.hex()
    return Entity("placement_group", identity, known(fields), {}, now_ns, known(observed))


def _json_list(items: list[dict[str, Any]]) -> str:
    return "[" + ",".join(canonical_json(item) for item in items) + "]"
