"""Durations in Prometheus' notation, such as ``1m30s``."""

from __future__ import annotations

import re

import promql_parser

#: Checked before promql_parser is called, which also accepts numbers without a unit, and panics on NaN.
_DURATION = re.compile(r"(?:[0-9]{1,12}(?:ms|[smhdwy]))+|0")


def duration_s(text: str) -> float:
    """Convert a duration such as ``1m30s`` to seconds. Raises ValueError."""
    if not _DURATION.fullmatch(text):
        raise ValueError(f"not a valid duration string: {text[:60]!r}")
    if not any("1" <= each <= "9" for each in text):  # promql_parser does not accept zero
        return 0.0
    return float(promql_parser.parse_duration(text).total_seconds())
