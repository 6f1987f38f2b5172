"""Ray's exported event batches (protobuf) to records.

The body is a ``ray.rpc.events.RayEventsData``, as Ray's agents pass it on among themselves. Nearly all events
are of tasks, and those have a fast way, see :mod:`rayscope.ray.events.tasks_protobuf`. It gives an event up
as soon as it meets anything unusual (a new field among the old ones, a value without a name, broken bytes)
and has added nothing by then. Such an event, and one of a rare kind, is read by the union schema and goes
through protobuf's JSON mapping to the decoder for JSON. So the fast way need not know what to do with it, and
both formats give equal records.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import msgspec

from rayscope.model import RecordBatch
from rayscope.ray.events import from_json, schema, tasks_protobuf
from rayscope.ray.events.batch_format import Format, MalformedBatch
from rayscope.ray.events.json_types import Event
from rayscope.ray.events.schema import UNION, as_json, unknown_fields
from rayscope.ray.events.tasks import count, dropped, hex_id, problem
from rayscope.ray.events.tasks_protobuf import Columns

_Data = UNION["RayEventsData"]
_RayEvent = UNION["RayEvent"]
#: What either way raises for an event that it cannot read.
_ERRORS: tuple[type[Exception], ...] = (*tasks_protobuf.ERRORS, *from_json.ERRORS, msgspec.MsgspecError)


class ParsedBatch:
    """A parsed body; see :class:`rayscope.ray.events.batch_format.ParsedBatch`."""

    format = Format.BINARY

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.invalid: list[bytes] = []
        self._problems: Counter[str] = Counter()
        #: Events by session that only the slow way can read.
        self._odd: dict[str, list[bytes]] = {}
        try:
            data = _Data.FromString(body)
        except schema.ERRORS as error:
            raise MalformedBatch(f"not a RayEventsData: {error}") from error
        self._events: list[bytes] = data.events[:]
        self._columns: list[Columns] = []
        try:
            if self._events:
                self._columns = [Columns(self._events)]
        except tasks_protobuf.ERRORS:
            self._read_one_by_one()
        self._dropped: list[Any] = data.task_events_metadata.dropped_task_attempts[:]
        if body and not self._events and not data.HasField("task_events_metadata"):
            raise MalformedBatch("; ".join(self._problems) or "not a RayEventsData: it has no events")
        self.sessions = {*(columns.session for columns in self._columns), *self._odd}

    def _read_one_by_one(self) -> None:
        """For events of several sessions, and those in which something is as it never is."""
        whole: dict[str, list[bytes]] = {}
        good = []
        for raw in self._events:
            try:
                session = _RayEvent.FromString(raw).session_name
            except schema.ERRORS as error:
                self._problems[problem(error)] += 1
                self.invalid.append(raw)
                continue
            good.append(raw)
            try:
                Columns([raw])
                whole.setdefault(session, []).append(raw)
            except tasks_protobuf.ERRORS:
                self._odd.setdefault(session, []).append(raw)
        self._events = good
        self._columns = [Columns(raws) for raws in whole.values()]

    def __len__(self) -> int:
        return len(self._events)

    @property
    def longest(self) -> int:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        return max(map(len, self._events), default=0)

    @property
    def node_id(self) -> str | None:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        try:
            return hex_id(_RayEvent.FromString(self._events[0]).node_id) if self._events else None
        except schema.ERRORS:
            return None

    def convert(self, *, look: bool = True) -> tuple[list[RecordBatch], list[bytes]]:
        """See :class:`rayscope.ray.events.batch_format.ParsedBatch`."""
        if not self._events:
            return [], []
        invalid: list[bytes] = []
        batches: dict[str, RecordBatch] = {}
        for columns in self._columns:
            batch = batches[columns.session] = RecordBatch(columns.session)
            batch.events = len(columns.raws)
            invalid += _add_by_json(tasks_protobuf.add(columns, batch), batch)
        for session, raws in self._odd.items():
            batch = batches.setdefault(session, RecordBatch(session))
            batch.events += len(raws)
            invalid += _add_by_json(raws, batch)
        first = next(iter(batches.values()))
        self._add_dropped(first)
        for what, number in self._problems.items():
            count(first, what, number)
        if look:
            # One event, as the decoder for JSON does.
            self._count_unknown(self._events[len(self.body) % len(self)], batches)
        return list(batches.values()), invalid

    def _count_unknown(self, raw: bytes, batches: Mapping[str, RecordBatch]) -> None:
        with suppress(*schema.ERRORS):  # an event that cannot be read is counted as such
            event = _RayEvent.FromString(raw)
            for message in (_Data.FromString(self.body), event):
                for name in unknown_fields(message):
                    count(batches[event.session_name], f"field {name}")

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


def split(body: bytes) -> list[bytes]:
    """The events of a serialised RayEventsData, each as one; dropped attempts are named with the first."""
    data = _Data.FromString(body)
    pieces = [join([raw]) for raw in data.events]
    if data.HasField("task_events_metadata"):
        alone = bytes(_Data(task_events_metadata=data.task_events_metadata).SerializeToString())
        pieces[:1] = [b"".join([*pieces[:1], alone])]
    return pieces


def join(events: Sequence[bytes]) -> bytes:
    """Single serialised events as one RayEventsData."""
    return bytes(_Data(events=events).SerializeToString())


def _add_by_json(raws: Sequence[bytes], batch: RecordBatch) -> list[bytes]:
    """The slow way: it costs 15 times as much, and knows all that the decoder for JSON knows.

    Returns the events that are invalid.
    """
    invalid = []
    for raw in raws:
        try:
            from_json.add(msgspec.convert(as_json(_RayEvent.FromString(raw)), Event), batch)
        except _ERRORS as error:
            count(batch, problem(error))
            invalid.append(raw)
    return invalid
