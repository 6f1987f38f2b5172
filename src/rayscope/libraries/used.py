"""Which of Ray's libraries a session uses, and why the state of one cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rayscope.libraries.train import compute as train_compute
from rayscope.libraries.train import sql as train_sql

if TYPE_CHECKING:
    from rayscope.server.services import Services

#: Library -> the view of what it is used for (docs/reference/libraries.md).
VIEWS = {"data": "datasets", "serve": "serve_applications", "train": "train_runs"}


def problem(services: Services, session: str, library: str) -> dict[str, str] | None:
    """Why the state of a library cannot be read now, and the remedy; None where it can be, or is not used."""
    found = services.clusters.library_problem(session, library)
    if found is not None:
        return {"message": found.message, "remedy": found.remedy}
    return _untracked_training(services, session) if library == "train" else None


def _untracked_training(services: Services, session: str) -> dict[str, str] | None:
    """Ray Train tells nothing of its runs unless it was asked to; its actors are on record all the same."""
    is_live = services.clusters.is_live(session)
    now_ns = services.records.last_ns(session) if is_live else None
    # Now and then is enough of a live session: what is told late must only be so.
    key = "" if now_ns is None else str(now_ns // 10**10)
    counted = services.records.read_cached(session, lambda file: train_sql.untracked(file, now_ns), key)
    return train_compute.problem(*counted)


def libraries(
    services: Services, session: str, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """By library that a session uses how many of its things are in which state. ``counts``: of all views."""
    return {
        library: dict(counts[view])
        for library, view in VIEWS.items()
        if counts[view] or problem(services, session, library)
    }
