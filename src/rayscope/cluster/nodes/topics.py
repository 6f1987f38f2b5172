"""The live topic with the metrics of the cluster and its nodes."""

from __future__ import annotations

import math
from typing import Any

from rayscope.cluster.nodes import usage as node_usage
from rayscope.cluster.nodes.usage import NodeUsage
from rayscope.metrics.promql.evaluate import evaluate
from rayscope.metrics.service import Metrics
from rayscope.records.reader import SessionReader

_METRICS_NODES = 50
#: The series of the topic ``metrics``, as PromQL.
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


def headline(records: SessionReader, metrics: Metrics, usages: NodeUsage, session: str) -> dict[str, Any]:
    """The newest values of a few series of the whole cluster (null if there are none), the ``usage`` of the
    first nodes by ID as in ``GET /api/v1/nodes``, and the state of the collectors.
    """
    now_ns = records.last_ns(session)
    store = metrics.store(session)
    values: dict[str, float | None] = {}
    for name, expr in HEADLINES.items():
        series = evaluate(store, expr, now_ns, now_ns, 0).series
        value = series[0][1][0] if series else None
        values[name] = value if value is not None and math.isfinite(value) else None
    usage, (resources, _) = usages.usage(session), usages.resources(session)
    node_ids = sorted(usage.nodes if resources is None else resources.nodes)
    return {
        "values": values,
        "nodes": {
            node_id: node_usage.node_figures(usage.nodes.get(node_id), resources, node_id)
            for node_id in node_ids[:_METRICS_NODES]
        },
        "nodes_left_out": max(0, len(node_ids) - _METRICS_NODES),
        **metrics.state(session),
    }
