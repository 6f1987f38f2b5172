"""Times and levels of lines as Ray's processes and users' loggers write them."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from rayscope.cluster.logs.colors import MAX_STRETCHES, Style
from rayscope.cluster.logs.lines import MAX_LETTERS, plain_text, read_head, read_lines, split_lines

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
        ("2026-11-22 07:13:29,123 no level here", None),
    ],
)
def test_times_and_levels_are_read(text: str, level: str | None) -> None:
    assert read_head(text) == (LOCAL, level)


def test_a_time_with_a_zone_is_of_that_zone() -> None:
    time_ns = int(UTC.timestamp()) * 10**9
    assert read_head("2026-11-22T07:13:29Z WARN x") == (time_ns, "warning")
    assert read_head("2026-11-22T09:13:29+02:00 x")[0] == time_ns
    assert read_head('{"levelname": "ERROR", "timestamp_ns": 1763795609123456789}') == (
        1763795609123456789,
        "error",
    )


@pytest.mark.parametrize("text", ["", "INFOX: no", "an ERROR: inside", "2026-99-99 07:13:29 x", "12:00 x"])
def test_lines_without_a_head_have_no_time(text: str) -> None:
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


@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("\x1b[1;31mERROR\x1b[0m disk \x1b[4mfull\x1b[0m on /data\n", "ERROR disk full on /data"),
        ("\x1b[38;5;82mok \x1b]8;;https://example.org\x07link\x1b]8;;\x1b\\ done\n", "ok link done"),
        ("\x1b]0;a title\x07\x1b[2K\x1b(Bprompt\x1b[", "prompt"),
        ("\r  1%|    \r 50%|##  \r100%|####\n", "100%|####"),
        ("\rStep 1/9     \rStep 3/9 ", "Step 3/9"),
        ("100% done\r\x1b[K\r         \r\n", "100% done"),
        ("windows\r\n", "windows"),
        ("a\tb \x07\x00c\n", "a\tb c"),
        ("雪 é\n", "雪 é"),
        ("\r\r\n", ""),
    ],
)
def test_a_line_reads_as_a_terminal_shows_it(raw: str, text: str) -> None:
    assert plain_text(raw.encode())[:2] == (text, False)


def test_long_lines_are_cut_but_a_long_bar_shows_its_last_state() -> None:
    bar = "".join(f"\rEpoch 3: {step}/1000 {'#' * 60}" for step in range(1001))
    assert plain_text(bar.encode())[:2] == (f"Epoch 3: 1000/1000 {'#' * 60}", False)
    assert plain_text(b"x" * (MAX_LETTERS + 1))[:2] == ("x" * MAX_LETTERS, True)
    assert plain_text(b"\x1b[1m" * 10_000 + b"end")[:2] == ("", True)
    assert plain_text(b"a\r" + b" \r" * 100_000)[:2] == ("", False)


def test_a_coloured_time_is_read() -> None:
    (line,) = read_lines(split_lines(b"\x1b[36m2026-11-22 07:13:29,123\x1b[0m INFO coloured\n", 0))
    assert (line.time_ns, line.level, line.text) == (LOCAL, "info", "2026-11-22 07:13:29,123 INFO coloured")


def test_colors_are_kept_separately_from_the_text() -> None:
    raw = (
        "\x1b[1;31mERROR\x1b[0m 雪😀 \x1b[38;5;82mok\x1b[39m \x1b[48;2;1;2;3mon\x1b[m "
        "\x1b[93mbright\x1b[2Jer\n"
    )
    (line,) = read_lines(split_lines(raw.encode(), 0))
    assert line.text == "ERROR 雪😀 ok on brighter"
    assert [(line.text[each.begin : each.end], each.style) for each in line.styles] == [
        ("ERROR", Style(color="red", bold=True)),
        ("ok", Style(color="#5fff00")),
        ("on", Style(background="#010203")),
        ("brighter", Style(color="bright-yellow")),
    ]


def test_colors_end_with_a_text_that_is_cut() -> None:
    (line,) = read_lines(split_lines(b"\x1b[32m" + b"x" * 5_000 + b"\n", 0))
    assert (line.is_cut, line.styles[0].end) == (True, len(line.text))
    (bar,) = read_lines(split_lines(b"\x1b[32m 10%\r\x1b[32m100%  \r\n", 0))
    assert (bar.text, [tuple(each[:2]) for each in bar.styles]) == ("100%", [(0, 4)])
    changes = b"".join(b"\x1b[%dmx" % (31 + number % 2) for number in range(2_000))
    (busy,) = read_lines(split_lines(changes, 0))
    assert len(busy.styles) == MAX_STRETCHES
