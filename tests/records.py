"""The content of events as objects of the model: in the product most of it stays in columns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rayscope.model import PHASES, STATES, Attempt, RecordBatch, Span, TaskError
from rayscope.model.attempt import SCALARS
from rayscope.ray.events import batch as events_batch
from rayscope.ray.events.batch import Format, SessionEvents
from rayscope.storage.rows import join_id


def decode(body: bytes, form: Format = Format.JSON) -> tuple[list[RecordBatch], list[bytes]]:
    """The records of each session that a body names, and its events that cannot be read, as they came."""
    found, invalid = [], []
    for session, part in events_batch.split(events_batch.check(body, form)).items():
        events = events_batch.decode([part], form, session)
        found.append(records(events))
        invalid += events.invalid
    return found, invalid


def records(events: SessionEvents) -> RecordBatch:
    """The content of events. Each part of an attempt becomes an attempt, each row of a span a span."""
    attempts = [_attempt(row) for table in events.attempts for row in table.to_pylist()]
    spans = [_span(row) for table in events.spans for row in table.to_pylist()]
    rare = events.records
    return replace(rare, attempts=attempts + rare.attempts, spans=spans + rare.spans)


def in_order(batches: list[RecordBatch]) -> list[RecordBatch]:
    """Events are read kind by kind, so how many come together changes the order of their records."""
    for batch in batches:
        for some in (batch.attempts, batch.spans, batch.entities, batch.edges, batch.annotations):
            some.sort(key=repr)
    return batches


def _attempt(row: dict[str, Any]) -> Attempt:
    attempt = Attempt(join_id(row["task_hi"], row["task_lo"]) or "", row["attempt"])
    for name in SCALARS:
        setattr(attempt, name, row.get(name))
    times_ns = {state: row.get(f"{state.lower()}_ns") for state in STATES}
    attempt.states = {state: time_ns for state, time_ns in times_ns.items() if time_ns is not None}
    for phase in PHASES:
        begin, end = row.get(f"{phase}_begin_ns"), row.get(f"{phase}_end_ns")
        if begin is not None and end is not None:
            attempt.phases[phase] = begin, end
    if row.get("error_ns") is not None:
        attempt.error = TaskError(row["error_ns"], row["error_type"], row["error_message"])
    if row.get("returned_ns") is not None:
        attempt.returned = row["returned_ns"], row["return_bytes"], row["output_bytes"]
    return attempt


def _span(row: dict[str, Any]) -> Span:
    task_id = join_id(row["task_hi"], row["task_lo"]) or ""
    return Span(task_id, row["attempt"], row["name"], row["begin_ns"], row["end_ns"], row["extra"] or "")
