"""Returns unexpected errors in the same format as all other errors."""

from __future__ import annotations

import logging

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rayscope.api.responses import error

log = logging.getLogger("rayscope.server")


class UnexpectedErrors:
    """Middleware: logs an error that has no handler, and returns it with status 500 and code `internal`."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        has_begun = False

        async def send_on(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception as problem:
            if has_begun:
                raise
            log.exception("%s %s failed", scope["method"], scope["path"])
            message = f"This request failed because of a bug in Rayscope ({type(problem).__name__})."
            remedy = "Please report it with the traceback in the server's log."
            answer = error(500, "internal", message, remedy, params={"error": type(problem).__name__})
            await answer(scope, receive, send)
