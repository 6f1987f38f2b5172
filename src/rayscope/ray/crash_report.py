"""The report that Ray's handler of fatal signals writes into the log of a process that crashes."""

from __future__ import annotations

import re
from typing import NamedTuple

#: SIGTERM is reported in the same way, but is a request to end.
_REPORT = re.compile(rb"\*\*\* (SIG(?:ABRT|BUS|FPE|ILL|SEGV|TRAP)) received at time=\d+")
#: How a process says why it aborts itself: a failed check of Abseil (``RAW``) or of Ray.
_REASON = re.compile(rb"RAW: ([^\n]+)|(Check failed[^\n]+)")
#: The race of Ray's processes at their end, see docs/reference/faults.md.
_RACE = b"Mutex corrupt: both reader and writer lock held"
#: The reason is at most this far before the report, bytes.
_REASON_BYTES = 2_000
_MAX_REASON_BYTES = 300


class CrashReport(NamedTuple):
    """``begin``: where the report begins, bytes. ``reason``: why the process aborted itself, if it says that.

    ``is_race``: it is the race of Ray's processes at their end, which no program causes.
    """

    begin: int
    signal: str
    reason: str | None
    is_race: bool


def find_report(data: bytes) -> CrashReport | None:
    """The first crash report in the bytes of a log, None without one."""
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
