"""Finds the server and its tokens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from rayscope.errors import RayscopeError
from rayscope.files import expand_user


class ServerEntry(NamedTuple):
    """A server's entry in its data directory: its URL, and the URL to which clusters send events.

    ``host``: the address to which the server is bound. ``inheritable``: a `rayscope run` may take over from
    it.
    """

    url: str
    ingest_url: str
    host: str = ""
    inheritable: bool = False


def data_dir() -> Path:
    """Return RAYSCOPE_DATA_DIR or the default. Raises RayscopeError if the home directory is unknown."""
    return expand_user(Path(os.environ.get("RAYSCOPE_DATA_DIR") or "~/.rayscope"))


def known_server(folder: Path) -> ServerEntry | None:
    """Return the server of a data directory, if a process with its process ID is alive.

    The process ID may have been reused, so check that it really is the server.
    """
    try:
        entry = json.loads((expand_user(folder) / "server.json").read_text(encoding="utf-8"))
        known = ServerEntry(
            str(entry["url"]),
            str(entry["ingest_url"]),
            str(entry.get("host", "")),
            entry.get("inheritable") is True,
        )
        pid = int(entry["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # the process is alive, but belongs to another user
    return known


def server_url(explicit: str | None, folder: Path) -> str:
    """Return the given URL, RAYSCOPE_URL, or the URL of the data directory's server. Raises RayscopeError."""
    url = explicit or os.environ.get("RAYSCOPE_URL")
    if url is None or not url:
        known = known_server(folder)
        if known is None:
            raise RayscopeError(
                f"No Rayscope server is running on {folder}.",
                "Start one with `rayscope serve`, or pass its URL (--server, RAYSCOPE_URL, Client(url)).",
                "no_server",
            )
        return known.url
    try:
        parts = urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise RayscopeError(f"{url!r} is not the URL of a server.", "Use http://HOST:PORT.", "bad_request")
    # `rayscope env` prints a URL with this path.
    return url.partition("/api/ingest/")[0].rstrip("/")


def public_url(url: str) -> str:
    """Return a server's URL without a password and a query, for messages and links."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()


def server_token(explicit: str | None) -> str | None:
    """Return the given token, RAYSCOPE_TOKEN, or the content of RAYSCOPE_TOKEN_FILE.

    A given token ``@FILE`` stands for the content of the file. Raises RayscopeError if a file has no token.
    """
    path = os.environ.get("RAYSCOPE_TOKEN_FILE")
    token = explicit or os.environ.get("RAYSCOPE_TOKEN") or (f"@{path}" if path else None)
    if token is None or not token.startswith("@"):
        return token
    try:
        token = expand_user(Path(token[1:])).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise RayscopeError(
            f"Could not read the token from {token[1:]}: {problem}.", "Check the file.", "bad_request"
        ) from error
    if not token:
        raise RayscopeError("The token file is empty.", "Write the token into it.", "bad_request")
    return token


def operator_token(explicit: str | None, url: str, folder: Path) -> str | None:
    """Return the given token, RAYSCOPE_OPERATOR, or the data directory's token if ``url`` is its server."""
    token = explicit or os.environ.get("RAYSCOPE_OPERATOR")
    if token:
        return token
    known = known_server(folder)
    if known is None or not _same_place(known.url, url):
        return None
    try:
        return (expand_user(folder) / "operator").read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _same_place(url: str, other_url: str) -> bool:
    """Return whether two URLs refer to the same server. The loopback address has several names."""

    def place(url: str) -> tuple[str, int | None]:
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        return ("127.0.0.1" if host in ("localhost", "::1") else host), parts.port

    return place(url) == place(other_url)
