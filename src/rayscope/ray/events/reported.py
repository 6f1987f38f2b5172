"""Metrics that the user's code reported to one of Ray's libraries, as our tracer tells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MAX_METRICS, _MAX_NAME, _HUGE = 32, 100, 1e308
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})


def metrics(values: Mapping[str, Any]) -> dict[str, float | str]:
    """The numbers among them, at most 32; "nan", "inf" and "-inf" for what JSON does not have."""
    return {
        name[:_MAX_NAME]: value
        for name, value in list(values.items())[:_MAX_METRICS]
        if value in _NOT_FINITE or (isinstance(value, (int, float)) and abs(value) < _HUGE)
    }
