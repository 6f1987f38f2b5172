"""Which of Ray's libraries a session uses, and why the state of one cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from rayscope.ingest.clusters import Clusters
from rayscope.libraries.train import compute as train_compute
from rayscope.libraries.train import sql as train_sql
from rayscope.libraries.tune import compute as tune_compute
from rayscope.libraries.tune import sql as tune_sql
from rayscope.records.reader import SessionReader
from rayscope.storage.session_file import SessionFile

T = TypeVar("T")
#: Library -> the view of what it is used for (docs/reference/libraries.md).
VIEWS = {"data": "datasets", "serve": "serve_applications", "train": "train_runs", "tune": "tune_experiments"}


def problem(records: SessionReader, clusters: Clusters, session: str, library: str) -> dict[str, str] | None:
    """Why the state of a library cannot be read now, and the remedy; None where it can be, or is not used."""
    found = clusters.library_problem(session, library)
    if found is not None:
        return {"message": found.message, "remedy": found.remedy}
    if library == "train":
        return train_compute.problem(*_untold(records, clusters, session, train_sql.untracked))
    if library == "tune":
        return tune_compute.problem(_untold(records, clusters, session, tune_sql.untraced))
    return None


def _untold(
    records: SessionReader, clusters: Clusters, session: str, count: Callable[[SessionFile, int | None], T]
) -> T:
    """What ``count`` finds of a library's actors of whose work nothing is told: they are on record all the
    same.
    """
    is_live = clusters.is_live(session)
    now_ns = records.last_ns(session) if is_live else None
    # Now and then is enough of a live session: what is told late must only be so.
    key = f"{count.__module__} {'' if now_ns is None else now_ns // 10**10}"
    found: T = records.read_cached(session, lambda file: count(file, now_ns), key)
    return found


def libraries(
    records: SessionReader, clusters: Clusters, session: str, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """By library that a session uses how many of its things are in which state. ``counts``: of all views."""
    return {
        library: dict(counts[view])
        for library, view in VIEWS.items()
        if counts[view] or problem(records, clusters, session, library)
    }
