"""Schemas of the events of a session."""

from __future__ import annotations

from typing import Literal

from rayscope.api.schemas import Answer
from rayscope.cluster.recording.schemas import Dropped


class Event(Answer):
    """An event, or ``count`` similar ones until ``last_ns``. Times in ns."""

    time_ns: int
    severity: Literal["ERROR", "WARNING", "INFO"]
    kind: Literal["node", "worker", "actor", "job", "placement_group", "task", "dataset", "loss"]
    event: str
    id: str | None
    title: str | None
    message: str | None
    node_id: str | None
    job_id: str | None
    count: int
    last_ns: int | None


class EventsBySeverity(Answer):
    """The number of events by severity, regardless of the requested severity."""

    ERROR: int
    WARNING: int
    INFO: int


class EventsAnswer(Answer):
    """A page of events, newest first."""

    items: list[Event]
    next: str | None
    total: int
    by_severity: EventsBySeverity
    dropped: Dropped
