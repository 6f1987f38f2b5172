"""The client, extended by requests that only the command line needs."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rayscope.client import Client, RayscopeError
from rayscope.client.calls import Call
from rayscope.client.request_names import COMMANDS
from rayscope.ray.auth import ray_token

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

    from rayscope.client.types import SessionItem

_END_S = 20.0
#: The server accepts a debugger once the task's process has answered, for which that has 10 s.
_SOCKET_S = 30.0
_MAX_MESSAGE_BYTES = 8 << 20

__all__ = ["Api", "RayscopeError"]


class Api(Client):
    """A client of the server at ``url``. Every method raises RayscopeError.

    If ``url`` is None, the server is found as in Client. If ``token`` is None, none is sent. ``folder`` is
    the data directory. Its operator token is sent with actions if the server is its own.
    """

    _request_names = COMMANDS

    def __init__(
        self,
        url: str | None,
        token: str | None = None,
        timeout_s: float = 30,
        folder: Path | None = None,
        operator_token: str | None = None,
        session: str | None = None,
    ) -> None:
        super().__init__(url, token or "", operator_token, session, timeout_s=timeout_s, folder=folder)

    def by_name(self) -> dict[str, SessionItem]:
        """Return the items of ``/api/v1/sessions`` by session name, the newest first."""
        return {item["session"]: item for item in self.sessions()}

    def attach_cluster(self, address: str) -> str:
        """Start snapshots of the GCS at ``address`` with the user's Ray token. Returns the session's name."""
        return self.attach(address, ray_token())

    def drain(self, url: str, session: str, timeout_s: float) -> bool:
        """Wait for the events of ``session``. Returns whether all arrived within ``timeout_s``.

        ``url`` contains the ingest key.
        """
        body = {"session": session, "timeout_s": timeout_s}
        answer: dict[str, Any] = self.ask(Call("POST", url, body=body, timeout_s=timeout_s + 5))
        return bool(answer.get("drained"))

    def tell_program_end(self, url: str, **how: Any) -> None:
        """Report how a program ended, which may have been a driver. ``url`` contains the ingest key."""
        self.ask(Call("POST", url, body=how, timeout_s=_END_S))

    def send_output(self, url: str, data: bytes, where: Mapping[str, Any]) -> bool:
        """Send output of a program. Returns whether the session has a driver that belongs to the program.

        ``url`` contains the ingest key.
        """
        answer: dict[str, Any] = self.ask(Call("POST", url, where, content=data, timeout_s=_END_S))
        return bool(answer.get("taken"))

    def get(self, path: str, **parameters: Any) -> Any:
        """Send a GET request and return the response."""
        return self.ask(Call("GET", path, _without_none(parameters)))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Send a POST request that does not change anything, and return the response."""
        return self.ask(Call("POST", path, body=_without_none(body)))

    def text(self, path: str, **parameters: Any) -> str:
        """Send a GET request and return the response as text, for responses that are not JSON."""
        with self.stream(Call("GET", path, _without_none(parameters))) as response:
            return response.read().decode()

    def check_operator(self) -> None:
        """Raise RayscopeError unless this client has the operator token."""
        token = next(iter(self._operator_header().values()), "")
        self.ask(Call("POST", "/api/v1/operator", body={"token": token}, needs_operator=True))

    @contextlib.contextmanager
    def open_socket(self, path: str) -> Iterator[ClientConnection]:
        """Provide a WebSocket to the server, with the operator token. Raises RayscopeError."""
        import httpx
        from websockets.exceptions import InvalidStatus, WebSocketException
        from websockets.sync.client import connect

        parts = urlsplit(self.url)
        is_secure = parts.scheme == "https"
        headers = self._operator_header()
        if authorization := self._client.headers.get("Authorization"):
            headers["Authorization"] = authorization
        with contextlib.ExitStack() as stack:
            try:
                # With a socket of ours, redirects are not followed. They would get the operator token.
                address = parts.hostname or "", parts.port or (443 if is_secure else 80)
                opened = stack.enter_context(socket.create_connection(address, _SOCKET_S))
                opened.settimeout(None)  # a debugger may be silent for long
                url = f"{'wss' if is_secure else 'ws'}://{parts.netloc}{parts.path}{path}"
                limits: dict[str, Any] = {"open_timeout": _SOCKET_S, "max_size": _MAX_MESSAGE_BYTES}
                connection = connect(url, sock=opened, additional_headers=headers, proxy=None, **limits)
                shown = stack.enter_context(connection)
            except (WebSocketException, OSError, ValueError) as error:
                if isinstance(error, InvalidStatus) and error.response.status_code >= 400:
                    answer = error.response
                    self._read(
                        Call("GET", path), httpx.Response(answer.status_code, content=bytes(answer.body))
                    )
                raise RayscopeError(
                    f"Could not open a connection to the Rayscope server at {self.url}: {error}.",
                    "Check that proxies in front of the server pass WebSockets on.",
                    "unreachable",
                ) from error
            yield shown


def _without_none(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}
