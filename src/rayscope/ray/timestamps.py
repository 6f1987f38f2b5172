"""Converts RFC 3339 timestamps, as protobuf writes them in JSON, to integer nanoseconds."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache


@lru_cache(maxsize=256)
def _second_ns(text: str) -> int:
    seconds = int(datetime.fromisoformat(text + "+00:00").timestamp())
    if not 0 <= seconds < 9_223_372_036:  # 64-bit ns overflow in April 2262
        raise ValueError(f"a time outside of 1970 to 2262: {text!r}")
    return seconds * 1_000_000_000


def parse_ns(timestamp: str) -> int:
    """``2026-11-21T11:33:35.116135455Z`` to ns since the epoch, exactly.

    protobuf writes UTC with 0, 3, 6 or 9 decimals. Successive events often share the second, so the calendar
    part is cached. Raises ValueError for any other format.
    """
    if timestamp[-1:] != "Z":
        raise ValueError(f"not a UTC timestamp: {timestamp!r}")
    fraction = timestamp[20:-1]
    if len(fraction) > 9:
        raise ValueError(f"finer than ns: {timestamp!r}")
    return _second_ns(timestamp[:19]) + (int(fraction.ljust(9, "0")) if fraction else 0)
