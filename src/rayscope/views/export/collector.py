"""Sends traces to an OTLP collector over HTTP."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import unquote

import httpx
import msgspec

from rayscope.errors import RayscopeError
from rayscope.model.decoding import DECODE_ERRORS

#: Time limit for connecting, and for each read and write, in seconds.
_TIMEOUT_S = 30.0
#: Answers after which OTLP's specification asks to send again.
_BUSY = frozenset({429, 502, 503, 504})
#: Pauses before a request is sent again, in seconds.
_PAUSES_S = (1.0, 4.0)
#: Environment variable of OpenTelemetry with headers for collectors, such as ``Authorization=Bearer%20KEY``.
HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
#: Maximum size of an answer in bytes, and maximum length of the reason in it. The rest is not read.
_MAX_ANSWER_BYTES = 64_000
_MAX_REASON = 300


class CollectorError(RayscopeError):
    """A collector cannot be reached, or refuses what it gets."""

    code = "collector"
    status = 502


class _PartialSuccess(msgspec.Struct, frozen=True):
    rejectedSpans: int = 0
    errorMessage: str = ""


class _Answer(msgspec.Struct):
    partialSuccess: _PartialSuccess = _PartialSuccess()


class _ScopeSpans(msgspec.Struct):
    spans: list[msgspec.Raw]


class _ResourceSpans(msgspec.Struct):
    scopeSpans: list[_ScopeSpans]


class _Request(msgspec.Struct):
    resourceSpans: list[_ResourceSpans]


_decode_answer = msgspec.json.Decoder(_Answer, strict=False).decode
_decode_request = msgspec.json.Decoder(_Request).decode


class Sent(NamedTuple):
    """Number of spans that were sent, and how many of them the collector refused, with its reason."""

    spans: int
    refused: int
    reason: str


class Collector:
    """A collector at ``endpoint``, such as ``http://localhost:4318``. Raises CollectorError.

    Its headers come from OpenTelemetry's environment variable. ``pause`` waits some seconds. Close it, or use
    it in a ``with`` block.
    """

    def __init__(self, endpoint: str, pause: Callable[[float], object] = time.sleep) -> None:
        self._pause = pause
        try:
            url = httpx.URL(endpoint)
        except httpx.InvalidURL:
            url = httpx.URL("")
        if url.scheme not in ("http", "https") or not url.host:
            raise CollectorError(
                f"{endpoint[:200]!r} is not the URL of a collector.",
                "Use a URL such as http://localhost:4318.",
            )
        self.host = url.netloc.decode()
        self._url = url.copy_with(path=url.path.rstrip("/").removesuffix("/v1/traces") + "/v1/traces")
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip", **_headers()}
        try:
            self._client = httpx.Client(headers=headers, timeout=_TIMEOUT_S)
        except ValueError as error:
            raise CollectorError(f"{HEADERS} has a header that is not ASCII.", "Correct it.") from error

    def __enter__(self) -> Collector:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def send(self, chunks: Iterable[bytes]) -> Sent:
        """Send an export in the format ``otlp``. Raises CollectorError."""
        spans, refused, reason = 0, 0, ""
        for line in _lines(chunks):
            partial = self._post(line).partialSuccess
            resources = _decode_request(line).resourceSpans
            spans += sum(len(scope.spans) for resource in resources for scope in resource.scopeSpans)
            refused += partial.rejectedSpans
            reason = partial.errorMessage[:_MAX_REASON] or reason
        return Sent(spans, refused, reason)

    def _post(self, body: bytes) -> _Answer:
        content = gzip.compress(body)
        for pause_s in (*_PAUSES_S, None):
            try:
                with self._client.stream("POST", self._url, content=content) as answer:
                    said = next(answer.iter_bytes(_MAX_ANSWER_BYTES), b"")
            except httpx.HTTPError as error:
                problem = f"Could not reach the collector {self.host}: {type(error).__name__}."
            else:
                if answer.is_success:
                    return _decode(said)
                text = said[:_MAX_REASON].decode(errors="replace")
                problem = f"The collector {self.host} answered {answer.status_code}: {text!r}."
                if answer.status_code not in _BUSY:
                    break
            if pause_s is not None:
                self._pause(pause_s)
        raise CollectorError(
            problem, f"Check the URL, usually that of port 4318 (OTLP over HTTP), and {HEADERS}."
        )


def _decode(content: bytes) -> _Answer:
    """Return what a collector answered. Some answer with nothing, or with Protobuf."""
    try:
        return _decode_answer(content)
    except DECODE_ERRORS:
        return _Answer()


def _headers() -> dict[str, str]:
    headers = {}
    for item in os.environ.get(HEADERS, "").split(","):
        name, is_pair, value = item.partition("=")
        if is_pair and name.strip():
            headers[unquote(name.strip())] = unquote(value.strip())
    return headers


def _lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        yield from lines
    if rest:
        yield rest
