"""Live push over a WebSocket, and the same by HTTP for who cannot hold one."""

from __future__ import annotations

import contextlib
from typing import Annotated

from fastapi import APIRouter, Query, WebSocket, WebSocketDisconnect
from fastapi.responses import Response

from rayscope.api.parameters import ERRORS
from rayscope.api.provide import provide
from rayscope.server.push import schemas
from rayscope.server.push.realtime import Realtime, Wanted

#: Close codes: the message was none of ours; there are too many clients.
_BAD_MESSAGE, _FULL = 4400, 4429


router = APIRouter()


@router.websocket("/ws/realtime")
async def realtime(realtime: Annotated[Realtime, provide(Realtime)], socket: WebSocket) -> None:
    if realtime.is_full:
        await socket.close(_FULL, "too_many_clients")
        return
    await socket.accept()
    # Starlette's RuntimeError: the client has gone meanwhile.
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        try:
            await realtime.serve(socket.send_text, socket.receive_text)
        except ValueError as error:
            await socket.close(_BAD_MESSAGE, str(error)[:100])


@router.get("/api/realtime", responses={**ERRORS, 200: {"model": schemas.TopicState}})
def topic_now(
    realtime: Annotated[Realtime, provide(Realtime)],
    topic: Annotated[str, Query(max_length=60)],
    session: Annotated[str | None, Query(max_length=200)] = None,
    job_id: Annotated[str | None, Query(max_length=200)] = None,
) -> Response:
    """The current state of a topic, as the WebSocket sends it first."""
    return Response(realtime.once(Wanted(topic, session, job_id)), media_type="application/json")
