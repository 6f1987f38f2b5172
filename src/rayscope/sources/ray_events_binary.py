"""Ray's exported event batches (protobuf) to records.

The body is a ``ray.rpc.events.RayEventsData``, as Ray's agents pass it on among themselves. Nearly all events
are of tasks, and those have a fast way, see :mod:`rayscope.sources.task_events_binary`. It gives an event up
as soon as it meets anything unusual (a new field among the old ones, a value without a name, broken bytes)
and has added nothing by then. Such an event, and one of a rare kind, is read by the union schema and goes
through protobuf's JSON mapping to the decoder for JSON. So the fast way need not know what to do with it, and
both formats give equal records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import msgspec

from rayscope.model import RecordBatch
from rayscope.sources import event_schema, ray_events, task_events_binary
from rayscope.sources.event_format import Format, MalformedBatch
from rayscope.sources.event_schema import UNION, as_json, unknown_fields
from rayscope.sources.event_types import Event
from rayscope.sources.task_events import count, dropped, hex_id, problem
from rayscope.sources.task_events_binary import FAST

_Data = FAST["RayEventsData"]
_RawData = UNION["RayEventsData"]
_RayEvent = UNION["RayEvent"]
_Event = FAST["RayEvent"]
#: What either way raises for an event that it cannot read.
_ERRORS: tuple[type[Exception], ...] = (*task_events_binary.ERRORS, *ray_events.ERRORS, msgspec.MsgspecError)


class ParsedBatch:
    """A parsed body; see :class:`rayscope.sources.event_format.ParsedBatch`."""

    format = Format.BINARY

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.invalid: list[bytes] = []
        self._problems: Counter[str] = Counter()
        #: The good events as they came; None until somebody asks.
        self._raws: list[bytes] | None = None
        try:
            data = _Data.FromString(body)
            self._events: list[Any] = data.events[:]
        except event_schema.ERRORS:
            data = self._read_one_by_one()
        self._dropped: list[Any] = data.task_events_metadata.dropped_task_attempts[:]
        if body and not self._events and not data.HasField("task_events_metadata"):
            raise MalformedBatch("; ".join(self._problems) or "not a RayEventsData: it has no events")
        names: list[str] = [event.session_name for event in self._events]
        self.sessions = set(names)
        #: The session of each event, if they are not all of one.
        self._names = names if len(self.sessions) > 1 else None

    def _read_one_by_one(self) -> Any:
        """The slow way, for a batch with something in it that another version of Ray sends."""
        try:
            data = _RawData.FromString(self.body)
        except event_schema.ERRORS as error:
            raise MalformedBatch(f"not a RayEventsData: {error}") from error
        self._events, self._raws = [], []
        for raw in data.events:
            try:
                self._events.append(_read(raw))
                self._raws.append(raw)
            except event_schema.ERRORS as error:
                self._problems[problem(error)] += 1
                self.invalid.append(raw)
        return data

    def __len__(self) -> int:
        return len(self._events)

    @property
    def node_id(self) -> str | None:
        """See :class:`rayscope.sources.event_format.ParsedBatch`."""
        return hex_id(self._events[0].node_id) if self._events else None

    def _raw(self, position: int) -> bytes:
        if self._raws is None:
            self._raws = _RawData.FromString(self.body).events[:]
        return self._raws[position]

    def convert(self, *, look: bool = True) -> tuple[list[RecordBatch], list[bytes]]:
        """See :class:`rayscope.sources.event_format.ParsedBatch`."""
        if not self._events:
            return [], []
        invalid: list[bytes] = []
        batches = {name: RecordBatch(name) for name in dict.fromkeys(self._names or self.sessions)}
        batch = first = next(iter(batches.values()))
        names, add = self._names, task_events_binary.add
        if names is None:
            first.events = len(self._events)
        for position, event in enumerate(self._events):
            if names is not None:
                batch = batches[names[position]]
                batch.events += 1
            try:
                add(event, batch)
            except _ERRORS:
                try:
                    _add_by_json(self._raw(position), batch)
                except _ERRORS as error:
                    count(batch, problem(error))
                    invalid.append(self._raw(position))
        self._add_dropped(first)
        for what, number in self._problems.items():
            count(first, what, number)
        if look:
            position = len(self.body) % len(self)  # one event, as the decoder for JSON does
            self._count_unknown(self._raw(position), batches[self._events[position].session_name])
        return list(batches.values()), invalid

    def _count_unknown(self, raw: bytes, batch: RecordBatch) -> None:
        with suppress(*event_schema.ERRORS):  # an event that cannot be read is counted as such
            for message in (_RawData.FromString(self.body), _RayEvent.FromString(raw)):
                for name in unknown_fields(message):
                    count(batch, f"field {name}")

    def _add_dropped(self, batch: RecordBatch) -> None:
        """The attempts of which Ray says that it dropped events. They name no session, but a body has one."""
        for attempt in self._dropped:
            try:
                batch.attempts.append(dropped(attempt.task_id, attempt.attempt_number))
            except ValueError as error:
                count(batch, problem(error))


def parse(body: bytes) -> ParsedBatch:
    """Read one serialised RayEventsData. Raises :class:`MalformedBatch` if it is none at all."""
    return ParsedBatch(body)


def join(events: Sequence[bytes]) -> bytes:
    """Single serialised events as one RayEventsData."""
    return bytes(_RawData(events=events).SerializeToString())


def _read(raw: bytes) -> Any:
    try:
        return _Event.FromString(raw)
    except event_schema.ERRORS:
        # The union's class will do: what the fast way does not understand in it, it gives up.
        return _RayEvent.FromString(raw)


def _add_by_json(raw: bytes, batch: RecordBatch) -> None:
    """The slow way: it costs 15 times as much, and knows all that the decoder for JSON knows."""
    ray_events.add(msgspec.convert(as_json(_RayEvent.FromString(raw)), Event), batch)
