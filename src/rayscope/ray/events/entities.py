"""Converts actor, node, worker, job and placement group events (JSON) to entities."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from rayscope.model import Entity
from rayscope.model.entity import Value
from rayscope.ray.common import canonical_json, clean_error, is_nil, redact_runtime_env, redact_text
from rayscope.ray.timestamps import parse_ns

Fields = dict[str, Value]
#: Ray's states of driver jobs -> the names used by Ray's state API.
_DRIVER_JOB_STATES = {"CREATED": "RUNNING", "FINISHED": "SUCCEEDED"}
#: Keys whose values are members of an enum.
_ENUMS = frozenset(
    {"state", "restartReason", "schedulingState", "strategy", "workerType", "exitType", "reason"}
)
_NO_TIME = {"0", "", str(2**64 - 1)}
#: A driver's worker ID is its job's ID followed by this.
_DRIVER_SUFFIX = "ff" * 24
_LOST_DRIVER = "Exit status unknown: the driver's connection broke, as after SIGKILL or a crash."


def _id(event: Mapping[str, Any], key: str) -> str:
    hex_id = b64decode(event.get(key) or "").hex()
    return "" if is_nil(hex_id) else hex_id


def _known(**values: Any) -> Fields:
    """The given values without empty strings and Nones."""
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _ms(event: Mapping[str, Any], key: str) -> int | None:
    text = str(event.get(key, "0"))
    return None if text in _NO_TIME else int(text) * 1_000_000


def _transitions(
    event: Mapping[str, Any], extra: Callable[[Mapping[str, Any], str], Fields]
) -> dict[tuple[int, str], Fields]:
    result = {}
    for transition in event.get("stateTransitions") or ():
        state = str(transition.get("state", "UNSPECIFIED"))
        result[(parse_ns(transition["timestamp"]), state)] = extra(transition, state)
    return result


def unnamed(event: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Enum values of an event that Ray has no name for, as (key, number)."""
    for key, value in event.items():
        if key in _ENUMS and isinstance(value, int):
            yield key, value
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, dict):
                yield from unnamed(inner)


def death_reason(cause: Mapping[str, Any]) -> str:
    """The error text of an ``ActorDeathCause``, from the context that is set, or '' if there is none."""
    for context in cause.values():
        if isinstance(context, dict):
            text = context.get("errorMessage") or context.get("formattedExceptionString")
            if text:
                return clean_error(str(text))
    return ""


def _actor_definition(event: Mapping[str, Any]) -> Entity:
    return Entity(
        "actor",
        _id(event, "actorId"),
        fields=_known(
            job_id=_id(event, "jobId"),
            class_name=event.get("className"),
            name=event.get("name"),
            ray_namespace=event.get("rayNamespace"),
            is_detached=bool(event.get("isDetached")),
            required_resources=canonical_json(event.get("requiredResources") or {}),
            placement_group_id=_id(event, "placementGroupId"),
            runtime_env=redact_runtime_env(event.get("serializedRuntimeEnv", "")),
            call_site=event.get("callSite"),
            label_selector=canonical_json(event["labelSelector"]) if event.get("labelSelector") else None,
        ),
    )


def _actor_lifecycle(event: Mapping[str, Any]) -> Entity:
    def extra(transition: Mapping[str, Any], state: str) -> Fields:
        cause = transition.get("deathCause") or {}
        fields = _known(
            node_id=_id(transition, "nodeId"),
            worker_id=_id(transition, "workerId"),
            pid=transition.get("pid") or None,
            repr_name=transition.get("reprName"),
            restart_reason=transition.get("restartReason") if state == "RESTARTING" else None,
            death_reason=death_reason(cause),
        )
        if state == "DEAD":
            fields["end_ns"] = parse_ns(transition["timestamp"])
        return fields

    return Entity("actor", _id(event, "actorId"), transitions=_transitions(event, extra))


def _node_definition(event: Mapping[str, Any]) -> Entity:
    start = event.get("startTimestamp")
    return Entity(
        "node",
        _id(event, "nodeId"),
        fields=_known(
            node_ip=event.get("nodeIpAddress"),
            node_name=event.get("nodeName"),
            hostname=event.get("hostname"),
            instance_id=event.get("instanceId"),
            instance_type=event.get("instanceTypeName"),
            labels=canonical_json(event.get("labels") or {}),
            start_ns=parse_ns(start) if start else None,
        ),
    )


def _node_lifecycle(event: Mapping[str, Any]) -> Entity:
    def extra(transition: Mapping[str, Any], state: str) -> Fields:
        death = transition.get("deathInfo") or {}
        resources = transition.get("resources")
        return _known(
            resources_total=canonical_json(resources) if resources else None,
            death_reason=death.get("reason"),
            death_message=death.get("reasonMessage"),
            end_ns=parse_ns(transition["timestamp"]) if state == "DEAD" else None,
        )

    return Entity("node", _id(event, "nodeId"), transitions=_transitions(event, extra))


def _worker_definition(event: Mapping[str, Any]) -> Entity:
    return Entity(
        "worker",
        b64decode(event.get("workerId") or "").hex(),
        fields=_known(
            node_id=_id(event, "nodeId"),
            pid=event.get("pid") or None,
            worker_type=str(event.get("workerType", "")),
        ),
    )


def _worker_lifecycle(event: Mapping[str, Any]) -> Entity:
    fields = _known(job_id=_id(event, "jobId"))

    def extra(transition: Mapping[str, Any], state: str) -> Fields:
        fields.update(
            _known(start_ns=_ms(transition, "startTimeMs"), launch_ns=_ms(transition, "workerLaunchTimeMs"))
        )
        death = transition.get("deathInfo") or {}
        return _known(
            exit_type=death.get("exitType"),
            exit_detail=clean_error(death.get("exitDetail") or ""),
            death_memory_bytes=int(death.get("memoryUsedBytes") or 0) or None,
            end_ns=_ms(transition, "endTimeMs"),
        )

    transitions = _transitions(event, extra)
    return Entity("worker", b64decode(event.get("workerId") or "").hex(), fields, transitions)


def lost_drivers(workers: Iterable[Entity]) -> list[Entity]:
    """Jobs whose driver is one of the workers and ended without disconnecting from Ray.

    SIGKILL and ``os._exit`` leave only a broken connection, but the GCS still reports success. Such a job is
    FINISHED unless another source knows its exit code.
    """
    jobs = []
    for worker in workers:
        if worker.kind != "worker" or not worker.id.endswith(_DRIVER_SUFFIX):
            continue
        end = worker.current()
        exit_type, end_ns = end.get("exit_type"), end.get("end_ns")
        if exit_type and end_ns and not str(exit_type).startswith("INTENDED"):
            account: dict[str, Value] = {"message": _LOST_DRIVER, "end_ns": end_ns}
            jobs.append(Entity("job", worker.id[:8], transitions={(int(end_ns), "FINISHED"): account}))
    return jobs


def _driver_job_definition(event: Mapping[str, Any]) -> Entity:
    config = event.get("config") or {}
    metadata = config.get("metadata") or {}
    return Entity(
        "job",
        _id(event, "jobId"),
        fields=_known(
            type="SUBMISSION" if "job_submission_id" in metadata else "DRIVER",
            entrypoint=redact_text(event.get("entrypoint", "")),
            driver_pid=int(event.get("driverPid") or 0) or None,
            driver_node_id=_id(event, "driverNodeId"),
            runtime_env=redact_runtime_env(config.get("serializedRuntimeEnv", "")),
            metadata=redact_text(canonical_json(metadata)) if metadata else None,
            submission_id=metadata.get("job_submission_id"),
        ),
    )


def _driver_job_lifecycle(event: Mapping[str, Any]) -> Entity:
    def extra(transition: Mapping[str, Any], state: str) -> Fields:
        time_ns = parse_ns(transition["timestamp"])
        return {"start_ns": time_ns} if state == "CREATED" else {"end_ns": time_ns}

    entity = Entity("job", _id(event, "jobId"))
    for (time_ns, state), fields in _transitions(event, extra).items():
        if "start_ns" in fields:
            entity.fields["start_ns"] = fields.pop("start_ns")
        entity.transitions[(time_ns, _DRIVER_JOB_STATES.get(state, state))] = fields
    return entity


def _submission_job_definition(event: Mapping[str, Any]) -> Entity:
    config = event.get("config") or {}
    return Entity(
        "job",
        str(event.get("submissionId", "")),
        fields=_known(
            type="SUBMISSION",
            submission_id=event.get("submissionId"),
            entrypoint=redact_text(event.get("entrypoint", "")),
            runtime_env=redact_runtime_env(config.get("serializedRuntimeEnv", "")),
        ),
    )


def _submission_job_lifecycle(event: Mapping[str, Any]) -> Entity:
    def extra(transition: Mapping[str, Any], state: str) -> Fields:
        return _known(
            message=transition.get("message"),
            error_type=transition.get("errorType"),
            driver_node_id=_id(transition, "driverNodeId"),
            exit_code=transition.get("driverExitCode"),
        )

    return Entity("job", str(event.get("submissionId", "")), transitions=_transitions(event, extra))


def _placement_group_definition(event: Mapping[str, Any]) -> Entity:
    return Entity(
        "placement_group",
        _id(event, "placementGroupId"),
        fields=_known(
            name=event.get("name"),
            job_id=_id(event, "creatorJobId"),
            creator_actor_id=_id(event, "creatorActorId"),
            strategy=str(event.get("strategy", "")),
            is_detached=bool(event.get("isDetached")),
            created_ns=int(event.get("creationRequestReceivedNs") or 0) or None,
        ),
    )


def _placement_group_lifecycle(event: Mapping[str, Any]) -> Entity:
    def extra(transition: Mapping[str, Any], state: str) -> Fields:
        placements = [
            {"index": placement.get("bundleIndex", 0), "node_id": _id(placement, "nodeId")}
            for placement in transition.get("bundlePlacements") or ()
        ]
        return _known(
            scheduling_state=transition.get("schedulingState"),
            placements=json.dumps(placements) if placements else None,
        )

    return Entity("placement_group", _id(event, "placementGroupId"), transitions=_transitions(event, extra))


#: Attribute of :class:`rayscope.ray.events.json_types.Event` -> its converter.
CONVERTERS: Mapping[str, Callable[[Mapping[str, Any]], Entity]] = {
    "actor_definition_event": _actor_definition,
    "actor_lifecycle_event": _actor_lifecycle,
    "node_definition_event": _node_definition,
    "node_lifecycle_event": _node_lifecycle,
    "worker_definition_event": _worker_definition,
    "worker_lifecycle_event": _worker_lifecycle,
    "driver_job_definition_event": _driver_job_definition,
    "driver_job_lifecycle_event": _driver_job_lifecycle,
    "submission_job_definition_event": _submission_job_definition,
    "submission_job_lifecycle_event": _submission_job_lifecycle,
    "placement_group_definition_event": _placement_group_definition,
    "placement_group_lifecycle_event": _placement_group_lifecycle,
}
