"""Event batches in either format: bytes to records."""

from __future__ import annotations

from collections.abc import Sequence

from rayscope.ray.events import from_json, from_protobuf
from rayscope.ray.events.batch_format import Format, MalformedBatch, ParsedBatch

__all__ = ["Format", "MalformedBatch", "ParsedBatch", "join", "parse", "split"]


def parse(body: bytes, format: Format) -> ParsedBatch:
    """Read one body. Raises :class:`MalformedBatch` if it is no batch in that format at all."""
    return from_protobuf.parse(body) if format is Format.BINARY else from_json.parse(body)


def split(body: bytes, format: Format) -> list[bytes]:
    """The events of a body that :func:`parse` takes, each as a body of its own."""
    if format is Format.BINARY:
        return from_protobuf.split(body)
    return [b"[" + event + b"]" for event in from_json.split(body)]


def join(events: Sequence[bytes], format: Format) -> bytes:
    """Single events, as ``invalid`` holds them, as one body."""
    return from_protobuf.join(events) if format is Format.BINARY else b"[" + b",".join(events) + b"]"
