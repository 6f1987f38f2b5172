"""What a source hands on: a batch of records, all of one Ray session."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from rayscope.model.attempt import Attempt
from rayscope.model.entity import Entity

#: The index of an edge that is about no object.
NO_OBJECT = 2**32 - 1


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


class Edge(NamedTuple):
    """An object that a task made, was given, got or waited for. A set element, as spans are.

    ``kind``: ``argument`` and ``nested`` (a reference among the arguments, or inside one; of the task that
    is called), ``fetched`` (an argument as its task received it), ``get``, ``wait`` (waited for, not or not
    yet got), ``blocked:NAME`` (the same, told while the call NAME still blocked), ``put``, ``return`` and
    ``last_return`` (what a task stored as its second value and so on: the index is the order). Two kinds are
    no objects: ``caller`` (``object_task`` called ``task_id``, though Ray names another parent) and
    ``blocks_loop`` (the blocked call stops the event loop of its async actor). ``attempt``
    is -1 where only the task is known. ``object_task``: the first 24 bytes of the object's id, hex;
    ``object_index``: the other four. ``size``: bytes, data and metadata. A wait for a placement group is an
    edge too: its index is :data:`NO_OBJECT`, and ``object_task`` the group's ID, filled up with zeros. The
    times are those of the call that the object was part of.
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
    """What a user's code says of its task: a text or a number under a name. A set element, as spans are.

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
    edges: list[Edge] = field(default_factory=list)
    annotations: list[Annotation] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    events: int = 0
