"""A debugger's side of the debug adapter protocol (DAP), which debugpy speaks in the task's process."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rayscope.cluster.debugger import dap
from rayscope.errors import RayscopeError

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

#: How long debugpy may take for a response, in seconds. Expressions of the user have no limit.
_ANSWER_S = 60.0
_TIMEOUT = "The debugger of this task did not answer in time.", "Try again, or release the task."


class Refused(RayscopeError):
    """debugpy refused a request, such as an expression that raises an error."""


class Ended(RayscopeError):
    """The connection has ended. The message is the reason."""


class DapClient:
    """Requests to debugpy, and its events.

    ``stop``: the last event ``stopped``, None while threads run. ``show_output`` is called with what the
    process prints.
    """

    def __init__(self, socket: ClientConnection, show_output: Callable[[str], None]) -> None:
        self.stop: dict[str, Any] | None = None
        self._show_output = show_output
        self._socket = socket
        self._numbers = itertools.count(1)
        self._answers: dict[int, dap.Message] = {}
        # A thread reads, because Ctrl-C may interrupt the main thread at any place.
        self._messages: queue.SimpleQueue[dap.Message | None] = queue.SimpleQueue()
        self._reason = ""
        threading.Thread(target=self._receive, name="rayscope-debugger", daemon=True).start()

    def attach(self) -> None:
        """Attach to the process. Its threads that wait then stop, which :meth:`poll` notices."""
        self.ask("initialize", clientID="rayscope", adapterID="debugpy", pathFormat="path")
        shown = {"special": "hide", "function": "inline", "class": "inline", "protected": "inline"}
        attached = self._send(
            "attach", justMyCode=False, subProcess=False, redirectOutput=True, variablePresentation=shown
        )
        self._await("event", "initialized")
        self.ask("setExceptionBreakpoints", filters=["uncaught"])
        self.ask("configurationDone")
        self._response(attached, _ANSWER_S)

    def ask(self, command: str, timeout_s: float | None = _ANSWER_S, **arguments: Any) -> dict[str, Any]:
        """Send a request and return the body of its response. Raises Refused or Ended."""
        return self._response(self._send(command, **arguments), timeout_s)

    def resume(self, command: str, thread: int) -> None:
        """Let threads run: ``continue``, ``next``, ``stepIn`` or ``stepOut``."""
        before, self.stop = self.stop, None
        try:
            self.ask(command, threadId=thread)
        except Refused:
            self.stop = before
            raise

    def poll(self, timeout_s: float) -> None:
        """Wait for one message. Raises Ended."""
        self._take(timeout_s)

    def _send(self, command: str, **arguments: Any) -> int:
        from websockets.exceptions import ConnectionClosed

        number = next(self._numbers)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        try:
            self._socket.send(dap.encode(message))
        except ConnectionClosed:
            raise Ended(self._socket.close_reason or "connection lost") from None
        return number

    def _response(self, number: int, timeout_s: float | None) -> dict[str, Any]:
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while number not in self._answers:
            left_s = None if deadline is None else deadline - time.monotonic()
            if left_s is not None and left_s <= 0:
                raise Refused(*_TIMEOUT)
            self._take(left_s)
        answer = self._answers.pop(number)
        if not answer.get("success"):
            raise Refused(str(answer.get("message") or "refused"))
        body = answer.get("body")
        return body if isinstance(body, dict) else {}

    def _await(self, key: str, value: str) -> None:
        deadline = time.monotonic() + _ANSWER_S
        while (message := self._take(deadline - time.monotonic())) is None or message.get(key) != value:
            if time.monotonic() > deadline:
                raise Refused(*_TIMEOUT)

    def _take(self, timeout_s: float | None) -> dap.Message | None:
        """Return the next message, or None if there is none in time. Raises Ended."""
        try:
            message = self._messages.get(timeout=None if timeout_s is None else max(0.0, timeout_s))
        except queue.Empty:
            return None
        if message is None:
            self._messages.put(None)  # for later calls
            raise Ended(self._reason)
        number, body = message.get("request_seq"), message.get("body")
        if message.get("type") == "response" and isinstance(number, int):
            self._answers[number] = message
        elif message.get("event") == "stopped" and isinstance(body, dict):
            self.stop = body
        elif message.get("event") == "output" and isinstance(body, dict):
            if body.get("category") in ("stdout", "stderr"):
                self._show_output(str(body.get("output", "")))
        elif message.get("event") == "terminated":
            raise Ended("the process has ended")
        return message

    def _receive(self) -> None:
        from websockets.exceptions import ConnectionClosed

        reader = dap.MessageReader()
        try:
            while True:
                data = self._socket.recv()
                if isinstance(data, bytes):
                    for message in reader.feed(data):
                        self._messages.put(message)
        except ConnectionClosed:
            self._reason = self._socket.close_reason or "connection lost"
        except dap.ProtocolError as error:
            self._reason = f"the debugger's messages cannot be read: {error}"
        self._messages.put(None)
