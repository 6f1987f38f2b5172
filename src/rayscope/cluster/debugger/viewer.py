"""A debugger that only looks: the stack, source and variables of a paused task, for the web page."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

from rayscope.cluster.debugger import dap, schemas
from rayscope.cluster.debugger.debuggees import Debuggee, DebuggerRefused
from rayscope.cluster.debugger.source import parse_source, source_expression
from rayscope.storage.errors import BadQuery

#: How long debugpy may take for a response, and until it has stopped the task, in seconds.
_ANSWER_S = 10.0
#: Variables of Python itself, and functions and classes, are left out.
_PRESENTATION = {"special": "hide", "function": "hide", "class": "hide", "protected": "inline"}
_MAX_FRAMES = 100
_MAX_THREADS = 20
_MAX_VARIABLES = 200
_MAX_VALUE_CHARS = 2000
#: How many lines of source are shown before and after a frame's line.
_LINES_AROUND = 25


def _refused(message: str) -> DebuggerRefused:
    return DebuggerRefused(message, "Release the task, or try again.", "debugger_unreachable")


class Viewer:
    """A debugger of the web page."""

    def __init__(self, debuggee: Debuggee, address: str) -> None:
        self.address = address
        self._debuggee = debuggee
        self._reader = dap.MessageReader()
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dap.Message]] = {}
        self._initialized = asyncio.Event()
        self._stopped = asyncio.Event()
        self._frames: dict[int, schemas.Frame] = {}

    async def deliver(self, data: bytes) -> None:
        """Take a part of the stream that debugpy sends."""
        try:
            for message in self._reader.feed(data):
                if message.get("type") == "response":
                    answer = self._answers.pop(message.get("request_seq") or 0, None)
                    if answer is not None and not answer.done():
                        answer.set_result(message)
                elif message.get("event") == "initialized":
                    self._initialized.set()
                elif message.get("event") == "stopped":
                    self._stopped.set()
        except dap.ProtocolError as error:
            await self._debuggee.detach(self)
            await self.end(str(error))

    async def end(self, reason: str) -> None:
        """End the session: requests fail from now on."""
        for answer in self._answers.values():
            if not answer.done():
                answer.set_exception(_refused(f"The debugger of this task has ended: {reason}."))

    async def begin(self) -> None:
        """Attach, and wait until the task has stopped. Raises DebuggerRefused."""
        await self._debuggee.attach(self)
        try:
            await self._ask("initialize", clientID="rayscope", adapterID="debugpy", pathFormat="path")
            attached = await self._send(
                "attach", justMyCode=False, subProcess=False, variablePresentation=_PRESENTATION
            )
            await asyncio.wait_for(self._initialized.wait(), _ANSWER_S)
            await self._ask("setExceptionBreakpoints", filters=["uncaught"])
            await self._ask("configurationDone")
            await asyncio.wait_for(attached, _ANSWER_S)
            await asyncio.wait_for(self._stopped.wait(), _ANSWER_S)
        except asyncio.TimeoutError:
            await self._debuggee.detach(self)
            raise _refused("The debugger of this task did not answer in time.") from None
        except DebuggerRefused:
            await self._debuggee.detach(self)
            raise

    async def stack(self) -> schemas.PausedStack:
        """The frames of the threads that are stopped."""
        threads = (await self._ask("threads")).get("threads") or []
        names = {thread["id"]: str(thread.get("name", "")) for thread in threads}
        stopped: list[schemas.StoppedThread] = []
        self._frames.clear()
        for thread in sorted(self._debuggee.stopped)[:_MAX_THREADS]:
            body = await self._ask("stackTrace", threadId=thread, startFrame=0, levels=_MAX_FRAMES)
            frames: list[schemas.Frame] = [
                {
                    "frame_id": frame["id"],
                    "function": str(frame.get("name", "")),
                    "file": (frame.get("source") or {}).get("path"),
                    "line": int(frame.get("line") or 0),
                }
                for frame in body.get("stackFrames") or []
            ]
            self._frames |= {frame["frame_id"]: frame for frame in frames}
            stopped.append({"name": names.get(thread, ""), "frames": frames})
        return {"threads": stopped}

    async def variables(self, frame_id: int | None, reference: int | None) -> schemas.Variables:
        """The local variables of a frame, or the parts of a variable."""
        if reference is None:
            scopes = (await self._ask("scopes", frameId=frame_id)).get("scopes") or []
            reference = next((scope["variablesReference"] for scope in scopes), 0)
        found = (await self._ask("variables", variablesReference=reference)).get("variables") or []
        items: list[schemas.Variable] = [
            {
                "name": str(variable.get("name", "")),
                "value": str(variable.get("value", ""))[:_MAX_VALUE_CHARS],
                "type": variable.get("type"),
                "reference": int(variable.get("variablesReference") or 0),
            }
            for variable in found[:_MAX_VARIABLES]
        ]
        return {"items": items, "left_out": max(0, len(found) - len(items))}

    async def source(self, frame_id: int) -> schemas.SourceLines:
        """The source around the line of a frame of :meth:`stack`."""
        frame = self._frames.get(frame_id)
        if frame is None:
            raise BadQuery(
                "This frame is not on the stack any more.", "Load the stack again.", what="paused_frame"
            )
        first = max(1, frame["line"] - _LINES_AROUND)
        expression = source_expression(frame["file"], first, frame["line"] + _LINES_AROUND)
        body = await self._ask("evaluate", expression=expression, frameId=frame_id, context="clipboard")
        return {"file": frame["file"], "first": first, "lines": parse_source(body.get("result"))}

    async def _ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of a response. Raises DebuggerRefused."""
        try:
            answer = await asyncio.wait_for(await self._send(command, **arguments), _ANSWER_S)
        except asyncio.TimeoutError:
            raise _refused(f"The debugger of this task did not answer {command} in time.") from None
        if not answer.get("success"):
            raise _refused(f"The debugger refused {command}: {str(answer.get('message'))[:300]}.")
        return answer.get("body") or {}

    async def _send(self, command: str, **arguments: Any) -> asyncio.Future[dap.Message]:
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        await self._debuggee.send(dap.encode(message))
        return answer
