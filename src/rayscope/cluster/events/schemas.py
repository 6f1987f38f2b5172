"""Schemas of the events of a session."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.cluster.deaths.schemas import DeathLink, DeathSubject
from rayscope.records.schemas import Dropped


class Event(TypedDict):
    """An event, or ``count`` similar events, the last of them at ``last_ns``. Times are in ns.

    ``ended``: the worker, actor, node or job that ended; of an actor that restarts, its previous worker.
    ``causes``: why, step by step. Empty if that is not known.
    """

    time_ns: int
    severity: Literal["ERROR", "WARNING", "INFO"]
    kind: Literal["node", "worker", "actor", "job", "placement_group", "task", "dataset", "platform", "loss"]
    event: str
    id: str | None
    title: str | None
    message: str | None
    node_id: str | None
    job_id: str | None
    count: int
    last_ns: int | None
    ended: DeathSubject | None
    causes: list[DeathLink]


class EventsBySeverity(TypedDict):
    """The number of events by severity, regardless of the requested severity."""

    ERROR: int
    WARNING: int
    INFO: int


class EventsAnswer(TypedDict):
    """A page of events, newest first."""

    items: list[Event]
    next: str | None
    total: int
    by_severity: EventsBySeverity
    dropped: Dropped
