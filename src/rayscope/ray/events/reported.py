"""Metrics that user code reported to one of Ray's libraries, as sent by the tracer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Maximum number of metrics per report.
_MAX_METRICS = 32
#: Maximum number of characters in a metric's name.
_MAX_NAME = 100
#: Maximum absolute value of a metric. Larger ones are dropped.
_MAX_ABS = 1e308
_NOT_FINITE = frozenset({"nan", "inf", "-inf"})


def metrics(values: Mapping[str, Any]) -> dict[str, float | str]:
    """At most 32 numeric values, including "nan", "inf" and "-inf", which JSON has only as strings."""
    return {
        name[:_MAX_NAME]: value
        for name, value in list(values.items())[:_MAX_METRICS]
        if value in _NOT_FINITE or (isinstance(value, (int, float)) and abs(value) < _MAX_ABS)
    }
