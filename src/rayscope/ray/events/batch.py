"""Checks, splits, and decodes batches of events in either format."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from rayscope.ray.events import from_json, from_protobuf
from rayscope.ray.events.batch_format import Batch, BatchTooLarge, Format, MalformedBatch
from rayscope.ray.events.columns import SessionEvents
from rayscope.ray.events.tasks import hex_id

__all__ = [
    "Batch",
    "BatchTooLarge",
    "Format",
    "MalformedBatch",
    "SessionEvents",
    "check",
    "decode",
    "join",
    "node_id",
    "split",
    "split_events",
]


def check(body: bytes, format: Format) -> Batch:
    """Check one body. Raises :class:`MalformedBatch` if it is not a batch in that format at all."""
    return from_protobuf.check(body) if format is Format.BINARY else from_json.check(body)


def decode(bodies: Sequence[bytes], format: Format, session: str) -> SessionEvents:
    """Decode bodies that :func:`check` accepted, all of one session."""
    if format is Format.BINARY:
        return from_protobuf.decode(bodies, session)
    return from_json.decode(bodies, session)


def split(batch: Batch) -> dict[str, bytes]:
    """Split a batch into one body per session. An unreadable event goes with the event before it."""
    if len(batch.sessions) <= 1:
        return dict.fromkeys(batch.sessions, batch.body)
    found: dict[str, list[bytes]] = {}
    session = ""
    for event in split_events(batch.body, batch.format):
        with suppress(MalformedBatch):
            # Platform events name no session.
            session = next(iter(check(event, batch.format).sessions), "") or session
        found.setdefault(session, []).append(event)
    if batch.format is Format.BINARY:
        return {session: b"".join(events) for session, events in found.items()}
    return {session: from_json.join([event[1:-1] for event in events]) for session, events in found.items()}


def split_events(body: bytes, format: Format) -> list[bytes]:
    """The events of a body, each as a separate body."""
    if format is Format.BINARY:
        return from_protobuf.split(body)
    return [from_json.join([event]) for event in from_json.split(body)]


def join(events: Sequence[bytes], format: Format) -> bytes:
    """Join single events, such as those of :attr:`SessionEvents.invalid`, into one body."""
    return from_protobuf.join(events) if format is Format.BINARY else from_json.join(events)


def node_id(body: bytes, format: Format) -> str | None:
    """Hex ID of the node that sent the first event, or None if it is not stated."""
    decoder = from_protobuf if format is Format.BINARY else from_json
    with suppress(*from_protobuf.ERRORS):
        return hex_id(decoder.node_id(body))
    return None
