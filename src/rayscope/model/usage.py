"""What machines and processes use, as the nodes measure it, and what of a cluster's resources is free.

Bytes are bytes, percentages 0 to 100 (of a process: of one core, so several cores give more), rates are per
second, times ns of the epoch. None is "not known", never zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ProcessUse(msgspec.Struct, frozen=True, kw_only=True):
    """One process on a node. ``cmdline``: its title, with credentials in URLs removed, cut."""

    pid: int
    cmdline: str = ""
    cpu_percent: float = 0.0
    rss_bytes: int | None = None
    uss_bytes: int | None = None
    num_fds: int | None = None
    create_ns: int | None = None
    gpu_memory_bytes: int | None = None
    gpu_percent: float | None = None


class GpuUse(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU. ``processes``: process id -> bytes of its memory; ``process_percent``: share of its cores."""

    index: int
    name: str = ""
    uuid: str = ""
    utilization: float | None = None
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    power_watts: float | None = None
    temperature_c: float | None = None
    processes: Mapping[int, int] = {}
    process_percent: Mapping[int, float] = {}


class DiskUse(msgspec.Struct, frozen=True):
    """One file system."""

    path: str
    total_bytes: int
    used_bytes: int
    free_bytes: int

    @property
    def usable_bytes(self) -> int:
        """What users can fill: less than all there is, where some is set aside (as ``df`` reckons)."""
        return self.used_bytes + self.free_bytes


class NodeStats(msgspec.Struct, frozen=True, kw_only=True):
    """One node at ``time_ns``, when its account arrived here.

    ``cpu_percent`` is of all cores. ``load``: of 1, 5 and 15 minutes. ``workers``: Ray's workers, drivers and
    agents; ``processes``: the raylet, the agent and on the head node the GCS, by these names. Rates come from
    this account and the one before, and are None in the first.
    """

    node_id: str
    time_ns: int
    hostname: str = ""
    ip: str = ""
    cpu_percent: float | None = None
    cpus: int | None = None
    mem_total_bytes: int | None = None
    mem_used_bytes: int | None = None
    mem_available_bytes: int | None = None
    shm_bytes: int | None = None
    swap_total_bytes: int | None = None
    swap_used_bytes: int | None = None
    load: tuple[float, ...] = ()
    boot_ns: int | None = None
    disks: tuple[DiskUse, ...] = ()
    disk_read_bytes: int | None = None
    disk_write_bytes: int | None = None
    disk_ops: tuple[int, int] | None = None
    disk_read_bytes_s: float | None = None
    disk_write_bytes_s: float | None = None
    disk_read_ops_s: float | None = None
    disk_write_ops_s: float | None = None
    net_sent_bytes: int | None = None
    net_recv_bytes: int | None = None
    net_sent_bytes_s: float | None = None
    net_recv_bytes_s: float | None = None
    gpus: tuple[GpuUse, ...] = ()
    workers: tuple[ProcessUse, ...] = ()
    processes: Mapping[str, ProcessUse] = {}
    #: The node's own clock, s: what rates are reckoned by.
    clock_s: float = 0.0

    @property
    def mem_percent(self) -> float | None:
        """Memory in use."""
        return percent(self.mem_used_bytes, self.mem_total_bytes)

    @property
    def disk(self) -> DiskUse | None:
        """The fullest file system that Ray looks at: the root's and that of its temporary files."""
        return max(self.disks, key=lambda disk: disk.used_bytes / max(1, disk.usable_bytes), default=None)

    @property
    def gpu_percent(self) -> float | None:
        """The mean of the GPUs that tell."""
        told = [gpu.utilization for gpu in self.gpus if gpu.utilization is not None]
        return sum(told) / len(told) if told else None

    @property
    def gpu_memory(self) -> tuple[int, int] | None:
        """Bytes used and bytes in all of the GPUs that tell."""
        told = [
            (gpu.memory_used_bytes, gpu.memory_total_bytes)
            for gpu in self.gpus
            if gpu.memory_used_bytes is not None and gpu.memory_total_bytes is not None
        ]
        return (sum(used for used, _ in told), sum(total for _, total in told)) if told else None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The last account of each node that there was any of, dead nodes too.

    ``error`` and ``remedy`` say why nothing (more) comes, else they are None; ``code`` and ``params`` what
    kind of error it is and what it names. ``count``: accounts taken.
    """

    nodes: Mapping[str, NodeStats] = {}
    error: str | None = None
    remedy: str | None = None
    code: str | None = None
    params: Mapping[str, str | int] | None = None
    count: int = 0


class NodeResources(msgspec.Struct, frozen=True, kw_only=True):
    """What one living node has and what of it is free now, in Ray's units."""

    node_id: str
    total: Mapping[str, float]
    available: Mapping[str, float]
    labels: Mapping[str, str] = {}
    idle_ms: int = 0
    is_draining: bool = False
    draining_deadline_ns: int | None = None


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """A shape that tasks and actors ask for: how many wait, and how many of them no node can ever hold.

    ``backlog``: tasks that their owners have not even sent yet.
    """

    resources: Mapping[str, float]
    ready: int = 0
    infeasible: int = 0
    backlog: int = 0
    label_selectors: tuple[Mapping[str, str], ...] = ()


class GroupDemand(msgspec.Struct, frozen=True, kw_only=True):
    """A placement group that has no place (yet)."""

    id: str
    name: str
    strategy: str
    state: str
    bundles: tuple[Mapping[str, float], ...]


class Autoscaler(msgspec.Struct, frozen=True, kw_only=True):
    """What the autoscaler says of itself: nodes by type, and what it could not start.

    ``version``: 1 or 2. ``failed``: (node type, why). ``infeasible``: shapes that no type of node can hold.
    """

    version: int
    active: Mapping[str, int] = {}
    idle: Mapping[str, int] = {}
    pending: Mapping[str, int] = {}
    failed: tuple[tuple[str, str], ...] = ()
    infeasible: tuple[Mapping[str, float], ...] = ()
    time_ns: int | None = None


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster's resources at ``time_ns``, as its GCS knows them (some 100 ms behind the nodes)."""

    time_ns: int
    nodes: Mapping[str, NodeResources] = {}
    demands: tuple[Demand, ...] = ()
    groups: tuple[GroupDemand, ...] = ()
    autoscaler: Autoscaler | None = None


def percent(part: float | None, whole: float | None) -> float | None:
    """A part of a whole, None if either is unknown or there is no whole."""
    return None if part is None or not whole else 100.0 * part / whole
