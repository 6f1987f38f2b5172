"""Parses the crash report that Ray's signal handler writes into a process's log."""

from __future__ import annotations

import re
from typing import NamedTuple

#: Fatal signals. SIGTERM is reported in the same way but only requests an exit.
_REPORT = re.compile(rb"\*\*\* (SIG(?:ABRT|BUS|FPE|ILL|SEGV|TRAP)) received at time=\d+")
#: The reason for an abort: a failed check in Abseil (``RAW``) or Ray.
_REASON = re.compile(rb"RAW: ([^\n]+)|(Check failed[^\n]+)")
#: For a known race in Ray's processes at exit, the reason begins with this. See docs/reference/faults.md.
_RACE = b"Mutex corrupt: both reader and writer lock held"
#: Maximum distance between the reason and the report that follows it, in bytes.
_REASON_BYTES = 2_000
_MAX_REASON_BYTES = 300


class CrashReport(NamedTuple):
    """A crash report.

    Attributes:
        begin: its offset in the log, bytes.
        signal: name of the signal.
        reason: why the process aborted itself, if stated.
        is_race: whether the cause is a known race in Ray's processes at exit instead of the program.
    """

    begin: int
    signal: str
    reason: str | None
    is_race: bool


def find_report(data: bytes) -> CrashReport | None:
    """The first crash report in the bytes of a log, or None if there is none."""
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
