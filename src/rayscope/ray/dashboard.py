"""A client for Ray's dashboard: the HTTP API behind its pages, including submitted jobs."""

from __future__ import annotations

from typing import Any

import httpx
import msgspec

from rayscope.errors import RayscopeError
from rayscope.ray.auth import bearer

_TIMEOUT_S = 5.0
#: Maximum size of a response, in bytes. Larger ones are rejected. The largest seen, for a Serve application
#: with 1,000 replicas, has 1 MB.
_MAX_BYTES = 32 << 20


class DashboardError(RayscopeError):
    """A request to Ray's dashboard failed, or the dashboard refused it (``code``: ``refused``)."""

    code = "dashboard"
    status = 502


class Dashboard:
    """Ray's dashboard at ``url`` (``http://host:port``). Thread-safe.

    ``session``: accept responses only from the dashboard of this session. Clusters report addresses such as
    127.0.0.1:8265, where another cluster's dashboard may be listening.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        session: str | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self.url = url.rstrip("/")
        self.session = session
        # trust_env=False: a configured proxy cannot reach into the cluster.
        self._http = httpx.Client(timeout=timeout_s, headers=bearer(token), trust_env=False)
        self._has_token = token is not None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def check(self) -> None:
        """Check that this is the dashboard of ``session``. Raises DashboardError otherwise."""
        if self.session is None:
            return
        version = self.get("/api/version")
        other = version.get("session_name") if isinstance(version, dict) else None
        if other is not None and other != self.session:
            raise DashboardError(
                f"The dashboard at {self.url} belongs to another cluster ({other}).",
                "Run Rayscope on the head node, or start Ray with a different dashboard port and "
                "--dashboard-host=0.0.0.0.",
                what="other_cluster",
                url=self.url,
                other=str(other),
            )

    def get(self, path: str, timeout_s: float | None = None) -> Any:
        """The JSON response for a path. Raises DashboardError."""
        url = self.url + path
        body = bytearray()
        try:
            with self._http.stream("GET", url, timeout=timeout_s or self._http.timeout) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > _MAX_BYTES:
                        raise self.unexpected(f"more than {_MAX_BYTES >> 20} MiB")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise DashboardError(
                f"Could not reach Ray's dashboard at {url}: {type(error).__name__}: {error}.",
                "Check that the cluster's dashboard is running and reachable from here.",
                what="unreachable",
                url=url,
                reason=f"{type(error).__name__}: {error}",
            ) from None
        if response.status_code in (401, 403):
            raise self.wants_token()
        try:
            if response.status_code == 200:
                return msgspec.json.decode(bytes(body))
        except msgspec.DecodeError:
            pass
        raise self.unexpected(f"status {response.status_code} and no JSON")

    def wants_token(self) -> DashboardError:
        """The error for a dashboard that requires a token, or rejects ours."""
        message = "rejected the token" if self._has_token else "requires a token"
        return DashboardError(
            f"Ray's dashboard at {self.url} {message}.",
            "Set RAY_AUTH_TOKEN, or RAY_AUTH_TOKEN_PATH to the file with the cluster's token.",
            what="token",
            url=self.url,
        )

    def unexpected(self, answer: str) -> DashboardError:
        """The error for a response that a dashboard would never send. ``answer`` describes the response."""
        return DashboardError(
            f"{self.url} answered {answer}.",
            "Check that this is the address of a Ray dashboard; see dashboard.log on the head node.",
            what="answer",
            url=self.url,
        )
