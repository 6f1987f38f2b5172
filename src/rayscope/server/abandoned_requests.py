"""Gives up the work for a request whose client has gone: a closed tab, a cancelled question, a time-out."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rayscope.storage.interruption import Work, working

#: The status of an answer that nobody gets to see; nginx's.
NOBODY_WAITS = 499
#: Paths that are asked by POST and change nothing.
QUESTIONS = frozenset({"/api/sql", "/api/whatif"})


class AbandonedRequests:
    """Middleware: while a question is answered, its client is watched.

    Questions are all GET requests, and those of :data:`QUESTIONS` that have a body. Others write.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["method"] == "GET" or scope["path"] in QUESTIONS):
            await self._app(scope, receive, send)
            return
        work, gone, has_body = Work(), asyncio.Event(), asyncio.Event()
        if scope["method"] == "GET":
            has_body.set()

        async def watch() -> None:
            await has_body.wait()
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()
            # It waits for locks that threads hold for a moment.
            await asyncio.to_thread(work.abandon)

        begun = False

        async def receive_watched() -> Message:
            nonlocal begun
            if not has_body.is_set():
                message = await receive()
                if not message.get("more_body", False):
                    begun = True
                    has_body.set()
                return message
            if not begun:
                begun = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        watcher = asyncio.create_task(watch())
        try:
            with working(work):
                await self._app(scope, receive_watched, send)
        finally:
            watcher.cancel()
