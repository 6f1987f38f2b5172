"""``rayscope debug TASK`` on a program with debugpy, which this test connects to a server as a worker does."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.running import Running
from tests.waiting import TIMEOUT_S, wait_until
from typer.testing import CliRunner
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from rayscope.cli.main import app

runner = CliRunner()
PROGRAM = r"""
import debugpy
print(debugpy.listen(("127.0.0.1", 0))[1], flush=True)
debugpy.wait_for_client()

def inner(n):
    hostile = "\x1b[2J"
    debugpy.breakpoint()
    done = n * 2
    return done

print(inner(20))
"""
PAUSE = {
    "id": "0123456789abcdef",
    "task_id": "ab" * 24,
    "attempt": 0,
    "since_ns": 10**18,
    "function": "inner",
    "file": "/app/train.py",
    "line": 8,
}


@pytest.fixture
def program(
    fresh: Running, bodies: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[subprocess.Popen[str]]:
    """A program that waits for a debugger, connected to a server that lets debuggers in."""
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    monkeypatch.delenv("RAYSCOPE_URL", raising=False)
    fresh.ingest(*bodies)
    services: Any = fresh.server.services
    services.debuggees.limit_s = 60.0
    path = tmp_path / "train.py"
    path.write_text(PROGRAM)
    command = [sys.executable, "-Xfrozen_modules=off", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    port = int(process.stdout.readline())
    url = fresh.server.ingest_url.replace("http", "ws", 1).replace("/ray-events", "/debugger")
    session = fresh.get("/api/v1/sessions")["items"][0]["session"]
    with connect(url, proxy=None) as server:
        server.send(str(msgspec.json.encode({"session": session, "paused": [PAUSE]}), "utf-8"))
        threading.Thread(target=serve, args=(server, port), daemon=True).start()
        wait_until(lambda: fresh.get("/api/v1/paused-tasks")["items"], "the pause")
        yield process
    process.kill()
    process.wait()
    process.stdout.close()


def serve(server: ClientConnection, port: int) -> None:
    """Connect debugpy to the server on request."""
    debugpy: socket.socket | None = None
    with contextlib.suppress(ConnectionClosed, OSError):
        while True:
            message = server.recv()
            if isinstance(message, bytes):
                assert debugpy is not None
                debugpy.sendall(message)
            elif number := msgspec.json.decode(message).get("attach"):
                debugpy = socket.create_connection(("127.0.0.1", port))
                server.send(f'{{"attached": true, "number": {number}}}')
                threading.Thread(target=pass_on, args=(debugpy, server, number), daemon=True).start()
            elif "detach" in message and debugpy is not None:
                debugpy.close()


def pass_on(debugpy: socket.socket, server: ClientConnection, number: int) -> None:
    with contextlib.suppress(ConnectionClosed, OSError):
        while data := debugpy.recv(65536):
            server.send(data)
        reason = "the debugger closed the connection"
        server.send(f'{{"attached": false, "number": {number}, "reason": "{reason}"}}')


def debug(commands: str) -> tuple[list[str], str]:
    """The output after each command, and the messages."""
    result = runner.invoke(app, ["debug", "abab"], input=commands)
    assert result.exit_code == 0, result.output
    return result.stdout.split("(debug) ")[1:], result.stderr


def test_commands_and_code_are_told_apart(program: subprocess.Popen[str]) -> None:
    commands = ["n = 7", "p n", "", "!n", "l = [n]", "l 1", "l", "l 99", "hostile", "print(hostile)"]
    commands += ["d", "u", "u", "a", "d", "threads", "nope", "h", "n", "q"]
    shown, said = debug("\n".join(commands))
    assert [part.splitlines()[1:] for part in shown[:5]] == [[], ["7"], ["7"], ["7"], []]
    assert re.findall(r"^ +(\d+)", shown[5], re.MULTILINE) == [str(number) for number in range(1, 12)]
    assert re.findall(r"^ +(\d+)", shown[6], re.MULTILINE)[0] == "12"
    assert shown[7].splitlines()[1:] == ["end of file"]
    assert r"\x1b[2J" in shown[8]
    assert r"\x1b[2J" in shown[9]
    assert "\x1b" not in "".join(shown)
    assert "Newest frame" in shown[10]
    assert "<module>()" in shown[11]
    assert "Oldest frame" in shown[12]
    assert "-> " in shown[14]
    assert "MainThread" in shown[15]
    assert "NameError" in shown[16]
    assert "where" in shown[17]
    assert "->     done = n * 2" in shown[18] or "->     return done" in shown[18]
    assert said.endswith("detached; the task continues\n")
    assert program.stdout is not None
    lines = iter(program.stdout.readline, "14\n")
    assert "\x1b[2J\n" in list(lines)


def test_a_process_that_ends(program: subprocess.Popen[str]) -> None:
    shown, said = debug("c\np 1\n")
    assert "has ended" in said
    assert len(shown) == 1
    assert program.wait(30) == 0


def test_ctrl_c_while_no_editor_has_come(program: subprocess.Popen[str]) -> None:
    command = [sys.executable, "-m", "rayscope.cli", "debug", "abab", "--port", "0"]
    waiting = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert waiting.stderr is not None
    assert "Ctrl-C stops" in next(line for line in waiting.stderr if "waiting for an editor" in line)
    waiting.send_signal(signal.SIGINT)
    assert "inner abababab still waits for a debugger" in waiting.communicate(timeout=TIMEOUT_S)[1]
    assert waiting.returncode == 0
    assert program.poll() is None
