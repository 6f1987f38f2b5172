"""A client for Ray's dashboard: the HTTP API behind its pages, including submitted jobs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator
from typing import Any

import httpx
import msgspec
from google.protobuf.message import DecodeError

from rayscope.errors import RayscopeError
from rayscope.ray.auth import RayToken, bearer

_TIMEOUT_S = 5.0
#: Maximum size of a response, in bytes. Larger ones are rejected. The largest seen, for a Serve application
#: with 1,000 replicas, has 1 MB.
_MAX_BYTES = 32 << 20
#: Likewise of the response with all tasks. 100,000 attempts have about 70 MB.
_MAX_TASKS_BYTES = 1 << 30
_PLATFORM_PATH = "/api/v0/platform_events"
#: Statuses for a path that this dashboard does not have. It responds to other paths with its page, hence 405.
_ABSENT = (404, 405)
_TASKS_PATH = "/api/task_events/query"
#: Maximum duration of a response, in s. httpx limits only the time between two pieces.
_RESPONSE_S = 30.0


class _Events(msgspec.Struct):
    events: list[Any]


class _PlatformEvents(msgspec.Struct):
    data: _Events


_decode_platform_events = msgspec.json.Decoder(_PlatformEvents).decode


class DashboardError(RayscopeError):
    """A request to Ray's dashboard failed, or the dashboard refused it (``code``: ``refused``)."""

    code = "dashboard"
    status = 502


class _TokenAuth(httpx.Auth):
    """Sends Ray's token with each request. After a refusal, it tries again if there is a new token."""

    def __init__(self, token: RayToken) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        sent = self._token.value
        request.headers.update(bearer(sent))
        response = yield request
        if response.status_code in (401, 403) and self._token.renew(sent):
            request.headers.update(bearer(self._token.value))
            yield request


class Dashboard:
    """Ray's dashboard at ``url`` (``http://host:port``). Thread-safe.

    ``session``: accept responses only from the dashboard of this session. Clusters report addresses such as
    127.0.0.1:8265, where another cluster's dashboard may be listening.
    """

    def __init__(
        self,
        url: str,
        token: RayToken | str | None = None,
        *,
        session: str | None = None,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self.url = url.rstrip("/")
        self.session = session
        # trust_env=False: a configured proxy cannot reach into the cluster.
        self._token = RayToken.of(token)
        self._http = httpx.Client(timeout=timeout_s, auth=_TokenAuth(self._token), trust_env=False)

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
        status, body = self._ask("GET", path, timeout_s, _MAX_BYTES)
        return self._decode(status, body, msgspec.json.decode, "JSON")

    def platform_events(self) -> list[Any] | None:
        """Kubernetes' events about the cluster, newest first, or None if the dashboard does not collect them.

        Since Ray 2.56, ``RAY_DASHBOARD_INGEST_PLATFORM_EVENTS=1`` collects them. Raises DashboardError.
        """
        status, body = self._ask("GET", _PLATFORM_PATH, None, _MAX_BYTES)
        if status in _ABSENT:
            return None
        found = self._decode(status, body, _decode_platform_events, "platform events")
        events: list[Any] = found.data.events
        return events

    def task_events(self) -> Any:
        """``GetTaskEventsReply`` with the attempts in the dashboard, or None if they are not kept there.

        Since Ray 2.58, ``RAY_enable_task_events_to_dashboard_head=1`` keeps them there instead of in the GCS.
        Raises DashboardError.
        """
        from ray.core.generated import gcs_service_pb2

        self.check()
        request = gcs_service_pb2.GetTaskEventsRequest(filters={"exclude_driver": False}).SerializeToString()
        status, body = self._ask("POST", _TASKS_PATH, _RESPONSE_S, _MAX_TASKS_BYTES, request)
        if status in _ABSENT:
            return None
        return self._decode(status, body, gcs_service_pb2.GetTaskEventsReply.FromString, "task table")

    def _decode(self, status: int, body: bytes, decode: Callable[[bytes], Any], what: str) -> Any:
        """A response of the status 200, decoded. ``what`` it should be. Raises DashboardError."""
        with contextlib.suppress(msgspec.DecodeError, DecodeError):
            if status == 200:
                return decode(body)
        raise self.unexpected(f"status {status} and no {what}")

    def _ask(
        self, method: str, path: str, timeout_s: float | None, max_bytes: int, content: bytes | None = None
    ) -> tuple[int, bytes]:
        """Send a request. Returns the status and body of the response. Raises DashboardError."""
        url = self.url + path
        timeout = timeout_s or self._http.timeout
        deadline = time.monotonic() + _RESPONSE_S
        body = bytearray()
        try:
            with self._http.stream(method, url, content=content, timeout=timeout) as response:
                for piece in response.iter_bytes():
                    body += piece
                    if len(body) > max_bytes:
                        raise self.unexpected(f"more than {max_bytes >> 20} MiB")
                    if time.monotonic() > deadline:
                        raise self.unexpected(f"{len(body)} bytes without an end within {_RESPONSE_S:g} s")
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
        return response.status_code, bytes(body)

    def wants_token(self) -> DashboardError:
        """The error for a dashboard that requires a token, or rejects ours."""
        message = "rejected the token" if self._token.value else "requires a token"
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
