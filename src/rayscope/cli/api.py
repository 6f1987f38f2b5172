"""The client, with what only the command line asks of a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rayscope.client import Client, RayscopeError
from rayscope.client.calls import Call
from rayscope.client.request_names import COMMANDS
from rayscope.ray.auth import ray_token

if TYPE_CHECKING:
    from rayscope.client.types import SessionItem

_END_S = 20.0

__all__ = ["Api", "RayscopeError"]


class Api(Client):
    """Calls of the server at ``url``. ``token`` None: none is shown. Every method raises RayscopeError.

    ``url`` None: the server that a Client finds.
    ``folder``: the data directory whose operator's token is shown with what acts, if the server is its own.
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
        """Session name -> what ``/api/sessions`` says of it, newest first."""
        return {item["session"]: item for item in self.sessions()}

    def attach_cluster(self, address: str) -> str:
        """Begin snapshots of the GCS at ``address``, with this user's Ray token; the session's name."""
        return self.attach(address, ray_token())

    def drain(self, url: str, session: str, timeout_s: float) -> bool:
        """Whether all events of ``session`` have arrived within ``timeout_s``; ``url`` holds the key."""
        body = {"session": session, "timeout_s": timeout_s}
        answer: dict[str, Any] = self.ask(Call("POST", url, body=body, timeout_s=timeout_s + 5))
        return bool(answer.get("drained"))

    def tell_program_end(self, url: str, **how: Any) -> None:
        """Tell how a program ended that may have been a driver; ``url`` holds the key."""
        self.ask(Call("POST", url, body=how, timeout_s=_END_S))

    def send_output(self, url: str, data: bytes, where: Mapping[str, Any]) -> bool:
        """Whether the session knows a driver of the program that printed this; ``url`` holds the key."""
        answer: dict[str, Any] = self.ask(Call("POST", url, where, content=data, timeout_s=_END_S))
        return bool(answer.get("taken"))

    def get(self, path: str, **given: Any) -> Any:
        """Any answer of the API."""
        return self.ask(Call("GET", path, _known(given)))

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """Any answer of the API to a POST that changes nothing."""
        return self.ask(Call("POST", path, body=_known(body)))

    def text(self, path: str, **given: Any) -> str:
        """An answer that is no JSON."""
        with self.stream(Call("GET", path, _known(given))) as response:
            return response.read().decode()


def _known(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}
