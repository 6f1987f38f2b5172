"""Reads profiles of pprof with protobuf's own classes."""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_INT64 = 3
_UINT64 = 4
_STRING = 9
_MESSAGE = 11
#: The messages of https://github.com/google/pprof/blob/main/proto/profile.proto: name, number, and type of
#: the fields. A type in brackets is repeated.
_MESSAGES: dict[str, list[tuple[str, int, Any]]] = {
    "ValueType": [("type", 1, _INT64), ("unit", 2, _INT64)],
    "Sample": [("location_id", 1, [_UINT64]), ("value", 2, [_INT64])],
    "Line": [("function_id", 1, _UINT64), ("line", 2, _INT64)],
    "Location": [("id", 1, _UINT64), ("line", 4, ["Line"])],
    "Function": [("id", 1, _UINT64), ("name", 2, _INT64), ("filename", 4, _INT64)],
    "Profile": [
        ("sample_type", 1, ["ValueType"]),
        ("sample", 2, ["Sample"]),
        ("location", 4, ["Location"]),
        ("function", 5, ["Function"]),
        ("string_table", 6, [_STRING]),
        ("time_nanos", 9, _INT64),
        ("duration_nanos", 10, _INT64),
        ("period_type", 11, "ValueType"),
        ("period", 12, _INT64),
        ("comment", 13, [_INT64]),
        ("default_sample_type", 14, _INT64),
    ],
}


class Profile(NamedTuple):
    """A profile. ``stacks``: the names of a stack's frames, the outermost first, and the sums of its values."""

    types: list[tuple[str, str]]
    period: int
    period_type: tuple[str, str]
    comments: list[str]
    stacks: dict[tuple[str, ...], list[int]]


def _profile_class() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="profile.proto", package="pprof", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind in fields:
            repeated = isinstance(kind, list)
            kind = kind[0] if repeated else kind
            added = message.field.add(name=field, number=number, label=3 if repeated else 1)
            added.type = _MESSAGE if isinstance(kind, str) else kind
            if isinstance(kind, str):
                added.type_name = f".pprof.{kind}"
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("pprof.Profile"))


def read_pprof(content: bytes) -> Profile:
    """Read a profile that is not compressed. It must be complete, as pprof's own reader requires."""
    profile = _profile_class().FromString(content)
    texts = profile.string_table
    assert texts[0] == ""
    functions = {function.id: function for function in profile.function}
    locations = {location.id: location for location in profile.location}
    assert 0 not in functions.keys() | locations.keys()

    def name(number: int) -> str:
        (line,) = locations[number].line
        function = functions[line.function_id]
        text, file = texts[function.name], texts[function.filename]
        return f"{text} ({file}:{line.line})" if file else text

    stacks: dict[tuple[str, ...], list[int]] = {}
    for sample in profile.sample:
        assert len(sample.value) == len(profile.sample_type)
        key = tuple(name(number) for number in reversed(sample.location_id))
        stacks[key] = [a + b for a, b in zip(stacks.get(key, [0, 0]), sample.value, strict=True)]
    return Profile(
        [(texts[kind.type], texts[kind.unit]) for kind in profile.sample_type],
        profile.period,
        (texts[profile.period_type.type], texts[profile.period_type.unit]),
        [texts[number] for number in profile.comment],
        stacks,
    )
