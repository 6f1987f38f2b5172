"""Conversion of times to the format of Ray's state API, to compare them with ours."""

from __future__ import annotations

from typing import Any


def state_ms(time_ns: int) -> int:
    """The API's time (ms since the epoch) at which a task entered a state, computed from ours in ns."""
    # Ray's own arithmetic: a float holds such a number to 256 ns, so one in 4,000 is rounded up.
    return int(time_ns // 1e6)


def sane_ms(value: Any) -> int | None:
    """Ray's lists contain 0, -1 and -1 as 64 bits for an unknown time."""
    return None if value in (None, 0, -1, 2**64 - 1) else int(value)
