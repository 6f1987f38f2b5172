"""Waiting on a fact. No test waits for a time, or fails because a machine is slow."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

#: After this, what a test waits for will not come. Less than pytest's own limit, which cannot say what was missing. s
TIMEOUT_S = 300.0


def wait_until(condition: Callable[[], Any], what: str, *, pause_s: float = 0.05) -> Any:
    """The first true value of ``condition``; fails with ``what`` if there is none."""
    deadline = time.monotonic() + TIMEOUT_S
    while not (value := condition()):
        assert time.monotonic() < deadline, f"timed out: {what}"
        time.sleep(pause_s)
    return value
