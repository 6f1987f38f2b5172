"""Converts alert rules from the form that is used in introductions to monitoring Ray.

A rule in this form has ``id``, ``name``, ``metric``, ``operator``, ``threshold``, ``duration``, and
``severity``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

#: Metric in such a rule -> expression. The built-in rules ``NodeCpuHigh``, ``NodeMemoryHigh``, and
#: ``TaskFailureRateHigh`` use the same expressions.
METRICS = {
    "cpu_usage": "ray_node_cpu_utilization",
    "memory_usage": "100 * ray_node_mem_used / ray_node_mem_total",
    "task_failure_rate": (
        "100 * (increase(rayscope_task_attempts_failed_total[5m])"
        " - (increase(rayscope_task_attempts_stopped_by_libraries_total[5m])"
        " or 0 * increase(rayscope_task_attempts_failed_total[5m])))"
        " / (increase(rayscope_task_attempts_failed_total[5m])"
        " + increase(rayscope_task_attempts_finished_total[5m]))"
    ),
}
_DEAD_NODE = "rayscope_node_up == 0"


def as_rule_file(body: Any) -> str | None:
    """Return the text of an equivalent rule file, or None if the rule is not in this form."""
    if not isinstance(body, Mapping) or not {"metric", "operator", "threshold"} <= set(body):
        return None
    metric, operator, threshold = (str(body[key])[:200] for key in ("metric", "operator", "threshold"))
    compared = f"{METRICS.get(metric, metric)} {operator} {threshold}"
    rule: dict[str, Any] = {
        "alert": str(body.get("name") or body.get("id") or metric)[:200],
        "expr": _DEAD_NODE if metric == "node_status" else compared,
    }
    if body.get("duration"):
        rule["for"] = f"{str(body['duration']).removesuffix('s')[:20]}s"
    if body.get("severity"):
        rule["labels"] = {"severity": str(body["severity"])[:50]}
    document = {"groups": [{"name": "mine", "rules": [rule]}]}
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    return text
