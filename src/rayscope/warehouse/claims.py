"""What is said of an entity, as texts whose order is that of the merge rule, so that minMap keeps the least.

Numbers come before texts, in the order of their values.

A claim is ``0``, a number's place in that order in hex digits, and the value as its column has it, or ``1``
and a text. The view of an entity's kind turns it back into the value of a column.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from fractions import Fraction

from rayscope.model import Kind
from rayscope.model.entity import Value
from rayscope.storage.schema import ENTITY_COLUMNS

#: Hex digits of a number's place: of its whole part, shifted to be positive, and of its fraction.
_WHOLE, _FRACTION = 20, 16
_OFFSET, _SCALE = 16**_WHOLE // 2, 16**_FRACTION
#: Where the value of a number begins, as ClickHouse counts.
NUMBER_AT = 1 + _WHOLE + _FRACTION + 1
_TYPES: dict[Kind, dict[str, str]] = {kind: dict(columns) for kind, columns in ENTITY_COLUMNS.items()}


def encode_claims(kind: Kind, said: Mapping[str, Value]) -> dict[str, str]:
    """What is said of an entity of a kind: name -> claim."""
    types = _TYPES[kind]
    return {
        name: _claim(value, types.get(name, "VARCHAR")) for name, value in said.items() if value is not None
    }


def decode_claims(kind: Kind, claims: Mapping[str, str]) -> dict[str, Value]:
    """The inverse: what a column cannot hold is left out."""
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
    """A value as its column has it; '' for what the column cannot hold."""
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
    """Hex digits whose order is that of numbers; what is beyond them is the least or the greatest."""
    try:
        # Fractions take time, and nearly all numbers are whole.
        scaled = value * _SCALE if isinstance(value, int) else int(Fraction(value) * _SCALE)
    except (ValueError, OverflowError):  # no finite number
        scaled = _OFFSET * _SCALE if value > 0 else 0
    digits = min(max(scaled + _OFFSET * _SCALE, 0), 16 ** (_WHOLE + _FRACTION) - 1)
    return f"{digits:0{_WHOLE + _FRACTION}x}"
