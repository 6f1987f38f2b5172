"""Reads Ray's protobuf messages in any version: enum names, IDs, times, and fields that may not exist."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rayscope.model.entity import Value
from rayscope.ray.common import is_nil

#: Ray's values for an unknown time. -1 in an unsigned field of 64 bits is 2**64 - 1.
_NO_TIME_MS = frozenset({0, -1, 2**64 - 1})


class EnumNames:
    """Names of the values of one enum field. A value that the installed Ray cannot name becomes its number.

    >>> EnumNames("TaskInfoEntry", "type").name(message_type, 0)  # doctest: +SKIP
    'NORMAL_TASK'
    """

    def __init__(self, message: str, field: str) -> None:
        self._what = f"enum {message}.{field}"
        self._field = field
        self._names: dict[int, str] = {}

    def name(self, message: Any, unknown: dict[str, int]) -> str:
        """The name of the field's value in ``message``. Values without a name are counted in ``unknown``."""
        return self.of(message.DESCRIPTOR, getattr(message, self._field), unknown)

    def of(self, descriptor: Any, number: int, unknown: dict[str, int]) -> str:
        """The name of ``number`` in this field. ``descriptor`` is that of the message or map entry."""
        found = self._names.get(number)
        if found is not None:
            return found
        value = descriptor.fields_by_name[self._field].enum_type.values_by_number.get(number)
        if value is None:
            what = f"{self._what} {number}"
            unknown[what] = unknown.get(what, 0) + 1
            return str(number)
        self._names[number] = str(value.name)
        return self._names[number]


def hex_id(value: bytes) -> str | None:
    """An ID as hex, or None if it is nil."""
    text = value.hex()
    return None if is_nil(text) else text


def ms_to_ns(value: int) -> int | None:
    """Convert milliseconds to ns. Returns None for the values that mean "unknown" in Ray."""
    return None if value in _NO_TIME_MS else int(value) * 1_000_000


def has(message: Any, field: str) -> bool:
    """Whether an optional field is set. False if this version of Ray has no such field."""
    try:
        return bool(message.HasField(field))
    except ValueError:
        return False


def text_map(message: Any, field: str) -> dict[str, Any]:
    """A map field as a dict, which is empty if this version of Ray has no such field."""
    return dict(getattr(message, field, None) or {})


def known(values: Mapping[str, Value | None]) -> dict[str, Value]:
    """The given values without empty strings and Nones."""
    return {name: value for name, value in values.items() if value is not None and value != ""}
