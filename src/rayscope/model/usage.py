"""Resource usage of machines and processes as measured on the nodes, and a cluster's free resources.

Sizes are in bytes, percentages are 0 to 100 (for a process relative to one core, so they can be higher),
rates are per second, and times are ns since the epoch. None means unknown, never zero.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ProcessUse(msgspec.Struct, frozen=True, kw_only=True):
    """A process on a node. ``cmdline``: the process's title, truncated and without credentials in URLs."""

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
    """A GPU. ``processes``: process ID -> GPU memory in bytes. ``process_percent``: process ID -> share of
    the GPU's cores.
    """

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
        """The size available to users, which can be less than the total (as in ``df``)."""
        return self.used_bytes + self.free_bytes


class NodeStats(msgspec.Struct, frozen=True, kw_only=True):
    """Usage of a node.

    Attributes:
        time_ns: when the report arrived here.
        cpu_percent: of all cores together.
        load: averages over 1, 5 and 15 minutes.
        workers: Ray's workers, drivers and agents.
        processes: usage of the raylet, the agent and, on the head node, the GCS, by these names.
        store: used and total bytes of the object store, after the session. Before, the GCS knows them.

    Rates are averages since the previous report, and None in the first one.
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
    store: tuple[float, float] | None = None
    #: Time by the node's own clock, in seconds. Rates are computed with it.
    clock_s: float = 0.0

    @property
    def mem_percent(self) -> float | None:
        """Share of the memory in use."""
        return percent(self.mem_used_bytes, self.mem_total_bytes)

    @property
    def disk(self) -> DiskUse | None:
        """The fuller of the file systems that Ray reports: the root file system and the one with Ray's
        temporary files.
        """
        return max(self.disks, key=lambda disk: disk.used_bytes / max(1, disk.usable_bytes), default=None)

    @property
    def gpu_percent(self) -> float | None:
        """Mean utilization of the GPUs that report it."""
        known = [gpu.utilization for gpu in self.gpus if gpu.utilization is not None]
        return sum(known) / len(known) if known else None

    @property
    def gpu_memory(self) -> tuple[int, int] | None:
        """Used and total memory of the GPUs that report it, bytes."""
        known = [
            (gpu.memory_used_bytes, gpu.memory_total_bytes)
            for gpu in self.gpus
            if gpu.memory_used_bytes is not None and gpu.memory_total_bytes is not None
        ]
        return (sum(used for used, _ in known), sum(total for _, total in known)) if known else None


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """The latest report of each node that ever sent one, including dead nodes.

    ``error`` and ``remedy``: why no more reports arrive, otherwise None. ``code`` and ``params``: kind and
    parameters of that error. ``count``: number of reports received.
    """

    nodes: Mapping[str, NodeStats] = {}
    error: str | None = None
    remedy: str | None = None
    code: str | None = None
    params: Mapping[str, str | int] | None = None
    count: int = 0


class NodeResources(msgspec.Struct, frozen=True, kw_only=True):
    """Total and free resources of a node that is alive, in Ray's units."""

    node_id: str
    total: Mapping[str, float]
    available: Mapping[str, float]
    labels: Mapping[str, str] = {}
    idle_ms: int = 0
    is_draining: bool = False


class Demand(msgspec.Struct, frozen=True, kw_only=True):
    """Demand for one shape of resources.

    Attributes:
        ready: number of pending tasks and actors.
        infeasible: number of those that no node can ever hold.
        backlog: number of tasks that their owners have not sent yet.
    """

    resources: Mapping[str, float]
    ready: int = 0
    infeasible: int = 0
    backlog: int = 0
    label_selectors: tuple[Mapping[str, str], ...] = ()


class GroupDemand(msgspec.Struct, frozen=True, kw_only=True):
    """A placement group that has not been placed yet."""

    id: str
    name: str
    strategy: str
    state: str
    bundles: tuple[Mapping[str, float], ...]


class Autoscaler(msgspec.Struct, frozen=True, kw_only=True):
    """The autoscaler's state as it reports it: nodes by type.

    Attributes:
        version: 1 or 2.
        failed: nodes that could not be started, as (node type, reason).
        infeasible: shapes that no type of node can hold.
    """

    version: int
    active: Mapping[str, int] = {}
    idle: Mapping[str, int] = {}
    pending: Mapping[str, int] = {}
    failed: tuple[tuple[str, str], ...] = ()
    infeasible: tuple[Mapping[str, float], ...] = ()
    time_ns: int | None = None


class Resources(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster's resources at ``time_ns``, as known to its GCS, which lags about 100 ms behind the nodes."""

    time_ns: int
    nodes: Mapping[str, NodeResources] = {}
    demands: tuple[Demand, ...] = ()
    groups: tuple[GroupDemand, ...] = ()
    autoscaler: Autoscaler | None = None


def percent(part: float | None, whole: float | None) -> float | None:
    """A part of a whole as a percentage, or None if either is unknown or the whole is zero."""
    return None if part is None or not whole else 100.0 * part / whole
