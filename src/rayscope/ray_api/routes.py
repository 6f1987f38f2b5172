"""The form of routes that answer like Ray's dashboard, and the session that a request is about."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Coroutine, Iterator
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends, Request
from fastapi.responses import PlainTextResponse, Response
from fastapi.routing import APIRoute

from rayscope.api.parameters import CurrentRecords, CurrentSettings
from rayscope.api.responses import Json, Stream
from rayscope.api.security import error_headers
from rayscope.errors import RayscopeError
from rayscope.storage.slots import Slots

#: Maximum number of sessions that an error names.
_MAX_NAMED = 20


class SeveralLive(RayscopeError):
    """A request at the root while several clusters are live."""

    code = "several_live"
    status = 400


class RayRoute(APIRoute):
    """A route whose errors have the form that Ray's clients expect."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()

        async def answer_or_explain(request: Request) -> Response:
            try:
                return await handle(request)
            except RayscopeError as error:
                text, status = str(error), error.status or 500
                headers = error_headers(error)
            if "/api/v0/" in request.url.path:
                body = msgspec.json.encode({"result": False, "msg": text, "data": {"result": None}})
                return Json(body, status, headers)
            return PlainTextResponse(text, status, headers)

        return answer_or_explain


class RayRouter(APIRouter):
    """Routes that answer like Ray's dashboard."""

    def __init__(self) -> None:
        super().__init__(route_class=RayRoute, include_in_schema=False)

    def answer(
        self, path: str, *, at_root: bool = True
    ) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
        """Add a route below the path of a session, and at the root."""

        def add(function: Callable[..., Response]) -> Callable[..., Response]:
            for prefix in ("/ray/{session}", "")[: 1 + at_root]:
                self.add_api_route(prefix + path, function, methods=["GET"])
            return function

        return add


def any_session(request: Request, records: CurrentRecords) -> str:
    """The session in a path. At the root, it is a live one, or else the newest."""
    return records.resolve(request.path_params.get("session") or next(iter(records.live_here()), None))


def current_session(request: Request, records: CurrentRecords, settings: CurrentSettings) -> str:
    """Like :func:`any_session`, but raises SeveralLive if there are several live ones to choose from."""
    live = records.live_here()
    if "session" not in request.path_params and len(live) > 1:
        url = f"{str(request.base_url).rstrip('/')}{settings.root_path}/ray/"
        addresses = ", ".join(url + name for name in live[:_MAX_NAMED])
        raise SeveralLive(f"{len(live)} clusters are live.", f"Use one of these addresses: {addresses}.")
    return any_session(request, records)


Session = Annotated[str, Depends(current_session)]


def send(slots: Slots, read: Callable[[], Iterator[bytes]], media_type: str) -> Response:
    """Send what ``read`` returns while holding a slot. Raises its errors up to the first piece."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(slots.take())
        pieces = read()
        first = next(pieces, b"")
        return Stream(itertools.chain([first], pieces), stack.pop_all(), media_type=media_type)
    raise AssertionError  # unreachable: no context above suppresses an exception
