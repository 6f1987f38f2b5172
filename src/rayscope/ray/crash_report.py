"""Parses the crash report that Ray's signal handler writes into a process's log."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Fatal signals. SIGTERM is reported in the same way but only requests an exit.
_REPORT = re.compile(rb"\*\*\* (SIG(?:ABRT|BUS|FPE|ILL|SEGV|TRAP)) received at time=\d+")
#: The reason for an abort: a failed check in Abseil (``RAW``) or Ray.
_REASON = re.compile(rb"RAW: ([^\n]+)|(Check failed[^\n]+)")
#: A race in Ray's processes at exit, see docs/reference/faults.md.
_RACE = b"Mutex corrupt: both reader and writer lock held"
#: How far before the report the reason can be, bytes.
_REASON_BYTES = 2_000
_MAX_REASON_BYTES = 300


class CrashReport(NamedTuple):
    """A crash report.

    Attributes:
        begin: its offset in the log, bytes.
        signal: name of the signal.
        reason: why the process aborted itself, if stated.
        is_race: whether it is the race in Ray's processes at exit, which no program causes.
    """

    begin: int
    signal: str
    reason: str | None
    is_race: bool


def find_report(data: bytes) -> CrashReport | None:
    """The first crash report in the bytes of a log, None if there is none."""
    found = _REPORT.search(data)
    if found is None:
        return None
    begin = max(0, found.start() - _REASON_BYTES)
    reasons = list(_REASON.finditer(data, begin, found.start()))
    reason = reasons[-1] if reasons else None
    text = (reason[1] or reason[2])[:_MAX_REASON_BYTES] if reason else b""
    first = reason.start() if reason else found.start()
    return CrashReport(
        data.rfind(b"\n", 0, first) + 1,
        found[1].decode(),
        text.decode("utf-8", "replace").strip() or None,
        text.startswith(_RACE),
    )
