"""What nodes and their processes use: every node's agent tells the GCS each 5 s, and the GCS tells us.

The channel is RAY_NODE_RESOURCE_USAGE of the GCS's publisher; Ray's dashboard listens to the same. One
connection serves a whole cluster, and no dashboard is needed, only the nodes' agents (``ray[default]``).
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
#: How long one question stands; the GCS answers as soon as any node tells something.
_POLL_S = 15.0
#: Accounts come each 5 s: after this long without any it is subscribed anew, for the GCS may have forgotten.
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
    """What ``reporter_agent.py`` publishes (its ``StatsPayload``), as far as it is of use."""

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
    disk_io: list[float] = []  # bytes read and written, operations of each
    network: list[float] = []  # bytes sent and received
    gpus: list[_Gpu] = []
    workers: list[_Process] = []
    raylet: _Process | None = None
    agent: _Process | None = None
    gcs: _Process | None = None


_DECODER = msgspec.json.Decoder(_Account, strict=False)


def node_stats(node_id: str, text: str | bytes, time_ns: int, before: NodeStats | None) -> NodeStats:
    """One account of a node. ``before``: its last one, for rates. Raises ``msgspec.MsgspecError``."""
    told = _DECODER.decode(text)
    has_gpus = bool(told.gpus)
    cpus = told.cpus[0] if told.cpus else None
    total, available, _, used = told.mem if len(told.mem) == 4 else (None, None, None, None)
    swap = told.swap or []
    read, write, reads, writes = told.disk_io if len(told.disk_io) == 4 else (None, None, None, None)
    sent, received = told.network if len(told.network) == 2 else (None, None)
    seconds = told.now - before.clock_s if before is not None else 0.0

    def rate(now: float | None, earlier: float | None) -> float | None:
        return None if now is None or earlier is None or seconds <= 0 else max(0.0, now - earlier) / seconds

    ops = before.disk_ops if before is not None else None
    return NodeStats(
        node_id=node_id,
        time_ns=time_ns,
        hostname=told.hostname,
        ip=told.ip,
        cpu_percent=told.cpu,
        cpus=cpus,
        mem_total_bytes=_int(total),
        mem_used_bytes=_int(used),
        mem_available_bytes=_int(available),
        shm_bytes=told.shm,
        swap_total_bytes=_int(swap[0]) if len(swap) > 1 else None,
        swap_used_bytes=_int(swap[1]) if len(swap) > 1 else None,
        load=tuple(told.load_avg[0] or ()) if told.load_avg else (),
        boot_ns=_ns(told.boot_time),
        # In Kubernetes Ray tells of a disk of one byte unless it was asked to look.
        disks=tuple(
            DiskUse(path, disk.total, disk.used, disk.free)
            for path, disk in told.disk.items()
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
        gpus=tuple(_gpu(gpu) for gpu in told.gpus),
        workers=tuple(
            made for process in told.workers if (made := _process(process, has_gpus=has_gpus)) is not None
        ),
        processes={
            name: made
            for name, process in (("raylet", told.raylet), ("agent", told.agent), ("gcs", told.gcs))
            if process is not None and (made := _process(process, name, has_gpus=has_gpus)) is not None
        },
        clock_s=told.now,
    )


def _process(told: _Process, name: str | None = None, *, has_gpus: bool) -> ProcessUse | None:
    """``name`` stands for the command line of Ray's own processes, which holds passwords.

    Without GPUs on the machine Ray's zeros say nothing.
    """
    if told.pid is None:
        return None
    full = told.memory_full_info
    memory = told.memory_info or full
    return ProcessUse(
        pid=told.pid,
        cmdline=name or _title(told.cmdline or []),
        cpu_percent=told.cpu_percent or 0.0,
        rss_bytes=_int(memory.rss) if memory is not None else None,
        uss_bytes=_int(full.uss) if full is not None else None,
        num_fds=told.num_fds,
        create_ns=_ns(told.create_time),
        gpu_memory_bytes=_mib(told.gpu_memory_usage) if has_gpus else None,
        gpu_percent=told.gpu_utilization if has_gpus else None,
    )


def _title(cmdline: Sequence[str]) -> str:
    """What a process calls itself. Agents of older Rays keep their command line, which tells them."""
    text = " ".join(cmdline).strip()
    for module, title in _AGENTS.items():
        if module in text:
            return title
    return redact_text(text)[:_CMDLINE]


def _gpu(told: _Gpu) -> GpuUse:
    listed = told.processes_pids or []
    processes = listed.values() if isinstance(listed, dict) else listed
    return GpuUse(
        index=told.index,
        name=told.name,
        uuid=told.uuid,
        utilization=told.utilization_gpu,
        memory_used_bytes=_mib(told.memory_used),
        memory_total_bytes=_mib(told.memory_total),
        power_watts=None if told.power_mw is None else told.power_mw / 1000,
        temperature_c=told.temperature_c,
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
    """A thread that keeps the last account of every node of a cluster, for as long as that lives.

    An outage is retried with a growing pause up to 30 s; :meth:`usage` says what went wrong.
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
        """Begin to listen. Returns itself."""
        self._task.start()
        return self

    def stop(self, timeout_s: float = 5) -> None:
        """End the thread; the question that stands is withdrawn."""
        self._task.stop(timeout_s, self._withdraw)

    def _withdraw(self) -> None:
        if (call := self._call) is not None:
            call.cancel()

    def usage(self) -> Usage:
        """What is known now. Cheap."""
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
        """Take in one account; what cannot be read is logged, and the last one stays."""
        try:
            stats = node_stats(node_id, text, time_ns, self._nodes.get(node_id))
        except (ValueError, RecursionError, OverflowError) as error:  # a number beyond all sense
            _LOG.warning("what %s says that it uses cannot be read: %s", node_id[:60], error)
            return
        if node_id not in self._nodes and len(self._nodes) >= _MAX_NODES:
            self._nodes.pop(next(iter(self._nodes)))
        self._nodes[node_id] = stats
        self._count += 1

    def _listen_or_back_off(self) -> float:
        """The seconds until the next attempt."""
        try:
            self._listen()
        except GcsError as error:
            self._failures += 1
            self._error = error
            return min(_MAX_BACK_OFF_S, 0.5 * 2.0 ** min(self._failures, 10))
        self._failures = 0
        return 0

    def _listen(self) -> None:
        """Subscribe, and take what comes until nothing has come for a while."""
        subscriber = Subscriber(self._client, "RAY_NODE_RESOURCE_USAGE_CHANNEL")
        subscriber.subscribe()
        self._error = None
        heard = time.monotonic()
        try:
            while not self._task.is_stopping and time.monotonic() - heard < _SILENT_S:
                self._call = subscriber.ask(_POLL_S)
                if self._task.is_stopping:
                    self._call.cancel()
                for message in subscriber.take(self._call):
                    heard = time.monotonic()
                    node_id = message.key_id.decode(errors="replace").removeprefix(_KEY_PREFIX)
                    self.take(node_id, message.node_resource_usage_message.json, time.time_ns())
        finally:
            self._call = None
            subscriber.unsubscribe()
