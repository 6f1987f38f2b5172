"""What each topic of the live push tells of a session: small, made of what other viewers ask for anyway."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import msgspec

from rayscope.alerts.state import Alert, State
from rayscope.cluster.jobs.progress import progress_of
from rayscope.cluster.nodes import usage as node_usage
from rayscope.cluster.sessions.recording import recording
from rayscope.libraries.used import libraries
from rayscope.metrics.promql.evaluate import evaluate
from rayscope.server.services import Services
from rayscope.storage.sql import sessions as sessions_sql

_NEWEST_FAILURES = 10
_ALERTS = 100
_METRICS_NODES = 50
#: What topic ``metrics`` tells, as PromQL.
HEADLINES = {
    "cpu_percent": "avg(ray_node_cpu_utilization)",
    "memory_used_bytes": "sum(ray_node_mem_used)",
    "memory_total_bytes": "sum(ray_node_mem_total)",
    "object_store_used_bytes": "sum(ray_object_store_used_memory)",
    "gpu_percent": "avg(ray_node_gpus_utilization)",
    "network_receive_bytes_per_s": "sum(ray_node_network_receive_speed)",
    "network_send_bytes_per_s": "sum(ray_node_network_send_speed)",
    "tasks_finished_per_s": "sum(rate(rayscope_task_attempts_finished_total[1m]))",
    "pending_demands": "sum(rayscope_pending_demands)",
}
_MESSAGE_CHARS = 300


def provide_topics(services: Services) -> None:
    """Register the built-in topics."""
    services.realtime.provide("cluster", lambda session, _: cluster(services, session))
    services.realtime.provide("tasks", lambda session, _: tasks(services, session))
    services.realtime.provide("actors", lambda session, _: actors(services, session))
    services.realtime.provide("alerts", lambda session, _: alerts(services, session))
    services.realtime.provide("metrics", lambda session, _: headline(services, session))
    services.realtime.provide("job", lambda session, params: job(services, session, params))


def cluster(services: Services, session: str) -> dict[str, Any]:
    """How many of everything by state, and the resources of the nodes that are alive."""
    about = services.catalog.about(session)
    return {
        "live": services.records.is_live(session),
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        **glance(services, session),
    }


def glance(services: Services, session: str) -> dict[str, Any]:
    """What this and ``GET /api/cluster`` tell of a session alike."""
    counts = services.records.read_cached(session, sessions_sql.counts)
    return {
        "recording": recording(services, session),
        "nodes": {
            "alive": counts["nodes"].get("ALIVE", 0),
            "dead": counts["nodes"].get("DEAD", 0),
        },
        "resources_total": services.records.read_cached(session, sessions_sql.resources_total),
        "actors": counts["actors"],
        "jobs": counts["jobs"],
        "workers": counts["workers"],
        "placement_groups": counts["placement_groups"],
        "libraries": libraries(services, session, counts),
    }


def tasks(services: Services, session: str) -> dict[str, Any]:
    """Attempts by state, and the newest failures."""
    about = services.catalog.about(session)
    failures = services.records.read_cached(session, sessions_sql.failures)[:_NEWEST_FAILURES]
    keys = ("task_id", "attempt", "name", "error_type", "end_ns")
    return {
        "tasks": about.tasks,
        "attempts": about.attempts,
        "states": about.states,
        "stopped_by_libraries": about.stopped_by_libraries,
        "failures": [
            {
                **{key: row[key] for key in keys},
                "error_summary": (row["error_summary"] or "")[:_MESSAGE_CHARS] or None,
            }
            for row in failures
        ],
    }


def actors(services: Services, session: str) -> dict[str, Any]:
    """Actors by state."""
    states = services.records.read_cached(session, sessions_sql.counts)["actors"]
    return {"total": sum(states.values()), "states": states}


def alerts(services: Services, session: str) -> dict[str, Any]:
    """What fires and is pending (the first 100), and how much of each; of an ended session, when it ended."""
    active = services.alerts.active(session)
    now_ns = time.time_ns()
    items = [alert_info(services, session, alert, now_ns) for alert in active[:_ALERTS]]
    pending = sum(each.state is State.PENDING for each in active)
    return {
        "live": services.records.is_live(session),
        "firing": len(active) - pending,
        "info": info_count(active),
        "pending": pending,
        "items": items,
    }


def info_count(active: list[Alert]) -> int:
    """How many of the alerts that fire have the severity ``info``: no badge counts them."""
    return sum(each.state is not State.PENDING and each.labels.get("severity") == "info" for each in active)


def alert_info(services: Services, session: str, alert: Alert, now_ns: int) -> dict[str, Any]:
    """An alert as the API tells it, with the silences that hold for it."""
    told: dict[str, Any] = msgspec.to_builtins(alert)
    told["severity"] = alert.labels.get("severity", "none")
    told["silenced_by"] = services.alerts.silences.silencing({**alert.labels, "session": session}, now_ns)
    return told


def headline(services: Services, session: str) -> dict[str, Any]:
    """The newest values of a few series of the whole cluster (null where there is none), what the first
    nodes by ID use, as ``usage`` in ``GET /api/nodes``, and how the collectors do.
    """
    now_ns = services.records.last_ns(session)
    store = services.metrics.store(session)
    values: dict[str, float | None] = {}
    for name, expr in HEADLINES.items():
        series = evaluate(store, expr, now_ns, now_ns, 0).series
        value = series[0][1][0] if series else None
        values[name] = value if value is not None and math.isfinite(value) else None
    usage, (resources, _) = (
        services.node_usage.usage(session),
        services.node_usage.resources(session),
    )
    node_ids = sorted(usage.nodes if resources is None else resources.nodes)
    return {
        "values": values,
        "nodes": {
            node_id: node_usage.node_figures(usage.nodes.get(node_id), resources, node_id)
            for node_id in node_ids[:_METRICS_NODES]
        },
        "nodes_left_out": max(0, len(node_ids) - _METRICS_NODES),
        **services.metrics.state(session),
    }


def job(services: Services, session: str, params: Mapping[str, str]) -> dict[str, Any]:
    """One job's attempts by function and state, as ``/api/jobs/{job_id}/progress`` tells them."""
    return {"job_id": params["job_id"], **progress_of(services, session, "job", params["job_id"])}
