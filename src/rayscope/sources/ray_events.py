"""Ray's exported event batches (JSON) to records.

The format is what ``AsyncHttpPublisherClient.publish`` in Ray's ``dashboard/modules/aggregator`` sends: an
array of ``RayEvent`` messages through protobuf's JSON mapping.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from rayscope.model import STATES, Attempt, Entity, RecordBatch, Span, TaskError
from rayscope.sources.common import canonical_json, clean_error, is_nil, redact_runtime_env, split_profile
from rayscope.sources.entity_events import CONVERTERS
from rayscope.sources.event_types import (
    IGNORED_KEYS,
    Event,
    FunctionDescriptor,
    Int64,
    TaskDefinition,
    TaskLifecycle,
    TaskProfile,
)
from rayscope.sources.timestamps import parse_ns

_DECODER = msgspec.json.Decoder(list[Event])
_EVENT_DECODER = msgspec.json.Decoder(Event)
_RAW_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_WORKER_ID_BYTES = 28
_TASK_ID_BYTES = 24
_DRIVER_TASK = "f" * 40
_CREATION_TASK = "f" * 16
_NIL_TASK = "f" * 48
#: ``TaskStatus`` as Ray 2.50 numbers it.
_NUMBERED = {
    str(number): state
    for number, state in enumerate((s for s in STATES if s != "GETTING_AND_PINNING_ARGS"), start=1)
}
#: Fields whose keys are the user's own names.
_MAPS = frozenset(
    {"required_resources", "label_selector", "labels", "resources", "metadata", "unit_resources"}
)

#: Attribute names of :class:`Event` that hold one event each.
_ENTITY_PARTS = tuple(CONVERTERS)


class MalformedBatch(ValueError):
    """The body is no array of events at all. The message says what is wrong and where."""


@dataclass(frozen=True)
class ParsedBatch:
    """A POST body that was read and found well-formed: the quick part of decoding, about a fifth of it."""

    body: bytes
    events: list[Event]
    #: What is wrong with events that could not be read, and those events as they came.
    problems: Counter[str]
    invalid: list[bytes]

    @property
    def sessions(self) -> set[str]:
        """The Ray sessions that the events name."""
        return {event.session_name for event in self.events}


def parse(body: bytes) -> ParsedBatch:
    """Read one POST body. Raises :class:`MalformedBatch` if it is not a JSON array of events at all."""
    invalid: list[bytes] = []
    if body.find(b'"event_id"', 0, 4096) >= 0:
        # RAY_DASHBOARD_AGGREGATOR_AGENT_PRESERVE_PROTO_FIELD_NAME is set: the same with other names.
        body = _camel_case(body)
    problems: Counter[str] = Counter()
    try:
        events = _DECODER.decode(body)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        events = _decode_one_by_one(body, error, problems, invalid)
    if problems and not events:
        raise MalformedBatch("; ".join(problems))
    return ParsedBatch(body, events, problems, invalid)


def convert(parsed: ParsedBatch, *, look: bool = True) -> tuple[list[RecordBatch], list[bytes]]:
    """The records of a batch, one for each session in it (one, in practice), and the events that give none.

    Such an event is counted in ``unknown`` under ``invalid event: <why>`` and the others are kept. ``look``:
    also count the fields of one event that we do not know.
    """
    invalid: list[bytes] = []
    batches: dict[str, RecordBatch] = {}
    for event in parsed.events:
        batch = batches.get(event.session_name)
        if batch is None:
            batch = batches[event.session_name] = RecordBatch(event.session_name)
        batch.events += 1
        try:
            _add(event, batch)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            batch.unknown[_problem(error)] = batch.unknown.get(_problem(error), 0) + 1
            invalid.append(msgspec.json.encode(event))
    if look:
        _count_unknown_keys(parsed.body, parsed.events, batches)
    target = next(iter(batches.values()), None)
    if target is not None:
        for what, count in parsed.problems.items():
            target.unknown[what] = target.unknown.get(what, 0) + count
    return list(batches.values()), invalid


def _problem(error: Exception) -> str:
    return f"invalid event: {type(error).__name__}: {error}"[:200]


def _decode_one_by_one(
    body: bytes, error: Exception, problems: Counter[str], invalid: list[bytes]
) -> list[Event]:
    """The slow way, for a batch with something in it that another version of Ray sends."""
    try:
        raws = _RAW_DECODER.decode(body)
    except (msgspec.ValidationError, msgspec.DecodeError):
        raise MalformedBatch(f"not a JSON array of Ray events: {error}") from error
    events = []
    for raw in raws:
        try:
            events.append(_EVENT_DECODER.decode(raw))
        except (msgspec.ValidationError, msgspec.DecodeError) as reason:
            problems[f"invalid event: {reason}"[:200]] += 1
            invalid.append(bytes(raw))
    return events


def _add(event: Event, batch: RecordBatch) -> None:
    # The frequent kinds first.
    if (lifecycle := event.task_lifecycle_event or event.task_execution_event) is not None:
        batch.attempts.append(_task_lifecycle(lifecycle, event))
    elif (profile := event.task_profile_events) is not None:
        _task_profile(profile, batch)
    elif (definition := event.task_definition_event or event.actor_task_definition_event) is not None:
        batch.attempts.append(_task_definition(definition))
    else:
        for part in _ENTITY_PARTS:
            content = getattr(event, part)
            if content is not None:
                batch.entities.append(_checked(CONVERTERS[part](content)))
                return
        name = f"event type {event.event_type}"
        batch.unknown[name] = batch.unknown.get(name, 0) + 1


def _checked(entity: Entity) -> Entity:
    """Entities come from untyped JSON: their values must be ones that can be merged."""
    for values in (entity.fields, *entity.transitions.values()):
        for name, value in values.items():
            if not isinstance(value, (str, int, float)):
                raise ValueError(f"{name} of a {entity.kind} is no plain value")
    return entity


def _task_id(value: bytes) -> str:
    if len(value) != _TASK_ID_BYTES:
        raise ValueError(f"a task id of {len(value)} bytes")
    return value.hex()


@lru_cache(maxsize=16_384)  # nodes, workers, jobs, actors and parents come again and again
def _hex(value: bytes) -> str | None:
    text = value.hex()
    return None if is_nil(text) else text


def _function_name(descriptor: FunctionDescriptor | None) -> str | None:
    """What Ray's state API calls ``func_or_class_name``: the last name, behind its class if it has one."""
    if descriptor is None:
        return None
    function = (
        descriptor.python_function_descriptor
        or descriptor.java_function_descriptor
        or descriptor.cpp_function_descriptor
    )
    if function is None:
        return None
    name = function.function_name.rpartition(".")[2]
    class_name = function.class_name.rpartition(".")[2]
    return (f"{class_name}.{name}" if class_name else name) or None


def _task_definition(event: TaskDefinition) -> Attempt:
    task_id = _task_id(event.task_id)
    actor_id = _hex(event.actor_id)
    task_type = str(event.task_type)
    if task_type == "ACTOR_CREATION_TASK" and actor_id is None:
        actor_id = task_id[16:]  # a creation task's id is eight bytes of ones and the actor's id
    return Attempt(
        task_id,
        event.task_attempt,
        name=event.task_name or event.actor_task_name or None,
        func_name=_function_name(event.task_func or event.actor_func),
        type=task_type,
        language=str(event.language),
        job_id=_hex(event.job_id),
        parent_task_id=_hex(event.parent_task_id) and _task_id(event.parent_task_id),
        actor_id=actor_id,
        placement_group_id=_hex(event.placement_group_id),
        required_resources=canonical_json(event.required_resources),
        label_selector=canonical_json(event.label_selector) if event.label_selector else None,
        runtime_env=redact_runtime_env(
            event.serialized_runtime_env
            or (event.runtime_env_info.serialized_runtime_env if event.runtime_env_info else "")
        ),
        call_site=event.call_site or None,
    )


def _undefined(task_id: str, number: int) -> Attempt:
    """An attempt, with what its id alone tells: nobody defines drivers and restarts of actors."""
    attempt = Attempt(task_id, number)
    if task_id.startswith(_DRIVER_TASK):
        attempt.type = "DRIVER_TASK"
    elif task_id.startswith(_CREATION_TASK):
        attempt.type, attempt.actor_id = "ACTOR_CREATION_TASK", task_id[16:]
    return attempt


def _int64(value: Int64) -> int:
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError("a number of more than 64 bits")
    return number


def _int(value: Int64 | None) -> int | None:
    return None if value is None else _int64(value)


def _task_lifecycle(event: TaskLifecycle, envelope: Event) -> Attempt:
    attempt = _undefined(_task_id(event.task_id), event.task_attempt)
    states = attempt.states
    for number, timestamp in event.task_state.items():
        states[_NUMBERED.get(number, number)] = parse_ns(timestamp)
    for transition in event.state_transitions:
        state = str(transition.state)
        time_ns = parse_ns(transition.timestamp)
        if time_ns < states.get(state, time_ns + 1):
            states[state] = time_ns
    if event.job_id:
        attempt.job_id = _hex(event.job_id)
    if event.node_id:
        attempt.node_id = _hex(event.node_id)
    if event.worker_id:
        attempt.worker_id = _hex(event.worker_id)
    if event.worker_pid:
        attempt.worker_pid = event.worker_pid
    if event.actor_repr_name:
        attempt.actor_repr_name = event.actor_repr_name
    if event.ray_error_info is not None:
        failed_ns = states.get("FAILED")
        attempt.error = TaskError(
            failed_ns if failed_ns is not None else parse_ns(envelope.timestamp),
            str(event.ray_error_info.error_type),
            clean_error(event.ray_error_info.error_message),
        )
    log = event.task_log_info
    if log is not None:
        attempt.stdout_file, attempt.stderr_file = log.stdout_file, log.stderr_file
        attempt.stdout_start, attempt.stdout_end = _int(log.stdout_start), _int(log.stdout_end)
        attempt.stderr_start, attempt.stderr_end = _int(log.stderr_start), _int(log.stderr_end)
    return attempt


def _task_profile(event: TaskProfile, batch: RecordBatch) -> None:
    profile = event.profile_events
    if profile is None:
        return
    task_id = _task_id(event.task_id)
    if task_id == _NIL_TASK:
        # The coroutines of an async actor run outside of any task, as far as Ray's profiler knows.
        extra = canonical_json({"worker_id": profile.component_id.hex()})
        batch.spans.extend(
            Span("", 0, item.event_name, _int64(item.start_time), _int64(item.end_time), extra)
            for item in profile.events
        )
        return
    phases, spans = split_profile(
        (
            (item.event_name, _int64(item.start_time), _int64(item.end_time), item.extra_data)
            for item in profile.events
        ),
        task_id,
        event.attempt_number,
    )
    batch.spans.extend(spans)
    if phases:
        attempt = _undefined(task_id, event.attempt_number)
        attempt.phases = phases
        if event.attempt_number and attempt.type == "ACTOR_CREATION_TASK" and "total" in phases:
            # A restart of an actor: its owner, who tells the end of all other tasks, knows nothing of it.
            attempt.states["FINISHED"] = phases["total"][1]
        attempt.job_id = _hex(event.job_id)
        if profile.component_type == "worker" and len(profile.component_id) == _WORKER_ID_BYTES:
            attempt.worker_id = _hex(profile.component_id)
        batch.attempts.append(attempt)


def _count_unknown_keys(body: bytes, events: list[Event], batches: dict[str, RecordBatch]) -> None:
    """Look at one event of the batch in full, and count keys that we neither read nor leave out knowingly.

    A sample, since a full look costs more than decoding the batch: a field that a new version of Ray adds
    is in every event of its kind, so it is found within a few batches.
    """
    if not events:
        return
    start = body.find(b"{", len(body) // 2)
    try:
        raws = _RAW_DECODER.decode(body) if start >= 0 else []
        sample = msgspec.json.decode(raws[len(body) % len(raws)])
    except (msgspec.DecodeError, msgspec.ValidationError, ZeroDivisionError):
        return
    batch = batches.get(sample.get("sessionName", "")) if isinstance(sample, dict) else None
    if batch is None:
        return
    for key in _unknown_keys(sample, Event):
        name = f"field {key}"
        batch.unknown[name] = batch.unknown.get(name, 0) + 1


def _unknown_keys(value: dict[str, Any], struct: type[msgspec.Struct]) -> list[str]:
    fields = {field.encode_name: field.type for field in msgspec.structs.fields(struct)}
    unknown = []
    for key, inner in value.items():
        if key in IGNORED_KEYS:
            continue
        if key not in fields:
            unknown.append(key)
            continue
        nested = _struct_in(fields[key])
        items = inner if isinstance(inner, list) else [inner]
        if nested is not None and items and isinstance(items[0], dict):
            unknown.extend(f"{key}.{name}" for name in _unknown_keys(items[0], nested))
    return unknown


def _struct_in(annotation: Any) -> type[msgspec.Struct] | None:
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _struct_in(inner)
        if found is not None:
            return found
    return None


def _camel_case(body: bytes) -> bytes:
    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(item) for item in value]
        if isinstance(value, dict):
            return {_camel(key): item if key in _MAPS else convert(item) for key, item in value.items()}
        return value

    try:
        return msgspec.json.encode(convert(msgspec.json.decode(body)))
    except msgspec.DecodeError as error:
        raise MalformedBatch(f"not a JSON array of Ray events: {error}") from error


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(word.capitalize() for word in tail)
