"""Routes about tasks that wait for a debugger, and the connections of their processes and of debuggers."""

from __future__ import annotations

import contextlib
import logging
from typing import Annotated, Any, TypeVar

from fastapi import Header, Request, WebSocket, WebSocketDisconnect
from fastapi.responses import Response

from rayscope.api.parameters import CurrentRecords, CurrentSecrets, Session
from rayscope.api.provide import provide
from rayscope.api.responses import Json, answer, error
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorAnswer
from rayscope.api.security import BadKey
from rayscope.api.write_access import HEADER, OPERATOR_ONLY, NotOperator, check_operator
from rayscope.cluster.debugger import schemas
from rayscope.cluster.debugger.debuggees import Debuggee, Debuggees, DebuggerRefused, NotPaused
from rayscope.cluster.debugger.listing import paused_tasks
from rayscope.cluster.debugger.viewer import Viewer
from rayscope.ingest.clusters import CurrentClusters

log = logging.getLogger("rayscope.debugger")

#: Close codes: 4000 and the HTTP status of the same error.
_WRONG_KEY = 4404
_CLOSED_BY_PROCESS = 4410
_CONFLICT: dict[int | str, dict[str, Any]] = {409: {"model": ErrorAnswer}}
T = TypeVar("T")
#: Raised by Starlette, and for a process, if the other end is gone.
_CONNECTION_ENDED = (RuntimeError, WebSocketDisconnect, DebuggerRefused)
_SECRET = {"Cache-Control": "no-store"}
CurrentDebuggees = Annotated[Debuggees, provide(Debuggees)]

router = Router()


@router.get("/api/v1/paused-tasks")
def paused(
    records: CurrentRecords, debuggees: CurrentDebuggees, clusters: CurrentClusters, session: Session = None
) -> Json[schemas.PausedTasks]:
    """The tasks that wait for a debugger or have one attached, the longest wait first."""
    return answer(paused_tasks(records, debuggees, clusters, records.resolve(session)))


@router.post(
    "/api/v1/paused-tasks/{pause_id}/release",
    status_code=204,
    dependencies=OPERATOR_ONLY,
    responses=_CONFLICT,
)
async def release(debuggees: CurrentDebuggees, request: Request, pause_id: str) -> Response:
    """Let a paused task continue. A debugger that is attached to its process is detached."""
    debuggee, pause = debuggees.find(pause_id)
    log.info("debugger: %s releases task %s", _address(request), pause.task_id)
    await debuggee.release()
    return Response(status_code=204)


@router.post("/api/v1/paused-tasks/{pause_id}/stack", dependencies=OPERATOR_ONLY, responses=_CONFLICT)
async def stack(debuggees: CurrentDebuggees, request: Request, pause_id: str) -> Json[schemas.PausedStack]:
    """Attach the server itself as a debugger, unless it is attached already, and return the stack. Release
    the task to detach it.
    """
    debuggee, pause = debuggees.find(pause_id)
    async with debuggee.attaching:
        viewer = debuggee.debugger
        if not isinstance(viewer, Viewer):
            viewer = Viewer(debuggee, _address(request))
            await viewer.begin()
    log.info("debugger: %s looks at task %s", _address(request), pause.task_id)
    return _secret(await viewer.stack())


@router.post("/api/v1/paused-tasks/{pause_id}/variables", dependencies=OPERATOR_ONLY, responses=_CONFLICT)
async def variables(
    debuggees: CurrentDebuggees, pause_id: str, request: schemas.VariablesRequest
) -> Json[schemas.Variables]:
    """The local variables of a frame of the stack, or the parts of a variable."""
    viewer = _viewer(debuggees.find(pause_id)[0])
    return _secret(await viewer.variables(request.frame_id, request.reference))


@router.post("/api/v1/paused-tasks/{pause_id}/source", dependencies=OPERATOR_ONLY, responses=_CONFLICT)
async def source(
    debuggees: CurrentDebuggees, pause_id: str, request: schemas.SourceRequest
) -> Json[schemas.SourceLines]:
    """The source around the line of a frame of the stack."""
    viewer = _viewer(debuggees.find(pause_id)[0])
    return _secret(await viewer.source(request.frame_id))


@router.websocket("/api/ingest/{key}/debugger")
async def process(secrets: CurrentSecrets, debuggees: CurrentDebuggees, key: str, socket: WebSocket) -> None:
    """The connection of a process that waits for a debugger."""
    try:
        secrets.check_key(key)
    except BadKey:
        await socket.close(_WRONG_KEY, BadKey.code)
        return
    with contextlib.suppress(*_CONNECTION_ENDED):
        await debuggees.serve(socket)


@router.websocket("/ws/debugger/{pause_id}")
async def debugger(
    secrets: CurrentSecrets,
    debuggees: CurrentDebuggees,
    pause_id: str,
    socket: WebSocket,
    token: Annotated[str | None, Header(alias=HEADER, max_length=500)] = None,
) -> None:
    """The connection of a debugger. Binary messages are the stream of the debug adapter protocol, in both
    directions.
    """
    try:
        check_operator(secrets, token)
        debuggee, pause = debuggees.find(pause_id)
        client = Client(socket, _address(socket))
        await debuggee.attach(client)
    except (NotOperator, NotPaused, DebuggerRefused) as problem:
        # 403 is what a client gets for a connection that is closed before it is accepted.
        with contextlib.suppress(RuntimeError):
            await socket.send_denial_response(error(403, problem.code, problem.message, problem.remedy))
        return
    log.info("debugger: %s is attached to task %s", client.address, pause.task_id)
    try:
        with contextlib.suppress(*_CONNECTION_ENDED):
            await client.serve(debuggee)
    finally:
        log.info("debugger: %s has left task %s", client.address, pause.task_id)
        await debuggee.detach(client)


class Client:
    """A debugger at the other end of a WebSocket."""

    def __init__(self, socket: WebSocket, address: str) -> None:
        self.address = address
        self._socket = socket
        self._early = b""
        self._is_open = False

    async def serve(self, debuggee: Debuggee) -> None:
        """Pass on what the debugger sends, until it leaves."""
        await self._socket.accept()
        self._is_open = True
        if self._early:
            await self._socket.send_bytes(self._early)
        while (message := await self._socket.receive())["type"] != "websocket.disconnect":
            if data := message.get("bytes"):
                await debuggee.send(data)

    async def deliver(self, data: bytes) -> None:
        """Take a part of the stream that debugpy sends."""
        if not self._is_open:  # it greets while the process still reports that it is attached
            self._early += data
            return
        with contextlib.suppress(*_CONNECTION_ENDED):  # it has just left
            await self._socket.send_bytes(data)

    async def end(self, reason: str) -> None:
        """The process is gone, or its debugger has closed the connection."""
        with contextlib.suppress(*_CONNECTION_ENDED):
            await self._socket.close(_CLOSED_BY_PROCESS, reason[:120])


def _address(connection: Request | WebSocket) -> str:
    return "" if connection.client is None else f"{connection.client.host}:{connection.client.port}"


def _viewer(debuggee: Debuggee) -> Viewer:
    if not isinstance(debuggee.debugger, Viewer):
        raise NotPaused(
            "The web page's debugger is not attached to this task.", "Load its stack first.", what="no_viewer"
        )
    return debuggee.debugger


def _secret(value: T) -> Json[T]:
    """A response that may contain secrets of the user's program."""
    response = answer(value)
    response.headers.update(_SECRET)
    return response
