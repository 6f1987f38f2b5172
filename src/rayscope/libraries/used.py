"""Which of Ray's libraries a session uses, and why the state of one cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from rayscope.libraries.train import compute as train_compute
from rayscope.libraries.train import sql as train_sql
from rayscope.libraries.tune import compute as tune_compute
from rayscope.libraries.tune import sql as tune_sql
from rayscope.storage.session_file import SessionFile

if TYPE_CHECKING:
    from rayscope.server.services import Services

T = TypeVar("T")
#: Library -> the view of what it is used for (docs/reference/libraries.md).
VIEWS = {"data": "datasets", "serve": "serve_applications", "train": "train_runs", "tune": "tune_experiments"}


def problem(services: Services, session: str, library: str) -> dict[str, str] | None:
    """Why the state of a library cannot be read now, and the remedy; None where it can be, or is not used."""
    found = services.clusters.library_problem(session, library)
    if found is not None:
        return {"message": found.message, "remedy": found.remedy}
    if library == "train":
        return train_compute.problem(*_untold(services, session, train_sql.untracked))
    if library == "tune":
        return tune_compute.problem(_untold(services, session, tune_sql.untraced))
    return None


def _untold(services: Services, session: str, count: Callable[[SessionFile, int | None], T]) -> T:
    """What ``count`` finds of a library's actors of whose work nothing is told: they are on record all the
    same.
    """
    is_live = services.clusters.is_live(session)
    now_ns = services.records.last_ns(session) if is_live else None
    # Now and then is enough of a live session: what is told late must only be so.
    key = f"{count.__module__} {'' if now_ns is None else now_ns // 10**10}"
    found: T = services.records.read_cached(session, lambda file: count(file, now_ns), key)
    return found


def libraries(
    services: Services, session: str, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """By library that a session uses how many of its things are in which state. ``counts``: of all views."""
    return {
        library: dict(counts[view])
        for library, view in VIEWS.items()
        if counts[view] or problem(services, session, library)
    }
