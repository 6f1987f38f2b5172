"""Compares every answer of a server in a test with the shape that its route promises."""

from __future__ import annotations

import functools
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute
from pydantic import ConfigDict, TypeAdapter, ValidationError
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Answers that do not match their schema, and how often each schema was compared.
wrong: list[str] = []
compared: dict[str, int] = {}


class _Compared:
    """A route's application whose JSON answers are checked on their way."""

    def __init__(self, path: str, app: ASGIApp, shapes: dict[int, Any]) -> None:
        self._path, self._app, self._shapes = path, app, shapes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = 0, bytearray()

        async def look(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            elif message["type"] == "http.response.body" and status in self._shapes:
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    compare(self._path, self._shapes[status], bytes(body))
            await send(message)

        await self._app(scope, receive, look)


@functools.cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    # A list, because pydantic takes no configuration for a TypedDict itself.
    return TypeAdapter(list[shape], config=ConfigDict(extra="forbid"))


def compare(path: str, shape: Any, body: bytes) -> None:
    """Note it if a body is not of its shape."""
    compared[path] = compared.get(path, 0) + 1
    try:
        _adapter(shape).validate_json(b"[%b]" % body, strict=True)
    except ValidationError as error:
        wrong.append(f"The answer of {path} is not of its shape: {error}")


def compare_answers(app: FastAPI) -> FastAPI:
    """Make every answer of ``app`` be compared with its route's ``responses``."""
    for route in app.routes:
        # Routes are made once, and servers many.
        if isinstance(route, APIRoute) and not isinstance(route.app, _Compared):
            shapes = {
                int(status): about["model"] for status, about in route.responses.items() if "model" in about
            }
            route.app = _Compared(route.path, route.app, shapes)
    return app
