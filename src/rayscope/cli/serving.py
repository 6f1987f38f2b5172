"""Finding the server of a data directory, or starting one."""

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
from typing import TYPE_CHECKING, Any

from rayscope.cli.api import Api, RayscopeError
from rayscope.cli.console import USAGE_ERROR, fail, say, warn
from rayscope.cli.options import recorded_folder
from rayscope.client.calls import Call
from rayscope.client.server_url import known_server

if TYPE_CHECKING:
    from rayscope.server.runner import Server
    from rayscope.server.settings import Settings

#: How many ports above the wanted one are tried.
_PORTS_TRIED = 100
#: How long another server may take to start or to stop, s.
_CHANGE_S = 120.0
#: After so long of that, s, it is said.
_SAID_S = 2.0
_PAUSE_S = 0.2


@dataclass(frozen=True)
class Serving:
    """A server that runs: ``own`` if it is ours to stop."""

    url: str
    ingest_url: str
    own: bool


def running_server(data_dir: Path) -> Serving | None:
    """The server that has ``data_dir`` open, or None. A file that a killed server left does not count."""
    known = known_server(data_dir)
    if known is None:
        return None
    try:
        with Api(known.url, timeout_s=2) as api:
            api.ask(Call("GET", "/api/health"))
    except RayscopeError:
        return None
    return Serving(known.url, known.ingest_url, own=False)


def server_url(given: str | None, data_dir: Path) -> str | None:
    """The URL that was given, or that of the server that has ``data_dir`` open, None if none has."""
    if given is not None:
        return given
    found = running_server(data_dir)
    return found.url if found is not None else None


def free_port(host: str, wanted: int) -> int:
    """``wanted`` if it is free on ``host``, else the next one that is. Exits if none is."""
    if wanted == 0:
        return 0
    for port in range(wanted, min(wanted + _PORTS_TRIED, 65536)):
        if _is_free(host, port):
            return port
    fail(f"Ports {wanted} to {wanted + _PORTS_TRIED - 1} are all in use.", "Choose another with --port.")


def _is_free(host: str, port: int) -> bool:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        # Any other trouble (a host that is not ours) is for the server to explain.
        return error.errno != errno.EADDRINUSE
    return True


@contextlib.contextmanager
def started_server(settings: Settings, *, read_only: bool = False) -> Iterator[Serving]:
    """A server of ours while the block runs. Exits with the reason if it cannot start."""
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
    """The URL and the token of a server that only reads the sessions and alert rules of a data directory,
    while the block runs. Exits if there is no such directory.

    Everything else of the server, its lock too, is in a folder of its own, so that a real server can start
    meanwhile.
    """
    from rayscope.server.settings import new_token

    folder = recorded_folder(settings, USAGE_ERROR)
    with contextlib.suppress(OSError):
        if any((folder / "spool").iterdir()):
            warn("events that no server has merged yet are not included; `rayscope serve` merges them")
    with tempfile.TemporaryDirectory(prefix="rayscope-reading-") as scratch:
        for part in ("sessions", "alerts"):
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
    """The server of the data directory if one runs, else one of ours while the block runs."""
    began = time.monotonic()
    has_said = False
    server = None
    while server is None:
        found = running_server(settings.folder)
        if found is not None:
            yield found
            return
        # None while another one is about to start or to stop.
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
    """Start a server on the next free port. None, after a pause, if another one has the data directory
    open. Exits if it cannot start, or when that is so and there is no time left to wait."""
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
    """End this process by force if it still runs after ``seconds``.

    Storage that hangs can hold a thread for longer, and Python waits for its threads. Nothing that was
    acknowledged is lost: it is in the spool, as after a kill.
    """

    def end() -> None:
        warn(f"something still waits for storage after {seconds:g} s; ending without it")
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def problem_of(api: Api) -> str | None:
    """Why the server cannot record everything, with the remedy; None if it can. Raises RayscopeError."""
    health = api.health()
    if health.get("status") == "ok":
        return None
    error: Mapping[str, Any] = health.get("error") or {}
    return f"{error.get('message') or 'The server does not say why.'} {error.get('remedy') or ''}".strip()


def warn_of_problem(api: Api) -> None:
    """Say at once that the server cannot record, as on a full disk."""
    with contextlib.suppress(RayscopeError):
        if problem := problem_of(api):
            warn(f"nothing is being recorded: {problem}")


def serve_until_stopped(message: str) -> None:
    """Print ``message``, and return at Ctrl-C or SIGTERM."""
    with stop_signals() as stopped:
        say(message)
        wait_for_stop(stopped)


def wait_for_stop(stopped: threading.Event) -> None:
    """Wait in the main thread, which has to run now and then to handle signals."""
    while not stopped.wait(3600):
        pass


@contextlib.contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set during the block, instead of ending the process."""
    stopped = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stopped.set()) for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield stopped
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
