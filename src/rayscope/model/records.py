"""What a source hands on: a batch of records, all of one Ray session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from rayscope.model.attempt import Attempt
from rayscope.model.entity import Entity


class Span(NamedTuple):
    """A named stretch of time inside a task attempt. A set element: equal spans are one span.

    ``extra`` is JSON text ('' when there is none). ``task_id`` is '' for spans outside any task.
    """

    task_id: str
    attempt: int
    name: str
    begin_ns: int
    end_ns: int
    extra: str = ""


@dataclass(frozen=True, slots=True)
class Drop:
    """Something that Ray or we lost, as counted by ``source`` (a node's agent, the GCS, us).

    ``count`` is a running total of that source: of two accounts the larger one holds. Where the source
    tells them: the kind of event, and the times (ns) of the first and the last that is missing.
    """

    source: str
    reason: str
    count: int
    observed_ns: int
    event_type: str = ""
    first_ns: int | None = None
    last_ns: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """What the count is a count of."""
        return self.source, self.reason, self.event_type


@dataclass(slots=True)
class RecordBatch:
    """Records of one session, from one event batch or one snapshot.

    ``attempts`` and ``entities`` may hold several partial accounts of the same thing.
    ``unknown`` counts what a decoder did not know: event types, fields, enum values.
    """

    session: str
    attempts: list[Attempt] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    events: int = 0
