"""Splits log files into lines, and parses the time and level of each.

Supports Ray's C++ processes (``[2026-11-22 07:13:29,123 I 12 34] ...``), Ray's Python processes (``2026-11-22
07:13:29,123\tINFO file.py:1 -- ...``), Ray's JSON logs, standard logging, loguru, glog, and ISO times. A line
without a time or level, such as one of a traceback, inherits them from the line that it continues.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import NamedTuple, get_args

from rayscope.cluster.logs import schemas
from rayscope.cluster.logs.clocks import Clock, local_clock
from rayscope.cluster.logs.colors import Stretch, clip, split_styles

#: Maximum number of characters in a line's text. If a line is longer, ``Line.is_cut`` is set.
MAX_LETTERS = 4_000
#: How many of a progress bar's last states are searched for one that is not blank.
_MAX_STATES = 50
#: The levels in ascending order of severity.
LEVELS: tuple[schemas.LogLevel, ...] = get_args(schemas.LogLevel)
#: Number of characters at the beginning of a line that are searched for its time and level.
_HEAD = 200

_NAMES: dict[str, schemas.LogLevel] = {
    **dict.fromkeys(("d", "debug", "trace", "t"), "debug"),
    **dict.fromkeys(("i", "info", "success", "notice"), "info"),
    **dict.fromkeys(("w", "warn", "warning"), "warning"),
    **dict.fromkeys(("e", "error", "err"), "error"),
    **dict.fromkeys(("c", "f", "critical", "fatal", "crit"), "critical"),
}
_TIME = re.compile(
    r"\[?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?\s?(Z|[+-]\d\d:?\d\d(?=\W|$))?"
)
_AFTER_TIME = re.compile(r"(?<!\w)(DEBUG|TRACE|INFO|SUCCESS|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)(?!\w)")
#: Number of characters after a time that are searched for a level.
_NEAR = 80
_RAY_CPP = re.compile(r"\s?([DTIWECF]) \d+ \d+\]")
_BARE = re.compile(r"\s*\[?(?P<name>DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\]?(?::|\s*[-|]|\s{2,}|\])")
_GLOG = re.compile(r"([IWEF])(\d\d)(\d\d) (\d\d:\d\d:\d\d)\.(\d{1,9})\s")
_JSON_LEVEL = re.compile(r'"(?:levelname|level)": ?"(\w{1,10})"')
_JSON_NS = re.compile(r'"timestamp_ns": ?(\d{19})\b')
_JSON_TIME = re.compile(r'"(?:asctime|timestamp|time)": ?"([^"]{10,40})"')
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Warning|Interrupt|Exit)\b")
#: The beginnings of Ray's own marks, which say whose output follows.
MARKS = ":(?:job_id|actor_name|task_name|actor_id|task_id):"
_MARK = re.compile(MARKS)
#: A time that is further in the future than this, s, does not count as the time of its line.
_AHEAD_S = 60.0
_CONTINUES = ("Traceback (most recent call last)", "During handling of", "The above exception")


class Line(NamedTuple):
    """A line without its line break.

    ``offset``, ``length``: its bytes in the file, including the line break. ``time_ns``, ``level``: the
    line's own time and level, or None. ``at_ns``, ``counts_as``: the same, but inherited from the continued
    line if the line has none. ``is_mark``: Ray's own mark that says whose output follows (``:task_name:f``).
    ``is_whole``: it ends with a line break. ``is_cut``: the text is incomplete. ``styles``: styled ranges of
    the text.
    """

    offset: int
    length: int
    text: str
    time_ns: int | None
    level: schemas.LogLevel | None
    at_ns: int | None
    counts_as: schemas.LogLevel | None
    is_mark: bool
    is_whole: bool
    is_cut: bool
    styles: Sequence[Stretch] = ()


class Context(NamedTuple):
    """The last time and level, which following lines inherit."""

    at_ns: int | None = None
    level: schemas.LogLevel | None = None


#: The context of the first line.
START = Context()


def split_lines(data: bytes, offset: int) -> Iterator[tuple[int, bytes]]:
    """Each line of ``data`` as (offset, bytes with the line break). ``data`` begins at ``offset`` in the
    file, which the offsets of lines refer to.
    """
    begin = 0
    while begin < len(data):
        end = data.find(b"\n", begin) + 1 or len(data)
        yield offset + begin, data[begin:end]
        begin = end


def read_lines(
    pieces: Iterable[tuple[int, bytes]], context: Context = START, clock: Clock = local_clock
) -> Iterator[Line]:
    """The lines of ``split_lines``, with times and levels. ``clock`` converts times without a time zone."""
    at_ns, known = context
    for offset, raw in pieces:
        text, is_cut, styles = plain_text(raw)
        is_whole = raw.endswith(b"\n")
        if _MARK.match(text):
            yield Line(offset, len(raw), text, None, None, at_ns, None, True, is_whole, is_cut)
            continue
        time_ns, level = read_head(text, clock)
        if time_ns is not None:
            at_ns = time_ns
        if level is not None or time_ns is not None or not _continues(text):
            known = level
        yield Line(offset, len(raw), text, time_ns, level, at_ns, known, False, is_whole, is_cut, styles)


def plain_text(raw: bytes) -> tuple[str, bool, Sequence[Stretch]]:
    """The text of a line as a terminal shows it but without colors, whether it was cut, and its styled
    ranges.

    For a progress bar, this is its last state that is not blank.
    """
    body = raw.rstrip(b"\r\n")
    if b"\r" not in body:
        return _decode(body)
    for state in reversed(body.rsplit(b"\r", _MAX_STATES)[-_MAX_STATES:]):
        text, is_cut, styles = _decode(state)
        if text.strip():
            return text.rstrip(), is_cut, clip(styles, len(text.rstrip()))
    return "", False, ()


def _decode(raw: bytes) -> tuple[str, bool, Sequence[Stretch]]:
    text = raw[: 4 * MAX_LETTERS].decode("utf-8", "replace")
    styles: Sequence[Stretch] = ()
    if not text.isprintable():
        text, styles = split_styles(text)
    is_cut = len(text) > MAX_LETTERS or len(raw) > 4 * MAX_LETTERS
    return text[:MAX_LETTERS], is_cut, clip(styles, MAX_LETTERS)


def read_head(text: str, clock: Clock = local_clock) -> tuple[int | None, schemas.LogLevel | None]:
    """The time (ns since the epoch) and the level in a line. Either is None if it is missing."""
    head = text[:_HEAD]
    if head.startswith("{"):
        return _read_json(text, clock)
    if found := _TIME.match(head):
        day, time_of_day, fraction, zone = found.groups()
        time_ns = _time_ns(f"{day}T{time_of_day}", fraction, zone, clock)
        rest = head[found.end() :]
        level = _RAY_CPP.match(rest) or _AFTER_TIME.search(rest, 0, _NEAR)
        return time_ns, _NAMES[level[1].lower()] if level else None
    if found := _GLOG.match(head):
        letter, month, day, time_of_day, fraction = found.groups()
        year = time.localtime().tm_year
        stamp = f"{year}-{month}-{day}T{time_of_day}"
        return _time_ns(stamp, fraction, None, clock), _NAMES[letter.lower()]
    if found := _BARE.match(head):
        return None, _NAMES[found["name"].lower()]
    return None, None


def moments_of(data: bytes) -> list[datetime]:
    """The times without a time zone in the lines of ``data``, unconverted."""
    moments: list[datetime] = []

    def note(moment: datetime) -> None:
        moments.append(moment)

    for _ in read_lines(split_lines(data, 0), clock=note):
        pass
    return moments


def at_least(level: schemas.LogLevel) -> frozenset[schemas.LogLevel]:
    """The levels that are at least as severe as ``level``."""
    return frozenset(LEVELS[LEVELS.index(level) :])


def _read_json(text: str, clock: Clock) -> tuple[int | None, schemas.LogLevel | None]:
    named = _JSON_LEVEL.search(text)
    level = _NAMES.get(named[1].lower()) if named else None
    if exact := _JSON_NS.search(text):
        return int(exact[1]), level
    match = _JSON_TIME.search(text)
    found = _TIME.match(match[1]) if match else None
    return (_time_ns(f"{found[1]}T{found[2]}", found[3], found[4], clock) if found else None), level


def _time_ns(stamp: str, fraction: str | None, zone: str | None, clock: Clock) -> int | None:
    try:
        moment = datetime.fromisoformat(stamp)
        if zone == "Z":
            moment = moment.replace(tzinfo=timezone.utc)
        elif zone:
            moment = datetime.fromisoformat(f"{stamp}{zone[:3]}:{zone[-2:]}")
        seconds = moment.timestamp() if zone else clock(moment)
    except (OverflowError, ValueError, OSError):
        return None
    if seconds is None or seconds > time.time() + _AHEAD_S:
        return None
    return int(seconds) * 10**9 + int((fraction or "0").ljust(9, "0"))


def _continues(text: str) -> bool:
    """Whether a line without a time and level continues the previous one."""
    return text == "" or text[0] in " \t" or text.startswith(_CONTINUES) or _RAISED.match(text) is not None
