"""Live push over a WebSocket, and by HTTP for clients without WebSockets."""

from __future__ import annotations

import contextlib
from typing import Annotated

from fastapi import Query, WebSocket, WebSocketDisconnect

from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.server.push import schemas
from rayscope.server.push.realtime import Realtime, Subscription

#: Close code for invalid messages.
_BAD_MESSAGE = 4400
#: Close code for too many clients.
_FULL = 4429


router = Router()


@router.websocket("/ws/realtime")
async def realtime(realtime: Annotated[Realtime, provide(Realtime)], socket: WebSocket) -> None:
    if realtime.is_full:
        await socket.close(_FULL, "too_many_clients")
        return
    await socket.accept()
    # Starlette raises RuntimeError if the client has disconnected in the meantime.
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):
        try:
            await realtime.serve(socket.send_text, socket.receive_text)
        except ValueError as error:
            await socket.close(_BAD_MESSAGE, str(error)[:100])


@router.get("/api/v1/realtime")
def topic_now(
    realtime: Annotated[Realtime, provide(Realtime)],
    topic: Annotated[str, Query(max_length=60)],
    session: Annotated[str | None, Query(max_length=200)] = None,
    job_id: Annotated[str | None, Query(max_length=200)] = None,
) -> Json[schemas.TopicState]:
    """Return the current state of a topic, like the WebSocket's first message about it."""
    return answer(realtime.once(Subscription(topic, session, job_id)))
