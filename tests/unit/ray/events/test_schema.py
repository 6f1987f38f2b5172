"""Our union schema against the schema of the Ray that is installed."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from ray.core.generated.events_event_aggregator_service_pb2 import RayEventsData

from rayscope.ray.events.schema import UNION, enum_names, unknown_fields

#: Types that look the same on the wire; messages that we leave out are ``bytes``, enums ``int32``.
_WIRE = {
    FieldDescriptor.TYPE_MESSAGE: "bytes",
    FieldDescriptor.TYPE_BYTES: "bytes",
    FieldDescriptor.TYPE_ENUM: "int32",
    FieldDescriptor.TYPE_INT32: "int32",
}


def _differences(theirs: Any, ours: Any, seen: set[str]) -> list[str]:
    if theirs.full_name in seen or theirs.full_name.startswith("google."):
        return []
    seen.add(theirs.full_name)
    found = []
    for field in theirs.fields:
        mine = ours.fields_by_number.get(field.number)
        what = f"{theirs.full_name}.{field.name}"
        if mine is None or _WIRE.get(mine.type, mine.type) != _WIRE.get(field.type, field.type):
            found.append(what)
            continue
        if mine.name != field.name or mine.is_repeated != field.is_repeated:
            found.append(what)
        if mine.message_type is not None:
            found += _differences(field.message_type, mine.message_type, seen)
        if mine.enum_type is not None:
            known = {value.number: value.name for value in mine.enum_type.values}
            found += [f"{what} {v.name}" for v in field.enum_type.values if known.get(v.number) != v.name]
    return found


def test_the_union_knows_all_that_the_installed_ray_sends() -> None:
    """A failure after an upgrade of Ray shows the fields of its events that we do not know yet."""
    seen: set[str] = set()
    event = RayEventsData.DESCRIPTOR.fields_by_name["events"].message_type
    assert _differences(event, UNION["RayEvent"].DESCRIPTOR, seen) == []
    metadata = RayEventsData.DESCRIPTOR.fields_by_name["task_events_metadata"].message_type
    assert _differences(metadata, UNION["TaskEventsMetadata"].DESCRIPTOR, seen) == []
    assert len(seen) > 40


def test_names_of_enum_values() -> None:
    assert enum_names("TaskStatus")[13] == "GETTING_AND_PINNING_ARGS"
    assert enum_names("ErrorType")[2] == "OBJECT_UNRECONSTRUCTABLE"  # up to Ray 2.53


def test_unknown_fields_are_found_in_what_is_nested() -> None:
    error = UNION["RayErrorInfo"](error_message="a").SerializeToString() + b"\xa0\x06\x07"
    lifecycle = b"\x22" + bytes([len(error)]) + error + b"\xa8\x06\x01"
    raw = b"\x4a" + bytes([len(lifecycle)]) + lifecycle
    found = list(unknown_fields(UNION["RayEvent"].FromString(raw)))
    assert found == ["TaskLifecycleEvent #101", "RayErrorInfo #100"]
