"""Tasks' events in protobuf to records: the fast way, which most events take.

protobuf's parser takes a batch apart, but reading an attribute of its messages costs 50 ns and more. So all
events of a body are read as one message with columns, see :class:`Columns`. In the parts, what repeats - a
task's definition without its ids, a worker's report without its times - is handed on as bytes, and these are
the key under which the record made of them is kept. What does not repeat is read at its place.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from rayscope.model import Attempt, RecordBatch, TaskError
from rayscope.ray.common import canonical_json, clean_error, redact_runtime_env
from rayscope.ray.events import profiles_protobuf, schema
from rayscope.ray.events.schema import UNION, compile_messages, enum_names
from rayscope.ray.events.tasks import function_name, hex_id, told_by

#: The events of a body, joined: to protobuf they are one message, and each field holds what all of them tell.
_Events = compile_messages(
    """
message Events {
  repeated int32 event_type = 3; repeated bytes session_name = 7; repeated bytes task_definition_event = 8;
  repeated bytes task_lifecycle_event = 9; repeated bytes actor_task_definition_event = 10;
  repeated bytes task_profile_events = 11; repeated int32 end = 1000;
}
"""
)["Events"]
#: The field ``end``, which stands behind each event: one that is cut short would take from it.
_END = b"\xc0\x3e\x01"
#: Cheaper than ``copy.copy`` and ``replace``; dictionaries are shared, so they must be set anew.
_copy: Callable[[Attempt], Attempt] = Attempt.__copy__  # type: ignore[attr-defined]
_Lifecycle = UNION["TaskLifecycleEvent"]
_TaskDefinition = UNION["TaskDefinitionEvent"]
_ActorTaskDefinition = UNION["ActorTaskDefinitionEvent"]
_LogInfo = UNION["TaskLogInfo"]
_Transition = UNION["TaskStateTransition"]
_KINDS = _DEFINITION, _LIFECYCLE, _ACTOR_DEFINITION, _PROFILE = 1, 2, 3, 4  # ``RayEvent.EventType``
_TASK_STATUS = enum_names("TaskStatus")
_TASK_TYPE = enum_names("TaskType")
_LANGUAGE = enum_names("Language")
_ERROR_TYPE = enum_names("ErrorType")
_MAX_SECONDS = 9_223_372_035  # 64-bit ns end in April 2262
_MAX_NANOS = 999_999_999
# On the wire a field begins with its number and type. How a task's event begins (field 1, 24 bytes: its id),
# what may follow in a lifecycle event, and the id of its parent in a definition (field 10, 24 bytes).
_TASK_ID, _ATTEMPT, _TRANSITION, _ERROR, _PARENT_ID = b"\n\x18", 0x10, 0x1A, 0x22, b"R\x18"
#: What may repeat is kept if it has at most so many bytes, and of each sort the last so many.
_MAX_KEPT_BYTES, _KEPT = 4096, 2048
#: A report that names a log file has at least so many bytes; how the last name ends, and what follows it.
_MIN_WITH_LOG, _LOG_SUFFIX, _MAX_OFFSETS = 100, b".err", 64
#: A transition up to the tag of its nanoseconds, and the five bytes that these take, or four and one more.
_TRANSITION_PARTS = struct.Struct("<13sHHB").unpack_from
#: Two bytes of a varint to what they are worth: the first two and the next two, if more follow, and the
#: last two behind two others. None for bytes that cannot stand there.
_FIRST: list[Any] = [None] * 65_536
_NEXT: list[Any] = [None] * 65_536
_LAST: list[Any] = [None] * 65_536
for _low in range(128):
    for _high in range(128):
        _bits = _high << 7 | _low
        _FIRST[0x8080 | _high << 8 | _low] = _bits
        _NEXT[0x8080 | _high << 8 | _low] = _LAST[0x80 | _high << 8 | _low] = _bits << 14
_Offsets: TypeAlias = "tuple[tuple[str, int], ...]"
#: What is raised for an event that the fast way does not read.
ERRORS: tuple[type[Exception], ...] = (
    *schema.ERRORS,
    *(KeyError, TypeError, AttributeError, IndexError, struct.error),
)


class _Kept(dict[bytes, Any]):
    """What was made of bytes; quicker to ask than ``lru_cache``, and as small."""

    def __init__(self, make: Callable[[bytes], Any]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, raw: bytes) -> Any:
        made = self._make(raw)
        if len(self) >= _KEPT:
            self.clear()
        self[raw] = made
        return made


class Columns:
    """Serialised events of one session, the parts of each kind together.

    Raises one of :data:`ERRORS` if that cannot be done, for instance for events of several sessions. Then one
    of them alone may still do.
    """

    def __init__(self, raws: Sequence[bytes]) -> None:
        events = _Events.FromString(_END.join((*raws, b"")))
        names = events.session_name[:]
        self.raws = raws
        #: One of ``RayEvent.EventType`` for each event.
        self.kinds: list[int] = events.event_type[:]
        self.definitions: list[bytes] = events.task_definition_event[:]
        self.lifecycles: list[bytes] = events.task_lifecycle_event[:]
        self.actor_definitions: list[bytes] = events.actor_task_definition_event[:]
        self.profiles: list[bytes] = events.task_profile_events[:]
        (name,) = set(names)
        self.session = name.decode()
        if {len(names), len(self.kinds), len(events.end)} != {len(raws)}:
            raise ValueError("an event without a kind or a session, with two, or cut short")
        parts = (self.definitions, self.lifecycles, self.actor_definitions, self.profiles)
        if [len(part) for part in parts] != [self.kinds.count(kind) for kind in _KINDS]:
            raise ValueError("an event whose content is not that of its kind")


def add(events: Columns, batch: RecordBatch) -> list[bytes]:
    """Add the records of events; returns those of which it added nothing, which are to be read otherwise."""
    left = {
        _DEFINITION: _add(_definition, events.definitions, batch),
        _LIFECYCLE: _add(_lifecycle, events.lifecycles, batch),
        _ACTOR_DEFINITION: _add(_actor_definition, events.actor_definitions, batch),
        _PROFILE: profiles_protobuf.add(events.profiles, batch),
    }
    kinds = events.kinds
    positions = [position for position, kind in enumerate(kinds) if kind not in left]
    for kind, given_up in left.items():
        if given_up:
            of_kind = [position for position, other in enumerate(kinds) if other == kind]
            positions += [of_kind[number] for number in given_up]
    return [events.raws[position] for position in sorted(positions)]


def _add(convert: Callable[[bytes], Attempt], raws: Sequence[bytes], batch: RecordBatch) -> list[int]:
    """Returns the positions of those that are not as usual."""
    given_up = []
    add = batch.attempts.append
    for position, raw in enumerate(raws):
        try:
            add(convert(raw))
        except ERRORS:
            given_up.append(position)
    return given_up


def _lifecycle(raw: bytes) -> Attempt:
    if raw[:2] != _TASK_ID:
        raise ValueError("it does not begin with a task id")
    task_id = raw[2:26].hex()
    at, number = 26, 0
    if raw[26] == _ATTEMPT:
        at, number = 28, raw[27]
        if number > 127:
            raise ValueError("more attempts than one byte can count")
    states: dict[str, int] = {}
    while raw[at] == _TRANSITION:
        head, low, high, top = _TRANSITION_PARTS(raw, at)
        state, second_ns, digits = _MOMENTS[head]
        if digits == 5:
            nanos = _FIRST[low] + _NEXT[high] + top * 268_435_456
        elif digits < 4:  # within two thousandths of a second's begin
            nanos = _Transition.FromString(raw[at + 2 : at + 13 + digits]).timestamp.nanos
        else:
            nanos = _FIRST[low] + _LAST[high]
        if nanos > _MAX_NANOS:
            raise ValueError("more than a second")
        at += 13 + digits
        time_ns = second_ns + nanos
        if state not in states or time_ns < states[state]:
            states[state] = time_ns
    rest = raw[at:]
    if len(rest) < _MIN_WITH_LOG:
        attempt = _copy(_REPORTS[rest])
        attempt.task_id, attempt.attempt, attempt.states, attempt.phases = task_id, number, states, {}
    else:
        report, offsets = _long_report(rest)
        attempt = _copy(report)
        attempt.task_id, attempt.attempt, attempt.states, attempt.phases = task_id, number, states, {}
        for name, value in offsets:
            setattr(attempt, name, value)
    if attempt.error is not None:
        # A failure that does not say when has the time of the event: that is left to the slow way.
        attempt.error = attempt.error._replace(time_ns=states["FAILED"])
    if raw[2] == 0xFF:
        attempt.type, attempt.actor_id = told_by(task_id)
    return attempt


def _moment(raw: bytes) -> tuple[str, int, int]:
    """The state and the second (ns) that a transition tells, and how many bytes its nanoseconds take.

    ``raw``: the first 13 bytes of the transition, up to the tag of its nanoseconds.
    """
    size, state = raw[1], raw[3]
    digits = size - 11
    if raw[2:7] != bytes((8, state, 18, size - 4, 8)) or raw[12] != 16 or not 1 <= digits <= 5:
        raise ValueError("a transition with other fields than usual")
    seconds = _Transition.FromString(b"\x12\x06" + raw[6:12]).timestamp.seconds
    if not 0 <= seconds <= _MAX_SECONDS:
        raise ValueError("a time outside of 1970 to 2262")
    return _TASK_STATUS[state], seconds * 1_000_000_000, digits


def _report(raw: bytes) -> Attempt:
    """What follows the transitions in a lifecycle event: a worker says the same of most of its tasks."""
    return _reported(_Lifecycle.FromString(raw))


_MOMENTS, _REPORTS = _Kept(_moment), _Kept(_report)


def _long_report(raw: bytes) -> tuple[Attempt, _Offsets]:
    """The same where it is long: with an error, or with log files, whose names repeat but not the offsets."""
    if raw[0] == _ERROR or len(raw) > _MAX_KEPT_BYTES:
        return _reported(_Lifecycle.FromString(raw)), ()
    head, found, offsets = raw.rpartition(_LOG_SUFFIX)
    if not found or len(offsets) > _MAX_OFFSETS:
        return _REPORTS[raw], ()
    return _report_without_offsets(head, len(offsets)), _offsets(offsets)


@lru_cache(maxsize=_KEPT)
def _report_without_offsets(raw: bytes, cut: int) -> Attempt:
    """A report up to the last file name's suffix; behind that so many bytes of offsets were cut off."""
    # An unknown field of that length takes their place; it is one only if a field ended before it.
    filler = bytes((0x7A, cut - 2)) + bytes(cut - 2) if cut else b""
    event = _Lifecycle.FromString(raw + _LOG_SUFFIX + filler)
    if not event.task_log_info.stderr_file.endswith(_LOG_SUFFIX.decode()):
        raise ValueError("something else than the name of a log file was cut")
    return _reported(event)


@lru_cache(maxsize=_KEPT)
def _offsets(raw: bytes) -> _Offsets:
    return tuple((field.name, value) for field, value in _LogInfo.FromString(raw).ListFields())


def _reported(event: Any) -> Attempt:
    if event.task_id or event.task_attempt or event.state_transitions:
        raise ValueError("fields in another order than that of their numbers")
    attempt = Attempt(
        "",
        job_id=hex_id(event.job_id),
        node_id=hex_id(event.node_id),
        worker_id=hex_id(event.worker_id),
        worker_pid=event.worker_pid or None,
        actor_repr_name=event.actor_repr_name or None,
    )
    if event.HasField("ray_error_info"):
        error = event.ray_error_info
        attempt.error = TaskError(0, _ERROR_TYPE[error.error_type], clean_error(error.error_message))
    for field, value in event.task_log_info.ListFields():
        setattr(attempt, field.name, value)
    return attempt


def _definition(raw: bytes) -> Attempt:
    return _around_ids(raw, _definition_without_ids)


def _actor_definition(raw: bytes) -> Attempt:
    return _around_ids(raw, _actor_definition_without_ids)


def _around_ids(raw: bytes, kind: Any) -> Attempt:
    if raw[:2] != _TASK_ID:
        raise ValueError("it does not begin with a task id")
    # Tasks of one function differ in nothing but their own id and that of their parent.
    head, found, tail = raw[26:].partition(_PARENT_ID)
    parent = tail[:24]
    if found and len(parent) < 24:
        raise ValueError("it ends within an id")
    template = (kind if len(raw) <= _MAX_KEPT_BYTES else kind.__wrapped__)(head, tail[24:])
    attempt = _copy(template)
    attempt.task_id, attempt.parent_task_id = raw[2:26].hex(), hex_id(parent)
    attempt.states, attempt.phases = {}, {}
    if attempt.type == "ACTOR_CREATION_TASK":
        attempt.actor_id = attempt.task_id[16:]
    return attempt


@lru_cache(maxsize=_KEPT)
def _definition_without_ids(head: bytes, tail: bytes) -> Attempt:
    event = _read_around(_TaskDefinition, head, tail)
    attempt = _defined(event, event.task_func)
    attempt.name, attempt.type = event.task_name or None, _TASK_TYPE[event.task_type]
    return attempt


@lru_cache(maxsize=_KEPT)
def _actor_definition_without_ids(head: bytes, tail: bytes) -> Attempt:
    event = _read_around(_ActorTaskDefinition, head, tail)
    attempt = _defined(event, event.actor_func)
    attempt.name, attempt.type = event.actor_task_name or None, "ACTOR_TASK"
    attempt.actor_id = hex_id(event.actor_id)
    return attempt


def _read_around(message: Any, head: bytes, tail: bytes) -> Any:
    """A definition out of which the ids of the task (before ``head``) and of its parent (behind) were cut.

    Raises one of ``ERRORS`` if what was cut out is not a field: those bytes can also be part of another.
    """
    message.FromString(head)  # fails unless a field ends with it
    event = message.FromString(head + tail)
    if event.task_id or event.parent_task_id:
        raise ValueError("an id that comes twice, or in another length")
    return event


def _defined(event: Any, function: Any) -> Attempt:
    """What both kinds of definitions tell under one name."""
    resources = dict(event.required_resources)
    if not all(map(math.isfinite, resources.values())):
        raise ValueError("a number that JSON does not have")
    named = next((value for _, value in function.ListFields()), None)
    return Attempt(
        "",
        event.task_attempt,
        func_name=None if named is None else function_name(named.class_name, named.function_name),
        module_name=getattr(named, "module_name", None) or None,
        function_hash=getattr(named, "function_hash", None) or None,
        language=_LANGUAGE[event.language],
        job_id=hex_id(event.job_id),
        placement_group_id=hex_id(event.placement_group_id),
        required_resources=canonical_json(resources),
        label_selector=canonical_json(dict(event.label_selector)) if event.label_selector else None,
        runtime_env=redact_runtime_env(
            event.serialized_runtime_env or event.runtime_env_info.serialized_runtime_env
        ),
        call_site=event.call_site or None,
    )
