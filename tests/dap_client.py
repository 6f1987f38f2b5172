"""A debugger: a client of the debug adapter protocol, through Rayscope's server."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Iterator
from typing import Any

from websockets.sync.client import connect

from rayscope.cluster.debugger import dap

#: After this, an answer of debugpy will not come, in seconds.
_ANSWER_S = 60.0


class DapClient:
    """A debugger that is connected to a paused task."""

    def __init__(self, url: str, token: str, pause_id: str) -> None:
        address = f"{url.replace('http', 'ws', 1)}/ws/debugger/{pause_id}"
        headers = {"X-Rayscope-Operator": token}
        self._use(connect(address, additional_headers=headers, max_size=None, proxy=None))

    def _use(self, connection: Any) -> None:
        self.socket = connection
        self._numbers = itertools.count(1)
        self._reader = dap.MessageReader()
        self._messages = self._receive()
        self._kept: list[dict[str, Any]] = []

    def _receive(self) -> Iterator[dict[str, Any]]:
        while True:
            data = self.socket.recv(_ANSWER_S)
            assert isinstance(data, bytes)
            yield from self._reader.feed(data)

    def send(self, command: str, **arguments: Any) -> int:
        """Send a request. Returns its number."""
        number = next(self._numbers)
        message = {"seq": number, "type": "request", "command": command, "arguments": arguments}
        self.socket.send(dap.encode(message))
        return number

    def await_message(self, **wanted: Any) -> dict[str, Any]:
        """The first message that has these values and was not yet returned."""
        deadline = time.monotonic() + _ANSWER_S
        for message in itertools.chain(self._taken(), self._messages):
            if all(message.get(name) == value for name, value in wanted.items()):
                if message in self._kept:
                    self._kept.remove(message)
                return message
            if message not in self._kept:
                self._kept.append(message)
            assert time.monotonic() < deadline, f"no {wanted}"
        raise AssertionError("unreachable")

    def _taken(self) -> list[dict[str, Any]]:
        return list(self._kept)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The body of a response."""
        answer = self.await_message(request_seq=self.send(command, **arguments), type="response")
        assert answer["success"], answer
        body: dict[str, Any] = answer.get("body") or {}
        return body

    def attach(self) -> int:
        """Attach as an editor does. Returns the thread that has stopped."""
        self.ask("initialize", clientID="test", adapterID="debugpy", pathFormat="path")
        attached = self.send("attach", justMyCode=False, subProcess=False)
        self.await_message(event="initialized")
        self.ask("setExceptionBreakpoints", filters=["uncaught"])
        self.ask("configurationDone")
        assert self.await_message(request_seq=attached)["success"]
        return int(self.await_message(event="stopped")["body"]["threadId"])

    def frames(self, thread: int) -> list[dict[str, Any]]:
        """The frames of a thread, innermost first."""
        found: list[dict[str, Any]] = self.ask("stackTrace", threadId=thread)["stackFrames"]
        return found

    def variables(self, frame: dict[str, Any]) -> dict[str, str]:
        """The values of a frame's local variables."""
        scope = self.ask("scopes", frameId=frame["id"])["scopes"][0]
        found = self.ask("variables", variablesReference=scope["variablesReference"])["variables"]
        return {variable["name"]: variable["value"] for variable in found}

    def leave(self) -> None:
        """Detach. The task continues."""
        self.ask("disconnect", terminateDebuggee=False)
        self.socket.close()


class EditorClient(DapClient):
    """A debugger that is connected to a port of this machine, as editors are."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._use(_Tcp(address))


class _Tcp:
    def __init__(self, address: tuple[str, int]) -> None:
        self._connection = socket.create_connection(address)
        self.send, self.close = self._connection.sendall, self._connection.close

    def recv(self, timeout_s: float) -> bytes:
        self._connection.settimeout(timeout_s)
        return self._connection.recv(65536)
