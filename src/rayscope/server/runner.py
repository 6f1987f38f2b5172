"""A server in this process: locks the data directory, binds, serves in a thread, and stops cleanly."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import gc
import ipaddress
import logging
import os
import resource
import socket
import sys
import threading
from pathlib import Path
from typing import IO

import msgspec
import uvicorn

from rayscope.errors import RayscopeError
from rayscope.files import replace_file
from rayscope.ray.auth import RayToken, ray_token
from rayscope.server.app import create_app
from rayscope.server.http_protocol import HttpProtocol, WebSocketProtocol, max_connections
from rayscope.server.lifecycle import Lifecycle, create_services
from rayscope.server.push.realtime import MAX_MESSAGE_BYTES
from rayscope.server.services import Services
from rayscope.settings import Settings

#: Interval of WebSocket pings, and the time limit for their responses, in seconds.
_PING_S = 15.0
#: Minimum length of a token. Wrong tokens are not rate-limited, so tokens must be long.
_MIN_TOKEN = 16
#: Hosts that never use a proxy.
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
#: Desired limit on the number of open files, if the system allows it.
_FILES = 65_536


log = logging.getLogger("rayscope.server")


class StartError(RayscopeError):
    """The server cannot start."""


class DataDirInUse(StartError):
    """Another server has the data directory open."""


def check_token(settings: Settings) -> None:
    """Raise StartError if the address to bind requires a token, and the settings have no good one."""
    if settings.is_loopback:
        return
    if not settings.token:
        raise StartError(
            f"On {settings.host}, anyone who can reach this machine could read your jobs' names and errors.",
            "Set a token (--generate-token, or --token @FILE), or use --host 127.0.0.1.",
        )
    if len(settings.token) < _MIN_TOKEN:
        raise StartError(
            f"A token of {len(settings.token)} characters is too easy to guess.",
            f"Use at least {_MIN_TOKEN} characters; --generate-token creates a good one.",
        )


class Server:
    """Rayscope's server. ``url`` and ``ingest_url`` are set once :meth:`start` has returned.

    ``inheritable`` means that when this process ends, another `rayscope run` that uses this server starts a
    new one. ``read_only`` means to serve existing records, without writing any or looking for clusters.
    """

    def __init__(self, settings: Settings, *, inheritable: bool = False, read_only: bool = False) -> None:
        self.settings = settings
        self._read_only = read_only
        self._inheritable = inheritable
        self.url = ""
        self.ingest_url = ""
        self.services: Services | None = None
        self._lifecycle: Lifecycle | None = None
        self._lock_file: IO[str] | None = None
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None
        self._socket: socket.socket | None = None

    def start(self) -> None:
        """Bind and serve in a background thread. If this raises StartError, nothing is left behind."""
        settings = self.settings
        check_token(settings)
        try:
            self._lock()
            self._bind()
            self.services = create_services(settings, read_only=self._read_only)
        except OSError as error:
            self._release()
            raise StartError(
                f"Could not use the data directory {settings.folder}: {error}.",
                "Make it writable, or choose another one with --data-dir.",
            ) from error
        except BaseException:
            self._release()
            raise
        if os.environ.get("RAY_DASHBOARD_MAX_ACTORS_TO_CACHE"):
            log.warning(
                "RAY_DASHBOARD_MAX_ACTORS_TO_CACHE has no effect: Rayscope keeps all actors of a session."
            )
        self.services.url = self.services.url or self.url
        _tune_interpreter()
        _keep_loopback_off_proxies()
        self._lifecycle = Lifecycle(self.services)
        if not self._read_only:
            self._lifecycle.start()
        config = uvicorn.Config(
            create_app(self.services),
            http=HttpProtocol,
            ws=WebSocketProtocol,
            # asyncio accepts up to this many connections at once, before any of them can be closed.
            backlog=min(2048, max_connections() // 2),
            log_level="warning",
            access_log=False,
            lifespan="off",
            timeout_keep_alive=30,
            # Compressing for each client separately would cost more than all other work for the live push.
            ws_per_message_deflate=False,
            ws_max_size=MAX_MESSAGE_BYTES,
            ws_ping_interval=_PING_S,
            ws_ping_timeout=_PING_S,
            timeout_graceful_shutdown=3,
            server_header=False,
        )
        logging.getLogger("uvicorn.error").addFilter(_is_news)
        print_info_logs()
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._serve, name="rayscope-http", daemon=True)
        self._thread.start()
        self._write_about(settings.folder)

    def _serve(self) -> None:
        if self._server is not None and self._socket is not None:
            # Keep the process's own signal handlers, so that Ctrl-C reaches a script of `rayscope run`.
            self._server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
            with contextlib.suppress(SystemExit):
                self._server.run(sockets=[self._socket])

    def attach(self, address: str) -> str:
        """Start recording snapshots of the GCS at ``address``. Returns the session. Raises GcsError."""
        if self.services is None:
            raise RuntimeError("the server is not started")
        return self.services.clusters.attach(address, RayToken(ray_token))

    def stop(self) -> None:
        """Stop serving, flush, and close. Safe to call twice."""
        if self._lock_file is not None:
            self._remove_about()  # first, because others look for the next server while this one still stops
        if self._server is not None:
            self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        if self.services is not None:
            if self._lifecycle is not None:
                self._lifecycle.stop()
            self.services = None
        self._release()

    def _lock(self) -> None:
        folder = self.settings.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._lock_file = open(folder / "lock", "a+")  # noqa: SIM115 - held until the server ends
        except OSError as error:
            raise StartError(
                f"Could not use the data directory {folder}: {error.strerror}.",
                "Choose another one with --data-dir.",
            ) from error
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self._lock_file.close()
            self._lock_file = None
            running = read_about(folder)
            where = f" at {running['url']}" if running else ""
            raise DataDirInUse(
                f"Another Rayscope server{where} is using {folder}.",
                "Use that one, stop it, or choose another --data-dir.",
            ) from error

    def _bind(self) -> None:
        self._socket, origin = listen(self.settings.host, self.settings.port)
        self.url = f"{origin}{self.settings.root_path}"

    def _write_about(self, folder: Path) -> None:
        if self.services is None:
            return
        port_and_root_path = self.url.rpartition(":")[2]
        host = _reachable_host(self.settings.host)
        self.ingest_url = (
            f"http://{host}:{port_and_root_path}/api/ingest/{self.services.secrets.ingest_key}/ray-events"
        )
        about = {
            "pid": os.getpid(),
            "url": self.url,
            "ingest_url": self.ingest_url,
            "host": self.settings.host,
            "inheritable": self._inheritable,
        }
        path = folder / "server.json"
        try:
            replace_file(path, msgspec.json.encode(about), mode=0o600, sync=False)
        except OSError as error:  # affects only `rayscope` commands that look for a local server
            log.warning("could not write %s: %s", path, error)

    def _release(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._lock_file is not None:
            self._remove_about()
            self._lock_file.close()
            self._lock_file = None

    def _remove_about(self) -> None:
        with contextlib.suppress(OSError):
            (self.settings.folder / "server.json").unlink(missing_ok=True)


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """Return a listening socket and its URL. Port 0 picks a free one. Raises StartError."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
        bound.listen(2048)  # from here on clients wait for a response instead of being refused
    except (OSError, OverflowError) as error:
        bound.close()
        raise StartError(
            f"Could not listen on {host}:{port}: {getattr(error, 'strerror', error)}.",
            "Choose another port with --port (0 picks a free one).",
        ) from error
    return bound, f"http://{_url_host(host)}:{bound.getsockname()[1]}"


def read_about(folder: Path) -> dict[str, str] | None:
    """Return the content of ``server.json`` in a data directory (pid, url, ingest_url), or None."""
    try:
        about: dict[str, str] = msgspec.json.decode((folder / "server.json").read_bytes())
        return about
    except (OSError, ValueError, RecursionError):
        return None


def _is_news(record: logging.LogRecord) -> bool:
    """Filter out uvicorn's messages about requests that were cut off because the server stopped."""
    kind = record.exc_info[0] if record.exc_info else None
    return not (kind and issubclass(kind, asyncio.CancelledError))


def print_info_logs() -> None:
    """Print each notification of alerts, and each use of a debugger, unless the process configured logging.

    They are logged at INFO. Without a handler, Python prints only warnings and errors.
    """
    for name in ("rayscope.alerts", "rayscope.debugger"):
        logger = logging.getLogger(name)
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
            logger.setLevel(logging.INFO)


def _tune_interpreter() -> None:
    """Pass Python's lock from a busy writer to a waiting request sooner, and collect garbage rarely.

    Also raises the limit on open files.
    """
    sys.setswitchinterval(0.0005)  # s
    gc.set_threshold(50_000, 20, 20)  # incoming data consists of many small objects without cycles
    # Each node has three connections, and shells allow only 1,024 files.
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _keep_loopback_off_proxies() -> None:
    """Add this machine to NO_PROXY.

    Requests to webhooks, Prometheus, and ClickHouse use the environment's proxy, but a proxy cannot reach
    local addresses.
    """
    if not any(name.lower() in ("http_proxy", "https_proxy", "all_proxy") for name in os.environ):
        return
    no_proxy = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    hosts = [host for part in no_proxy.split(",") if (host := part.strip())]
    if "*" not in hosts:
        hosts += [host for host in _LOOPBACK if host not in hosts]
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = ",".join(hosts)


def _is_wildcard(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _url_host(host: str) -> str:
    if _is_wildcard(host):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _reachable_host(host: str) -> str:
    """Return the address at which other nodes reach this server."""
    if not _is_wildcard(host):
        return _url_host(host)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(
                ("192.0.2.1", 9)
            )  # sends nothing, but asks the kernel for the local address of the route
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"
