"""Serves everything below a root path too, for a proxy that publishes Rayscope at https://host/rayscope/."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class RootPath:
    """Middleware: removes the root path from the path of a request, before the guard checks it.

    Requests without the root path work as well: a proxy may have removed it already.
    """

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app, self._root_path = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope.get("path", "")
        if path == self._root_path or path.startswith(f"{self._root_path}/"):
            scope["path"] = path.removeprefix(self._root_path) or "/"
        await self._app(scope, receive, send)
