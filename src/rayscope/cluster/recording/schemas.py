"""Schemas of the answer about recording, and of its parts in other answers."""

from __future__ import annotations

from typing import Literal

from typing_extensions import TypedDict

from rayscope.ingest.schemas import Snapshots
from rayscope.records.schemas import Dropped

#: The transport of a node's events: binary, Ray's JSON, none, or unknown.
Lane = Literal["fast", "json", "none", "unknown"]
#: The sources of a session's record.
Recording = Literal["events", "snapshot", "events+snapshot"]


class LaneReason(TypedDict):
    """Why some nodes do not use the fast lane. ``node_id`` and ``address``: of one of these nodes."""

    lane: Lane
    code: str
    reason: str | None
    nodes: int
    node_id: str
    address: str | None


class VersionNote(TypedDict):
    """A version in the cluster that does not match the server.

    ``other_agent``: ``nodes`` nodes run ``version`` of rayscope-agent, but the server's version is ``ours``.
    ``untested_ray``: the cluster runs ``version`` of Ray, but the newest tested version is ``ours``.
    """

    code: Literal["other_agent", "untested_ray"]
    version: str
    ours: str
    nodes: int | None
    message: str
    remedy: str


class Lanes(TypedDict):
    """The number of live nodes by transport: binary, Ray's JSON, none, or unknown."""

    fast: int
    json: int
    none: int
    unknown: int
    reasons: list[LaneReason]
    versions: list[VersionNote]


class AgentFigures(TypedDict):
    """Figures reported by a node's agent. Counts are totals since its process started."""

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


class NodeLane(TypedDict):
    """The transport of one node's events."""

    node_id: str
    state: str | None
    address: str | None
    hostname: str | None
    lane: Lane
    lane_code: str | None
    lane_reason: str | None
    agent: AgentFigures | None


class TracerSaid(TypedDict):
    """A state of tracers other than just "on", and the number of tracers in this state."""

    text: str
    workers: int


class WithoutEvents(TypedDict):
    """Tasks that are not recorded because their events are disabled. ``class_name`` is null for functions."""

    class_name: str | None
    tasks: int


class Tracing(TypedDict):
    """The numbers of traced and untraced workers among those that ran tasks, and of tasks that only the
    tracer saw.
    """

    traced: int
    untraced: int
    said: list[TracerSaid]
    summed_calls: int
    tasks_without_events: int
    without_events: list[WithoutEvents]


class RecordingAnswer(TypedDict):
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
