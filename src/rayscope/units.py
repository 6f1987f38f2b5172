"""Durations and sizes in readable form."""

from __future__ import annotations


def duration(ns: float | None) -> str:
    """Format a duration as in the UI: ``450 ms``, ``12.3 s``, ``4m 43s``, or ``-`` if unknown."""
    if ns is None:
        return "-"
    if ns < 0:
        return f"−{duration(-ns)}"
    if ns == 0:
        return "0 s"
    if ns < 1000:
        return f"{ns:.0f} ns"
    # Each unit applies to values below the one that would be rounded up to the next unit.
    for unit, size_ns, below_ns in (("µs", 1e3, 999.5e3), ("ms", 1e6, 999.5e6), ("s", 1e9, 59.95e9)):
        if ns < below_ns:
            return f"{_three_digits(ns / size_ns)} {unit}"
    seconds = round(ns / 1e9)
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60:02}s"
    minutes = seconds // 60
    if minutes < 1440:
        return f"{minutes // 60}h {minutes % 60:02}m"
    hours = minutes // 60
    return f"{hours // 24}d {hours % 24:02}h"


def duration_range(low_ns: float, high_ns: float) -> str:
    """Format two durations as ``20.0 to 35.0 s`` or ``up to 1.20 s``, or only one if both look the same."""
    low, high = duration(low_ns), duration(high_ns)
    if low == high:
        return high
    if low_ns == 0:
        return f"up to {high}"
    number, _, unit = low.partition(" ")
    # A mixed duration such as ``1m 05s`` cannot share its unit with the other one.
    has_unit = unit.isalpha() and high.endswith(f" {unit}")
    return f"{number if has_unit else low} to {high}"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def size(number: float | None) -> str:
    """Format a number of bytes with a suitable unit: ``1.2 GB``, or ``-`` if unknown."""
    if number is None:
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if abs(number) < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
