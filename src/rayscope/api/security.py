"""Access control by Host, Origin, and token, before any other code sees a request.

- *Host* must be an IP address, ``localhost``, or a name that the operator allowed. This rejects pages on
  other sites that point their own domain name at this address (DNS rebinding).
- *Origin*, if a browser sends one, must be the server's own, so no page on another site can act on behalf of
  a visitor. Nor can it load an API response as an image or a link. Such requests have no Origin, so
  *Sec-Fetch-Site* is checked.
- *Body* size and time are limited, so no client can fill the memory or hold a request open forever.
- *Token*: if the server has one, everything under ``/api``, ``/ray``, ``/prometheus`` and ``/ws``,
  ``/metrics``, and ``/mcp`` (of `rayscope mcp`) requires it, except health, login, and ingest (with its key
  in the path). A server must have a token on any address but loopback. Browsers store a value derived from
  the token rather than the token itself, because a cookie is sent to every port of a host, where other
  servers could read it.

These rules hold for every method. So the forms that ``/prometheus`` accepts, which any page could send,
need no other protection: the browser adds the Origin.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import re
import socket
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec
from starlette.exceptions import HTTPException

from rayscope.api.schemas import ErrorAnswer, ErrorDetail
from rayscope.errors import RayscopeError

COOKIE = "rayscope_token"
_OPEN_PATHS = ("/api/health", "/api/v1/login")
_KEYED_PATHS = ("/api/ingest/", "/api/drain/")
_TOKEN_PATHS = ("/api/", "/ray/", "/prometheus/", "/ws/", "/metrics", "/mcp")
#: A name, an IPv4 address, or an IPv6 address, with an optional port.
_HOST = re.compile(r"(?:([A-Za-z0-9_.-]+)|\[([0-9A-Fa-f:.]+)\])(?::[0-9]{1,5})?")

#: Maximum time to wait for the next part of a body, in s. Ray's agents give up after 3 s, Rayscope's after
#: 15 s.
BODY_IDLE_S = 10.0
#: Maximum time for a whole body, in seconds.
BODY_TIMEOUT_S = 60.0
_MAX_BODY_BYTES = 1 << 20
#: Maximum size of the body of a request that needs no token, in bytes.
_MAX_OPEN_BODY_BYTES = 16 << 10
#: Maximum size of a job's folder, in bytes. `cluster/jobs/folders.py` checks its content.
_MAX_FOLDER_BYTES = 100 << 20
_SESSION_FILE = "/api/v1/sessions/file"
#: Maximum size of a session file, in bytes. It is written to disk as it arrives.
_MAX_SESSION_FILE_BYTES = 64 << 30
#: Maximum time for a whole session file, in seconds.
_SESSION_FILE_TIMEOUT_S = 3600.0
_MAX_REPORT_BYTES = 512 << 10
#: Maximum size of one request with a program's output, in bytes.
_MAX_OUTPUT_BYTES = 4 << 20
_BODILESS = ("GET", "HEAD", "OPTIONS")

#: Values of the header Sec-Fetch-Site. "same-site" can be another port of this host, which is also foreign.
_FOREIGN_SITES = (b"cross-site", b"same-site")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Headers of every response. Pages may load only the UI's own files. Inline styles are allowed because
#: Mantine sets style attributes.
_HEADERS = [
    (
        b"content-security-policy",
        b"default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
        b"object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
]


def error_body(code: str, message: str, remedy: str, params: Mapping[str, str | int] | None = None) -> bytes:
    """Return the body of an error response."""
    body: ErrorAnswer = {"error": error_detail(code, message, remedy, params)}
    return msgspec.json.encode(body)


def error_detail(
    code: str, message: str, remedy: str, params: Mapping[str, str | int] | None = None
) -> ErrorDetail:
    """Return a problem as it is sent to clients. Empty ``params`` are left out."""
    detail: ErrorDetail = {"code": code, "message": message, "remedy": remedy}
    if params:
        detail["params"] = dict(params)
    return detail


def matches(candidate: str, secret: str) -> bool:
    """Compare a candidate in constant time, so that the duration reveals nothing about the secret."""
    return hmac.compare_digest(candidate.encode(), secret.encode())


def cookie_value(token: str) -> str:
    """Return the value that a browser stores instead of the token. It does not reveal the token."""
    return hmac.digest(token.encode(), b"rayscope: cookie of a reader", "sha256").hex()


class BadKey(RayscopeError):
    """Events arrived with a key that is not this server's."""

    remedy = "`rayscope env` prints the right URL."
    code = "bad_key"
    status = 404


@dataclass(frozen=True)
class Secrets:
    """The ingest key, which senders of events need, and the operator token."""

    ingest_key: str
    operator_token: str

    def check_key(self, key: str) -> None:
        """Raise BadKey unless the key is the ingest key."""
        if not matches(key, self.ingest_key):
            raise BadKey("Wrong ingest key.")


class BodyRefused(RayscopeError, HTTPException):
    """A body that is too large or too slow. Raised while a route reads it.

    It is an HTTPException because FastAPI reports any other error while reading a body as a malformed body.
    """

    def __init__(self, status: int, code: str, message: str, remedy: str) -> None:
        HTTPException.__init__(self, status, message)
        RayscopeError.__init__(self, message, remedy, code, status=status)


def error_headers(error: RayscopeError) -> dict[str, str]:
    """The headers of the response that reports an error."""
    headers = {"Retry-After": str(error.retry_after_s)} if error.retry_after_s else {}
    if isinstance(error, BodyRefused):
        headers["Connection"] = "close"  # the rest of the body may never arrive
    return headers


@dataclass
class RefusedBodies:
    """Numbers of refused bodies since the server started, by reason."""

    stalled: int = 0
    too_large: int = 0


class Guard:
    """ASGI middleware; see the module's docstring."""

    def __init__(
        self,
        app: App,
        *,
        token: str | None,
        allowed_hosts: str = "",
        max_batch_bytes: int = _MAX_BODY_BYTES,
        refused: RefusedBodies | None = None,
    ) -> None:
        self._app = app
        self._token = token
        self._max_batch_bytes = max_batch_bytes
        self._refused = refused or RefusedBodies()
        names = {"localhost", socket.gethostname().lower()}
        self._names = names | {name.strip().lower() for name in allowed_hosts.split(",") if name.strip()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        # Cookie is the only header read here that may occur several times.
        headers[b"cookie"] = b";".join(value for name, value in scope["headers"] if name == b"cookie")
        # `/api/health` shows only a few fields without the token.
        is_reader = self._token is None or self._token_given(headers)
        scope.setdefault("state", {})["is_reader"] = is_reader
        refused = self._refuse(scope, headers, is_reader=is_reader)
        if refused is None and scope["type"] == "http" and scope["method"] not in _BODILESS:
            limit = self._max_body_bytes(scope["path"])
            declared = headers.get(b"content-length", b"")
            if declared.isdigit() and (len(declared) > 18 or int(declared) > limit):
                self._refused.too_large += 1
                refused = _too_large(limit)
            else:
                is_long = scope["path"] == _SESSION_FILE
                timeout_s = _SESSION_FILE_TIMEOUT_S if is_long else BODY_TIMEOUT_S
                receive = _limited(receive, limit, timeout_s, self._refused)
        if refused is None:
            await self._app(scope, receive, _with_headers(send))
            return
        status, code, message, remedy = refused
        kind = "http"
        if scope["type"] == "websocket":
            if "websocket.http.response" not in scope.get("extensions", {}):
                await send({"type": "websocket.close", "code": 4000 + status, "reason": code})
                return
            kind = "websocket.http"
        body = error_body(code, message, remedy)
        await send(
            {
                "type": f"{kind}.response.start",
                "status": status,
                "headers": [
                    (b"content-type", b"application/json"),
                    (b"content-length", str(len(body)).encode()),
                    *_HEADERS,
                ],
            }
        )
        await send({"type": f"{kind}.response.body", "body": body})

    def _refuse(
        self, scope: Scope, headers: dict[bytes, bytes], *, is_reader: bool
    ) -> tuple[int, str, str, str] | None:
        host = headers.get(b"host", b"").decode("latin-1")
        if not self._host_allowed(host):
            return (
                403,
                "bad_host",
                f"The server does not accept requests for the host name {host[:100]!r}.",
                "Use the IP address or localhost, or allow the name with RAYSCOPE_ALLOWED_HOSTS.",
            )
        origin = headers.get(b"origin")
        path: str = scope["path"]
        # Any site may link to the UI's pages, but only these pages may read responses of the API.
        foreign = path.startswith(_TOKEN_PATHS) and headers.get(b"sec-fetch-site") in _FOREIGN_SITES
        if foreign or (origin is not None and not _same_origin(origin.decode("latin-1"), host)):
            return (
                403,
                "bad_origin",
                "Requests from pages of other sites are not allowed.",
                "Open the UI at the server's own address.",
            )
        if (
            is_reader
            or not path.startswith(_TOKEN_PATHS)
            or path in _OPEN_PATHS
            or path.startswith(_KEYED_PATHS)
        ):
            return None
        return (
            401,
            "unauthorized",
            "This server requires a token.",
            "Send `Authorization: Bearer TOKEN`, or sign in. The server printed its token when it started.",
        )

    def _max_body_bytes(self, path: str) -> int:
        if path.startswith("/api/ingest/"):
            if path.endswith("/ray-events"):
                return self._max_batch_bytes
            return _MAX_OUTPUT_BYTES if path.endswith("/program-output") else _MAX_REPORT_BYTES
        if path == _SESSION_FILE:
            return _MAX_SESSION_FILE_BYTES
        if path == "/api/v1/jobs/folder":
            return _MAX_FOLDER_BYTES
        return _MAX_OPEN_BODY_BYTES if path in _OPEN_PATHS else _MAX_BODY_BYTES

    def _host_allowed(self, host: str) -> bool:
        found = _HOST.fullmatch(host)
        if found is None:
            return False
        name, ipv6 = found.groups()
        if name is not None and name.rstrip(".").lower() in self._names:
            return True
        try:
            ipaddress.ip_address(name or ipv6)
        except ValueError:
            return False
        return True

    def _token_given(self, headers: dict[bytes, bytes]) -> bool:
        token = self._token or ""
        authorization = headers.get(b"authorization", b"").decode("latin-1")
        scheme, _, value = authorization.partition(" ")
        if scheme.lower() == "bearer" and matches(value.strip(), token):
            return True
        # Parsed by hand: cookie parsers stop at the first invalid cookie, and browsers also send the cookies
        # of other servers on this host.
        pairs = (pair.partition("=") for pair in headers[b"cookie"].decode("latin-1").split(";"))
        cookies = [value.strip().strip('"') for name, _, value in pairs if name.strip() == COOKIE]
        return any(matches(value, cookie_value(token)) for value in cookies)


def _too_large(limit: int) -> tuple[int, str, str, str]:
    message = f"The body of this request may have at most {limit} bytes."
    return 413, "too_large", message, "Send less at a time."


def _limited(receive: Receive, limit: int, timeout_s: float, refused: RefusedBodies) -> Receive:
    """Wrap ``receive`` to raise :class:`BodyRefused` once a body is too large or too slow."""
    size = 0
    deadline: float | None = None
    complete = False

    async def wrapped() -> MutableMapping[str, Any]:
        nonlocal size, deadline, complete
        if complete:
            return await receive()
        now = time.monotonic()
        deadline = deadline or now + timeout_s
        try:
            message = await asyncio.wait_for(receive(), min(BODY_IDLE_S, deadline - now))
        except asyncio.TimeoutError:
            refused.stalled += 1
            raise BodyRefused(
                408, "too_slow", "The body of this request did not arrive in time.", "Send it again."
            ) from None
        size += len(message.get("body", b""))
        if size > limit:
            refused.too_large += 1
            raise BodyRefused(*_too_large(limit))
        complete = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return wrapped


def _same_origin(origin: str, host: str) -> bool:
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def _with_headers(send: Send) -> Send:
    async def wrapped(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", []), *_HEADERS]
        await send(message)

    return wrapped
