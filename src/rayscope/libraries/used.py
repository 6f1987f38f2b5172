"""Finds which of Ray's libraries a session uses, and why the state of a library cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rayscope.api.responses import error_info
from rayscope.api.schemas import ErrorDetail
from rayscope.ingest.clusters import Clusters
from rayscope.libraries.train import compute as train_compute
from rayscope.libraries.train import sql as train_sql
from rayscope.libraries.tune import compute as tune_compute
from rayscope.libraries.tune import sql as tune_sql
from rayscope.records.reader import SessionReader
from rayscope.storage.session_file import SessionFile

T = TypeVar("T")
#: The SQL view that shows the use of each library (docs/reference/libraries.md).
VIEWS = {"data": "datasets", "serve": "serve_applications", "train": "train_runs", "tune": "tune_experiments"}


def problem(records: SessionReader, clusters: Clusters, session: str, library: str) -> ErrorDetail | None:
    """Why the state of a library cannot be read at present, and a remedy. None if it can be read, or if the
    library is not used.
    """
    found = clusters.library_problem(session, library)
    if found is not None:
        return error_info(found)
    if library == "train":
        return train_compute.problem(*_count_unreported(records, clusters, session, train_sql.untracked))
    if library == "tune":
        return tune_compute.problem(_count_unreported(records, clusters, session, tune_sql.untraced))
    return None


def _count_unreported(
    records: SessionReader, clusters: Clusters, session: str, count: Callable[[SessionFile, int | None], T]
) -> T:
    """Count a library's actors that are recorded although nothing reports their work."""
    is_live = clusters.is_live(session)
    now_ns = records.last_ns(session) if is_live else None
    # In a live session the result is refreshed every 10 s, because a missing report is usually just late.
    period = "" if now_ns is None else now_ns // 10**10
    return records.read_cached(
        session, f"unreported of {count.__module__} {period}", lambda file: count(file, now_ns)
    )


def libraries(
    records: SessionReader, clusters: Clusters, session: str, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """The number of objects by state, for each library in use. ``counts``: these numbers for all views."""
    return {
        library: dict(counts[view])
        for library, view in VIEWS.items()
        if counts[view] or problem(records, clusters, session, library)
    }
