"""Our union schema. `tests/unit/tools/test_unknown_ray.py` compares it with the installed Ray's."""

from __future__ import annotations

from rayscope.ray.events.schema import UNION, enum_names, unknown_fields


def test_names_of_enum_values() -> None:
    assert enum_names("TaskStatus")[13] == "GETTING_AND_PINNING_ARGS"
    assert enum_names("ErrorType")[2] == "OBJECT_UNRECONSTRUCTABLE"  # up to Ray 2.53


def test_unknown_fields_are_found_in_what_is_nested() -> None:
    error = UNION["RayErrorInfo"](error_message="a").SerializeToString() + b"\xa0\x06\x07"
    lifecycle = b"\x22" + bytes([len(error)]) + error + b"\xa8\x06\x01"
    raw = b"\x4a" + bytes([len(lifecycle)]) + lifecycle
    found = list(unknown_fields(UNION["RayEvent"].FromString(raw)))
    assert found == ["TaskLifecycleEvent #101", "RayErrorInfo #100"]
