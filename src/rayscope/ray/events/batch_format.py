"""What a batch of Ray's events is, whichever format it came in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum


class Format(str, Enum):
    """How a batch is written; the value is also the suffix of its file in the spool."""

    #: An array of ``RayEvent`` in protobuf's JSON mapping, as Ray's own exporter sends it.
    JSON = "json"
    #: One serialised ``ray.rpc.events.RayEventsData``, or several after one another, which is the same.
    BINARY = "binpb"


class MalformedBatch(ValueError):
    """The body is no batch of events at all. The message says what is wrong and where."""


class BatchTooLarge(MalformedBatch):
    """The body holds more than is decoded at once."""


#: Events of a body. Ray's agents send 1,000 at a time.
MAX_EVENTS = 50_000


def check_count(events: int) -> None:
    """Raise :class:`BatchTooLarge` if a body has too many events, readable or not."""
    if events > MAX_EVENTS:
        raise BatchTooLarge(f"A batch has more than {MAX_EVENTS} events.")


@dataclass(frozen=True)
class Batch:
    """A body of which no more was read than is needed to take it: whose events it has."""

    body: bytes
    format: Format
    #: The Ray sessions that the events name, in the order in which they do.
    sessions: Sequence[str]
    #: Events, the unreadable ones included.
    count: int
