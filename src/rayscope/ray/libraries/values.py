"""Values of the dashboard's answers: what is not of its type, or beyond what a record holds, is unknown."""

from __future__ import annotations

import math
from typing import Any

#: The dashboard connects to the cluster as a driver when it is first asked, which takes seconds.
TIMEOUT_S = 30.0


def rows(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; none of what is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def text(value: Any, most: int | None = None) -> str | None:
    """A text that is not empty, cut after ``most`` characters."""
    return value[:most] or None if isinstance(value, str) else None


def whole(value: Any) -> int | None:
    """A whole number that is not negative and fits 64 bits."""
    return value if type(value) is int and 0 <= value < 2**63 else None


def is_number(value: Any) -> bool:
    """Whether it is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def seconds_to_ns(value: Any) -> int | None:
    """A time in seconds since the epoch as ns."""
    return int(value * 1e9) if is_number(value) and 0 < value < 9e9 else None
