"""A connection between this process and the server, through which debuggers reach debugpy.

The messages of debugpy's own protocol pass through unchanged.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import socket
import sys
import threading
import time
from collections.abc import Iterable
from typing import Any

from rayscope.tracer import emit
from rayscope.tracer.emit import state
from rayscope.tracer.pause import MAX_TEXT, Pause, clean
from rayscope.tracer.websocket import BINARY, TEXT, WebSocket, close_socket

#: The variable that holds the URL to which Ray's agents send events.
_INGEST_URL = "RAY_DASHBOARD_AGGREGATOR_AGENT_EVENTS_EXPORT_ADDR"
#: Time limit of one network operation, in seconds.
_TIMEOUT_S = 5.0
#: Pause before the next attempt to connect, and that after a connection which lasted longer, in seconds.
_RETRY_S = 0.5
_RECONNECT_S = 0.05
#: How long a debugger may take to accept a client and to let the code continue, in seconds.
_RELEASE_S = 5.0
#: How long a thread may take to continue after its wait was canceled, and the interval of looks, in seconds.
_CANCEL_S = 0.5
_LOOK_S = 0.01
_CHUNK_BYTES = 32 << 10
#: Maximum number of threads in a report, which the server accepts up to 64 KiB.
_MAX_REPORTED = 30


class Relay:
    """A connection of this process to the server, while one of its threads waits or has a debugger.

    ``about``: the IDs of the process.
    """

    def __init__(self, pause: Pause, about: dict[str, Any]) -> None:
        self._about = about
        self._pauses = {pause.values["id"]: pause}
        self._lock = threading.Lock()
        self._is_over = False
        self._wake = socket.socketpair()
        for end in self._wake:
            end.setblocking(False)
        self._server: WebSocket | None = None
        self._debugger: socket.socket | None = None
        #: The number that the server gave to the attachment of the current debugger.
        self._attachment = 0
        self._limit_s: float | None = None
        self._used = time.monotonic()
        thread = threading.Thread(target=self._run, name="rayscope-debugger", daemon=True)
        # debugpy must not stop this thread with the others.
        thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True  # type: ignore[attr-defined]
        thread.start()

    def add(self, pause: Pause) -> bool:
        """Report that a thread waits. Returns False if this connection is closing."""
        with self._lock:
            if self._is_over:
                return False
            self._pauses[pause.values["id"]] = pause
            self._used = time.monotonic()
        self._wake_up()
        return True

    def remove(self, pause: Pause) -> None:
        """Report that a thread no longer waits: a debugger is attached, or the thread was released."""
        with self._lock:
            self._pauses.pop(pause.values["id"], None)
        self._wake_up()

    def _wake_up(self) -> None:
        with contextlib.suppress(OSError):  # it is closed, or it is full, so the thread will wake up anyway
            self._wake[1].send(b"\0")

    def _run(self) -> None:
        try:
            while not self._ends():
                self._connect_once()
        except Exception as error:
            emit.log.debug("the connection for debuggers: %r", error)
        finally:
            with self._lock:
                self._is_over = True
            for end in self._wake:
                end.close()

    def _connect_once(self) -> None:
        """Connect, and serve the connection until it breaks or is no longer needed."""
        try:
            server = WebSocket(server_url(), _TIMEOUT_S)
        except (OSError, ValueError) as error:
            emit.log.debug("no connection for debuggers: %r", error)
            if self._limit_s is not None:  # the server let debuggers in, and is gone
                self._release("the server is gone")
                self._limit_s = None
            time.sleep(_RETRY_S)
            return
        began = self._used = time.monotonic()
        self._server = server
        try:
            self._report()
            self._take(server.messages())  # which arrived with the response
            while not self._ends():
                self._step(server)
        except Exception as error:
            emit.log.debug("the connection for debuggers: %r", error)
            time.sleep(_RECONNECT_S if time.monotonic() - began > _RETRY_S else _RETRY_S)
        finally:
            self._leave()
            self._server = None
            server.close()

    def _ends(self) -> bool:
        """Whether this connection is no longer needed."""
        with self._lock:
            self._is_over = not self._pauses and self._debugger is None
            return self._is_over

    def _step(self, server: WebSocket) -> None:
        """Wait for news from the server, the debugger or the threads that wait, or for the time limit."""
        poll = select.poll()
        debugger = self._debugger
        sources = [server.fileno(), self._wake[0].fileno(), *([debugger.fileno()] if debugger else [])]
        for source in sources:
            poll.register(source, select.POLLIN)
        left_ms = None
        if self._limit_s is not None:
            left_ms = max(0.0, self._used + self._limit_s - time.monotonic()) * 1000
        readable = {source for source, _ in poll.poll(left_ms)}
        if not readable:
            self._release("nobody used the debugger in time")
            self._used = time.monotonic()
        if self._wake[0].fileno() in readable:
            self._wake[0].recv(4096)
            self._report()
        if debugger is not None and debugger.fileno() in readable:
            self._pass_on(server, debugger)
        if server.fileno() in readable:
            self._take(server.receive())

    def _take(self, messages: Iterable[tuple[int, bytes]]) -> None:
        """Take messages of the server."""
        for kind, message in messages:
            self._used = time.monotonic()
            if kind != BINARY:
                self._obey(json.loads(message))
            elif self._debugger is not None:
                self._debugger.sendall(message)

    def _obey(self, message: dict[str, Any]) -> None:
        """Do what the server asks for."""
        if "limit_s" in message:
            self._limit_s = float(message["limit_s"])
        if "attach" in message:
            self._leave()
            self._attachment = message["attach"]
            try:
                self._debugger = _connect()
                self._say({"attached": True, "number": self._attachment})
            except OSError as error:
                self._say_detached(str(error))
        if message.get("detach"):
            self._leave()
        if message.get("release"):
            self._release("released")

    def _pass_on(self, server: WebSocket, debugger: socket.socket) -> None:
        """Pass what the debugger says on to the server."""
        self._used = time.monotonic()
        try:
            data = debugger.recv(_CHUNK_BYTES)
        except OSError:
            data = b""
        if data:
            server.send(BINARY, data)
        else:
            self._leave()
            self._say_detached("the debugger closed the connection")

    def _leave(self) -> None:
        """End the debugger's session. debugpy then lets all threads that it has stopped continue."""
        if self._debugger is not None:
            close_socket(self._debugger)
            self._debugger = None

    def _release(self, reason: str) -> None:
        """Let the threads that wait or have stopped continue."""
        if self._debugger is not None:
            self._leave()
            self._say_detached(reason)
        with self._lock:
            pauses = list(self._pauses.values())
            for pause in pauses:
                pause.is_released = True
        if not pauses:
            return
        with contextlib.suppress(Exception):  # such as that the thread has not begun to wait yet
            sys.modules["debugpy"].wait_for_client.cancel()
        deadline = time.monotonic() + _CANCEL_S
        while self._pauses and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        if not self._pauses:
            return
        try:
            _attach_and_leave()
        except Exception as error:
            emit.log.debug("the debugger cannot be released: %r", error)
            for pause in pauses:
                pause.is_released = False

    def _report(self) -> None:
        with self._lock:
            paused = [pause.values for pause in self._pauses.values()]
        self._say({**self._about, "paused": paused[:_MAX_REPORTED]})

    def _say_detached(self, reason: str) -> None:
        message = {"attached": False, "number": self._attachment, "reason": clean(reason[:MAX_TEXT])}
        self._say(message)

    def _say(self, message: dict[str, Any]) -> None:
        if self._server is not None:
            self._server.send(TEXT, json.dumps(message, ensure_ascii=False).encode())


def server_url() -> str:
    """The server's address for this connection, "" if no server is configured."""
    url = os.environ.get(_INGEST_URL, "")
    base, found, _ = url.partition("/ray-events")
    if not found or "/api/ingest/" not in base or not url.startswith(("http://", "https://")):
        return ""
    return f"{base}/debugger"


def _connect() -> socket.socket:
    """Connect to debugpy, which listens at the port that Ray opened."""
    worker = state.worker.global_worker
    address = worker.node_ip_address, worker.debugger_port
    connection = socket.create_connection(address, _TIMEOUT_S)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def _attach_and_leave() -> None:
    """Be debugpy's client for a moment, which ends the waits of all threads.

    ``wait_for_client.cancel`` reaches only the thread that began to wait last.
    """
    numbers = itertools.count(1)
    with _connect() as connection, connection.makefile("rb") as answers:
        connection.settimeout(_RELEASE_S)

        def ask(command: str, **arguments: Any) -> None:
            message = {"seq": next(numbers), "type": "request", "command": command, "arguments": arguments}
            body = json.dumps(message).encode()
            connection.sendall(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))

        def await_(key: str, name: str) -> None:
            while True:
                size = 0
                while line := answers.readline(1000).strip():
                    if line.lower().startswith(b"content-length:"):
                        size = int(line.partition(b":")[2])
                if not size:
                    raise ConnectionError("the debugger closed the connection")
                if json.loads(answers.read(size)).get(key) == name:
                    return

        ask("initialize", clientID="rayscope", adapterID="debugpy")
        ask("attach", subProcess=False)
        await_("event", "initialized")
        ask("configurationDone")
        await_("command", "attach")
        ask("disconnect", terminateDebuggee=False)
        await_("command", "disconnect")
