"""A batch of Ray's events, in either format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Format(str, Enum):
    """The encoding of a batch. The value is also the suffix of its file in the spool."""

    #: An array of ``RayEvent`` in protobuf's JSON mapping, as sent by Ray's own exporter.
    JSON = "json"
    #: A serialized ``ray.rpc.events.RayEventsData``, or several concatenated ones, which is equivalent.
    BINARY = "binpb"


class MalformedBatch(ValueError):
    """The body is not a batch of events. The message says what is wrong and where."""


class BatchTooLarge(MalformedBatch):
    """The body holds more events or values than may be decoded at once."""


#: Maximum number of events per body. Ray's agents send 1,000 at a time.
MAX_EVENTS = 50_000


def check_count(events: int) -> None:
    """Raise :class:`BatchTooLarge` if a body has too many events, readable or not."""
    if events > MAX_EVENTS:
        raise BatchTooLarge(f"A batch has more than {MAX_EVENTS} events.")


@dataclass(frozen=True)
class Batch:
    """A body that has been checked but not decoded."""

    body: bytes
    format: Format
    #: The Ray sessions named by the events, in order of first appearance.
    sessions: Sequence[str]
    #: Number of events, including unreadable ones.
    count: int
