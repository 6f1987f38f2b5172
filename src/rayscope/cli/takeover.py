"""Lets a `rayscope run` that uses another command's server take over when that server ends."""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rayscope.cli.console import say, warn
from rayscope.cli.serving import Serving, running_server
from rayscope.client.server_url import ServerEntry, known_server
from rayscope.errors import RayscopeError
from rayscope.periodic import PeriodicTask
from rayscope.tracer.settings import RUN_PID

if TYPE_CHECKING:
    from rayscope.server.runner import Server
    from rayscope.settings import Settings

#: Interval at which the other server is checked, in seconds.
_PERIOD_S = 0.25
#: How long to wait for the data directory to have a server again when this run needs one, in seconds.
_RETURN_S = 120.0


class Takeover:
    """Checks the server every :data:`_PERIOD_S` in a thread. Use it as a context manager.

    Ray's agents keep the address with which they were started, so the new server listens on the same address.
    If there are several runs, the lock of the data directory decides which of them starts the server. A
    server of `rayscope serve` is never replaced, since its operator may be about to restart it.
    """

    def __init__(self, settings: Settings, serving: Serving) -> None:
        self._settings = settings
        self._known: ServerEntry | None = None if serving.own else known_server(settings.folder)
        self._server: Server | None = None
        self._lock = threading.Lock()
        self._warned = ""
        self._task = PeriodicTask("rayscope-heir", _PERIOD_S, self._look)

    @property
    def has_server(self) -> bool:
        """Whether this run has become the server of the data directory."""
        return self._server is not None

    def environ(self) -> dict[str, str]:
        """Return environment variables that make a driver wait for the next server."""
        if self._known is None or not self._known.inheritable:
            return {}
        return {RUN_PID: str(os.getpid())}

    def __enter__(self) -> Takeover:
        if self._known is not None:
            self._task.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._known is not None:
            self._task.stop(_RETURN_S)
        if self._server is not None:
            self._server.stop()

    def await_server(self) -> None:
        """Wait until the data directory has a server, unless it is up to someone else to start it."""
        deadline = time.monotonic() + _RETURN_S
        while self._known is not None and self._known.inheritable and time.monotonic() < deadline:
            if running_server(self._settings.folder) is not None:
                return
            self._look()
            time.sleep(_PERIOD_S)

    def _look(self) -> None:
        with self._lock:
            if self._known is None or self._server is not None:
                return
            folder = self._settings.folder
            now = known_server(folder)
            if now is not None and _is_open(folder):
                if now.url != self._known.url:
                    self._warn_once(
                        f"the server moved to {now.url}, but this program's events go to {self._known.url}: "
                        "they are not recorded any more."
                    )
            elif self._known.inheritable:
                self._take_over(self._known)
            else:
                self._warn_once(
                    f"the server at {self._known.url} has ended. Start it again (rayscope serve): Ray's "
                    "agents keep the newest events until then."
                )

    def _take_over(self, known: ServerEntry) -> None:
        from rayscope.server.runner import DataDirInUse, Server

        url = urlsplit(known.url)
        place = {"host": known.host or self._settings.host, "port": url.port, "root_path": url.path}
        server = Server(self._settings.model_copy(update=place), inheritable=True)
        try:
            server.start()
        except DataDirInUse:
            return  # the other server is still writing, or another run was faster
        except RayscopeError as error:
            self._warn_once(f"could not start a server in place of the one at {known.url}: {error}")
            return
        self._server = server
        say(f"the command that served {known.url} has ended; this one serves it now")

    def _warn_once(self, message: str) -> None:
        if message != self._warned:
            self._warned = message
            warn(message)


def _is_open(folder: Path) -> bool:
    """Return whether a server has ``folder`` open.

    Checking its process ID is not enough, because a killed server keeps that until its parent reaps it.
    """
    try:
        with (folder / "lock").open() as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
