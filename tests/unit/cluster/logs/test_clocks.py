"""The time zone of log lines that do not name one."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

import pytest

from rayscope.cluster.logs.clocks import Life, clock_of, local_clock, unknown_clock
from rayscope.cluster.logs.lines import moments_of, read_head

BEGIN = datetime(2026, 11, 22, 7, 0, tzinfo=timezone.utc)
LOCAL_H = (datetime.fromtimestamp(BEGIN.timestamp()) - BEGIN.replace(tzinfo=None)) / timedelta(hours=1)
LIFE = Life(BEGIN.timestamp(), BEGIN.timestamp() + 600)


def written(offset_h: float, *after_s: float) -> list[datetime]:
    """The times that a process in a time zone writes, seconds after its begin."""
    return [BEGIN.replace(tzinfo=None) + timedelta(hours=offset_h, seconds=time_s) for time_s in after_s]


@pytest.mark.parametrize("offset_h", [9, -8, 5.5, 5.75, 14, -12])
def test_the_lifetime_of_a_worker_reveals_its_time_zone(offset_h: float) -> None:
    clock = clock_of(written(offset_h, 1, 599), LIFE)
    assert clock(written(offset_h, 30)[0]) == BEGIN.timestamp() + 30


def test_the_servers_own_zone_is_used_where_it_is_possible() -> None:
    assert clock_of(written(LOCAL_H, 1, 599), LIFE) is local_clock
    assert clock_of([], LIFE) is local_clock
    assert clock_of([datetime(2020, 1, 1)], LIFE) is local_clock  # no time at which it was written


def test_several_possible_zones_are_unknown() -> None:
    life = Life(LIFE.begin_s, LIFE.begin_s + 3600)
    assert clock_of(written(LOCAL_H + 5, 1800), life) is unknown_clock
    clock = clock_of(written(LOCAL_H + 5, 10, 3590), life)
    assert clock(written(LOCAL_H + 5, 10)[0]) == life.begin_s + 10


def test_only_times_without_a_zone_count() -> None:
    data = (
        b"2026-11-22 16:00:01,500 INFO a\n2026-11-22T16:00:02Z INFO b\nno time\n"
        b'{"asctime": "2026-11-22 16:00:03"}\n'
    )
    assert moments_of(data) == [datetime(2026, 11, 22, 16, 0, 1), datetime(2026, 11, 22, 16, 0, 3)]
    assert read_head("2026-11-22 07:13:29 ERROR x", unknown_clock) == (None, "error")


def test_no_line_lies_in_the_future() -> None:
    later = datetime.now(timezone.utc) + timedelta(hours=2)
    assert read_head(f"{later:%Y-%m-%dT%H:%M:%S}Z INFO x") == (None, "info")
