"""A small client of the server's HTTP API, for the command line."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import httpx

from rayscope.sources.auth import ray_token

#: Sessions asked for at once; the server keeps 200 by default.
_MAX_SESSIONS = 1000


class ApiError(Exception):
    """The server refused or could not be reached; ``status`` is 0 for the latter."""

    def __init__(self, message: str, remedy: str = "", status: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.status = status


class Api:
    """Calls of the server at ``url``. Every method raises :class:`ApiError`. Thread-safe."""

    def __init__(self, url: str, token: str | None = None, timeout_s: float = 30) -> None:
        self.url = url.rstrip("/")
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        # trust_env: a proxy of the environment is for the internet, not for our server.
        self._client = httpx.Client(
            base_url=self.url, headers=headers, timeout=timeout_s, trust_env=False, follow_redirects=True
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def health(self) -> dict[str, Any]:
        """Whether the server lives, and which it is."""
        return self._call("GET", "/api/health", timeout=2)

    def sessions(self) -> dict[str, dict[str, Any]]:
        """Session name -> what ``/api/sessions`` says of it, newest first."""
        answer = self._call("GET", "/api/sessions", params={"limit": _MAX_SESSIONS})
        return {item["session"]: item for item in answer["items"]}

    def summary(self, session: str) -> dict[str, Any]:
        """``/api/summary`` of a session."""
        return self._call("GET", "/api/summary", params={"session": session})

    def attach(self, address: str) -> str:
        """Begin snapshots of the GCS at ``address``, with this user's Ray token; the session's name."""
        body = {"address": address, "ray_token": ray_token()}
        return str(self._call("POST", "/api/clusters", json=body)["session"])

    def recording(self, session: str) -> dict[str, Any]:
        """How a session is recorded, node by node."""
        return self._call("GET", "/api/recording", params={"session": session})

    def sql(self, sql: str, session: str | None, limit: int, timeout_s: float = 60) -> dict[str, Any]:
        """Rows of one SELECT."""
        body: dict[str, Any] = {"sql": sql, "limit": limit}
        if session is not None:
            body["session"] = session
        return self._call("POST", "/api/sql", json=body, timeout=timeout_s)

    def drain(self, url: str, session: str, timeout_s: float) -> bool:
        """Whether all events of ``session`` have arrived within ``timeout_s``; ``url`` holds the key."""
        body = {"session": session, "timeout_s": timeout_s}
        return bool(self._call("POST", url, json=body, timeout=timeout_s + 5).get("drained"))

    @contextlib.contextmanager
    def export(self, params: Mapping[str, Any], timeout_s: float = 3600) -> Iterator[httpx.Response]:
        """``/api/export``: an answer whose body is read piece by piece, inside the block."""
        path = "/api/export"
        try:
            with self._client.stream("GET", path, params=params, timeout=timeout_s) as response:
                if not response.is_success:
                    response.read()
                    self._body("GET", path, response)
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ApiError(
                f"The server at {self.url} broke off: {str(error) or type(error).__name__}.",
                "Try again; if it stays so, see the server's log.",
            ) from error

    def _call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        try:
            response = self._client.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ApiError(
                f"No Rayscope server answers at {self.url}: {error}.", "Start one: rayscope serve"
            ) from error
        return self._body(method, path, response)

    def _body(self, method: str, path: str, response: httpx.Response) -> dict[str, Any]:
        try:
            body = response.json()
        except ValueError:
            body = None
        if response.is_success and isinstance(body, dict):
            return body
        told = body.get("error") if isinstance(body, dict) else None
        if not isinstance(told, dict):
            raise ApiError(
                f"{self.url} answered {method} {path.partition('?')[0]} with {response.status_code}, "
                "not as a Rayscope server does.",
                "Check the URL, and that server and command line are of one version.",
                response.status_code,
            )
        remedy = str(told.get("remedy") or "")
        if response.status_code == 401:
            remedy = "Give the server's token with --token or RAYSCOPE_TOKEN."
        raise ApiError(str(told.get("message")), remedy, response.status_code)
