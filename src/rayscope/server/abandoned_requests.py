"""Abandons the work for a request whose client is gone: it closed a tab, canceled a query, or timed out."""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rayscope.storage.interruption import Work, working

#: Status of a response that no client receives. The number is nginx's.
NOBODY_WAITS = 499
#: Paths whose POST requests change nothing.
QUESTIONS = frozenset({"/api/v1/sql", "/api/v1/what-if"})


def _is_question(path: str) -> bool:
    return path in QUESTIONS or path.startswith("/prometheus/")


class AbandonedRequests:
    """Middleware: watches the client while a read request is processed.

    Read requests are all GET requests, and POST requests to :data:`QUESTIONS` and to Prometheus' API. All
    others change something.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not (scope["method"] == "GET" or _is_question(scope["path"])):
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
            # This runs in a thread because it waits briefly for locks that other threads hold.
            await asyncio.to_thread(work.abandon)

        is_body_read = False

        async def receive_watched() -> Message:
            nonlocal is_body_read
            if not has_body.is_set():
                message = await receive()
                if not message.get("more_body", False):
                    is_body_read = True
                    has_body.set()
                return message
            if not is_body_read:
                is_body_read = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        watcher = asyncio.create_task(watch())
        try:
            with working(work):
                await self._app(scope, receive_watched, send)
        finally:
            watcher.cancel()
