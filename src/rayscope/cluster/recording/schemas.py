"""The shapes of the answer about recording, and of what other answers say of it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from rayscope.api.schemas import Answer

#: How a node's events come: in the binary form, as Ray's JSON, not at all, or in a way not noted.
Lane = Literal["fast", "json", "none", "unknown"]
#: What a session's record is made of.
Recording = Literal["events", "snapshot", "events+snapshot"]


class DroppedBy(Answer):
    """A loss that ``source`` counted."""

    source: str
    reason: str
    event_type: str
    count: int
    first_ns: int | None
    last_ns: int | None


class Dropped(Answer):
    """What is missing from the record."""

    total: int
    spans: int
    by: list[DroppedBy]
    unresolved_attempts: int
    starts_lost: int
    repaired_total: int
    repaired_ns: int | None
    repaired_partly: bool


class LaneReason(Answer):
    """Why some nodes do not take the fast lane; ``node_id`` and ``address`` are one of them."""

    lane: Lane
    code: str
    reason: str | None
    nodes: int
    node_id: str
    address: str | None


class VersionNote(Answer):
    """A version in the cluster that does not fit the server's.

    ``other_agent``: ``nodes`` run ``version`` of rayscope-agent, the server is ``ours``.
    ``untested_ray``: the cluster runs ``version`` of Ray, the newest tested one is ``ours``.
    """

    code: Literal["other_agent", "untested_ray"]
    version: str
    ours: str
    nodes: int | None
    message: str
    remedy: str


class Lanes(Answer):
    """How many living nodes send in the binary form, Ray's JSON, nothing, or in a way not noted."""

    fast: int
    json_: int = Field(alias="json")
    none: int
    unknown: int
    reasons: list[LaneReason]
    versions: list[VersionNote]


class AgentFigures(Answer):
    """What a node's agent says of itself; counts are totals since its process began."""

    pid: int
    ray_version: str
    rayscope_version: str
    time_ns: int
    since_ns: int
    received: int
    sent: int
    waiting: int
    raw_bytes: int
    sent_bytes: int
    bodies: int
    refused: int
    trouble: str | None
    busy_s: float
    cpu_s: float
    lost: int
    dropped_attempts: int


class NodeLane(Answer):
    """How one node's events come."""

    node_id: str
    state: str | None
    address: str | None
    hostname: str | None
    lane: Lane
    lane_code: str | None
    lane_reason: str | None
    agent: AgentFigures | None


class Snapshots(Answer):
    """How reading the GCS goes."""

    ok: bool
    error: str | None
    remedy: str | None
    tasks: bool
    cost_s: float
    interval_s: float | None
    last_ns: int | None
    last_tasks_ns: int | None


class TracerSaid(Answer):
    """What tracers said that is not simply on, and how many."""

    text: str
    workers: int


class WithoutEvents(Answer):
    """Tasks that are not on record since their events are switched off; ``class_name`` null: functions."""

    class_name: str | None
    tasks: int


class Tracing(Answer):
    """Of the workers that ran tasks: how many are traced; and what only the tracer knows to have run."""

    traced: int
    untraced: int
    said: list[TracerSaid]
    summed_calls: int
    tasks_without_events: int
    without_events: list[WithoutEvents]


class RecordingAnswer(Answer):
    """How a session is recorded."""

    session: str
    recording: Recording
    events: int
    batches: int
    spans: int
    lanes: Lanes
    nodes: list[NodeLane]
    nodes_total: int
    tracing: Tracing
    dropped: Dropped
    snapshots: Snapshots
    cannot_see: list[str]
