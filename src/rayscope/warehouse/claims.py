"""Claims: values of an entity as strings that sort by the merge rule, so that minMap keeps the right one.

Numbers sort by value, and before strings.

The claim of a number consists of ``0``, hex digits that sort like the number, and the value as a string. The
claim of a string is ``1`` and the string. The view of the entity's kind converts a claim back to the column's
value.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from fractions import Fraction

from rayscope.model import Kind
from rayscope.model.entity import Value
from rayscope.storage.schema import ENTITY_COLUMNS

#: Number of hex digits for the whole part of a number, after the number was shifted to be positive.
_WHOLE = 20
#: Number of hex digits for the fraction of a number.
_FRACTION = 16
_OFFSET = 16**_WHOLE // 2
_SCALE = 16**_FRACTION
#: Position of the value in a number's claim, counted from 1 as in ClickHouse.
NUMBER_AT = 1 + _WHOLE + _FRACTION + 1
_TYPES: dict[Kind, dict[str, str]] = {kind: dict(columns) for kind, columns in ENTITY_COLUMNS.items()}


def encode_claims(kind: Kind, values: Mapping[str, Value]) -> dict[str, str]:
    """Encode the values of an entity. Returns name -> claim."""
    types = _TYPES[kind]
    return {
        name: _claim(value, types.get(name, "VARCHAR")) for name, value in values.items() if value is not None
    }


def decode_claims(kind: Kind, claims: Mapping[str, str]) -> dict[str, Value]:
    """Decode claims. Values that do not fit their column are left out."""
    types = _TYPES[kind]
    values = ((name, _value(claim, types.get(name, "VARCHAR"))) for name, claim in claims.items())
    return {name: value for name, value in values if value is not None}


def _value(claim: str, duck: str) -> Value | None:
    if claim.startswith("1"):
        return claim[1:] if duck == "VARCHAR" else None
    shown = claim[NUMBER_AT - 1 :]
    if duck == "BOOLEAN":
        return shown == "true"
    for as_number in (int, float):
        with contextlib.suppress(ValueError):
            return as_number(shown)
    return shown or None


def _claim(value: Value, duck: str) -> str:
    shown = _shown(value, duck)
    if not isinstance(value, (int, float)):
        return f"1{shown}"
    return f"0{_place(value)}{shown}"


def _shown(value: Value, duck: str) -> str:
    """A value as a string for its column, or '' if the column cannot hold it."""
    if duck == "VARCHAR":
        return str(value)
    try:
        if duck == "BIGINT":
            whole = int(value)
            return str(whole) if -(2**63) <= whole < 2**63 else ""
        return str(float(value)) if duck == "DOUBLE" else str(bool(value)).lower()
    except (ValueError, OverflowError):
        return ""


def _place(value: float) -> str:
    """The hex digits of a number, which sort like the numbers. Numbers out of range are clamped."""
    try:
        # Fractions are slow, and nearly all numbers are integers.
        scaled = value * _SCALE if isinstance(value, int) else int(Fraction(value) * _SCALE)
    except (ValueError, OverflowError):  # not finite
        scaled = _OFFSET * _SCALE if value > 0 else 0
    digits = min(max(scaled + _OFFSET * _SCALE, 0), 16 ** (_WHOLE + _FRACTION) - 1)
    return f"{digits:0{_WHOLE + _FRACTION}x}"
