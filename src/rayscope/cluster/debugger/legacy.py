"""Tasks that wait for Ray's legacy debugger, as the GCS lists them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from rayscope.cluster.debugger.sql import Run
from rayscope.errors import RayscopeError
from rayscope.ingest.clusters import Clusters
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.gcs.legacy_debugger import LegacyEntries, LegacyEntry, read_entries
from rayscope.records.reader import SessionReader

_FRAME = re.compile(r'^ *File "(.{1,300})", line (\d{1,9})', re.MULTILINE)


class Legacy(NamedTuple):
    """The entries of a cluster, or why they are unknown."""

    gcs_address: str = ""
    found: LegacyEntries = LegacyEntries()
    error: RayscopeError | None = None


def read_legacy(records: SessionReader, clusters: Clusters, session: str) -> Legacy:
    """Return the tasks of a live session that wait for Ray's legacy debugger.

    The result is kept for a moment, because every open page asks for it.
    """
    if not records.is_live(session):
        return Legacy()
    gcs = clusters.gcs_of(session)
    if gcs is None:
        return Legacy(
            error=RayscopeError(
                f"The cluster of {session} is not connected.",
                "Wait a few seconds, or attach: rayscope attach HOST:PORT.",
                "not_connected",
                session=session,
            )
        )
    return records.call_cached(session, "legacy debugger", lambda: _read(gcs))


def _read(gcs: GcsClient) -> Legacy:
    try:
        return Legacy(gcs.address, read_entries(gcs))
    except GcsError as error:
        return Legacy(gcs.address, error=error)


def attempt_of(entry: LegacyEntry, runs: Sequence[Run]) -> int | None:
    """Return the attempt that waits: the one that the worker ran at that time. None if it is not recorded."""
    if entry.since_ns is None:
        return None
    attempts = [
        run.attempt
        for run in runs
        if (run.task_id, run.worker_id) == (entry.task_id, entry.worker_id)
        and run.start_ns <= entry.since_ns
        and (run.end_ns is None or entry.since_ns <= run.end_ns)
    ]
    return attempts[0] if len(attempts) == 1 else None


def place_of(entry: LegacyEntry) -> tuple[str | None, int | None]:
    """Return the file and line at which a task waits, or at which it raised its error.

    After an error, the entry has a line of Ray's own code, so the place is the last one of the traceback.
    """
    if entry.traceback and (frames := _FRAME.findall(entry.traceback)):
        return frames[-1][0], int(frames[-1][1])
    return entry.file, entry.line
