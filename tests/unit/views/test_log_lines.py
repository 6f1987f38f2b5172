"""Times and levels of lines as Ray's processes and users' loggers write them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from rayscope.cluster.logs.lines import read_head, read_lines, split_lines

UTC = datetime(2026, 11, 22, 7, 13, 29, tzinfo=timezone.utc)
LOCAL = int(datetime(2026, 11, 22, 7, 13, 29).timestamp()) * 10**9 + 123_000_000


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("[2026-11-22 07:13:29,123 I 12 34] (raylet) main.cc:1: ready", "info"),
        ("[2026-11-22 07:13:29,123 C 12 34] (raylet) main.cc:1: Check failed", "critical"),
        ("2026-11-22 07:13:29,123\tWARNING worker.py:1 -- slow", "warning"),
        ("2026-11-22 07:13:29.123 | ERROR    | mod:func:1 - bad", "error"),
        ("2026-11-22 07:13:29,123 - my.module - DEBUG - x", "debug"),
        ("\x1b[36m2026-11-22 07:13:29,123\x1b[0m INFO coloured", "info"),
        ("2026-11-22 07:13:29,123 no level here", None),
    ],
)
def test_times_and_levels_are_read(text: str, level: str | None) -> None:
    assert read_head(text) == (LOCAL, level)


def test_a_time_with_a_zone_is_of_that_zone() -> None:
    told = int(UTC.timestamp()) * 10**9
    assert read_head("2026-11-22T07:13:29Z WARN x") == (told, "warning")
    assert read_head("2026-11-22T09:13:29+02:00 x")[0] == told
    assert read_head('{"levelname": "ERROR", "timestamp_ns": 1763795609123456789}') == (
        1763795609123456789,
        "error",
    )


@pytest.mark.parametrize("text", ["", "INFOX: no", "an ERROR: inside", "2026-99-99 07:13:29 x", "12:00 x"])
def test_what_is_no_head_tells_nothing(text: str) -> None:
    assert read_head(text) == (None, None)


def test_a_traceback_belongs_to_its_error_and_prints_do_not() -> None:
    data = (
        b"ERROR:root:it failed\nTraceback (most recent call last):\n  File x\nValueError: no\n"
        b":task_name:f\nprinted\n2026-11-22 07:13:29,123 INFO x: fine\ncut off"
    )
    lines = list(read_lines(split_lines(data, 100)))
    assert [line.counts_as for line in lines] == [*["error"] * 4, None, None, "info", None]
    assert [line.is_mark for line in lines] == [False] * 4 + [True] + [False] * 3
    assert lines[-1].at_ns == LOCAL
    assert lines[-1].time_ns is None
    assert not lines[-1].is_whole
    assert b"".join(data[line.offset - 100 :][: line.length] for line in lines) == data
