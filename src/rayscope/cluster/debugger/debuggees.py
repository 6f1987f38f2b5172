"""The processes that wait for a debugger, and the debuggers that are attached to them.

Each process has one connection, which it opened itself (:mod:`rayscope.tracer.debugger`). Everything runs on
the server's event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, NamedTuple, Protocol

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from rayscope.cluster.debugger.dap import MessageReader, ProtocolError
from rayscope.errors import RayscopeError

log = logging.getLogger("rayscope.debugger")

#: Maximum number of processes that wait at once, and of the threads of one.
_MAX_PROCESSES = 500
_MAX_PAUSES = 100
#: Maximum number of workers that are remembered to have a tracer.
_MAX_TRACED = 10_000
#: How long a process may take to connect to its debugger, in seconds.
_ATTACH_S = 10.0
#: Close codes for a process whose report is invalid, and for one too many.
_BAD_REPORT = 4400
_FULL = 4429

_Text = Annotated[str, msgspec.Meta(max_length=300)]
_Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{8,56}$")]
_Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]


class Pause(msgspec.Struct, frozen=True):
    """A thread that waits for a debugger, as its process reports it."""

    id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{16}$")]
    task_id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{48}$")]
    attempt: Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
    since_ns: _Nanoseconds
    function: _Text | None = None
    file: _Text | None = None
    line: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    error: _Text | None = None


class Held(NamedTuple):
    """A thread that waits for a debugger, or (``is_waiting`` is false) that has one."""

    pause: Pause
    is_waiting: bool


class Report(msgspec.Struct, frozen=True):
    """A report of a process: which of its threads wait, or whether its debugger accepted a client."""

    session: _Text | None = None
    node_id: _Id | None = None
    worker_id: _Id | None = None
    job_id: _Id | None = None
    actor_id: _Id | None = None
    pid: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    host: _Text = ""
    is_driver: bool = False
    paused: Annotated[tuple[Pause, ...], msgspec.Meta(max_length=_MAX_PAUSES)] | None = None
    attached: bool | None = None
    number: Annotated[int, msgspec.Meta(ge=0, lt=2**31)] = 0
    reason: _Text = ""


_decode_report = msgspec.json.Decoder(Report).decode


class NotPaused(RayscopeError):
    """No task with this ID waits for a debugger."""

    remedy = "`rayscope debug` lists the tasks that wait for a debugger."
    code = "not_paused"
    status = 404


class DebuggerRefused(RayscopeError):
    """A debugger may not attach, or cannot."""

    status = 409


def _no_answer() -> DebuggerRefused:
    return DebuggerRefused(
        "The process of this task does not answer.",
        "Look at its worker: it may be gone.",
        "debugger_unreachable",
    )


@contextlib.contextmanager
def _unless_gone() -> Iterator[None]:
    """Raise DebuggerRefused if the connection of a process has ended."""
    try:
        yield
    except (RuntimeError, WebSocketDisconnect):  # Starlette raises either of them
        raise _no_answer() from None


class Debugger(Protocol):
    """A debugger that is attached to a process. ``address``: of its user."""

    address: str

    async def deliver(self, data: bytes) -> None:
        """Take a part of the stream that debugpy sends."""

    async def end(self, reason: str) -> None:
        """The process is gone, or its debugger has closed the connection."""


class Debuggee:
    """A process that waits for a debugger or has one attached.

    ``held``: its threads that wait or have a debugger, by ID; replaced, never changed, because other threads
    read it. ``used_ns``: when a debugger was last
    used. ``stopped``: the threads that the attached debugger has stopped, by its own IDs.
    """

    def __init__(self, socket: WebSocket) -> None:
        self.about = Report()
        self.held: dict[str, Held] = {}
        self.debugger: Debugger | None = None
        self.stopped: set[int] = set()
        self.used_ns = time.time_ns()
        self._socket = socket
        self._reader: MessageReader | None = None
        self._accepted: asyncio.Future[Report] | None = None
        #: How many debuggers have attached. The number tells reports about them apart.
        self._attachments = 0
        #: Held while the web page's debugger attaches.
        self.attaching = asyncio.Lock()

    async def attach(self, debugger: Debugger) -> None:
        """Connect a debugger. Raises DebuggerRefused."""
        if self.debugger is not None:
            raise DebuggerRefused(
                f"Another debugger is attached to this process, from {self.debugger.address}.",
                "Wait until it has left, or release the task.",
                "debugger_in_use",
                address=self.debugger.address,
            )
        self.debugger, self._reader = debugger, MessageReader()
        self._accepted = asyncio.get_running_loop().create_future()
        self._attachments += 1
        try:
            await self.say({"attach": self._attachments})
            answer = await asyncio.wait_for(self._accepted, _ATTACH_S)
            if not answer.attached:
                raise DebuggerRefused(
                    f"The debugger of this process does not answer: {answer.reason}.",
                    "Release the task, or try again.",
                    "debugger_unreachable",
                )
        except DebuggerRefused:
            self._forget()
            raise
        except asyncio.TimeoutError:
            await self.detach(debugger)  # it may still attach
            raise _no_answer() from None

    async def send(self, data: bytes) -> None:
        """Pass on a part of the stream that the attached debugger sends. Raises DebuggerRefused."""
        self.used_ns = time.time_ns()
        with _unless_gone():
            await self._socket.send_bytes(data)

    async def detach(self, debugger: Debugger) -> None:
        """End the session of a debugger. The task continues."""
        if self.debugger is debugger:
            self._forget()
            with contextlib.suppress(DebuggerRefused):
                await self.say({"detach": True})

    async def release(self) -> None:
        """Let the task continue, without a debugger. Raises DebuggerRefused."""
        debugger = self.debugger
        await self.say({"release": True})
        if debugger is not None:
            self._forget()
            await debugger.end("released")

    async def say(self, message: dict[str, Any]) -> None:
        """Send a message to the process. Raises DebuggerRefused."""
        self.used_ns = time.time_ns()
        with _unless_gone():
            await self._socket.send_text(str(msgspec.json.encode(message), "utf-8"))

    async def take(self, text: str) -> None:
        """Take a report. Raises msgspec.DecodeError."""
        report = _decode_report(text)
        if report.paused is not None:
            self.about = report
            # Those that no longer wait stay while a debugger is attached, also if they wait again.
            kept = self.held if self.debugger is not None else {}
            ids = {(held.pause.task_id, held.pause.attempt): name for name, held in kept.items()}
            now = [
                msgspec.structs.replace(pause, id=ids.get((pause.task_id, pause.attempt), pause.id))
                for pause in report.paused
            ]
            if any(pause.id not in self.held for pause in now):
                self.used_ns = time.time_ns()
            self.held = {
                **{name: Held(held.pause, is_waiting=False) for name, held in kept.items()},
                **{pause.id: Held(pause, is_waiting=True) for pause in now},
            }
        if report.attached is not None and report.number == self._attachments:
            if self._accepted is not None and not self._accepted.done():
                self._accepted.set_result(report)
            elif not report.attached and (debugger := self.debugger) is not None:
                self._forget()
                await debugger.end(report.reason)

    async def deliver(self, data: bytes) -> None:
        """Pass on a part of the stream that debugpy sends, and note which threads it has stopped."""
        if self.debugger is None or self._accepted is None or not self._accepted.done():
            return  # of an earlier debugger
        self.used_ns = time.time_ns()
        if self._reader is not None:
            try:
                for message in self._reader.feed(data):
                    self._note(message)
            except ProtocolError as error:
                log.info("a debugger's stream cannot be read, only passed on: %s", error)
                self._reader = None
        await self.debugger.deliver(data)

    async def end(self) -> None:
        """The connection is gone."""
        debugger = self.debugger
        self._forget()
        if self._accepted is not None and not self._accepted.done():
            self._accepted.set_result(Report(attached=False, reason="it is gone"))
        if debugger is not None:
            await debugger.end("the process is gone")

    def _note(self, message: dict[str, Any]) -> None:
        body = message.get("body")
        thread = body.get("threadId") if isinstance(body, dict) else None
        if message.get("event") == "stopped" and isinstance(thread, int):
            self.stopped.add(thread)
        elif message.get("event") == "continued" and isinstance(body, dict):
            self.stopped = set() if body.get("allThreadsContinued") else self.stopped - {thread or 0}

    def _forget(self) -> None:
        """Forget the debugger."""
        self.debugger = self._reader = None
        self.stopped = set()
        self.held = {name: held for name, held in self.held.items() if held.is_waiting}


class Debuggees:
    """All processes that wait for a debugger. ``limit_s``: after how long without use a task continues,
    None if the server lets no debuggers in.
    """

    def __init__(self, limit_s: float | None) -> None:
        self.limit_s = limit_s
        self._open: set[Debuggee] = set()
        self._traced: dict[str, None] = {}

    def is_traced(self, worker_id: str) -> bool:
        """Whether a worker has ever connected, so that it has a tracer. The GCS is a few seconds behind."""
        return worker_id in self._traced

    def of_session(self, session: str) -> list[tuple[Debuggee, Held]]:
        """The paused threads of a session, the longest wait first."""
        found = [
            (debuggee, held)
            for debuggee in list(self._open)
            if debuggee.about.session == session
            for held in debuggee.held.values()
        ]
        return sorted(found, key=lambda one: one[1].pause.since_ns)

    def find(self, pause_id: str) -> tuple[Debuggee, Pause]:
        """The process of a pause. Raises NotPaused, and DebuggerRefused if debuggers are not let in."""
        if self.limit_s is None:
            raise DebuggerRefused(
                "This server lets no debuggers in.",
                "Start it with --debugger (RAYSCOPE_DEBUGGER=1).",
                "debugger_disabled",
            )
        for debuggee in self._open:
            if (held := debuggee.held.get(pause_id)) is not None:
                return debuggee, held.pause
        raise NotPaused("This task does not wait for a debugger any more.")

    def _remember(self, worker_id: str | None) -> None:
        if worker_id is not None and worker_id not in self._traced:
            self._traced[worker_id] = None
            if len(self._traced) > _MAX_TRACED:
                del self._traced[next(iter(self._traced))]

    async def serve(self, socket: WebSocket) -> None:
        """Serve the connection of a process until it ends."""
        if len(self._open) >= _MAX_PROCESSES:
            await socket.close(_FULL, "too_many_processes")
            return
        await socket.accept()
        debuggee = Debuggee(socket)
        self._open.add(debuggee)
        try:
            if self.limit_s is not None:
                await debuggee.say({"limit_s": self.limit_s})
            async for message in _messages(socket):
                if isinstance(message, bytes):
                    await debuggee.deliver(message)
                else:
                    await debuggee.take(message)
                    self._remember(debuggee.about.worker_id)
        except msgspec.DecodeError as error:
            log.info("a process that waits for a debugger sent an invalid report: %s", error)
            await socket.close(_BAD_REPORT, "bad_report")
        finally:
            self._open.discard(debuggee)
            await debuggee.end()


async def _messages(socket: WebSocket) -> AsyncIterator[str | bytes]:
    while (message := await socket.receive())["type"] != "websocket.disconnect":
        data = message.get("bytes")
        yield (message.get("text") or "") if data is None else data
