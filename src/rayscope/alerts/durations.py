"""Durations in Prometheus' notation, such as ``1m30s``."""

from __future__ import annotations

import re

import promql_parser

#: promql_parser accepts other texts as numbers, and panics on NaN.
_DURATION = re.compile(r"(?:[0-9]{1,12}(?:ms|[smhdwy]))+|0")


def duration_s(text: str) -> float:
    """Return a duration in seconds. Raises ValueError."""
    if not _DURATION.fullmatch(text):
        raise ValueError(f"not a valid duration string: {text[:60]!r}")
    if not any("1" <= each <= "9" for each in text):  # promql_parser accepts no zero
        return 0.0
    return float(promql_parser.parse_duration(text).total_seconds())
