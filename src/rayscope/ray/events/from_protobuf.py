"""Converts Ray's exported event batches from protobuf to columns.

A body is a ``ray.rpc.events.RayEventsData``, which Ray's agents exchange among themselves. Concatenated
protobuf messages form one message, so all bodies are parsed as one. Then all events of a kind are converted
together: ptars turns them into Arrow columns in native code. Rare kinds of events, and malformed ones, go
through protobuf's JSON mapping to the JSON decoder.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from ptars import HandlerPool

from rayscope.ray.common import canonical_json, redact_runtime_env
from rayscope.ray.events import from_json, schema
from rayscope.ray.events.batch_format import Batch, BatchTooLarge, Format, MalformedBatch, check_count
from rayscope.ray.events.columns import (
    END_NS,
    FAILED,
    Array,
    SessionEvents,
    Unreadable,
    add_definitions,
    add_lifecycles,
    add_profiles,
    map_values,
)
from rayscope.ray.events.json_types import Event
from rayscope.ray.events.schema import UNION, as_json, compile_messages, enum_names, unknown_fields
from rayscope.ray.events.tasks import count, dropped, function_name, problem

T = TypeVar("T")

_Data = UNION["RayEventsData"]
_RayEvent = UNION["RayEvent"]
#: The concatenated events of a body. Protobuf parses them as one message, whose fields hold the values of all
#: events.
_Joined = compile_messages(
    """
message Joined {
  repeated int32 event_type = 3; repeated bytes session_name = 7; repeated bytes task_definition_event = 8;
  repeated bytes task_lifecycle_event = 9; repeated bytes actor_task_definition_event = 10;
  repeated bytes task_profile_events = 11; repeated int32 end = 1000;
}
message Sessions { repeated bytes session_name = 7; repeated int32 end = 1000; }
"""
)
#: Maximum size of a body, in bytes. It limits the memory for parsing, in which an empty message of two bytes
#: takes 60 bytes. Agents send 4 MB, or more if Ray passed more to them at once.
_MAX_BYTES = 16 << 20
#: Maximum number of names in one map of an event, such as resources or labels. Real events have a few.
_MAX_NAMES = 10_000
#: The field ``end`` in binary form. It is appended to each event, because a truncated event would consume it.
_END = b"\xc0\x3e\x01"
_HANDLERS = HandlerPool([_RayEvent.DESCRIPTOR.file])
# Values of ``RayEvent.EventType``.
_DEFINITION = 1
_LIFECYCLE = 2
_ACTOR_DEFINITION = 3
_PROFILE = 4
_TYPES = enum_names("TaskType")
_LANGUAGES = enum_names("Language")
_ERRORS = enum_names("ErrorType")
#: Exceptions that an unreadable event can raise, here or while it is decoded through JSON.
ERRORS: tuple[type[Exception], ...] = (*schema.ERRORS, *from_json.ERRORS, msgspec.MsgspecError)


def check(body: bytes) -> Batch:
    """Check a serialized RayEventsData. Raises :class:`MalformedBatch` if it is not one at all."""
    if len(body) > _MAX_BYTES:
        raise BatchTooLarge(f"A binary batch may have at most {_MAX_BYTES >> 20} MiB.")
    try:
        data = _Data.FromString(body)
    except schema.ERRORS as error:
        raise MalformedBatch(f"not a RayEventsData: {error}") from error
    check_count(len(data.events))
    check_count(len(data.task_events_metadata.dropped_task_attempts))
    raws = data.events[:]
    if body and not raws and not data.HasField("task_events_metadata"):
        raise MalformedBatch("not a RayEventsData: it has no events")
    try:
        joined = _Joined["Sessions"].FromString(_END.join((*raws, b"")))
        if {len(joined.session_name), len(joined.end)} != {len(raws)}:
            raise ValueError("an event without a session, with two, or cut short")
        names = [name.decode() for name in dict.fromkeys(joined.session_name[:])]
    except schema.ERRORS:
        names = _sessions_one_by_one(raws)
    return Batch(body, Format.BINARY, names, len(raws))


def _sessions_one_by_one(raws: Sequence[bytes]) -> list[str]:
    names: dict[str, None] = {}
    why: Exception | None = None
    for raw in raws:
        try:
            names[_RayEvent.FromString(raw).session_name] = None
        except schema.ERRORS as error:
            why = error
    if not names and why is not None:
        raise MalformedBatch(problem(why)) from why
    return list(names)


def decode(bodies: Sequence[bytes], session: str) -> SessionEvents:
    """Decode the bodies of one session."""
    events = SessionEvents(session)
    others = from_json.Rows(events)
    data = _Data.FromString(b"".join(bodies))
    raws = data.events[:]
    _add_events(raws, events, others)
    others.finish()
    for attempt in data.task_events_metadata.dropped_task_attempts[:]:
        try:
            events.records.attempts.append(dropped(attempt.task_id, attempt.attempt_number))
        except ValueError as error:
            count(events.records, problem(error))
    if raws:
        _count_unknown(data, raws[len(raws) // 2], events)
    return events


def split(body: bytes) -> list[bytes]:
    """The events of a serialized RayEventsData, each as one message.

    The first message also has the dropped attempts.
    """
    data = _Data.FromString(body)
    pieces = [join([raw]) for raw in data.events]
    if data.HasField("task_events_metadata"):
        alone = bytes(_Data(task_events_metadata=data.task_events_metadata).SerializeToString())
        pieces[:1] = [b"".join([*pieces[:1], alone])]
    return pieces


def join(raws: Sequence[bytes]) -> bytes:
    """Join serialized events into one RayEventsData."""
    return bytes(_Data(events=raws).SerializeToString())


def node_id(body: bytes) -> bytes:
    """ID of the node that sent the first event, b"" if it is not stated."""
    raws = _Data.FromString(body).events
    return bytes(_RayEvent.FromString(raws[0]).node_id) if raws else b""


def _add_events(raws: Sequence[bytes], events: SessionEvents, others: from_json.Rows) -> None:
    session = events.session.encode()
    apart, odd = _read_most(raws, functools.partial(_take_apart, session=session))
    for at in odd:
        _add_by_json(raws[at], others)
    if apart is None:
        return
    kinds, parts = apart
    raws = _without(raws, odd)
    for kind, message, add in _KINDS:
        of_kind = [raws[at] for at in np.flatnonzero(kinds == kind).tolist()]
        events.records.events += len(of_kind)
        _add_kind(of_kind, parts[kind], message, add, events)
    for at in np.flatnonzero(~np.isin(kinds, list(parts))).tolist():
        _add_by_json(raws[at], others)


def _take_apart(raws: Sequence[bytes], *, session: bytes) -> tuple[Array, dict[int, Sequence[bytes]]]:
    """The kind of each event, and the contents of task events by kind.

    Raises one of :data:`schema.ERRORS` if one of the events is malformed.
    """
    joined = _Joined["Joined"].FromString(_END.join((*raws, b"")))
    if {len(joined.session_name), len(joined.event_type), len(joined.end)} != {len(raws)}:
        raise ValueError("an event without a kind or a session, with two, or cut short")
    kinds: Array = np.array(joined.event_type[:], np.int32)
    if joined.session_name[:].count(session) != len(raws):
        raise ValueError("an event of another session")
    parts = {
        _DEFINITION: joined.task_definition_event[:],
        _LIFECYCLE: joined.task_lifecycle_event[:],
        _ACTOR_DEFINITION: joined.actor_task_definition_event[:],
        _PROFILE: joined.task_profile_events[:],
    }
    if any(len(parts[kind]) != np.count_nonzero(kinds == kind) for kind in parts):
        raise ValueError("an event whose content is not that of its kind")
    return kinds, parts


def _read_most(
    items: Sequence[bytes], read: Callable[[Sequence[bytes]], T]
) -> tuple[T | None, Mapping[int, str]]:
    """The result for all readable items, and the index and error of each unreadable one."""
    try:
        return (read(items) if items else None), {}
    except schema.ERRORS:
        failing = _failing(items, read)
    rest = _without(items, failing)
    return (read(rest) if rest else None), failing


def _failing(items: Sequence[bytes], read: Callable[[Sequence[bytes]], Any]) -> dict[int, str]:
    """Index and error of each unreadable item. Bisects, because decoding many items at once is cheap."""
    try:
        read(items)
    except schema.ERRORS as error:
        if len(items) == 1:
            return {0: f"{type(error).__name__}: {error}"}
        half = len(items) // 2
        behind = _failing(items[half:], read)
        return _failing(items[:half], read) | {half + at: why for at, why in behind.items()}
    return {}


def _without(items: Sequence[bytes], places: Mapping[int, str]) -> Sequence[bytes]:
    return [item for at, item in enumerate(items) if at not in places] if places else items


def _add_by_json(raw: bytes, others: from_json.Rows) -> None:
    """Decode an event through JSON. Slow, but it handles everything that the JSON decoder does."""
    try:
        event = msgspec.convert(as_json(_RayEvent.FromString(raw)), Event)
    except ERRORS as error:
        others.events.set_aside(raw, f"{type(error).__name__}: {error}")
    else:
        others.add(event, raw)


def _count_unknown(data: Any, raw: bytes, events: SessionEvents) -> None:
    """Count the unknown fields of one event."""
    with suppress(*schema.ERRORS):  # unreadable events are counted elsewhere
        for message in (data, _RayEvent.FromString(raw)):
            for name in unknown_fields(message):
                count(events.records, f"field {name}")


def _add_kind(
    raws: Sequence[bytes],
    parts: Sequence[bytes],
    message: str,
    add: Callable[..., Unreadable],
    events: SessionEvents,
) -> None:
    """Add the events of one kind, skipping those whose content protobuf cannot parse."""
    columns, unreadable = _read_most(parts, functools.partial(_read, message=message))
    for at, why in unreadable.items():
        events.set_aside(raws[at], why)
    if columns is None:
        return
    raws = _without(raws, unreadable)
    for row, why in add(columns, raws, events).items():
        events.set_aside(raws[row], why)


def _read(parts: Sequence[bytes], message: str) -> Any:
    """Parse messages of a kind into an Arrow record batch. Raises one of :data:`schema.ERRORS`."""
    try:
        return _HANDLERS.get_for_message(UNION[message].DESCRIPTOR).list_to_record_batch(list(parts))
    except BaseException as error:
        # A panic in Rust, caused by a length of nearly 2**64, is not an Exception.
        if type(error).__name__ == "PanicException":
            raise ValueError(f"ptars: {error}") from error
        raise


def _definitions(columns: Any, raws: Sequence[bytes], events: SessionEvents) -> Unreadable:
    is_actors = "actor_id" in columns.schema.names
    functions = columns["actor_func" if is_actors else "task_func"]
    python = functions.field("python_function_descriptor")
    language = [functions.field(f"{name}_function_descriptor") for name in ("python", "java", "cpp")]

    def named(field: str) -> Any:
        return pc.fill_null(pc.coalesce(*(pc.struct_field(one, field) for one in language)), "")

    environments = pc.struct_field(columns["runtime_env_info"], "serialized_runtime_env").fill_null("")
    serialized, selectors = columns["serialized_runtime_env"], _maps(columns["label_selector"])
    same = ("task_id", "job_id", "parent_task_id", "placement_group_id", "call_site")
    fields = {
        **{name: columns[name] for name in same},
        "attempt": columns["task_attempt"],
        "name": columns["actor_task_name" if is_actors else "task_name"],
        "actor_id": columns["actor_id"] if is_actors else pa.repeat(pa.scalar(b""), len(raws)),
        "func_name": _function_names(named("class_name"), named("function_name")),
        "module_name": pc.struct_field(python, "module_name").fill_null(""),
        "function_hash": pc.struct_field(python, "function_hash").fill_null(""),
        "type": pa.repeat("ACTOR_TASK", len(raws))
        if is_actors
        else _names(columns["task_type"], "TaskType", _TYPES, events),
        "language": _names(columns["language"], "Language", _LANGUAGES, events),
        "required_resources": _maps(columns["required_resources"]),
        "label_selector": pc.if_else(pc.equal(selectors, "{}"), None, selectors),
        "runtime_env": map_values(
            pc.if_else(pc.equal(serialized, ""), environments, serialized), redact_runtime_env
        ),
    }
    return add_definitions(fields, events)


def _function_names(classes: Any, functions: Any) -> Any:
    """Each function's name, see :func:`rayscope.ray.events.tasks.function_name`."""
    both = pc.binary_join_element_wise(classes, functions, "\0")
    return map_values(both, lambda text: function_name(*text.split("\0", 1)) or "")


def _lifecycles(columns: Any, raws: Sequence[bytes], events: SessionEvents) -> Unreadable:
    transitions = columns["state_transitions"]
    rows = np.asarray(pc.list_parent_indices(transitions))
    flat = pc.list_flatten(transitions)
    states = np.asarray(pc.struct_field(flat, "state"))
    errors = columns["ray_error_info"]
    messages = pc.struct_field(errors, "error_message")
    size = len(raws)
    of_event: list[int | None] = [None] * size
    failed = np.zeros(size, bool)
    failed[rows[states == FAILED]] = True
    for row in pc.indices_nonzero(pc.and_(messages.is_valid(), pa.array(~failed))).to_pylist():
        # A failure without a time gets the time of its event.
        of_event[row] = _event_ns(raws[row])
    types = _names(pc.struct_field(errors, "error_type").fill_null(0), "ErrorType", _ERRORS, events)
    logs = columns["task_log_info"]
    fields = {
        **{name: columns[name] for name in ("task_id", "job_id", "node_id", "worker_id", "worker_pid")},
        "attempt": columns["task_attempt"],
        "actor_repr_name": columns["actor_repr_name"],
        **{name: pc.struct_field(logs, name).fill_null("") for name in ("stdout_file", "stderr_file")},
        **{
            name: pc.struct_field(logs, name).fill_null(0)
            for name in ("stdout_start", "stdout_end", "stderr_start", "stderr_end")
        },
        "error_type": pc.if_else(messages.is_valid(), types, None),
        "error_message": messages,
        "event_ns": pa.array(of_event, pa.int64()),
    }
    times = pc.struct_field(flat, "timestamp").cast(pa.int64())
    return add_lifecycles(fields, rows, states, times, events)


def _event_ns(raw: bytes) -> int:
    """Time of an event in ns, or -1 if it is not stated."""
    with suppress(*schema.ERRORS):
        event = _RayEvent.FromString(raw)
        if event.HasField("timestamp"):
            return int(max(-1, min(event.timestamp.seconds * 10**9 + event.timestamp.nanos, END_NS)))
    return -1


def _profiles(columns: Any, raws: Sequence[bytes], events: SessionEvents) -> Unreadable:
    profile = columns["profile_events"]
    lists = pc.struct_field(profile, "events")
    flat = pc.list_flatten(lists)
    fields = {
        **{name: columns[name] for name in ("task_id", "job_id")},
        "attempt": columns["attempt_number"],
        "component_type": pc.struct_field(profile, "component_type").fill_null(""),
        "component_id": pc.struct_field(profile, "component_id").fill_null(b""),
    }
    names = ("event_name", "start_time", "end_time", "extra_data")
    entries = {name: pc.struct_field(flat, name) for name in names}
    return add_profiles(fields, np.asarray(pc.list_parent_indices(lists)), entries, events)


_KINDS = (
    (_DEFINITION, "TaskDefinitionEvent", _definitions),
    (_LIFECYCLE, "TaskLifecycleEvent", _lifecycles),
    (_ACTOR_DEFINITION, "ActorTaskDefinitionEvent", _definitions),
    (_PROFILE, "TaskProfileEvents", _profiles),
)


def _names(numbers: Any, enum: str, names: dict[int, str], events: SessionEvents) -> Any:
    """The names of enum numbers. A number without a name is counted, and becomes a string."""
    encoded = numbers.dictionary_encode()
    values = encoded.dictionary.to_pylist()
    for value in values:
        if value not in names:
            count(events.records, f"enum {enum} {value}", pc.sum(pc.equal(numbers, value)).as_py())
    return pa.array([names.get(value, str(value)) for value in values], pa.string()).take(encoded.indices)


def _maps(maps: Any) -> Any:
    """Convert maps to JSON, once per distinct map. Maps that are too large or invalid in JSON become ''."""
    is_small = pa.array(np.diff(np.asarray(maps.offsets)) <= _MAX_NAMES)

    @functools.cache
    def text(items: tuple[tuple[str, Any], ...]) -> str:
        is_finite = all(isinstance(value, str) or math.isfinite(value) for _, value in items)
        return canonical_json(dict(items)) if is_finite else ""

    texts = pa.array([text(tuple(items)) for items in maps.filter(is_small).to_pylist()], pa.string())
    return pc.replace_with_mask(pa.repeat("", len(maps)), is_small, texts)
