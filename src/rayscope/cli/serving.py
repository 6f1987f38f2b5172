"""Finds the server of a data directory, or starts one."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.child import SIGNAL_DELAY_S
from rayscope.cli.console import USAGE_ERROR, fail, say, warn
from rayscope.cli.options import recorded_folder
from rayscope.client.calls import Call
from rayscope.client.server_url import known_server

if TYPE_CHECKING:
    from rayscope.server.runner import Server
    from rayscope.settings import Settings

#: How many ports to try, beginning with the requested one.
_PORTS_TRIED = 100
#: How long to wait for another server to start or to stop, in seconds.
_CHANGE_S = 120.0
#: Print a message after waiting this long for another server, in seconds.
_SAID_S = 2.0
_PAUSE_S = 0.2


@dataclass(frozen=True)
class Serving:
    """A running server. ``own``: we have started it and must stop it."""

    url: str
    ingest_url: str
    own: bool


def running_server(data_dir: Path) -> Serving | None:
    """Return the server that has ``data_dir`` open, or None. Files left by a killed server are ignored."""
    known = known_server(data_dir)
    if known is None:
        return None
    try:
        with Api(known.url, timeout_s=2) as api:
            api.ask(Call("GET", "/api/health"))
    except RayscopeError:
        return None
    return Serving(known.url, known.ingest_url, own=False)


def server_url(explicit: str | None, data_dir: Path) -> str | None:
    """Return the given URL or that of the server that has ``data_dir`` open, or None if there is none."""
    if explicit is not None:
        return explicit
    found = running_server(data_dir)
    return found.url if found is not None else None


def free_port(host: str, first: int) -> int:
    """Return the first free port on ``host``, beginning with ``first``. Exits if there is none."""
    if first == 0:
        return 0
    for port in range(first, min(first + _PORTS_TRIED, 65536)):
        if _is_free(host, port):
            return port
    fail(f"Ports {first} to {first + _PORTS_TRIED - 1} are all in use.", "Choose another with --port.")


def _is_free(host: str, port: int) -> bool:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        # The server itself reports all other errors, such as a host that is not ours.
        return error.errno != errno.EADDRINUSE
    return True


@contextlib.contextmanager
def started_server(settings: Settings, *, read_only: bool = False) -> Iterator[Serving]:
    """Run our own server during the block. If it cannot start, print the reason and exit."""
    from rayscope.server.runner import Server, StartError

    server = Server(settings, read_only=read_only)
    try:
        server.start()
    except StartError as error:
        fail(error.message, error.remedy)
    try:
        yield Serving(server.url, server.ingest_url, own=True)
    finally:
        server.stop()


@contextlib.contextmanager
def reading_server(settings: Settings) -> Iterator[tuple[str, str]]:
    """Provide the URL and the token of a server that only reads a data directory's sessions, runs and rules.

    It runs for the duration of the block. Exits if there is no such directory. All other files of the server,
    including its lock, are in a separate folder, so that a real server can start at the same time.
    """
    from rayscope.settings import new_token

    folder = recorded_folder(settings, USAGE_ERROR)
    with contextlib.suppress(OSError):
        if any((folder / "spool").iterdir()):
            warn("events that no server has merged yet are not included; `rayscope serve` merges them")
    with tempfile.TemporaryDirectory(prefix="rayscope-reading-") as scratch:
        for part in ("sessions", "alerts", "runs"):
            (Path(scratch) / part).symlink_to(folder / part)
        reading = settings.model_copy(
            update={
                "data_dir": Path(scratch),
                "host": "127.0.0.1",
                "port": 0,
                "token": new_token(),
                "archive": None,
                "warehouse": None,
            }
        )
        with started_server(reading, read_only=True) as serving:
            yield serving.url, reading.token or ""


@contextlib.contextmanager
def any_server(settings: Settings) -> Iterator[Serving]:
    """Provide the data directory's running server, or start our own for the duration of the block."""
    began = time.monotonic()
    has_said = False
    server = None
    while server is None:
        found = running_server(settings.folder)
        if found is not None:
            yield found
            return
        # This is None while another server is about to start or stop.
        waited_s = time.monotonic() - began
        server = _start_beside_others(settings, can_wait=waited_s < _CHANGE_S)
        if server is None and waited_s > _SAID_S and not has_said:
            has_said = True
            say(f"waiting for another server on {settings.folder} to start or to stop")
    try:
        yield Serving(server.url, server.ingest_url, own=True)
    finally:
        server.stop()


def _start_beside_others(settings: Settings, *, can_wait: bool) -> Server | None:
    """Start a server on the next free port.

    If another server has the data directory open, return None after a pause. Exits if the server cannot
    start, or if another one has the directory open and ``can_wait`` is false.
    """
    from rayscope.server.runner import DataDirInUse, Server, StartError

    port = free_port(settings.host, settings.port)
    server = Server(settings.model_copy(update={"port": port}), inheritable=True)
    try:
        server.start()
    except StartError as error:
        if not (can_wait and isinstance(error, DataDirInUse)):
            fail(error.message, error.remedy)
        time.sleep(_PAUSE_S)
        return None
    if port != settings.port:
        say(f"port {settings.port} is taken, using {port}")
    return server


def end_within(seconds: float) -> None:
    """Kill this process if it is still running after ``seconds``.

    A thread may hang in storage for longer, and Python waits for its threads. No acknowledged data is lost:
    it is in the spool, as after any kill.
    """

    def end() -> None:
        warn(f"something still waits for storage after {seconds:g} s; ending without it")
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def problem_of(api: Api) -> str | None:
    """Return why the server cannot record everything, with the remedy, or None if it can.

    Raises RayscopeError.
    """
    health = api.health()
    if health.get("status") == "ok":
        return None
    error: Mapping[str, Any] = health.get("error") or {}
    return f"{error.get('message') or 'The server does not say why.'} {error.get('remedy') or ''}".strip()


def warn_of_problem(api: Api) -> None:
    """Print a warning right away if the server cannot record, for example because the disk is full."""
    with contextlib.suppress(RayscopeError):
        if problem := problem_of(api):
            warn(f"nothing is being recorded: {problem}")


def serve_until_stopped(message: str) -> None:
    """Print ``message``, and return on Ctrl-C or SIGTERM."""
    with stop_signals() as stops:
        say(message)
        wait_for_stop(stops)


def wait_for_stop(stops: SimpleQueue[int]) -> None:
    """Wait in the main thread until a stop signal arrives.

    Python calls signal handlers only between bytecodes of the main thread. A signal that arrives just before
    the thread begins to wait does not end the wait, so it must end by itself.
    """
    while True:
        with contextlib.suppress(Empty):
            stops.get(timeout=SIGNAL_DELAY_S)
            return


@contextlib.contextmanager
def stop_signals() -> Iterator[SimpleQueue[int]]:
    """Provide a queue. During the block, Ctrl-C and SIGTERM are put into it instead of ending the process.

    (A handler must not set an Event: it may have interrupted the wait for that Event, which holds its lock.)
    """
    stops: SimpleQueue[int] = SimpleQueue()
    before = {
        number: signal.signal(number, lambda number, _: stops.put(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stops
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
