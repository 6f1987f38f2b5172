"""OTLP/JSON: requests that carry the spans of a job's trace. Collectors read them over HTTP or from a file.

IDs are hashes of what they identify, so exporting a job again yields the same spans.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec

#: Approximate size of a request, below the usual limits of collectors (4 to 20 MiB).
_REQUEST_BYTES = 2_000_000
#: Maximum length of a text.
_MAX_CHARS = 500
_KIND_INTERNAL = 1
_STATUS_ERROR = 2
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
)
Value = str | int | float | bool | None


class Event(NamedTuple):
    """A moment in a span. Its time is in ns."""

    time_ns: int
    name: str
    attributes: Mapping[str, Value] = {}


class Context(NamedTuple):
    """A span in its trace. The span is None at the start of a trace."""

    trace_id: str
    span_id: str | None = None


class Link(NamedTuple):
    """A link to another span."""

    target: Context
    attributes: Mapping[str, Value] = {}


class OtlpSpan(NamedTuple):
    """A span. Times are in ns. ``host`` is the name of its node. ``error`` is the message if it failed."""

    own: Context
    parent: Context
    name: str
    begin_ns: int
    end_ns: int
    host: str | None = None
    attributes: Mapping[str, Value] = {}
    events: Sequence[Event] = ()
    links: Sequence[Link] = ()
    error: str | None = None


def context_of(traceparent: str | None) -> Context | None:
    """Return the span that ``traceparent`` (W3C Trace Context) names, or None if it is not valid."""
    match = _TRACEPARENT.fullmatch(traceparent or "")
    return Context(match[1], match[2]) if match else None


def new_trace(*parts: str | int) -> Context:
    """Return the start of a trace of its own."""
    return Context(_hashed(16, *parts))


def span_id(*parts: str | int) -> str:
    """Return the ID of the span of a job (session, job), a function, or an attempt."""
    return _hashed(8, *parts)


def _hashed(size: int, *parts: str | int) -> str:
    return blake2b(msgspec.json.encode(parts), digest_size=size).hexdigest()


def requests(spans: Iterable[OtlpSpan], resource: Mapping[str, Value], version: str) -> Iterator[bytes]:
    """Yield the spans as the bodies of export requests, each of them one line of JSON."""
    batch: list[tuple[str, msgspec.Raw]] = []
    size = 0
    for span in spans:
        encoded = msgspec.Raw(msgspec.json.encode(_span(span)))
        batch.append((span.host or "", encoded))
        size += len(memoryview(encoded))
        if size >= _REQUEST_BYTES:
            yield _request(batch, resource, version)
            batch, size = [], 0
    if batch:
        yield _request(batch, resource, version)


def _request(spans: list[tuple[str, msgspec.Raw]], resource: Mapping[str, Value], version: str) -> bytes:
    by_host = groupby(sorted(spans, key=itemgetter(0)), key=itemgetter(0))
    groups = [
        {
            "resource": {"attributes": _attributes({**resource, "host.name": host or None})},
            "scopeSpans": [
                {
                    "scope": {"name": "rayscope", "version": version},
                    "spans": [span for _, span in of_host],
                }
            ],
        }
        for host, of_host in by_host
    ]
    return msgspec.json.encode({"resourceSpans": groups}) + b"\n"


def _span(span: OtlpSpan) -> dict[str, Any]:
    begin_ns = max(0, span.begin_ns)
    encoded: dict[str, Any] = {
        "traceId": span.own.trace_id,
        "spanId": span.own.span_id,
        "name": span.name[:_MAX_CHARS],
        "kind": _KIND_INTERNAL,
        "startTimeUnixNano": str(begin_ns),
        "endTimeUnixNano": str(max(begin_ns, span.end_ns)),
        "attributes": _attributes(span.attributes),
    }
    if span.parent.span_id:
        encoded["parentSpanId"] = span.parent.span_id
    if span.events:
        encoded["events"] = [
            {
                "timeUnixNano": str(max(0, event.time_ns)),
                "name": event.name,
                "attributes": _attributes(event.attributes),
            }
            for event in span.events
        ]
    if span.links:
        encoded["links"] = [
            {
                "traceId": link.target.trace_id,
                "spanId": link.target.span_id,
                "attributes": _attributes(link.attributes),
            }
            for link in span.links
        ]
    if span.error is not None:
        encoded["status"] = {"code": _STATUS_ERROR, "message": span.error[:_MAX_CHARS]}
    return encoded


def _attributes(values: Mapping[str, Value]) -> list[dict[str, Any]]:
    """Return attributes in OTLP's form, without those whose value is unknown."""
    return [{"key": name, "value": _value(value)} for name, value in values.items() if value is not None]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):  # JSON's numbers would lose digits
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    return {"stringValue": str(value)[:_MAX_CHARS]}
