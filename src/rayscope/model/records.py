"""Batches of records. All sources of data produce them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from rayscope.model.attempt import Attempt
from rayscope.model.entity import Entity

#: The object index of an edge without an object.
NO_OBJECT = 2**32 - 1


class Span(NamedTuple):
    """A named time range inside a task attempt. Spans form a set: equal spans are one span.

    ``extra`` is JSON, or ''. ``task_id`` is '' outside of any task.
    """

    task_id: str
    attempt: int
    name: str
    begin_ns: int
    end_ns: int
    extra: str = ""


class Edge(NamedTuple):
    """An object that a task created, received, got or waited for. Edges form a set, like spans.

    Attributes:
        attempt: -1 if only the task is known.
        kind: one of the following.

            - ``argument``, ``nested``: a reference passed to the task as an argument, or inside one.
            - ``fetched``: an argument as received by the task.
            - ``get``: the task got the object.
            - ``wait``: the task waited for it without getting it, or has not got it yet.
            - ``blocked:NAME``: like ``wait``, reported while the call NAME was still blocked.
            - ``put``: the task put the object.
            - ``return``, ``last_return``: the task's second and later return values. The index is their
              order.
            - ``caller``: ``object_task`` called ``task_id``, although Ray names another parent. Not an
              object.
            - ``blocks_loop``: the blocked call stops the event loop of its async actor. Not an object.

        object_task: the first 24 bytes of the object's ID, hex. For a placement group, its ID padded
            with zeros.
        object_index: the other four bytes. :data:`NO_OBJECT` for a placement group.
        size: in bytes, data and metadata.
        begin_ns: when the call that involved the object began.
        end_ns: when that call ended.
    """

    task_id: str
    attempt: int
    kind: str
    object_task: str
    object_index: int
    size: int | None
    begin_ns: int
    end_ns: int


class Annotation(NamedTuple):
    """Text or a number that user code attached to its task. Annotations form a set, like spans.

    ``kind``: ``annotation`` or ``counter``.
    """

    task_id: str
    attempt: int
    kind: str
    name: str
    value: str
    number: float | None
    time_ns: int


@dataclass(frozen=True, slots=True)
class Drop:
    """Data lost by Ray or by us.

    Attributes:
        source: the process that counts the losses: a node's agent, the GCS, or this server.
        count: running total of that source. The larger of two accounts wins.
        event_type: kind of event, if the source reports it.
        first_ns: time of the first missing event, if the source reports it.
        last_ns: time of the last missing event, if the source reports it.
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
        """The key of this counter: accounts with the same key are merged."""
        return self.source, self.reason, self.event_type


@dataclass(slots=True)
class RecordBatch:
    """Records of one session, from one event batch or one snapshot.

    ``attempts`` and ``entities`` may hold several partial accounts of the same thing. ``unknown`` counts
    event types, fields and enum values that the decoder did not know.
    """

    session: str
    attempts: list[Attempt] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    events: int = 0
