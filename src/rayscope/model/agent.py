"""Reports that the nodes' dashboard agents send about their recording."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rayscope.model.records import Drop

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
_Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{56}$")]

#: How a node's events are sent: in our binary form, or by Ray's JSON exporter.
Lane = Literal["fast", "json"]


class Lost(msgspec.Struct, frozen=True):
    """Events of one kind that an agent had to drop. The times (ns) are those of the events."""

    event_type: Annotated[str, msgspec.Meta(max_length=60, pattern="^[A-Z0-9_]+$")]
    count: _Count
    first_ns: _Count
    last_ns: _Count


class AgentReport(msgspec.Struct):
    """One agent's report. Counts are totals since the agent's process began.

    Attributes:
        pid: process ID of the agent, 0 if it never reported itself.
        busy_s: CPU time of our code in the agent.
        cpu_s: CPU time of the whole process, including Ray's code.
    """

    session: Annotated[str, msgspec.Meta(max_length=200)]
    node_id: _Id
    lane: Lane
    time_ns: _Count
    pid: _Count = 0
    reason: Annotated[str, msgspec.Meta(max_length=500)] = ""
    since_ns: _Count = 0
    ray_version: Annotated[str, msgspec.Meta(max_length=40)] = ""
    rayscope_version: Annotated[str, msgspec.Meta(max_length=40)] = ""
    buffer_limit: _Count = 0
    received: _Count = 0
    sent: _Count = 0
    raw_bytes: _Count = 0
    sent_bytes: _Count = 0
    bodies: _Count = 0
    refused: _Count = 0
    trouble: Annotated[str, msgspec.Meta(max_length=300)] = ""
    busy_s: _Seconds = 0.0
    cpu_s: _Seconds = 0.0
    dropped_attempts: _Count = 0
    lost: Annotated[list[Lost], msgspec.Meta(max_length=100)] = []

    def drops(self) -> list[Drop]:
        """The losses on this node as counters of the record."""
        source = f"agent {self.node_id[:12]} pid {self.pid}"
        found = [
            Drop(
                source,
                "agent_buffer_full",
                lost.count,
                self.time_ns,
                lost.event_type,
                lost.first_ns,
                lost.last_ns,
            )
            for lost in self.lost
            if lost.count
        ]
        if self.dropped_attempts:
            found.append(Drop(source, "worker_buffer_full", self.dropped_attempts, self.time_ns))
        return found
