"""Ray's exported event batches (JSON) to records.

The format is what ``AsyncHttpPublisherClient.publish`` in Ray's ``dashboard/modules/aggregator`` sends: an
array of ``RayEvent`` messages through protobuf's JSON mapping.
"""

from __future__ import annotations

import functools
import json
import re
from base64 import b64decode
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec

from rayscope.model import Attempt, RecordBatch, TaskError
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.ray.common import canonical_json, clean_error, redact_runtime_env
from rayscope.ray.events.batch_format import Format, MalformedBatch
from rayscope.ray.events.entities import CONVERTERS, unnamed
from rayscope.ray.events.json_types import (
    IGNORED_KEYS,
    Enum,
    Event,
    Function,
    FunctionDescriptor,
    Int64,
    TaskDefinition,
    TaskLifecycle,
    TaskProfile,
)
from rayscope.ray.events.schema import enum_names
from rayscope.ray.events.tasks import (
    add_profile,
    checked,
    count,
    function_name,
    hex_id,
    problem,
    task_id_hex,
    undefined,
)
from rayscope.ray.timestamps import parse_ns

_DECODER = msgspec.json.Decoder(list[Event])
_EVENT_DECODER = msgspec.json.Decoder(Event)
_RAW_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_QUOTE = ord('"')
#: A string, also one that does not end, or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
#: Bodies and tokens beyond these are not looked at one by one: 1,000 real events have 1 to 4 MB and 200,000.
_MAX_SPLIT_BYTES, _MAX_TOKENS = 16 << 20, 2_000_000
#: How much of a body is looked at for its first event, bytes.
_FIRST_EVENT = 1 << 16
#: Ray 2.50 tells a ``TaskStatus`` by its number.
_STATE = {str(number): state for number, state in enum_names("TaskStatus").items()}
#: Fields whose keys are the user's own names.
_MAPS = frozenset(
    {"required_resources", "label_selector", "labels", "resources", "metadata", "unit_resources"}
)

#: What :func:`add` raises for an event that is invalid.
ERRORS: tuple[type[Exception], ...] = (*DECODE_ERRORS, KeyError, TypeError, AttributeError)

#: Attribute names of :class:`Event` that hold one event each.
_ENTITY_PARTS = tuple(CONVERTERS)


@dataclass(frozen=True)
class ParsedBatch:
    """A parsed body; see :class:`~rayscope.ray.events.batch_format.ParsedBatch`."""

    body: bytes
    events: list[Event]
    #: What is wrong with events that could not be read, and those events as they came.
    problems: Counter[str]
    invalid: list[bytes]
    format: ClassVar[Format] = Format.JSON

    def __len__(self) -> int:
        return len(self.events)

    @property
    def sessions(self) -> set[str]:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        return {event.session_name for event in self.events}

    @property
    def longest(self) -> int:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        return len(self.body)

    @property
    def node_id(self) -> str | None:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        # Not in Event: one node sends a batch, and it would be read again for each of its events.
        try:
            text = self.body[:_FIRST_EVENT].decode(errors="ignore")
            event, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
            return hex_id(b64decode(event["nodeId"]))
        except ERRORS:
            return None

    def convert(self, *, look: bool = True) -> tuple[list[RecordBatch], list[bytes]]:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        invalid: list[bytes] = []
        batches: dict[str, RecordBatch] = {}
        for event in self.events:
            batch = batches.get(event.session_name)
            if batch is None:
                batch = batches[event.session_name] = RecordBatch(event.session_name)
            batch.events += 1
            try:
                add(event, batch)
            except ERRORS as error:
                count(batch, problem(error))
                invalid.append(msgspec.json.encode(event))
        if look:
            _count_unknown_keys(self.body, self.events, batches)
        target = next(iter(batches.values()), None)
        if target is not None:
            for what, number in self.problems.items():
                count(target, what, number)
        return list(batches.values()), invalid


def parse(body: bytes) -> ParsedBatch:
    """Read one POST body. Raises :class:`MalformedBatch` if it is not a JSON array of events at all."""
    invalid: list[bytes] = []
    if body.find(b'"event_id"', 0, 4096) >= 0:
        # RAY_DASHBOARD_AGGREGATOR_AGENT_PRESERVE_PROTO_FIELD_NAME is set: the same with other names.
        body = _camel_case(body)
    problems: Counter[str] = Counter()
    try:
        events = _DECODER.decode(body)
    except DECODE_ERRORS as error:
        events = _decode_one_by_one(body, error, problems, invalid)
    if problems and not events:
        raise MalformedBatch("; ".join(problems))
    return ParsedBatch(body, events, problems, invalid)


def _decode_one_by_one(
    body: bytes, error: Exception, problems: Counter[str], invalid: list[bytes]
) -> list[Event]:
    """The slow way, for a batch with something in it that another version of Ray sends."""
    try:
        raws = split(body)
    except ValueError:
        raise MalformedBatch(f"not a JSON array of Ray events: {error}") from error
    events = []
    for raw in raws:
        try:
            events.append(_EVENT_DECODER.decode(raw))
        except DECODE_ERRORS as reason:
            problems[f"invalid event: {reason}"[:200]] += 1
            invalid.append(raw)
    return events


def split(body: bytes) -> list[bytes]:
    """The elements of a JSON array as they stand there. Raises ValueError if it is none."""
    try:
        return [bytes(raw) for raw in _RAW_DECODER.decode(body)]
    except DECODE_ERRORS:
        return _split_at_brackets(body)


def _split_at_brackets(body: bytes) -> list[bytes]:
    """The same for an array with an element that no decoder gets through, nested too deep for instance.

    Nothing but brackets and strings is looked at, so the other elements come out whole.
    """
    if len(body) > _MAX_SPLIT_BYTES:
        raise ValueError("it is too large")
    elements: list[bytes] = []
    depth = end = 0
    for number, found in enumerate(_TOKEN.finditer(body)):
        at, sign = found.end(), found[0]
        if number > _MAX_TOKENS:
            raise ValueError("it has too many brackets")
        if number == 0 and (sign != b"[" or body[: at - 1].strip()):
            raise ValueError("it does not begin with a bracket")
        if sign[0] == _QUOTE:
            continue
        opens = sign in b"[{"
        depth += 1 if opens else -1
        if depth == 0 or (opens and depth == 2):
            # What stands between elements: a comma, or something that is no event.
            if between := body[end : at - 1].strip(b" \t\r\n,"):
                elements.append(between)
            end = at - 1
        elif depth == 1:
            if not opens:
                elements.append(body[end:at])
            end = at
        if depth == 0:
            if body[at:].strip():
                break
            return elements
    raise ValueError("it does not end with a bracket")


def add(event: Event, batch: RecordBatch) -> None:
    """Add the records of one event. Raises one of :data:`ERRORS` if it is invalid."""
    # The frequent kinds first.
    if (lifecycle := event.task_lifecycle_event or event.task_execution_event) is not None:
        batch.attempts.append(_task_lifecycle(lifecycle, event, batch))
    elif (profile := event.task_profile_events) is not None:
        _task_profile(profile, batch)
    elif (definition := event.task_definition_event or event.actor_task_definition_event) is not None:
        batch.attempts.append(_task_definition(definition, batch))
    else:
        for part in _ENTITY_PARTS:
            content = getattr(event, part)
            if content is not None:
                batch.entities.append(checked(CONVERTERS[part](content)))
                for key, number in unnamed(content):
                    count(batch, f"enum {part}.{key} {number}")
                return
        count(batch, f"event type {event.event_type}")


def _name(value: Enum, enum: str, batch: RecordBatch) -> str:
    """The name of an enum value; one that Ray has no name for is its number."""
    if isinstance(value, int):
        count(batch, f"enum {enum} {value}")
        return str(value)
    return value


def _function(descriptor: FunctionDescriptor | None) -> Function:
    known = descriptor or FunctionDescriptor()
    return (
        known.python_function_descriptor
        or known.java_function_descriptor
        or known.cpp_function_descriptor
        or Function()
    )


def _task_definition(event: TaskDefinition, batch: RecordBatch) -> Attempt:
    task_id = task_id_hex(event.task_id)
    task_type = _name(event.task_type, "TaskType", batch)
    function = _function(event.task_func or event.actor_func)
    actor_id = hex_id(event.actor_id)
    if actor_id is None and task_type == "ACTOR_CREATION_TASK":
        actor_id = task_id[16:]
    return Attempt(
        task_id,
        event.task_attempt,
        name=event.task_name or event.actor_task_name or None,
        func_name=function_name(function.class_name, function.function_name),
        module_name=function.module_name or None,
        function_hash=function.function_hash or None,
        type=task_type,
        language=_name(event.language, "Language", batch),
        job_id=hex_id(event.job_id),
        parent_task_id=hex_id(event.parent_task_id) and task_id_hex(event.parent_task_id),
        actor_id=actor_id,
        placement_group_id=hex_id(event.placement_group_id),
        required_resources=canonical_json(event.required_resources),
        label_selector=canonical_json(event.label_selector) if event.label_selector else None,
        runtime_env=redact_runtime_env(
            event.serialized_runtime_env
            or (event.runtime_env_info.serialized_runtime_env if event.runtime_env_info else "")
        ),
        call_site=event.call_site or None,
    )


def _int64(value: Int64) -> int:
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError("a number of more than 64 bits")
    return number


def _known(value: Int64) -> int | None:
    return _int64(value) or None


def _task_lifecycle(event: TaskLifecycle, envelope: Event, batch: RecordBatch) -> Attempt:
    attempt = undefined(task_id_hex(event.task_id), event.task_attempt)
    states = attempt.states
    for number, timestamp in event.task_state.items():
        if number not in _STATE:
            count(batch, f"enum TaskStatus {number}")
        states[_STATE.get(number, number)] = parse_ns(timestamp)
    for transition in event.state_transitions:
        state = transition.state
        if state.__class__ is not str:
            state = _name(state, "TaskStatus", batch)
        time_ns = parse_ns(transition.timestamp)
        if time_ns < states.get(state, time_ns + 1):
            states[state] = time_ns
    if event.job_id:
        attempt.job_id = hex_id(event.job_id)
    if event.node_id:
        attempt.node_id = hex_id(event.node_id)
    if event.worker_id:
        attempt.worker_id = hex_id(event.worker_id)
    if event.worker_pid:
        attempt.worker_pid = event.worker_pid
    if event.actor_repr_name:
        attempt.actor_repr_name = event.actor_repr_name
    if event.ray_error_info is not None:
        failed_ns = states.get("FAILED")
        attempt.error = TaskError(
            failed_ns if failed_ns is not None else parse_ns(envelope.timestamp),
            _name(event.ray_error_info.error_type, "ErrorType", batch),
            clean_error(event.ray_error_info.error_message),
        )
    log = event.task_log_info
    if log is not None:
        # Ray 2.56 writes 0 and '' for what it does not say. A real offset is never 0: a worker begins its
        # log files with a line about the job.
        attempt.stdout_file, attempt.stderr_file = log.stdout_file or None, log.stderr_file or None
        attempt.stdout_start, attempt.stdout_end = _known(log.stdout_start), _known(log.stdout_end)
        attempt.stderr_start, attempt.stderr_end = _known(log.stderr_start), _known(log.stderr_end)
    return attempt


def _task_profile(event: TaskProfile, batch: RecordBatch) -> None:
    profile = event.profile_events
    if profile is None:
        return
    for entry in profile.events:
        entry.start_time, entry.end_time = _int64(entry.start_time), _int64(entry.end_time)
    add_profile(
        batch,
        task_id_hex(event.task_id),
        event.attempt_number,
        event.job_id,
        profile.component_type,
        profile.component_id,
        profile.events,  # type: ignore[arg-type]  # their times are numbers now
    )


def _count_unknown_keys(body: bytes, events: list[Event], batches: dict[str, RecordBatch]) -> None:
    """Look at one event of the batch in full, and count keys that we neither read nor leave out knowingly.

    A sample, since a full look costs more than decoding the batch: a field that a new version of Ray adds
    is in every event of its kind, so it is found within a few batches.
    """
    if not events:
        return
    with suppress(*ERRORS, ZeroDivisionError):  # this is a look, what is bad is counted elsewhere
        raws = _RAW_DECODER.decode(body)
        sample = msgspec.json.decode(raws[len(body) % len(raws)])
        batch = batches.get(sample.get("sessionName", "")) if isinstance(sample, dict) else None
        if batch is not None:
            for key in _unknown_keys(sample, Event):
                count(batch, f"field {key}"[:200])


def _unknown_keys(value: dict[str, Any], struct: type[msgspec.Struct]) -> list[str]:
    fields = _fields(struct)
    unknown = []
    for key, inner in value.items():
        if key in IGNORED_KEYS:
            continue
        if key not in fields:
            unknown.append(key)
            continue
        nested = fields[key]
        items = inner if isinstance(inner, list) else [inner]
        if nested is not None and items and isinstance(items[0], dict):
            unknown.extend(f"{key}.{name}" for name in _unknown_keys(items[0], nested))
    return unknown


@functools.cache
def _fields(struct: type[msgspec.Struct]) -> dict[str, type[msgspec.Struct] | None]:
    """The fields of a message by their names in JSON, with the message that each holds, if any."""
    return {field.encode_name: _struct_in(field.type) for field in msgspec.structs.fields(struct)}


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

    def convert_event(raw: bytes) -> bytes:
        try:
            return msgspec.json.encode(convert(msgspec.json.decode(raw)))
        except DECODE_ERRORS:
            return raw  # whoever decodes it says what is wrong

    try:
        return b"[" + b",".join(map(convert_event, split(body))) + b"]"
    except ValueError as error:
        raise MalformedBatch(f"not a JSON array of Ray events: {error}") from error


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(word.capitalize() for word in tail)
