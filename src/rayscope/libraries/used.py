"""Which of Ray's libraries a session uses, and why the state of one cannot be read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rayscope.server.services import Services

#: Library -> the view of what it is used for (docs/reference/libraries.md).
VIEWS = {"data": "datasets", "serve": "serve_applications"}


def problem(services: Services, session: str, library: str) -> dict[str, str] | None:
    """Why the state of a library cannot be read now, and the remedy; None where it can be, or is not used."""
    found = services.clusters.library_problem(session, library)
    return None if found is None else {"message": found.message, "remedy": found.remedy}


def libraries(
    services: Services, session: str, counts: Mapping[str, Mapping[str, int]]
) -> dict[str, dict[str, int]]:
    """By library that a session uses how many of its things are in which state. ``counts``: of all views."""
    return {
        library: dict(counts[view])
        for library, view in VIEWS.items()
        if counts[view] or problem(services, session, library)
    }
