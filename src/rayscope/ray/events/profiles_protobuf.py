"""Profiles of tasks in protobuf to records, all of a body together.

Reading an attribute of one of protobuf's messages costs 50 ns and more, and a profile has twenty. But to
protobuf, messages after one another are one message, whose repeated fields hold what each of them tells, and
such a field becomes a list in one call. So the profiles of a body are joined, then what is in them, then the
entries in that, and each step gives columns. A mark behind the entries of each profile tells where it ends.

Where the columns do not agree, because a field was left out or told twice, profiles are read one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from rayscope.model import RecordBatch, Span
from rayscope.ray.common import RETURNED, STORE, TRACED, is_nil, phase_of
from rayscope.ray.events import schema, tracer
from rayscope.ray.events.schema import compile_messages
from rayscope.ray.events.tasks import TASK_ID_BYTES, add_profile, profiled, task_id_hex

_SCHEMA = compile_messages(
    """
message TaskProfileEvents {
  bytes task_id = 1; int32 attempt_number = 2; bytes job_id = 3; ProfileEvents profile_events = 4;
}
message ProfileEvents {
  string component_type = 1; bytes component_id = 2; repeated ProfileEventEntry events = 4;
}
message ProfileEventEntry {
  int64 start_time = 1; int64 end_time = 2; string extra_data = 3; string event_name = 4;
}
message Profiles {
  repeated bytes task_id = 1; repeated int32 attempt_number = 2; repeated bytes job_id = 3;
  repeated bytes profile_events = 4;
}
message Components {
  repeated string component_type = 1; repeated bytes component_id = 2; repeated bytes events = 4;
}
message Entries {
  repeated int64 start_time = 1; repeated int64 end_time = 2; repeated string extra_data = 3;
  repeated string event_name = 4;
}
"""
)
_Profile = _SCHEMA["TaskProfileEvents"]
_Profiles, _Components, _Entries = (_SCHEMA[name] for name in ("Profiles", "Components", "Entries"))
#: What is raised for a profile that cannot be read.
ERRORS: tuple[type[Exception], ...] = (
    *schema.ERRORS,
    *(TypeError, AttributeError, IndexError),
)
#: The name of no entry, and such an entry in protobuf, from 1 to 1 ns.
_MARK = "\0|"
_MARK_ENTRY = bytes((0x22, 10, 0x08, 1, 0x10, 1, 0x1A, 0, 0x22, 2)) + _MARK.encode()
_USUAL = ["task:deserialize_arguments", "task:execute", STORE]
_TOTAL = "task::"
#: The tag of an attempt's number, behind the task's id, and the place of it.
_NUMBER, _NUMBER_AT = 0x10, 26


#: Half as dear as ``Span(...)``.
_new_span = tuple.__new__


class _Columns(NamedTuple):
    """What the profiles of a body tell, one value for each of them; and behind the gap, for each entry."""

    task_ids: list[bytes]
    numbers: list[int]
    job_ids: list[bytes]
    component_types: list[str]
    component_ids: list[bytes]

    names: list[str]
    intervals: list[tuple[int, int]]
    extras: list[str]


class _Entry(NamedTuple):
    """A :class:`rayscope.ray.common.ProfileEntry`."""

    event_name: str
    start_time: int
    end_time: int
    extra_data: str


def add(raws: Sequence[bytes], batch: RecordBatch) -> list[int]:
    """Add the records of serialised ``TaskProfileEvents``.

    Returns the positions of those that cannot be read; of these nothing was added.
    """
    rest: Sequence[int] = range(len(raws))
    if len(raws) > 1:
        with suppress(*ERRORS):
            rest = _add_all(_columns(raws), batch)
    unread = []
    for position in rest:
        try:
            _add_one(raws[position], batch)
        except ERRORS:
            unread.append(position)
    return unread


def _columns(raws: Sequence[bytes]) -> _Columns:
    """Raises one of :data:`ERRORS` if the columns do not agree."""
    profiles = _Profiles.FromString(b"".join(raws))
    components = _Components.FromString(_MARK_ENTRY.join((*profiles.profile_events, b"")))
    entries = components.events[:]
    columns = _Entries.FromString(b"".join(entries))
    begins, ends, extras = columns.start_time[:], columns.end_time[:], columns.extra_data[:]
    read = _Columns(
        profiles.task_id[:],
        _numbers(raws, profiles.attempt_number[:]),
        profiles.job_id[:],
        components.component_type[:],
        components.component_id[:],
        columns.event_name[:],
        list(zip(begins, ends, strict=False)),  # compared below
        extras,
    )
    if (
        {len(column) for column in read[:5]} != {len(raws)}
        or {len(entries), len(begins), len(ends), len(extras)} != {len(read.names)}
        or read.names.count(_MARK) != len(raws)
    ):
        raise ValueError("something comes twice, or is missing")
    return read


def _numbers(raws: Sequence[bytes], told: list[int]) -> list[int]:
    """The number of each attempt from those that are ``told``: protobuf does not write zeros."""
    if not told:
        return [0] * len(raws)
    if len(told) == len(raws):
        return told
    numbers = [raw[_NUMBER_AT + 1] if raw[_NUMBER_AT] == _NUMBER else 0 for raw in raws]
    if max(numbers) > 127 or len(numbers) - numbers.count(0) != len(told):
        raise ValueError("numbers that one byte cannot hold, or that stand elsewhere")
    return numbers


def _add_all(read: _Columns, batch: RecordBatch) -> list[int]:
    """Add what the columns tell; returns the positions of profiles that cannot be read."""
    names, intervals, unread, begin = read.names, read.intervals, [], 0
    of_each = zip(*read[:5], strict=True)
    for position, (task_id, number, job_id, component_type, component_id) in enumerate(of_each):
        end = names.index(_MARK, begin)
        entries, last, begin = begin, end - 1, end + 1
        task = task_id.hex()
        if (
            not 4 <= end - entries <= 5
            or names[entries : entries + 3] != _USUAL
            or not names[last].startswith(_TOTAL)
            or len(task_id) != TASK_ID_BYTES
            or task_id[0] == 0xFF
            or (end - entries == 5 and names[last - 1] != RETURNED)
        ):
            if _add_spans(read, slice(entries, end), task, number, batch):
                continue
            try:
                add_profile(
                    batch,
                    task_id_hex(task_id),
                    number,
                    job_id,
                    component_type,
                    component_id,
                    [_entry(read, at) for at in range(entries, end)],
                )
            except ERRORS:
                unread.append(position)
            continue
        outcome = tracer.NOTHING_TOLD
        if end - entries == 5:
            told = _entry(read, last - 1)
            outcome = tracer.add([told], task, number, component_id, batch)
        phases = {
            "deserialize": intervals[entries],
            "execute": intervals[entries + 1],
            "store": intervals[entries + 2],
            "total": intervals[last],
        }
        batch.attempts.append(profiled(task, number, job_id, component_type, component_id, phases, outcome))
    return unread


def _entry(read: _Columns, at: int) -> _Entry:
    return _Entry(read.names[at], *read.intervals[at], read.extras[at])


def _add_spans(read: _Columns, entries: slice, task: str, number: int, batch: RecordBatch) -> bool:
    """Add entries that all are spans and nothing else; returns whether they are.

    A driver's profile has hundreds of them, one for each task that it submits.
    """
    names = read.names[entries]
    different = set(names)
    if len(task) != 2 * TASK_ID_BYTES or is_nil(task) or different & TRACED or any(map(phase_of, different)):
        return False
    batch.spans.extend(
        [
            _new_span(Span, (task, number, name, *interval, "" if extra == "{}" else extra))
            for name, interval, extra in zip(
                names, read.intervals[entries], read.extras[entries], strict=True
            )
        ]
    )
    return True


def _add_one(raw: bytes, batch: RecordBatch) -> None:
    profile: Any = _Profile.FromString(raw)
    component = profile.profile_events
    add_profile(
        batch,
        task_id_hex(profile.task_id),
        profile.attempt_number,
        profile.job_id,
        component.component_type,
        component.component_id,
        component.events[:],
    )
