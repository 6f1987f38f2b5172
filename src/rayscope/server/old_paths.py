"""Paths that the API had before ``/api/v1``."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Match

#: Old paths that were documented. Requests for them are redirected.
REDIRECTED = frozenset(
    f"/api/{name}" for name in ("cluster", "nodes", "tasks", "actors", "memory", "metrics")
)
#: Prefixes of paths whose spelling has changed.
_RESPELLED = {
    "/flow/critical_path": "/flow/critical-path",
    "/placement_groups": "/placement-groups",
    "/whatif": "/what-if",
}


def new_path(app: Starlette, old: str) -> str | None:
    """Return the path in ``/api/v1`` for an old path or an old spelling, or None if there is none."""
    path = old.removeprefix("/api").removeprefix("/v1")
    for before, after in _RESPELLED.items():
        if path.startswith(before):
            path = after + path.removeprefix(before)
    path = f"/api/v1{path}"
    scope = {"type": "http", "path": path, "root_path": "", "method": "GET"}
    exists = any(route.matches(scope)[0] != Match.NONE for route in app.routes)
    return path if exists and path != old else None
