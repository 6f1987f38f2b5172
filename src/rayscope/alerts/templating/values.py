"""Values in a template, and how Go prints them (``%v``)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

#: A string, number, bool, map, list of samples, :class:`Sample`, :class:`AlertData`, or None (Go's nil).
Value = Any


class TemplateError(Exception):
    """A template cannot be parsed or rendered."""


class Sample(NamedTuple):
    """One series of a query's result."""

    labels: Mapping[str, str]
    value: float


class AlertData(NamedTuple):
    """The alert that a template is rendered for. It is the initial value of ``.`` (the dot)."""

    labels: Mapping[str, str]
    external_labels: Mapping[str, str]
    external_url: str
    value: float


_FIELDS: dict[type, tuple[str, ...]] = {
    Sample: ("Labels", "Value"),
    AlertData: ("Labels", "ExternalLabels", "ExternalURL", "Value"),
}
_TYPES = {bool: "bool", str: "string", float: "float64", int: "int", list: "template.queryResult"}


def member(value: Value, name: str) -> Value:
    """Return the field ``name`` of a value. Raises TemplateError."""
    names = _FIELDS.get(type(value))
    if names is not None and name in names:
        return value[names.index(name)]
    if isinstance(value, Mapping):
        return value.get(name, "")
    raise TemplateError(f"can't evaluate field {name} in type {type_name(value)}")


def type_name(value: Value) -> str:
    """Return the name of a value's type in Go."""
    if isinstance(value, Mapping):
        return "map[string]string"
    if isinstance(value, Sample):
        return "*template.sample"
    return _TYPES.get(type(value), "struct" if isinstance(value, AlertData) else "nil")


def truth(value: Value) -> bool:
    """Return whether ``if`` treats a value as true: it is neither zero nor empty. NaN counts as true."""
    return bool(value)


def text_of(value: Value) -> str:
    """Return a value as ``%v`` prints it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Mapping):
        return f"map[{' '.join(f'{name}:{text_of(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(text_of, value))}]"
    if isinstance(value, tuple):
        return f"{{{' '.join(map(text_of, value))}}}"
    return "<nil>" if value is None else str(value)


def number(value: float) -> str:
    """Return a number as Go's ``%v`` prints it: as short as possible, with an exponent below 1e-04 or from
    1e+06.
    """
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("+Inf" if value > 0 else "-Inf")
    mantissa, exponent = "", 0
    for digits in range(17):
        text, _, power = f"{value:.{digits}e}".partition("e")
        mantissa, exponent = text, int(power)
        if float(f"{text}e{power}") == value:
            break
    if exponent < -4 or exponent >= 6:
        return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    decimals = len(mantissa.partition(".")[2])
    return f"{value:.{max(0, decimals - exponent)}f}"
