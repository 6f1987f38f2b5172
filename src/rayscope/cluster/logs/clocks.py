"""Finds the time zone of timestamps in logs that lack one.

Workers and nodes may be in another time zone than the server, and logs do not name theirs. But a file's lines
were written while its process lived, and that period is recorded in UTC. Few time zones fit it, usually only
one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

#: Converts a time without a time zone to seconds since the epoch, or to None if that is impossible.
Clock = Callable[[datetime], float | None]

#: The offsets of all time zones are multiples of this, in seconds.
_STEP_S = 900
#: The offset of the westernmost time zone, in seconds.
_MIN_OFFSET_S = -12 * 3600
#: The offset of the easternmost time zone, in seconds.
_MAX_OFFSET_S = 14 * 3600
#: Tolerance for differences between clocks, and for lines written before Ray knows the process, in seconds.
_TOLERANCE_S = 60.0

#: The server's own time zone.
local_clock: Clock = datetime.timestamp


def unknown_clock(_: datetime) -> None:
    """The clock of a file whose time zone is unknown."""


class Life(NamedTuple):
    """When a process began and ended, in seconds since the epoch."""

    begin_s: float
    end_s: float


def clock_of(moments: Sequence[datetime], life: Life) -> Clock:
    """The clock of the process that wrote ``moments`` (without time zones) during ``life``.

    Returns the server's clock if it fits or if no time zone fits, and an unknown clock if several others fit.
    """

    def fits(clock: Clock) -> bool:
        times = [clock(moment) for moment in moments]
        return all(
            life.begin_s - _TOLERANCE_S <= time_s <= life.end_s + _TOLERANCE_S
            for time_s in times
            if time_s is not None
        )

    if fits(local_clock):
        return local_clock
    others = [
        clock
        for offset_s in range(_MIN_OFFSET_S, _MAX_OFFSET_S + 1, _STEP_S)
        if fits(clock := _fixed(timezone(timedelta(seconds=offset_s))))
    ]
    if len(others) > 1:
        return unknown_clock
    return others[0] if others else local_clock


def _fixed(zone: timezone) -> Clock:
    return lambda moment: moment.replace(tzinfo=zone).timestamp()
