"""Combines measurements of nodes and workers with their records."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast, get_type_hints

import msgspec
import pyarrow as pa

from rayscope.api.provide import provide
from rayscope.cluster.nodes import schemas, sql
from rayscope.cluster.placement.compute import Placement
from rayscope.ingest.clusters import Clusters
from rayscope.metrics.service import Metrics
from rayscope.model.usage import DiskUse, NodeStats, ProcessUse, Resources, Usage, percent
from rayscope.ray.gcs.client import GcsError
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import StoreError
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql import entities
from rayscope.storage.sql.pages import Row

#: Reports older than this, ns, are not current.
FRESH_NS = 30 * 10**9
_AGENT_TITLES = ("ray::DashboardAgent", "ray::RuntimeEnvAgent")
_STORE = "object_store_memory"
#: The fields that are read from the metrics of an ended session, by series.
_SERIES = {
    "ray_node_cpu_utilization": "cpu_percent",
    "ray_node_mem_used": "mem_used_bytes",
    "ray_node_mem_total": "mem_total_bytes",
    "ray_node_disk_usage": "disk_used",
    "ray_node_disk_free": "disk_free",
    "ray_node_disk_io_read_speed": "disk_read_bytes_s",
    "ray_node_disk_io_write_speed": "disk_write_bytes_s",
    "ray_node_network_send_speed": "net_sent_bytes_s",
    "ray_node_network_receive_speed": "net_recv_bytes_s",
    "ray_object_store_used_memory": "store_used",
    "ray_object_store_available_memory": "store_free",
}
_SERIES_NS = 900 * 10**9

_SQL_TYPES = {int | None: "BIGINT", float | None: "DOUBLE"}
_ARROW = {"BIGINT": pa.int64(), "DOUBLE": pa.float64()}


def _columns(shape: type) -> dict[str, str]:
    return {name: _SQL_TYPES[kind] for name, kind in get_type_hints(shape).items()}


_MEASURED = _columns(schemas.NodeFigures)
#: Columns of the list of nodes and their types.
NODE_COLUMNS = {**_MEASURED, "workers": "BIGINT", "running": "BIGINT"}
WORKER_COLUMNS = _columns(schemas.ProcessFigures)
#: Stands for the report of a node that has sent none.
_NO_REPORT = NodeStats(node_id="", time_ns=0)


#: Free resources, or why they are unknown.
FreeResources = tuple[Resources | None, GcsError | None]


@dataclass
class NodeUsage:
    """Reports the utilization of nodes and their processes, and their free resources, for each session."""

    records: SessionReader
    clusters: Clusters
    metrics: Metrics

    def resources(self, session: str) -> FreeResources:
        """The free resources of a session, or why they are unknown. Returns (None, None) if its cluster has
        ended.
        """
        try:
            return self.clusters.resources(session), None
        except GcsError as error:
            return None, error

    def usage(self, session: str) -> Usage:
        """The utilization of nodes as reported to this server, or else from the session's last metrics."""
        usage = self.clusters.usage(session)
        if usage.nodes:
            return usage
        nodes = self.records.read_cached(session, "last usage of nodes", lambda _: self._from_series(session))
        return msgspec.structs.replace(usage, nodes=nodes)

    def _from_series(self, session: str) -> dict[str, NodeStats]:
        """The last measurements of nodes in a session's metrics. Excludes processes."""
        last_ns = self.records.last_ns(session)
        found: dict[str, dict[str, Any]] = {}
        try:
            store = self.metrics.store(session)
            for name, field in _SERIES.items():
                for one in store.select(name, (), last_ns - _SERIES_NS, last_ns + FRESH_NS).series:
                    is_number = one.values == one.values  # NaN marks the end of a series
                    if is_number.any():
                        figures = found.setdefault(one.labels.get("node_id", ""), {"time_ns": 0})
                        figures[field] = float(one.values[is_number][-1])
                        figures["time_ns"] = max(figures["time_ns"], int(one.times_ns[is_number][-1]))
        except StoreError:
            return {}
        nodes = {}
        for node_id, figures in found.items():
            disk = figures.pop("disk_used", None), figures.pop("disk_free", None)
            disks: tuple[DiskUse, ...] = ()
            if disk[0] is not None and disk[1] is not None:
                disks = (DiskUse("/", int(disk[0] + disk[1]), int(disk[0]), int(disk[1])),)
            store_used, store_free = figures.pop("store_used", None), figures.pop("store_free", None)
            if store_used is not None and store_free is not None:
                figures["store"] = (store_used, store_used + store_free)
            whole: dict[str, Any] = {
                name: int(value) if name.startswith("mem_") else value for name, value in figures.items()
            }
            nodes[node_id] = NodeStats(node_id=node_id, disks=disks, **whole)
        return nodes

    def running(self, session: str, file: SessionFile) -> dict[str, int] | None:
        """The number of attempts on each node that have begun and not ended, including blocked ones. None if
        the session has ended.
        """
        if not self.records.is_live(session):
            return None
        return sql.attempts_running(file, self.records.last_ns(session))

    def beside_nodes(self, session: str) -> entities.ExtraColumns:
        """The measurements of all nodes, as columns for a list of nodes."""

        def look(file: SessionFile) -> pa.Table:
            usage, (resources, _) = self.usage(session), self.resources(session)
            workers = sql.workers_alive(file)
            running = self.running(session, file)
            living = resources.nodes if resources is not None else {}
            rows = [
                {
                    "u_id": node_id,
                    **node_figures(usage.nodes.get(node_id), resources, node_id),
                    "workers": workers.get(node_id),
                    "running": None if running is None else running.get(node_id, 0),
                }
                for node_id in {**usage.nodes, **living, **workers, **(running or {})}
            ]
            return _table(rows, {"u_id": pa.string()}, NODE_COLUMNS)

        return entities.ExtraColumns(
            self.records.read_cached(session, "usage of nodes", look), NODE_COLUMNS, "u.u_id = r.id"
        )

    def beside_workers(self, session: str) -> entities.ExtraColumns:
        """The measurements of all processes, as columns for a list of workers."""

        def look(_: SessionFile) -> pa.Table:
            rows = [
                {"u_node": node_id, "u_pid": process.pid, **process_figures(process)}
                for node_id, stats in self.usage(session).nodes.items()
                for process in stats.workers
            ]
            return _table(rows, {"u_node": pa.string(), "u_pid": pa.int64()}, WORKER_COLUMNS)

        return entities.ExtraColumns(
            self.records.read_cached(session, "usage of workers", look),
            WORKER_COLUMNS,
            "u.u_node = r.node_id AND u.u_pid = r.pid AND r.state IS DISTINCT FROM 'DEAD'",
        )


CurrentNodeUsage = Annotated[NodeUsage, provide(NodeUsage)]


def node_figures(stats: NodeStats | None, resources: Resources | None, node_id: str) -> schemas.NodeFigures:
    """The :data:`NODE_COLUMNS` of a node except ``workers`` and ``running``. Unknown values are None."""
    about = resources.nodes.get(node_id) if resources is not None else None
    known = _NO_REPORT if stats is None else stats
    store_used, store_total = known.store or (None, None)
    if about is not None and _STORE in about.total:
        store_total = about.total[_STORE]
        store_used = max(0.0, store_total - about.available.get(_STORE, 0.0))
    disk, (gpu_mem_used, gpu_mem_total) = known.disk, known.gpu_memory or (None, None)
    return {
        "usage_ns": stats.time_ns if stats is not None else None,
        "cpu_percent": known.cpu_percent,
        "load_1": known.load[0] if known.load else None,
        "mem_percent": known.mem_percent,
        "mem_used_bytes": known.mem_used_bytes,
        "mem_total_bytes": known.mem_total_bytes,
        "disk_percent": percent(disk.used_bytes, disk.usable_bytes) if disk is not None else None,
        "disk_used_bytes": disk.used_bytes if disk is not None else None,
        "disk_total_bytes": disk.usable_bytes if disk is not None else None,
        "disk_read_bytes_s": known.disk_read_bytes_s,
        "disk_write_bytes_s": known.disk_write_bytes_s,
        "net_sent_bytes_s": known.net_sent_bytes_s,
        "net_recv_bytes_s": known.net_recv_bytes_s,
        "gpus": len(stats.gpus) if stats is not None else None,
        "gpu_percent": known.gpu_percent,
        "gpu_mem_percent": percent(gpu_mem_used, gpu_mem_total),
        "gpu_mem_used_bytes": gpu_mem_used,
        "gpu_mem_total_bytes": gpu_mem_total,
        "object_store_percent": percent(store_used, store_total),
        "object_store_used_bytes": int(store_used) if store_used is not None else None,
        "object_store_total_bytes": int(store_total) if store_total is not None else None,
    }


def process_figures(process: ProcessUse | None) -> schemas.ProcessFigures:
    """The :data:`WORKER_COLUMNS` of a process."""
    return {
        "cpu_percent": process.cpu_percent if process is not None else None,
        "memory_bytes": _memory(process),
        "gpu_memory_bytes": process.gpu_memory_bytes if process is not None else None,
        "gpu_percent": process.gpu_percent if process is not None else None,
        "num_fds": process.num_fds if process is not None else None,
    }


def worker_figures(usage: Usage, row: Mapping[str, Any]) -> schemas.ProcessFigures:
    """The :data:`WORKER_COLUMNS` of a recorded worker. They are None for a dead worker, because its process
    ID may have been reused.
    """
    stats = usage.nodes.get(row["node_id"]) if row["state"] != "DEAD" else None
    processes = stats.workers if stats is not None else ()
    return process_figures(next((one for one in processes if one.pid == row["pid"]), None))


def _table(rows: Sequence[Mapping[str, Any]], keys: dict[str, Any], columns: Mapping[str, str]) -> pa.Table:
    types = {**keys, **{name: _ARROW[kind] for name, kind in columns.items()}}
    return pa.table({name: pa.array([row[name] for row in rows], type=kind) for name, kind in types.items()})


def fold_measurements(row: Row, usage: Usage) -> None:
    """Replace the measurements in a row of the list of nodes with the fields of :class:`schemas.NodeUsage`.

    ``workers`` and ``running`` stay in the row, because they come from the record.
    """
    figures = {name: row.pop(name, None) for name in _MEASURED}
    row |= describe_use(cast(schemas.NodeFigures, figures), usage, row["node_id"], row.get("state"))


def describe_use(
    figures: schemas.NodeFigures, usage: Usage, node_id: str, state: str | None
) -> schemas.NodeUsage:
    """The measurements of a node and whether they are current, or why they are unknown."""
    stats = usage.nodes.get(node_id)
    if stats is None and figures["object_store_total_bytes"] is None:
        return _unknown_use(usage, state)
    return {
        "usage": {**figures, "current": is_current(stats, state)},
        "usage_missing": None,
        "usage_remedy": None,
        "usage_code": None,
        "usage_params": None,
    }


def is_current(stats: NodeStats | None, state: str | None) -> bool:
    """Whether the last report of a node is current."""
    return stats is not None and state != "DEAD" and time.time_ns() - stats.time_ns < FRESH_NS


def _unknown_use(usage: Usage, state: str | None) -> schemas.NodeUsage:
    params = None
    if usage.error is not None:
        message, remedy, code, params = usage.error, usage.remedy or "", usage.code, usage.params
    elif state == "DEAD":
        code, message, remedy = (
            "usage_died",
            "The node died before this server received its utilization.",
            "Utilization is kept only while this server is running and listening.",
        )
    else:
        code, message, remedy = (
            "usage_none_yet",
            "The node has not reported anything yet.",
            "Each node's agent reports every 5 s. Agents need ray[default]; see dashboard_agent.log on "
            "the node.",
        )
    return {
        "usage": None,
        "usage_missing": message,
        "usage_remedy": remedy,
        "usage_code": code,
        "usage_params": params,
    }


def is_agent(process: ProcessUse) -> bool:
    """Whether a process in a node's list of workers is one of Ray's agents."""
    return process.cmdline.startswith(_AGENT_TITLES)


def usage_columns(placement: Placement, usage: Usage, resources: Resources | None) -> schemas.Measured:
    """Measurements of a placement's nodes and workers, as columns in the same order. -1 means unknown.

    Percentages are rounded to a tenth. The memory of workers is in bytes.
    """
    stats = [usage.nodes.get(node.node_id) for node in placement.nodes]
    figures = [
        node_figures(one, resources, node.node_id) for one, node in zip(stats, placement.nodes, strict=True)
    ]
    by_pid = [{process.pid: process for process in one.workers} if one is not None else {} for one in stats]
    processes = [
        by_pid[node].get(pid) for node, pid in zip(placement.workers.node, placement.workers.pid, strict=True)
    ]
    return {
        "nodes": {
            "cpu": [_short(row["cpu_percent"]) for row in figures],
            "memory": [_short(row["mem_percent"]) for row in figures],
            "gpu": [_short(row["gpu_percent"]) for row in figures],
            "gpu_memory": [_short(row["gpu_mem_percent"]) for row in figures],
            "disk": [_short(row["disk_percent"]) for row in figures],
            "object_store": [_short(row["object_store_percent"]) for row in figures],
        },
        "time_ns": max((one.time_ns for one in stats if one is not None), default=None),
        "cpu": [-1 if one is None else _short(one.cpu_percent) for one in processes],
        "memory": [_known(_memory(one)) for one in processes],
        "gpu_memory": [-1 if one is None else _known(one.gpu_memory_bytes) for one in processes],
        "mem_total": [row["mem_total_bytes"] or -1 for row in figures],
        "gpu_mem_total": [row["gpu_mem_total_bytes"] or -1 for row in figures],
        "cpus": [one.cpus or -1 if one is not None else -1 for one in stats],
    }


def _memory(process: ProcessUse | None) -> int | None:
    """Resident bytes of a process, or private bytes if the resident ones are unknown."""
    if process is None:
        return None
    return process.uss_bytes if process.rss_bytes is None else process.rss_bytes


def _known(value: int | None) -> int:
    return -1 if value is None else value


def _short(value: float | None) -> float:
    return -1 if value is None else round(value, 1)


def whole(stats: NodeStats) -> schemas.NodeMeasured:
    """The complete report of a node, without its workers and our own bookkeeping."""
    report: dict[str, Any] = msgspec.to_builtins(stats)
    for name in ("workers", "clock_s", "disk_ops", "store"):
        del report[name]
    return cast(schemas.NodeMeasured, report)  # the other fields of NodeStats
