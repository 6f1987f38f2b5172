"""Finds crash reports and last lines in the kept logs of crashed workers."""

from __future__ import annotations

import contextlib
import re
from typing import NamedTuple

from rayscope.cluster.logs.files import Logs
from rayscope.cluster.logs.lines import MAX_LETTERS, read_lines, split_lines
from rayscope.ray.agents.logs import driver_file, read_name
from rayscope.ray.crash_report import CrashReport
from rayscope.storage.errors import StoreError
from rayscope.storage.log_archive import LogStore
from rayscope.storage.sql.pages import Row

_LINES = 12
#: Number of lines shown before a crash report.
_LINES_BEFORE = 4
#: Number of bytes that are read before and after the position of interest.
_LOOKED_BYTES = 4_000
_LINE_CHARS = min(400, MAX_LETTERS)
#: Lines of a report that are left out: C++ frames, because the Python stack is more informative, and lines
#: that Ray writes twice.
_NOISE = re.compile(r"\s+@ |.* logging\.cc:\d+: ")


class LoggedCrash(NamedTuple):
    """A crash report and the log file that contains it."""

    node_id: str
    name: str
    report: CrashReport


def logged_crashes(logs: Logs, session: str) -> dict[str, LoggedCrash]:
    """The crash reports in the kept logs of workers, by worker ID."""
    store = _store(logs, session)
    if store is None:
        return {}
    found = (
        (read_name(name).worker_id, LoggedCrash(node, name, report)) for node, name, report in store.crashes()
    )
    return {worker_id: crash for worker_id, crash in found if worker_id is not None}


def last_lines(logs: Logs, session: str, row: Row, crash: LoggedCrash | None) -> list[str]:
    """The last kept lines before a crash report, and the report without C++ frames.

    Without a report, the last lines of the log of the worker in ``row``: of its stderr, or else of its
    stdout.
    """
    store = _store(logs, session)
    if store is None:
        return []
    if crash is not None:
        begin = crash.report.begin
        before = _lines(store, crash.node_id, crash.name, begin - _LOOKED_BYTES, begin)[-_LINES_BEFORE:]
        report = _lines(store, crash.node_id, crash.name, begin, begin + _LOOKED_BYTES)
        return (before + [line for line in report if not _NOISE.match(line)])[:_LINES]
    node_id = row["node_id"] or ""
    for name in sorted(store.names(node_id)):  # `.err` comes before `.out`
        if not _is_log_of(row, name):
            continue
        kept = store.file(node_id, name)
        if kept is not None and (lines := _lines(store, node_id, name, kept.seen - _LOOKED_BYTES, kept.seen)):
            return lines[-_LINES:]
    return []


def _is_log_of(row: Row, name: str) -> bool:
    if row["worker_type"] == "DRIVER":
        return bool(row["job_id"]) and name == driver_file(row["job_id"])
    worker_id: str = row["worker_id"]
    return read_name(name).worker_id == worker_id


def _lines(store: LogStore, node_id: str, name: str, begin: int, end: int) -> list[str]:
    """The lines between two offsets, without Ray's own marks."""
    pieces = [
        piece for at, data in store.read(node_id, name, max(0, begin), end) for piece in split_lines(data, at)
    ]
    return [line.text[:_LINE_CHARS] for line in read_lines(pieces) if line.text.strip() and not line.is_mark]


def _store(logs: Logs, session: str) -> LogStore | None:
    with contextlib.suppress(StoreError):
        return logs.store(session)
    return None
