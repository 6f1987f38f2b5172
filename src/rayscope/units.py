"""Durations and sizes as people read them."""

from __future__ import annotations

#: Units with their size and the least duration that is told in them, ns.
_UNITS = (("h", 3600e9, 3600e9), ("min", 60e9, 100e9), ("s", 1e9, 1e9), ("ms", 1e6, 1e6), ("µs", 1e3, 1e3))
#: What rounds up to the next unit is told in it.
_ROUNDS_UP = 0.9995


def duration(ns: float | None) -> str:
    """A length of time with three digits and a unit that fits: ``12.3 ms``; ``-`` if unknown."""
    if ns is None:
        return "-"
    for unit, size, least in _UNITS:
        if ns >= _ROUNDS_UP * least:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.0f} ns"


def size(number: float | None) -> str:
    """Bytes with a unit that fits: ``1.2 GB``; ``-`` if unknown."""
    if number is None:
        return "-"
    for unit in ("B", "kB", "MB", "GB"):
        if abs(number) < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
