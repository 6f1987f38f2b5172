"""Checks values in the dashboard's responses.

Values of the wrong type, or too large for a record, are treated as unknown.
"""

from __future__ import annotations

import math
from typing import Any

#: Timeout, s. On its first request, the dashboard connects to the cluster as a driver, which takes seconds.
TIMEOUT_S = 30.0


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects in a list. Empty if the value is not a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any, max_chars: int | None = None) -> str | None:
    """The value if it is a nonempty string, cut after ``max_chars``; otherwise None."""
    return value[:max_chars] or None if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """The value if it is a nonnegative integer that fits into 64 bits, otherwise None."""
    return value if type(value) is int and 0 <= value < 2**63 else None


def is_number(value: Any) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def seconds_to_ns(value: Any) -> int | None:
    """Convert seconds since the epoch to ns."""
    return int(value * 1e9) if is_number(value) and 0 < value < 9e9 else None
