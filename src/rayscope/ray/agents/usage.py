"""Resource usage of nodes and their processes. Each node's agent reports it to the GCS every 5 s.

We subscribe to the channel RAY_NODE_RESOURCE_USAGE of the GCS, as Ray's dashboard does. One connection serves
the whole cluster. It needs the nodes' agents (``ray[default]``) but no dashboard.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from typing import Any

import msgspec

from rayscope.model.usage import DiskUse, GpuUse, NodeStats, ProcessUse, Usage
from rayscope.periodic import PeriodicTask
from rayscope.ray.common import redact_text
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.ray.gcs.pubsub import Subscriber

_LOG = logging.getLogger(__name__)

_KEY_PREFIX = "RAY_REPORTER:"
#: Duration of a long poll, s. The GCS responds as soon as any node reports.
_POLL_S = 15.0
#: Time without a report after which to subscribe again, s. Reports arrive every 5 s, so the GCS may have
#: forgotten the subscription.
_SILENT_S = 30.0
_MAX_BACK_OFF_S = 30.0
_MAX_NODES = 20_000
_MIB = 1 << 20
_CMDLINE = 200
_AGENTS = {"runtime_env/agent/main.py": "ray::RuntimeEnvAgent", "dashboard/agent.py": "ray::DashboardAgent"}


class _Memory(msgspec.Struct):
    rss: float | None = None
    uss: float | None = None


class _Process(msgspec.Struct, rename="camel"):
    pid: int | None = None
    create_time: float | None = None
    cpu_percent: float | None = None
    cmdline: list[str] | None = None
    memory_info: _Memory | None = None
    memory_full_info: _Memory | None = None
    num_fds: int | None = None
    gpu_memory_usage: float | None = None  # MiB
    gpu_utilization: float | None = None


class _GpuProcess(msgspec.Struct, rename="camel"):
    pid: int
    gpu_memory_usage: float = 0  # MiB
    gpu_utilization: float | None = None


class _Gpu(msgspec.Struct, rename="camel"):
    index: int = 0
    name: str = ""
    uuid: str = ""
    utilization_gpu: float | None = None
    memory_used: float | None = None  # MiB
    memory_total: float | None = None  # MiB
    processes_pids: list[_GpuProcess] | dict[str, _GpuProcess] | None = None
    power_mw: float | None = None
    temperature_c: float | None = None


class _Disk(msgspec.Struct):
    total: int = 0
    used: int = 0
    free: int = 0


class _Account(msgspec.Struct, rename="camel"):
    """The fields that we use of ``StatsPayload``, which Ray's ``reporter_agent.py`` publishes."""

    now: float = 0.0
    hostname: str = ""
    ip: str = ""
    cpu: float | None = None
    cpus: list[int | None] = []
    mem: list[float] = []  # total, available, percent, used
    swap: list[float] | None = None  # total, used, percent
    shm: int | None = None
    boot_time: float | None = None
    load_avg: list[list[float] | None] = []
    disk: dict[str, _Disk] = {}
    disk_io: list[float] = []  # bytes read, bytes written, read operations, write operations
    network: list[float] = []  # bytes sent and received
    gpus: list[_Gpu] = []
    workers: list[_Process] = []
    raylet: _Process | None = None
    agent: _Process | None = None
    gcs: _Process | None = None


_DECODER = msgspec.json.Decoder(_Account, strict=False)


def node_stats(node_id: str, text: str | bytes, time_ns: int, before: NodeStats | None) -> NodeStats:
    """Parse a report of a node. Rates are computed from ``before``, its previous report.

    Raises ``msgspec.MsgspecError``.
    """
    report = _DECODER.decode(text)
    has_gpus = bool(report.gpus)
    cpus = report.cpus[0] if report.cpus else None
    total, available, _, used = report.mem if len(report.mem) == 4 else (None, None, None, None)
    swap = report.swap or []
    read, write, reads, writes = report.disk_io if len(report.disk_io) == 4 else (None, None, None, None)
    sent, received = report.network if len(report.network) == 2 else (None, None)
    seconds = report.now - before.clock_s if before is not None else 0.0

    def rate(now: float | None, earlier: float | None) -> float | None:
        return None if now is None or earlier is None or seconds <= 0 else max(0.0, now - earlier) / seconds

    ops = before.disk_ops if before is not None else None
    return NodeStats(
        node_id=node_id,
        time_ns=time_ns,
        hostname=report.hostname,
        ip=report.ip,
        cpu_percent=report.cpu,
        cpus=cpus,
        mem_total_bytes=_int(total),
        mem_used_bytes=_int(used),
        mem_available_bytes=_int(available),
        shm_bytes=report.shm,
        swap_total_bytes=_int(swap[0]) if len(swap) > 1 else None,
        swap_used_bytes=_int(swap[1]) if len(swap) > 1 else None,
        load=tuple(report.load_avg[0] or ()) if report.load_avg else (),
        boot_ns=_ns(report.boot_time),
        # In Kubernetes, Ray reports a disk of one byte unless it is configured to read the real size.
        disks=tuple(
            DiskUse(path, disk.total, disk.used, disk.free)
            for path, disk in report.disk.items()
            if disk.total > 1
        ),
        disk_read_bytes=_int(read),
        disk_write_bytes=_int(write),
        disk_ops=None if reads is None or writes is None else (int(reads), int(writes)),
        disk_read_bytes_s=rate(read, before.disk_read_bytes if before else None),
        disk_write_bytes_s=rate(write, before.disk_write_bytes if before else None),
        disk_read_ops_s=rate(reads, ops[0] if ops else None),
        disk_write_ops_s=rate(writes, ops[1] if ops else None),
        net_sent_bytes=_int(sent),
        net_recv_bytes=_int(received),
        net_sent_bytes_s=rate(sent, before.net_sent_bytes if before else None),
        net_recv_bytes_s=rate(received, before.net_recv_bytes if before else None),
        gpus=tuple(_gpu(gpu) for gpu in report.gpus),
        workers=tuple(
            made for process in report.workers if (made := _process(process, has_gpus=has_gpus)) is not None
        ),
        processes={
            name: made
            for name, process in (("raylet", report.raylet), ("agent", report.agent), ("gcs", report.gcs))
            if process is not None and (made := _process(process, name, has_gpus=has_gpus)) is not None
        },
        clock_s=report.now,
    )


def _process(process: _Process, name: str | None = None, *, has_gpus: bool) -> ProcessUse | None:
    """Convert the usage of a process.

    ``name`` replaces the command line of Ray's own processes, because it contains passwords. Without GPUs on
    the machine, Ray reports zeros for their usage, which are dropped.
    """
    if process.pid is None:
        return None
    full = process.memory_full_info
    memory = process.memory_info or full
    return ProcessUse(
        pid=process.pid,
        cmdline=name or _title(process.cmdline or []),
        cpu_percent=process.cpu_percent or 0.0,
        rss_bytes=_int(memory.rss) if memory is not None else None,
        uss_bytes=_int(full.uss) if full is not None else None,
        num_fds=process.num_fds,
        create_ns=_ns(process.create_time),
        gpu_memory_bytes=_mib(process.gpu_memory_usage) if has_gpus else None,
        gpu_percent=process.gpu_utilization if has_gpus else None,
    )


def _title(cmdline: Sequence[str]) -> str:
    """Return the title of a process.

    Agents of older versions of Ray set no title. They are identified by their command line.
    """
    text = " ".join(cmdline).strip()
    for module, title in _AGENTS.items():
        if module in text:
            return title
    return redact_text(text)[:_CMDLINE]


def _gpu(gpu: _Gpu) -> GpuUse:
    by_pid = gpu.processes_pids or []
    processes = by_pid.values() if isinstance(by_pid, dict) else by_pid
    return GpuUse(
        index=gpu.index,
        name=gpu.name,
        uuid=gpu.uuid,
        utilization=gpu.utilization_gpu,
        memory_used_bytes=_mib(gpu.memory_used),
        memory_total_bytes=_mib(gpu.memory_total),
        power_watts=None if gpu.power_mw is None else gpu.power_mw / 1000,
        temperature_c=gpu.temperature_c,
        processes={one.pid: int(one.gpu_memory_usage * _MIB) for one in processes},
        process_percent={
            one.pid: one.gpu_utilization for one in processes if one.gpu_utilization is not None
        },
    )


def _int(value: float | None) -> int | None:
    return None if value is None else int(value)


def _mib(value: float | None) -> int | None:
    return None if value is None else int(value * _MIB)


def _ns(seconds: float | None) -> int | None:
    return int(seconds * 1e9) if seconds else None


class UsageFeed:
    """A thread that keeps the latest report of every node of a cluster.

    It retries after an outage with a pause that grows up to 30 s. :meth:`usage` reports the error.
    """

    def __init__(self, client: GcsClient) -> None:
        self._client = client
        self._nodes: dict[str, NodeStats] = {}
        self._error: GcsError | None = None
        self._count = 0
        self._call: Any = None
        self._failures = 0
        self._task = PeriodicTask("rayscope-usage", _MAX_BACK_OFF_S, self._listen_or_back_off, at_once=True)

    def start(self) -> UsageFeed:
        """Start listening. Returns itself."""
        self._task.start()
        return self

    def stop(self, timeout_s: float = 5) -> None:
        """Stop the thread and cancel its long poll."""
        self._task.stop(timeout_s, self._cancel)

    def _cancel(self) -> None:
        if (call := self._call) is not None:
            call.cancel()

    def usage(self) -> Usage:
        """Return the latest reports, and the current error if there is one. Cheap to call."""
        error = self._error
        return Usage(
            nodes=dict(self._nodes),
            error=None if error is None else error.message,
            remedy=None if error is None else error.remedy,
            code=None if error is None else error.code,
            params=None if error is None else error.params,
            count=self._count,
        )

    def take(self, node_id: str, text: str | bytes, time_ns: int) -> None:
        """Store a report. An unreadable one is only logged, and the previous one is kept."""
        try:
            stats = node_stats(node_id, text, time_ns, self._nodes.get(node_id))
        except (ValueError, RecursionError, OverflowError) as error:  # OverflowError: absurdly large numbers
            _LOG.warning("what %s says that it uses cannot be read: %s", node_id[:60], error)
            return
        if node_id not in self._nodes and len(self._nodes) >= _MAX_NODES:
            self._nodes.pop(next(iter(self._nodes)))
        self._nodes[node_id] = stats
        self._count += 1

    def _listen_or_back_off(self) -> float:
        """Listen until it fails. Returns the seconds until the next attempt."""
        try:
            self._listen()
        except GcsError as error:
            self._failures += 1
            self._error = error
            return min(_MAX_BACK_OFF_S, 0.5 * 2.0 ** min(self._failures, 10))
        self._failures = 0
        return 0

    def _listen(self) -> None:
        """Subscribe, and store reports until none has arrived for a while."""
        subscriber = Subscriber(self._client, "RAY_NODE_RESOURCE_USAGE_CHANNEL")
        subscriber.subscribe()
        self._error = None
        heard = time.monotonic()
        try:
            while not self._task.is_stopping and time.monotonic() - heard < _SILENT_S:
                self._call = subscriber.poll(_POLL_S)
                if self._task.is_stopping:
                    self._call.cancel()
                for message in subscriber.receive(self._call):
                    heard = time.monotonic()
                    node_id = message.key_id.decode(errors="replace").removeprefix(_KEY_PREFIX)
                    self.take(node_id, message.node_resource_usage_message.json, time.time_ns())
        finally:
            self._call = None
            subscriber.unsubscribe()
