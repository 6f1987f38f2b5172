"""What a batch of Ray's events is, whichever format it came in."""

from __future__ import annotations

from enum import Enum
from typing import Protocol

from rayscope.model import RecordBatch


class Format(str, Enum):
    """How a batch is written; the value is also the suffix of its file in the spool."""

    #: An array of ``RayEvent`` in protobuf's JSON mapping, as Ray's own exporter sends it.
    JSON = "json"
    #: One serialised ``ray.rpc.events.RayEventsData``, or several after one another, which is the same.
    BINARY = "binpb"


class MalformedBatch(ValueError):
    """The body is no batch of events at all. The message says what is wrong and where."""


class ParsedBatch(Protocol):
    """A body that was read and found well-formed: the quick part of decoding."""

    @property
    def body(self) -> bytes: ...

    @property
    def format(self) -> Format: ...

    @property
    def invalid(self) -> list[bytes]:
        """Events that could not be read, as they came."""

    @property
    def sessions(self) -> set[str]:
        """The Ray sessions that the events name."""

    @property
    def longest(self) -> int:
        """No event, and so no text in one, has more bytes than this."""

    @property
    def node_id(self) -> str | None:
        """The node that sent the first event, as hex; None if it does not say."""

    def __len__(self) -> int:
        """The number of events that could be read."""

    def convert(self, *, look: bool = True) -> tuple[list[RecordBatch], list[bytes]]:
        """The records, one batch for each session (one, in practice), and the events that give none.

        Such an event is counted in ``unknown`` under ``invalid event: <why>`` and the others are kept.
        ``look``: also count the fields of one event that we do not know.
        """
