"""Routes for nodes: details of one node, all nodes and workers as cells, and the resources of the cluster."""

from __future__ import annotations

import contextlib

import msgspec
from fastapi import Request

from rayscope.api.parameters import CurrentRecords, Session
from rayscope.api.responses import Json, answer_from_record
from rayscope.api.routes import Router
from rayscope.cluster.nodes import schemas, sql
from rayscope.cluster.nodes import usage as node_usage
from rayscope.cluster.nodes.demand import Place
from rayscope.cluster.nodes.status import (
    WORKER_START_NS,
    add_holders,
    amounts,
    autoscaler_of,
    explain_missing_workers,
    holders,
    may_lack_worker,
    pending_of,
    places_of,
    shape_of,
    short_resources,
)
from rayscope.cluster.nodes.usage import CurrentNodeUsage, NodeUsage
from rayscope.cluster.placement import sql as placement_sql
from rayscope.cluster.placement.schemas import NodeContent
from rayscope.cluster.placement.snapshot import current_snapshot, groups_of, node_of
from rayscope.ingest.clusters import Clusters, CurrentClusters
from rayscope.model.usage import NodeStats, ProcessUse, Resources
from rayscope.records.reader import SessionReader
from rayscope.storage.errors import NotFound
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.filters import TaskFilters
from rayscope.storage.sql.pages import Row

router = Router()


@router.get("/api/v1/nodes/cells")
def cells(
    records: CurrentRecords, usages: CurrentNodeUsage, request: Request, session: Session = None
) -> Json[schemas.CellsAnswer]:
    """Every node and worker as compact columns, with their utilization."""
    chosen = records.resolve(session)

    def look(file: SessionFile) -> schemas.CellsAnswer:
        found = current_snapshot(records, chosen, file)
        result = found.placement
        usage, (resources, _) = usages.usage(chosen), usages.resources(chosen)
        living = {node.node_id for node in result.nodes}
        return {
            "session": chosen,
            "live": records.is_live(chosen),
            "at_ns": found.at_ns,
            "nodes": {
                "node_id": [node.node_id for node in result.nodes],
                "name": [node.name for node in result.nodes],
                "is_head": [node.is_head for node in result.nodes],
                "workers": [node.workers for node in result.nodes],
                "internal": [node.internal for node in result.nodes],
                "running": [node.running for node in result.nodes],
            },
            "workers": {
                "key": result.workers.key,
                "node": result.workers.node,
                "is_internal": result.workers.is_internal,
                "kind": result.workers.kind,
                "pid": result.workers.pid,
                "actor_class": result.workers.actor_class,
                "function": result.workers.function,
                "running": result.workers.running,
            },
            "kinds": result.kinds,
            "classes": result.classes,
            "functions": result.functions,
            "measured": node_usage.usage_columns(result, usage, resources),
            "usage_error": usage.error,
            "usage_remedy": usage.remedy,
            "usage_code": usage.code,
            "usage_params": usage.params,
            "dead": [node for node in sql.dead_nodes(file) if node["node_id"] not in living],
            "nodes_total": result.nodes_total,
            "workers_total": result.workers_total,
            "workers_left_out": result.workers_total - len(result.workers.key),
        }

    return answer_from_record(records, chosen, request, look)


@router.get("/api/v1/cluster/status")
def status(
    records: CurrentRecords,
    clusters: CurrentClusters,
    usages: CurrentNodeUsage,
    request: Request,
    session: Session = None,
) -> Json[schemas.StatusAnswer]:
    """The cluster's resources, what holds them, what is pending and why, and the autoscaler."""
    chosen = records.resolve(session)
    return answer_from_record(
        records, chosen, request, lambda file: cluster_status(records, clusters, usages, file, chosen)
    )


def cluster_status(
    records: SessionReader, clusters: Clusters, usages: NodeUsage, file: SessionFile, session: str
) -> schemas.StatusAnswer:
    """The answer of ``GET /api/v1/cluster/status``. For an ended session, only what could never be placed."""
    resources, error = usages.resources(session)
    answer: schemas.StatusAnswer = {
        "session": session,
        "live": records.is_live(session),
        "time_ns": resources.time_ns if resources is not None else None,
        "error": error.message if error is not None else None,
        "remedy": error.remedy if error is not None else None,
        "error_code": error.code if error is not None else None,
        "error_params": error.params if error is not None else None,
        "resources": {},
        "by": [],
        "by_left_out": 0,
        "pending": [],
        "pending_left_out": 0,
        "shapes": [],
        "autoscaler": None,
    }
    if resources is None:
        if not answer["live"]:
            answer["pending"], answer["pending_left_out"] = never_placed(file, records.last_ns(session))
        return answer
    found = current_snapshot(records, session, file)
    places = places_of(resources, {node_id: _labels(text) for node_id, text in found.labels.items()})
    by, by_left_out = holders(found.workers, found.groups)
    waiting = sql.pending(file)
    has_runtime_env = any(row["runtime_env"] for row in waiting.rows)
    runtime_envs = clusters.runtime_envs(session) if has_runtime_env else []
    pending = pending_of(waiting.rows, resources, places, runtime_envs)
    now_ns = records.last_ns(session)
    held = {name: sql.resource_holders(file, name, now_ns) for name in short_resources(pending)}
    add_holders(pending, held, places)
    if any(may_lack_worker(one, now_ns) for one in pending):
        started = sql.nodes_with_starts(file, now_ns - WORKER_START_NS)
        explain_missing_workers(pending, places, started, now_ns)
    return {
        **answer,
        "resources": amounts((node.total, node.available) for node in resources.nodes.values()),
        "by": by,
        "by_left_out": by_left_out,
        "pending": pending,
        "pending_left_out": waiting.left_out,
        "shapes": [shape_of(demand) for demand in resources.demands],
        "autoscaler": autoscaler_of(resources.autoscaler) if resources.autoscaler is not None else None,
    }


def never_placed(file: SessionFile, last_ns: int) -> tuple[list[schemas.PendingItem], int]:
    """Requests that were pending until the end of their session and could never have been placed.

    Everything else waited for free capacity, which is not recorded. Also returns the number of requests that
    are left out.
    """
    places = [
        Place(row["id"], total, total, _labels(row["labels"]))
        for row in sql.last_nodes(file)
        if (total := msgspec.json.decode(row["resources_total"] or "{}"))
    ]
    waited = sql.pending(file, ended=True)
    found = pending_of(waited.rows, Resources(time_ns=last_ns), places) if places else []
    return [one for one in found if one["reason"]["never"]], waited.left_out


def node_detail(records: SessionReader, usages: NodeUsage, session: str, row: Row) -> schemas.NodeDetailParts:
    """The fields of ``GET /api/v1/nodes/{id}`` beyond the node's record: its utilization, its resources, and
    its workers.

    For a dead node, these are its last report, and its workers at the time of its death.
    """
    node_id, end_ns, state = row["node_id"], row.get("end_ns"), row.get("state")
    rows: placement_sql.PlacementRows = records.read(
        session,
        lambda file: placement_sql.read_placement(
            file,
            TaskFilters(),
            at_ns=max(0, end_ns - 1) if end_ns else None,
            last_ns=records.last_ns(session),
            live=records.is_live(session),
            node_id=node_id,
            with_bytes=True,
        ),
    )
    content: NodeContent | None = None
    by: list[schemas.ResourceHolder] = []
    with contextlib.suppress(NotFound):  # the node had ended before the last attempt in flight
        content = node_of(rows, node_id)
        by, _ = holders(rows.workers, [group.on(node_id) for group in groups_of(rows)])
    usage, (resources, _) = usages.usage(session), usages.resources(session)
    running = records.read(session, lambda file: usages.running(session, file))
    stats = usage.nodes.get(node_id)
    processes: dict[int | None, ProcessUse] = {
        process.pid: process for process in (stats.workers if stats is not None else ())
    }
    workers: list[schemas.MeasuredWorker] = [
        {**worker, **node_usage.process_figures(processes.get(worker["pid"]))}
        for worker in (content["workers"] if content is not None else ())
    ]
    # The report of resources may be from before the node's death.
    free = resources.nodes if resources is not None and state != "DEAD" else {}
    about = free.get(node_id)
    figures = node_usage.node_figures(stats, resources, node_id)
    return {
        **node_usage.describe_use(figures, usage, node_id, state),
        "measured": node_usage.whole(stats) if stats is not None else None,
        "gpus": _gpus(stats, workers),
        "processes": _processes(stats),
        "resources": amounts([(about.total, about.available)]) if about is not None else None,
        "is_draining": about.is_draining if about is not None else None,
        "idle_ms": about.idle_ms if about is not None else None,
        "by": by,
        "at_ns": rows.at_ns,
        "workers": workers,
        "workers_total": content["workers_total"] if content is not None else 0,
        "running": None if running is None else running.get(node_id, 0),
        "bundles": content["bundles"] if content is not None else [],
    }


def _gpus(stats: NodeStats | None, workers: list[schemas.MeasuredWorker]) -> list[schemas.NodeGpu]:
    """The node's GPUs, each with the processes that use its memory, and their workers."""
    by_pid = {worker["pid"]: worker for worker in workers}
    return [
        {
            "index": gpu.index,
            "name": gpu.name,
            "uuid": gpu.uuid,
            "utilization": gpu.utilization,
            "memory_used_bytes": gpu.memory_used_bytes,
            "memory_total_bytes": gpu.memory_total_bytes,
            "power_watts": gpu.power_watts,
            "temperature_c": gpu.temperature_c,
            "processes": [
                {
                    "pid": pid,
                    "memory_bytes": used,
                    "percent": gpu.process_percent.get(pid),
                    "worker_id": by_pid[pid]["worker_id"] if pid in by_pid else None,
                    "actor_class": by_pid[pid]["actor_class"] if pid in by_pid else None,
                    "actor_id": by_pid[pid]["actor_id"] if pid in by_pid else None,
                }
                for pid, used in sorted(gpu.processes.items(), key=lambda item: -item[1])
            ],
        }
        for gpu in (stats.gpus if stats is not None else ())
    ]


def _processes(stats: NodeStats | None) -> list[schemas.NamedProcess]:
    """Ray's own processes on a node: the raylet, its agents, the GCS."""
    if stats is None:
        return []
    named: list[tuple[str, ProcessUse]] = list(stats.processes.items())
    known = {process.pid for _, process in named}
    named += [
        (process.cmdline.removeprefix("ray::").split()[0], process)
        for process in stats.workers
        if node_usage.is_agent(process) and process.pid not in known
    ]
    return [
        {"name": name, "pid": process.pid, **node_usage.process_figures(process)} for name, process in named
    ]


def _labels(text: str | None) -> dict[str, str]:
    found = msgspec.json.decode(text) if text else {}
    return found if isinstance(found, dict) else {}
