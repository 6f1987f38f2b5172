"""Nodes and their processes in the form of Ray's dashboard."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import duckdb
import msgspec

from rayscope.cluster.nodes.usage import node_figures
from rayscope.model.usage import DiskUse, GpuUse, NodeStats, ProcessUse, Resources, Usage
from rayscope.ray_api.fields import NODES, sql_of
from rayscope.storage.session_file import SessionFile

#: Maximum number of nodes, and of workers of a node, in an answer.
_MAX_NODES, _MAX_WORKERS = 10_000, 10_000
_MIB = 1 << 20
#: The fields of a node that the GCS knows, and the SQL for each.
_RAYLET = {
    "nodeId": "id",
    "nodeManagerAddress": "coalesce(node_ip, '')",
    "nodeManagerHostname": "coalesce(hostname, '')",
    "metricsExportPort": "coalesce(metrics_export_port, 0)",
    "dashboardAgentListenPort": "coalesce(dashboard_agent_port, 0)",
    "resourcesTotal": sql_of(NODES, "resources_total"),
    "nodeName": "coalesce(node_name, '')",
    "instanceId": "coalesce(instance_id, '')",
    "instanceTypeName": "coalesce(instance_type, '')",
    "isHeadNode": "coalesce(is_head, false)",
    "labels": sql_of(NODES, "labels"),
    "startTimeMs": f"({sql_of(NODES, 'start_time_ms')})::VARCHAR",
    "endTimeMs": f"({sql_of(NODES, 'end_time_ms')})::VARCHAR",
    "state": "state",
    "stateMessage": sql_of(NODES, "state_message"),
}


class Node(msgspec.Struct):
    """A node. ``raylet``: the fields of :data:`_RAYLET`. ``stats``: what was last measured, if anything."""

    raylet: dict[str, Any]
    stats: NodeStats | None
    store: tuple[int, int] | None

    @property
    def hostname(self) -> str:
        """The host name."""
        name: str = self.raylet["nodeManagerHostname"]
        return name

    @property
    def is_alive(self) -> bool:
        """Whether the node is alive."""
        return bool(self.raylet["state"] == "ALIVE")


def read_nodes(
    file: SessionFile,
    workers: Mapping[str, int],
    usage: Usage,
    resources: Resources | None,
    node_id: str | None = None,
) -> list[Node]:
    """The nodes, or the one with an ID. ``workers``: the number of live workers by node."""
    columns = ", ".join(f"'{name}': {sql}" for name, sql in _RAYLET.items())
    with file.reader() as reader:
        rows = reader.execute(
            f"SELECT to_json({{{columns}}})::VARCHAR FROM node_rows WHERE {NODES.where} "
            f"AND ($id IS NULL OR id = $id) ORDER BY state, start_ns, id LIMIT {_MAX_NODES}",
            {"id": node_id},
        ).fetchall()
    nodes = []
    for (text,) in rows:
        raylet = msgspec.json.decode(text)
        raylet["resourcesTotal"] = {camel(name): value for name, value in raylet["resourcesTotal"].items()}
        raylet["numWorkers"] = workers.get(raylet["nodeId"], 0)
        stats = usage.nodes.get(raylet["nodeId"])
        figures = node_figures(stats, resources, raylet["nodeId"])
        used, total = figures["object_store_used_bytes"], figures["object_store_total_bytes"]
        store = (used, total) if used is not None and total is not None else None
        nodes.append(Node(raylet, stats, store))
    return nodes


def camel(name: str) -> str:
    """A name as Ray's dashboard writes it, which changes the names of resources, too."""
    first, *others = name.split("_")
    return first + "".join(part.title() for part in others)


def describe(node: Node) -> dict[str, Any]:
    """A node as in Ray's list of nodes."""
    # The front end shows "NaN" if the memory of the object store is missing.
    used, total = node.store or (0, 0)
    raylet = {
        **node.raylet,
        "objectStoreUsedMemory": used,
        "objectStoreAvailableMemory": total - used,
    }
    stats = node.stats or NodeStats(node_id="", time_ns=0)
    known = {
        "now": stats.time_ns / 1e9 if stats.time_ns else None,
        "cpus": (stats.cpus, stats.cpus) if stats.cpus else None,
        "mem": _memory(stats),
        "shm": stats.shm_bytes,
        "bootTime": stats.boot_ns / 1e9 if stats.boot_ns else None,
        "disk": {disk.path: _disk(disk) for disk in stats.disks},
        "diskIo": _known(stats.disk_read_bytes, stats.disk_write_bytes, *(stats.disk_ops or (None,))),
        "diskIoSpeed": _known(
            stats.disk_read_bytes_s,
            stats.disk_write_bytes_s,
            stats.disk_read_ops_s,
            stats.disk_write_ops_s,
        ),
        "network": _known(stats.net_sent_bytes, stats.net_recv_bytes),
        "agent": _process(stats.processes.get("agent")),
        "gcs": _process(stats.processes.get("gcs")),
    }
    raylet_process = stats.processes.get("raylet")
    return {
        **{name: value for name, value in known.items() if value},
        "hostname": stats.hostname or node.hostname,
        "ip": stats.ip or node.raylet["nodeManagerAddress"],
        "raylet": raylet,
        "cpu": stats.cpu_percent,
        # The front end needs these.
        "loadAvg": _load(stats),
        "networkSpeed": _known(stats.net_sent_bytes_s, stats.net_recv_bytes_s) or [],
        "cmdline": raylet_process.cmdline.split() if raylet_process else [],
        "gpus": [_gpu(gpu) for gpu in stats.gpus],
        "tpus": [],
    }


def describe_workers(reader: duckdb.DuckDBPyConnection, node: Node) -> list[dict[str, Any]]:
    """The processes of a node that is alive, with their workers."""
    if not node.is_alive or node.stats is None:
        return []
    rows = reader.execute(
        "SELECT w.pid, w.id, w.worker_type, w.job_id, w.ip, any_value(a.id) FROM worker_rows w "
        "LEFT JOIN actor_rows a ON a.worker_id = w.id AND a.state = 'ALIVE' "
        f"WHERE w.node_id = ? AND w.state IS DISTINCT FROM 'DEAD' GROUP BY ALL LIMIT {_MAX_WORKERS}",
        [node.raylet["nodeId"]],
    ).fetchall()
    by_pid = {pid: others for pid, *others in rows}
    found = []
    for process in node.stats.workers[:_MAX_WORKERS]:
        worker_id, kind, job_id, ip, actor_id = by_pid.get(process.pid, [None] * 5)
        core_worker = {
            "workerId": worker_id,
            "workerType": kind,
            "jobId": job_id or "",
            "ipAddress": ip or "",
            "pid": process.pid,
            "actorId": actor_id or "f" * 32,
            "language": "PYTHON",
        }
        found.append(
            {
                **(_process(process) or {}),
                "coreWorkerStats": [core_worker] if worker_id else [],
                "language": "PYTHON",
                "jobId": job_id or "ffff",
            }
        )
    return found


def _process(process: ProcessUse | None) -> dict[str, Any] | None:
    if process is None:
        return None
    return {
        "pid": process.pid,
        "createTime": process.create_ns / 1e9 if process.create_ns else None,
        "cpuPercent": process.cpu_percent,
        "cpuTimes": None,
        "cmdline": [process.cmdline],
        "memoryInfo": {"rss": process.rss_bytes or 0},
        "numFds": process.num_fds,
    }


def _memory(stats: NodeStats) -> tuple[int, int, float, int] | None:
    total, used, share = stats.mem_total_bytes, stats.mem_used_bytes, stats.mem_percent
    if total is None or used is None or share is None:
        return None
    available = stats.mem_available_bytes if stats.mem_available_bytes is not None else total - used
    return total, available, round(share, 1), used


def _disk(disk: DiskUse) -> dict[str, float]:
    return {
        "total": disk.total_bytes,
        "used": disk.used_bytes,
        "free": disk.free_bytes,
        "percent": round(100 * disk.used_bytes / max(1, disk.usable_bytes), 1),
    }


def _known(*values: float | None) -> list[float] | None:
    """The values, or None if one is unknown."""
    known = [value for value in values if value is not None]
    return known if len(known) == len(values) else None


def _load(stats: NodeStats) -> list[list[float] | None]:
    if not stats.load:
        return [None, None]
    each = [round(load / stats.cpus, 2) for load in stats.load] if stats.cpus else None
    return [list(stats.load), each]


def _gpu(gpu: GpuUse) -> dict[str, Any]:
    return {
        "index": gpu.index,
        "name": gpu.name,
        "uuid": gpu.uuid,
        "utilizationGpu": gpu.utilization,
        # in MiB
        "memoryUsed": (gpu.memory_used_bytes or 0) // _MIB,
        "memoryTotal": (gpu.memory_total_bytes or 0) // _MIB,
        "processesPids": [
            {"pid": pid, "gpuMemoryUsage": size // _MIB} for pid, size in gpu.processes.items()
        ],
    }
