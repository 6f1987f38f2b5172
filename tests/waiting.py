"""Waiting on a fact. No test waits for a time, or fails because a machine is slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: After this, what a test waits for will not come. Less than pytest's own limit, which cannot say what was missing. s
TIMEOUT_S = 300.0
#: The longest time between two looks, unless a test asks for a longer one, s.
_MAX_PAUSE_S = 0.5


def wait_until(condition: Callable[[], Any], what: str, *, pause_s: float = 0.01) -> Any:
    """The first true value of ``condition``; fails with ``what`` if there is none.

    The first look again is after ``pause_s``, the later ones less and less often: looking takes the CPU that
    the awaited fact needs.
    """
    deadline = time.monotonic() + TIMEOUT_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(pause_s)
        pause_s = max(pause_s, min(_MAX_PAUSE_S, pause_s * 1.5))
    return value
