"""When a line was written that gives a time without a time zone.

Workers and nodes may have another time zone than the server, and no log says which. The lines of a file were
written while its process lived, which the record knows in UTC. That leaves few time zones, mostly one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta, timezone
from typing import NamedTuple

#: Seconds since the epoch of a moment without a time zone; None if that is unknown.
Clock = Callable[[datetime], float | None]

#: All time zones of the world differ from UTC by a multiple of this. s
_STEP_S = 900
_MIN_OFFSET_S, _MAX_OFFSET_S = -12 * 3600, 14 * 3600
#: Clocks of machines differ, and a process writes before Ray knows it. s
_TOLERANCE_S = 60.0

#: The server's own time zone.
local_clock: Clock = datetime.timestamp


def unknown_clock(_: datetime) -> None:
    """The clock of a file whose time zone cannot be told."""


class Life(NamedTuple):
    """When a process lived, s since the epoch."""

    begin_s: float
    end_s: float


def clock_of(moments: Sequence[datetime], life: Life) -> Clock:
    """The clock by which a process wrote ``moments`` (without time zones) while it lived.

    The server's, if that is possible or no time zone is; unknown, if several others are possible.
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
