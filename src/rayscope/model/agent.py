"""Reports that the nodes' dashboard agents send about their recording."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from rayscope.model.entity import Entity
from rayscope.model.records import Drop

_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e12)]
#: Text without control characters.
_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
_Id = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{56}$")]

#: How a node's events are sent: in our binary form, or by Ray's JSON exporter.
Lane = Literal["fast", "json"]


class Lost(msgspec.Struct, frozen=True):
    """Events of one kind that an agent had to drop. The times (ns) are those of the events."""

    event_type: Annotated[str, msgspec.Meta(max_length=60, pattern="^[A-Z0-9_]+$")]
    count: _Count
    first_ns: _Count
    last_ns: _Count


class ProcessEnd(msgspec.Struct, frozen=True):
    """The end of a process of a node, as its operating system reported it (agent/exits.py makes them).

    The columns of ``process_end`` (docs/reference/sql.md). All but the first four are None if unknown.
    """

    pid: _Count
    start_ns: _Count
    end_ns: _Count
    source: Literal["pidfd", "connector", "procfs", "none"]
    name: Annotated[str, msgspec.Meta(max_length=60, pattern=_ONE_LINE)] | None = None
    exit_code: Annotated[int, msgspec.Meta(ge=0, le=255)] | None = None
    signal: Annotated[str, msgspec.Meta(max_length=20, pattern="^SIG[A-Z0-9+]+$")] | None = None
    rss_bytes: _Count | None = None
    memory_available: _Count | None = None
    memory_total: _Count | None = None
    cgroup_limit: _Count | None = None
    cgroup_used: _Count | None = None
    oom_kills: _Count | None = None
    kernel_record: Annotated[str, msgspec.Meta(max_length=200, pattern=_ONE_LINE)] | None = None
    disk_free: _Count | None = None
    fds: _Count | None = None


_Ms = Annotated[int, msgspec.Meta(ge=0, le=10**6)]
_Percent = Annotated[float, msgspec.Meta(ge=0, le=100)]
_Pid = Annotated[str, msgspec.Meta(pattern="^[0-9]{1,10}$")]
_Processes = Annotated[dict[_Pid, tuple[_Percent, _Count | None]], msgspec.Meta(max_length=200)]


class GpuBatch(msgspec.Struct, frozen=True):
    """Some seconds of one GPU (agent/gpus.py makes them): the columns of ``gpu_samples``
    (docs/reference/sql.md). A batch is sent again as it grows.
    """

    gpu_index: Annotated[int, msgspec.Meta(ge=0, le=1000)]
    gpu_uuid: Annotated[str, msgspec.Meta(max_length=80, pattern=r"^[\w-]+$")]
    begin_ns: _Count
    end_ns: _Count
    ray_index: Annotated[int, msgspec.Meta(ge=0, le=1000)] | None = None
    problem: Literal["mig", "unsupported"] | None = None
    samples: Annotated[list[tuple[_Ms, _Ms, _Percent]], msgspec.Meta(max_length=1000)] = []
    looks: Annotated[
        list[tuple[_Ms, _Count | None, _Ms, _Ms, _Processes | None]], msgspec.Meta(max_length=200)
    ] = []

    def sums(self) -> dict[str, int]:
        """The use of the whole GPU during the batch, as far as it is known."""
        memory = [used for _, used, *_ in self.looks if used is not None]
        sums = {"memory_peak_bytes": max(memory)} if memory else {}
        if self.samples:
            sums["measured_ns"] = sum(max(0, end - begin) for begin, end, _ in self.samples) * 1_000_000
            busy = sum(max(0, end - begin) * percent for begin, end, percent in self.samples)
            sums["busy_ns"] = round(busy * 10_000)
        return sums


class AgentReport(msgspec.Struct):
    """One agent's report. Counts are totals since the agent's process began.

    Attributes:
        pid: process ID of the agent, 0 if it never reported itself.
        busy_s: CPU time of our code in the agent.
        cpu_s: CPU time of the whole process, including Ray's code.
        ended: ends of processes that no accepted report had.
        ends_dropped: number of ends that were dropped before they were sent.
        gpus: samples of the node's GPUs that are new.
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
    ended: Annotated[list[ProcessEnd], msgspec.Meta(max_length=50)] = []
    ends_dropped: _Count = 0
    gpus: Annotated[list[GpuBatch], msgspec.Meta(max_length=8)] = []

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

    def take_entities(self) -> list[Entity]:
        """Remove the ends of processes and samples of GPUs from the report. Returns them as entities."""
        ended, self.ended = self.ended, []
        entities = []
        for end in ended:
            known = {name: value for name, value in msgspec.structs.asdict(end).items() if value is not None}
            entity_id = f"{self.node_id}:{end.pid}:{end.start_ns}"
            entities.append(Entity("process_end", entity_id, {"node_id": self.node_id, **known}))
        batches, self.gpus = self.gpus, []
        for batch in batches:
            observed = {
                name: value for name, value in msgspec.structs.asdict(batch).items() if value is not None
            }
            for name in ("samples", "looks"):
                observed[name] = str(msgspec.json.encode(observed[name]), "utf-8")
            entity_id = f"{self.node_id}:{batch.gpu_uuid}:{batch.begin_ns}"
            observed |= {"node_id": self.node_id, **batch.sums()}
            entities.append(Entity("gpu_sample", entity_id, {}, {}, batch.end_ns, observed))
        return entities
