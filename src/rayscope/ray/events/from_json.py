"""Converts Ray's exported event batches from JSON to columns.

``AsyncHttpPublisherClient.publish`` in Ray's ``dashboard/modules/aggregator`` sends an array of ``RayEvent``
messages in protobuf's JSON mapping.
"""

from __future__ import annotations

import functools
import json
import re
from base64 import b64decode
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from rayscope.model import RecordBatch
from rayscope.model.decoding import DECODE_ERRORS
from rayscope.ray.common import canonical_json, redact_runtime_env
from rayscope.ray.events.batch_format import Batch, BatchTooLarge, Format, MalformedBatch, check_count
from rayscope.ray.events.columns import (
    FAILED,
    SessionEvents,
    Unreadable,
    add_definitions,
    add_lifecycles,
    add_profiles,
)
from rayscope.ray.events.entities import CONVERTERS, lost_drivers, unnamed
from rayscope.ray.events.json_types import (
    IGNORED_KEYS,
    Enum,
    Event,
    Function,
    FunctionDescriptor,
    Int64,
    TaskDefinition,
    TaskLifecycle,
    TaskLogInfo,
)
from rayscope.ray.events.platform import platform_event
from rayscope.ray.events.schema import enum_names
from rayscope.ray.events.tasks import checked, count, function_name
from rayscope.ray.timestamps import parse_ns

_DECODER = msgspec.json.Decoder(list[Event])
_EVENT_DECODER = msgspec.json.Decoder(Event)
_RAW_DECODER = msgspec.json.Decoder(list[msgspec.Raw])
_QUOTE = ord('"')
#: A string, even an unterminated one, or a bracket.
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)
#: A string, or a character that precedes a value: a comma or an opening bracket.
_PART = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[,\[{]', re.DOTALL)
#: Maximum number of values per body. Each takes up to 150 bytes of memory. 50,000 real events have 1.4
#: million values.
_MAX_PARTS = 2_000_000
#: Maximum number of tokens examined one by one to count the values. Batches with more are rejected.
_MAX_PART_TOKENS = 3 * _MAX_PARTS
#: Maximum number of unreadable events per batch. Batches with more are rejected.
_MAX_UNREADABLE = 10_000
#: Maximum size of a body that is split at brackets, in bytes. 1,000 real events have 1 to 4 MB.
_MAX_SPLIT_BYTES = 16 << 20
#: Maximum number of strings and brackets in a body that is split at brackets. 1,000 real events have 200,000.
_MAX_TOKENS = 2_000_000
#: The first event is searched for in this many bytes at the start of a body.
_FIRST_EVENT = 1 << 16
#: State name -> its number in ``TaskStatus``.
_STATES = {state: number for number, state in enum_names("TaskStatus").items()}
_NUMBERS = frozenset(_STATES.values())
#: Fields with arbitrary keys chosen by users.
_MAPS = frozenset(
    {
        *("required_resources", "label_selector", "labels", "resources", "metadata", "unit_resources"),
        "custom_fields",
    }
)

#: Exceptions that an invalid event can raise.
ERRORS: tuple[type[Exception], ...] = (*DECODE_ERRORS, KeyError, TypeError, AttributeError)

#: Attributes of :class:`Event` that hold one entity event each.
_ENTITY_PARTS = tuple(CONVERTERS)


class _Head(msgspec.Struct, rename="camel", gc=False):
    session_name: str = ""


class _SnakeHead(msgspec.Struct, gc=False):
    session_name: str = ""


_HEAD = msgspec.json.Decoder(_Head)
_HEADS = msgspec.json.Decoder(list[_Head])
_SNAKE_HEAD = msgspec.json.Decoder(_SnakeHead)
_SNAKE_HEADS = msgspec.json.Decoder(list[_SnakeHead])


def check(body: bytes) -> Batch:
    """Check a POST body. Raises :class:`MalformedBatch` if it is not a JSON array of events at all."""
    _check_parts(body)
    try:
        heads: Sequence[_Head | _SnakeHead] = _head_decoder(body, is_array=True).decode(body)
    except DECODE_ERRORS as error:
        decoder, heads, why = _head_decoder(body, is_array=False), [], None
        raws = _split(body, error)
        for seen, raw in enumerate(raws, 1):
            try:
                heads.append(decoder.decode(raw))
            except DECODE_ERRORS as reason:
                why = reason
                if seen - len(heads) > _MAX_UNREADABLE:
                    raise BatchTooLarge(
                        f"More than {_MAX_UNREADABLE} events cannot be read: {why}"
                    ) from error
        if not heads:
            raise MalformedBatch(f"invalid event: {why}"[:200]) from error
        return Batch(body, Format.JSON, _names(heads), len(raws))
    check_count(len(heads))
    return Batch(body, Format.JSON, _names(heads), len(heads))


def _check_parts(body: bytes) -> None:
    """Raise :class:`BatchTooLarge` if a body has more values than should be held in memory."""
    if sum(map(body.count, (b",", b"[", b"{"))) <= _MAX_PARTS:
        return
    parts = 0  # does not count brackets in strings, such as error messages
    for tokens, found in enumerate(_PART.finditer(body)):
        parts += found[0][0] != _QUOTE
        if parts > _MAX_PARTS or tokens > _MAX_PART_TOKENS:
            raise BatchTooLarge(f"A batch has more than {_MAX_PARTS} values.")


def _names(heads: Sequence[_Head | _SnakeHead]) -> list[str]:
    return list(dict.fromkeys(head.session_name for head in heads))


def _is_snake(body: bytes) -> bool:
    """Whether keys are in snake case (RAY_DASHBOARD_AGGREGATOR_AGENT_PRESERVE_PROTO_FIELD_NAME is set)."""
    return body.find(b'"event_id"', 0, 4096) >= 0


def _head_decoder(body: bytes, *, is_array: bool) -> msgspec.json.Decoder[Any]:
    if _is_snake(body):
        return _SNAKE_HEADS if is_array else _SNAKE_HEAD
    return _HEADS if is_array else _HEAD


def decode(bodies: Sequence[bytes], session: str) -> SessionEvents:
    """Decode the bodies of one session."""
    events = SessionEvents(session)
    rows = Rows(events)
    for body in bodies:
        if _is_snake(body):
            body = _camel_case(body)
        try:
            read = _DECODER.decode(body)
        except DECODE_ERRORS as error:
            read = []
            for raw in _split(body, error):
                try:
                    read.append(_EVENT_DECODER.decode(raw))
                except DECODE_ERRORS as reason:
                    events.set_aside(raw, str(reason))
        for event in read:
            rows.add(event, event)
    rows.finish()
    if bodies:
        _count_unknown_keys(bodies[len(bodies) // 2], events)
    return events


def join(raws: Sequence[bytes]) -> bytes:
    """Join single events into one array."""
    return b"[" + b",".join(raws) + b"]"


def node_id(body: bytes) -> bytes:
    """ID of the node that sent the first event, b"" if it is not stated. Raises one of :data:`ERRORS`."""
    # Not a field of Event: it is the same in the whole batch and would be decoded for every event.
    text = body[:_FIRST_EVENT].decode(errors="ignore")
    event, _ = json.JSONDecoder().raw_decode(text, text.index("{"))
    return b64decode(event["nodeId"])


def _split(body: bytes, error: Exception) -> list[bytes]:
    """Split a batch that the decoder rejects because another version of Ray sent something unexpected.

    This is slow.
    """
    try:
        return split(body)
    except BatchTooLarge:
        raise
    except ValueError:
        raise MalformedBatch(f"not a JSON array of Ray events: {error}") from error


def split(body: bytes) -> list[bytes]:
    """The unparsed elements of a JSON array. Raises ValueError if it is not an array or is too large."""
    _check_parts(body)
    try:
        raws = _RAW_DECODER.decode(body)
    except DECODE_ERRORS:
        return _split_at_brackets(body)
    check_count(len(raws))
    return [bytes(raw) for raw in raws]


def _split_at_brackets(body: bytes) -> list[bytes]:
    """Split an array with an element that no decoder accepts, for example one that is nested too deeply.

    Only brackets and strings are examined, so the other elements stay intact.
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
            # Text between elements must be a comma. Anything else is an invalid event.
            if between := body[end : at - 1].strip(b" \t\r\n,"):
                elements.append(between)
            end = at - 1
        elif depth == 1:
            if not opens:
                elements.append(body[end:at])
            end = at
        check_count(len(elements))
        if depth == 0:
            if body[at:].strip():
                break
            return elements
    raise ValueError("it does not end with a bracket")


class Rows:
    """Collects task events that are decoded one by one, for :mod:`rayscope.ray.events.columns`.

    Rare kinds of events become records immediately.
    """

    def __init__(self, events: SessionEvents) -> None:
        self.events = events
        self._definitions: list[tuple[Any, ...]] = []
        self._lifecycles: list[tuple[Any, ...]] = []
        self._transitions: list[tuple[int, int, int]] = []
        self._profiles: list[tuple[Any, ...]] = []
        self._entries: list[tuple[Any, ...]] = []
        #: The event of each row, by kind of event.
        self._sources: dict[str, list[Event | bytes]] = {"definitions": [], "lifecycles": [], "profiles": []}

    def add(self, event: Event, source: Event | bytes) -> None:
        """Add one event. ``source``: its original bytes if available, otherwise the event itself."""
        self.events.records.events += 1
        try:
            kind = self._add(event)
        except ERRORS as error:
            self.events.set_aside(_raw(source), f"{type(error).__name__}: {error}")
        else:
            if kind is not None:
                self._sources[kind].append(source)

    def _add(self, event: Event) -> str | None:
        # Check the most frequent kinds first.
        records = self.events.records
        if (lifecycle := event.task_lifecycle_event or event.task_execution_event) is not None:
            transitions = _transitions(lifecycle, len(self._lifecycles), records)
            has_failed = any(state == FAILED for _, state, _ in transitions)
            self._lifecycles.append(
                # A failure without a time gets the time of its event.
                _lifecycle(lifecycle, None if has_failed else event.timestamp, records)
            )
            self._transitions += transitions
            return "lifecycles"
        if (profile := event.task_profile_events) is not None:
            if profile.profile_events is None:
                return None
            entries = [
                (
                    len(self._profiles),
                    one.event_name,
                    _int64(one.start_time),
                    _int64(one.end_time),
                    one.extra_data,
                )
                for one in profile.profile_events.events
            ]
            component = profile.profile_events
            self._profiles.append(
                (
                    profile.task_id,
                    profile.attempt_number,
                    profile.job_id,
                    component.component_type,
                    component.component_id,
                )
            )
            self._entries += entries
            return "profiles"
        if (definition := event.task_definition_event or event.actor_task_definition_event) is not None:
            self._definitions.append(_definition(definition, records))
            return "definitions"
        for part in _ENTITY_PARTS:
            content = getattr(event, part)
            if content is not None:
                entity = checked(CONVERTERS[part](content))
                records.entities += [entity, *lost_drivers([entity])]
                for key, number in unnamed(content):
                    count(records, f"enum {part}.{key} {number}")
                return None
        if event.platform_event is not None:
            records.entities.append(platform_event(event))
        else:
            count(records, f"event type {event.event_type}")
        return None

    def finish(self) -> None:
        """Convert the collected events to columns."""
        if self._definitions:
            unreadable = add_definitions(_columns(self._definitions, _DEFINITION), self.events)
            self._set_aside("definitions", unreadable)
        if self._lifecycles:
            rows, states, times = _columns(self._transitions, _TRANSITION).values()
            fields = _columns(self._lifecycles, _LIFECYCLE)
            self._set_aside(
                "lifecycles", add_lifecycles(fields, np.asarray(rows), np.asarray(states), times, self.events)
            )
        if self._profiles:
            entries = _columns(self._entries, _ENTRY)
            rows = np.asarray(entries.pop("row"))
            self._set_aside(
                "profiles", add_profiles(_columns(self._profiles, _PROFILE), rows, entries, self.events)
            )

    def _set_aside(self, kind: str, unreadable: Unreadable) -> None:
        for row, why in unreadable.items():
            self.events.set_aside(_raw(self._sources[kind][row]), why)


def _raw(source: Event | bytes) -> bytes:
    return source if isinstance(source, bytes) else msgspec.json.encode(source)


def _columns(rows: list[tuple[Any, ...]], schema: pa.Schema) -> dict[str, pa.Array]:
    columns = zip(*rows, strict=True) if rows else ((),) * len(schema)
    return {field.name: pa.array(column, field.type) for field, column in zip(schema, columns, strict=True)}


_DEFINITION = pa.schema(
    [
        *(("task_id", pa.binary()), ("attempt", pa.int32()), ("job_id", pa.binary())),
        *((name, pa.binary()) for name in ("parent_task_id", "actor_id", "placement_group_id")),
        *(
            (name, pa.string())
            for name in (
                *("name", "func_name", "module_name", "function_hash", "type", "language", "call_site"),
                *("required_resources", "label_selector", "runtime_env"),
            )
        ),
    ]
)
_LIFECYCLE = pa.schema(
    [
        *(("task_id", pa.binary()), ("attempt", pa.int32()), ("job_id", pa.binary())),
        *(("node_id", pa.binary()), ("worker_id", pa.binary()), ("worker_pid", pa.int32())),
        *((name, pa.string()) for name in ("actor_repr_name", "stdout_file", "stderr_file")),
        *((name, pa.int64()) for name in ("stdout_start", "stdout_end", "stderr_start", "stderr_end")),
        *(("error_type", pa.string()), ("error_message", pa.string()), ("event_ns", pa.int64())),
    ]
)
_TRANSITION = pa.schema([("row", pa.int64()), ("state", pa.int32()), ("time_ns", pa.int64())])
_PROFILE = pa.schema(
    [
        *(("task_id", pa.binary()), ("attempt", pa.int32()), ("job_id", pa.binary())),
        *(("component_type", pa.string()), ("component_id", pa.binary())),
    ]
)
_ENTRY = pa.schema(
    [
        *(("row", pa.int64()), ("event_name", pa.string()), ("start_time", pa.int64())),
        *(("end_time", pa.int64()), ("extra_data", pa.string())),
    ]
)


def _name(value: Enum, enum: str, batch: RecordBatch) -> str:
    """The name of an enum value, or its number if Ray has no name for it."""
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


def _definition(event: TaskDefinition, records: RecordBatch) -> tuple[Any, ...]:
    function = _function(event.task_func or event.actor_func)
    environment = event.serialized_runtime_env or (
        event.runtime_env_info.serialized_runtime_env if event.runtime_env_info else ""
    )
    return (
        event.task_id,
        event.task_attempt,
        event.job_id,
        event.parent_task_id,
        event.actor_id,
        event.placement_group_id,
        event.task_name or event.actor_task_name,
        function_name(function.class_name, function.function_name) or "",
        function.module_name,
        function.function_hash,
        _name(event.task_type, "TaskType", records),
        _name(event.language, "Language", records),
        event.call_site or "",
        canonical_json(event.required_resources),
        canonical_json(event.label_selector) if event.label_selector else None,
        redact_runtime_env(environment),
    )


def _int64(value: Int64) -> int:
    number = int(value)
    if not -(2**63) <= number < 2**63:
        raise ValueError("a number of more than 64 bits")
    return number


def _transitions(event: TaskLifecycle, row: int, records: RecordBatch) -> list[tuple[int, int, int]]:
    """For each transition: the row of its event, the number of its state, and its time in ns."""
    pairs = [(_state(int(number), records), timestamp) for number, timestamp in event.task_state.items()]
    pairs += [(_state(each.state, records), each.timestamp) for each in event.state_transitions]
    return [(row, state, parse_ns(timestamp)) for state, timestamp in pairs]


def _state(value: Enum, records: RecordBatch) -> int:
    """The number of a state, or 0 if it is unknown."""
    number = value if isinstance(value, int) else _STATES.get(value, -1)
    if number in _NUMBERS:
        return number
    count(records, f"enum TaskStatus {value}"[:200])
    return 0


def _lifecycle(event: TaskLifecycle, event_time: str | None, records: RecordBatch) -> tuple[Any, ...]:
    error, log = event.ray_error_info, event.task_log_info or TaskLogInfo()
    return (
        event.task_id,
        event.task_attempt,
        event.job_id,
        event.node_id,
        event.worker_id,
        event.worker_pid,
        event.actor_repr_name or "",
        # Ray 2.56 sends 0 and '' for unknown values. A real offset is never 0, because a worker's log files
        # start with a line about its job.
        log.stdout_file,
        log.stderr_file,
        *map(_int64, (log.stdout_start, log.stdout_end, log.stderr_start, log.stderr_end)),
        *(
            (None, None, None)
            if error is None
            else (
                _name(error.error_type, "ErrorType", records),
                error.error_message,
                None if event_time is None else parse_ns(event_time),
            )
        ),
    )


def _count_unknown_keys(body: bytes, events: SessionEvents) -> None:
    """Decode one event of the body in full and count keys that are neither read nor ignored on purpose.

    A sample is enough: a full check of a batch costs more than decoding it, and a field that is new in Ray
    appears in every event of its kind, so it is found within a few batches.
    """
    with suppress(*ERRORS, ZeroDivisionError):  # only a check: invalid events are counted elsewhere
        raws = _RAW_DECODER.decode(_camel_case(body) if _is_snake(body) else body)
        sample = msgspec.json.decode(raws[len(body) % len(raws)])
        for key in _unknown_keys(sample, Event):
            count(events.records, f"field {key}"[:200])


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
    """JSON names of a message's fields -> the message type that each contains, if any."""
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
            return raw  # decoding it will report the error

    try:
        return b"[" + b",".join(map(convert_event, split(body))) + b"]"
    except BatchTooLarge:
        raise
    except ValueError as error:
        raise MalformedBatch(f"not a JSON array of Ray events: {error}") from error


def _camel(key: str) -> str:
    head, *tail = key.split("_")
    return head + "".join(word.capitalize() for word in tail)
