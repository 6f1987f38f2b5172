"""The conventions of Prometheus' HTTP API: parameters in a query or a form, times, durations, and errors.

https://prometheus.io/docs/prometheus/latest/querying/api/
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Coroutine, Sequence
from datetime import datetime, timezone
from typing import Annotated, Any
from urllib.parse import parse_qsl

import msgspec
import promql_parser as parser
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from rayscope.api.parameters import CurrentRecords
from rayscope.api.security import error_headers
from rayscope.errors import RayscopeError
from rayscope.metrics.promql.values import LAST_S, LONGEST
from rayscope.metrics.service import CurrentMetrics
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.storage.errors import BadQuery, NotFound, no_memory

log = logging.getLogger(__name__)

_PREFIX = "/prometheus/{session}/api/v1"
_MAX_FIELDS = 1000
_FORM = "application/x-www-form-urlencoded"
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
#: A duration of nothing, which the parser of expressions refuses.
_ZERO = re.compile(r"(0+(ms|[smhdwy]))+")
#: What Prometheus' own clients send for the earliest and the latest time of all.
_EXTREMES_NS = {
    "-292273086-05-16T16:47:06Z": 0,
    "292277025-08-18T07:12:54.999999999Z": int(LAST_S) * 10**9,
}


class BadData(RayscopeError):
    """A parameter is missing or invalid."""

    code = "bad_data"
    status = 400


class TimedOut(RayscopeError):
    """A query took too long."""

    code = "timeout"
    status = 503


def invalid(name: str, reason: str) -> BadData:
    """The error for an invalid parameter, in Prometheus' words."""
    return BadData(f'invalid parameter "{name}": {reason}')


class Form:
    """The parameters of a request. Those of its body come before those of its query."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._pairs = pairs

    def all(self, name: str) -> list[str]:
        """Every value of a parameter."""
        return [value for key, value in self._pairs if key == name]

    def text(self, name: str) -> str:
        """The first value of a parameter, or an empty string."""
        return next(iter(self.all(name)), "")

    def time_ns(self, name: str, default_ns: int | None = None) -> int:
        """A time in whole milliseconds, as ns since the epoch. Times before it become 0. Raises BadData."""
        text = self.text(name)
        if not text and default_ns is not None:
            return default_ns
        time_ns = _time_ns(text)
        if time_ns is None:
            raise invalid(name, f'cannot parse "{text[:100]}" to a valid timestamp')
        return max(0, time_ns)

    def duration_ns(self, name: str) -> int | None:
        """A duration in whole milliseconds, as ns, or None without the parameter. Raises BadData."""
        text = self.text(name)
        if not text:
            return None
        seconds = _duration_s(text)
        if seconds is None or abs(seconds) > LONGEST.total_seconds():
            raise invalid(name, f'cannot parse "{text[:100]}" to a valid duration')
        return int(round(seconds * 1e9) / 1e6) * 10**6

    def limit(self, name: str = "limit") -> int | None:
        """The greatest number of items, or None if there is no limit. Raises BadData."""
        text = self.text(name)
        if not text:
            return None
        if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise invalid(name, f'cannot parse "{text[:100]}" to a number')
        if int(text) < 0:
            raise invalid(name, "limit must be non-negative")
        return int(text) or None


def _number(text: str) -> float | None:
    try:
        return float(text) if re.fullmatch(r"[!-^`-~]+", text) else None  # no space or underscore
    except ValueError:
        return None


def _time_ns(text: str) -> int | None:
    if text in _EXTREMES_NS:
        return _EXTREMES_NS[text]
    seconds = _number(text)
    if seconds is None:
        match = _TIME.fullmatch(text)
        if match is None:
            return None
        zone = "+00:00" if match[3] in "Zz" else match[3]
        try:
            date = datetime.fromisoformat(match[1].upper() + zone)
            seconds = (date - datetime(1970, 1, 1, tzinfo=timezone.utc)).total_seconds()
        except (ValueError, OverflowError):
            return None
        seconds += int((match[2] or ".")[1:4].ljust(3, "0")) / 1000  # cut, not rounded, as in Prometheus
    if not abs(seconds) < LAST_S:  # also if it is not a number
        return None
    return round(seconds * 1000) * 10**6


def _duration_s(text: str) -> float | None:
    seconds = _number(text)
    if seconds is not None:
        return seconds if math.isfinite(seconds) else None
    if _ZERO.fullmatch(text):
        return 0.0
    try:
        return parser.parse_duration(text).total_seconds()
    except (ValueError, OverflowError):
        return None


async def _read_form(request: Request) -> Form:
    pairs = request.query_params.multi_items()
    # Every body is read, because the server notices only after it that a client is gone.
    body = await request.body()
    if request.method == "POST" and request.headers.get("content-type", "").lower().startswith(_FORM):
        try:
            pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS) + pairs
        except ValueError as error:
            raise BadData(f"error parsing form values: {error}") from error
    return Form(pairs)


def _find_store(session: str, records: CurrentRecords, metrics: CurrentMetrics) -> SeriesStore:
    return metrics.store(records.resolve(session))


CurrentForm = Annotated[Form, Depends(_read_form)]
#: The series of the session in the path.
CurrentStore = Annotated[SeriesStore, Depends(_find_store)]


def success(data: bytes, warnings: Sequence[str] = ()) -> Response:
    """A successful response. ``data``: JSON."""
    more = b',"warnings":' + msgspec.json.encode(warnings) if warnings else b""
    return Response(b'{"status":"success","data":' + data + more + b"}", media_type="application/json")


def _failure(error: RayscopeError) -> Response:
    status, kind = error.status or 500, "unavailable"
    if isinstance(error, (BadData, TimedOut)):
        kind = error.code
    elif isinstance(error, BadQuery):
        status, kind = 422, "execution"
    elif isinstance(error, NotFound):
        kind = "not_found"
    elif status < 500:
        kind = "bad_data"
    body = {"status": "error", "errorType": kind, "error": str(error)}
    return Response(msgspec.json.encode(body), status, error_headers(error), "application/json")


class _Route(APIRoute):
    """A route that reports errors as Prometheus does, and ignores unknown parameters, as it does."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the function that answers a request."""
        handle = super().get_route_handler()

        async def handle_or_fail(request: Request) -> Response:
            try:
                return await handle(request)
            except RayscopeError as error:
                return _failure(error)
            except MemoryError as error:
                log.warning("%s %s: %r", request.method, request.url.path, error)
                return _failure(no_memory("This request cannot be answered"))

        return handle_or_fail


def prometheus_router() -> APIRouter:
    """A router for paths of Prometheus' API, each for the session in its path.

    They are not in our OpenAPI description, because Prometheus documents them.
    """
    return APIRouter(prefix=_PREFIX, route_class=_Route, include_in_schema=False)
