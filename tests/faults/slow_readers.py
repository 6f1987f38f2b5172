"""Clients that request much and read nothing are cut off, cost little, and delay no one else."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import tempfile
import time
from pathlib import Path

import psutil
from harness import Load, Server, wait_for
from websockets.sync.client import connect

from rayscope.server.http_protocol import STALLED_S

#: Limit of the server's memory for one client that reads nothing, bytes: an answer, and its buffers.
CLIENT_BYTES = 2 << 20
#: Requests that a client sends at once without reading an answer.
PIPELINED = 50
_HANDSHAKE = (
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def slow_readers(clients: int) -> list[str]:
    """Open ``clients`` WebSockets, and as many connections that request the API's description again and again."""
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="rayscope-faults-") as folder, contextlib.ExitStack() as stack:
        server = Server(Path(folder))
        server.start()
        stack.callback(server.stop)
        load = Load(server).start()
        stack.callback(load.abandon)
        wait_for(lambda: load.acknowledged > 3, "some batches")
        server.get("/openapi.json")
        assert server.process is not None
        process = psutil.Process(server.process.pid)
        before, _ = _watch(server, process)  # recording takes memory too
        descriptors = process.num_fds()
        subscription = _frame(json.dumps({"subscribe": [{"topic": each} for each in ("cluster", "tasks")]}))
        held = [_connect(server, "/ws/realtime", _HANDSHAKE, subscription) for _ in range(clients)]
        held += [_connect(server, "/openapi.json", "", b"", PIPELINED) for _ in range(clients)]
        for each in held:
            stack.callback(each.close)
        most, messages = _watch(server, process)
        wait_for(lambda: process.num_fds() < descriptors + clients, "the clients to be cut", 2 * STALLED_S)
        each_bytes = max(0, most - before) // (2 * clients)
        print(
            f"  slow readers: {each_bytes >> 10} kB a client, {messages} messages to one that reads",
            flush=True,
        )
        if each_bytes > CLIENT_BYTES:
            faults.append(f"a client that reads nothing costs {each_bytes >> 10} kB")
        if messages < STALLED_S / 10:
            faults.append(f"a client that reads got {messages} messages meanwhile")
        load.finish()
        faults += load.losses()
    return faults


def _watch(server: Server, process: psutil.Process) -> tuple[int, int]:
    """The most memory that the server takes, bytes, and how many messages a client gets that reads them."""
    deadline, messages, most = time.monotonic() + 2 * STALLED_S, 0, 0
    with connect(f"ws://127.0.0.1:{server.port}/ws/realtime") as reader:
        reader.send(json.dumps({"subscribe": [{"topic": "tasks"}]}))
        while time.monotonic() < deadline:
            messages += json.loads(reader.recv(60))["kind"] in ("state", "change")
            most = max(most, process.memory_info().rss)
    return most, messages


def _connect(server: Server, path: str, headers: str, rest: bytes, times: int = 1) -> socket.socket:
    """A connection that sends requests and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", server.port))
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n{headers}\r\n"
    client.sendall(request.encode() * times)
    if rest:
        if not client.recv(12).startswith(b"HTTP/1.1 101"):
            raise RuntimeError("the WebSocket was refused")
        client.sendall(rest)
    return client


def _frame(text: str) -> bytes:
    """A short text as a client's frame."""
    content = text.encode()
    return struct.pack("!BB", 0x81, 0x80 | len(content)) + b"\0\0\0\0" + content
