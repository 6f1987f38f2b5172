"""Event batches in either format: bytes to records."""

from __future__ import annotations

from collections.abc import Sequence

from rayscope.sources import ray_events, ray_events_binary
from rayscope.sources.event_format import Format, MalformedBatch, ParsedBatch

__all__ = ["Format", "MalformedBatch", "ParsedBatch", "join", "parse", "split"]


def parse(body: bytes, format: Format) -> ParsedBatch:
    """Read one body. Raises :class:`MalformedBatch` if it is no batch in that format at all."""
    return ray_events_binary.parse(body) if format is Format.BINARY else ray_events.parse(body)


def split(body: bytes, format: Format) -> list[bytes]:
    """The events of a body that :func:`parse` takes, each as a body of its own."""
    if format is Format.BINARY:
        return ray_events_binary.split(body)
    return [b"[" + event + b"]" for event in ray_events.split(body)]


def join(events: Sequence[bytes], format: Format) -> bytes:
    """Single events, as ``invalid`` holds them, as one body."""
    return ray_events_binary.join(events) if format is Format.BINARY else b"[" + b",".join(events) + b"]"
