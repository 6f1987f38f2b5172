"""Rules of ``id``, ``name``, ``metric``, ``operator``, ``threshold``, ``duration`` and ``severity``, the form
that introductions to monitoring Ray show, written in the form that is read here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

#: What the names of such rules stand for. The last is the condition of ``TaskFailureRateHigh``.
_METRICS = {
    "cpu_usage": "avg(ray_node_cpu_utilization)",
    "memory_usage": "avg(100 * ray_node_mem_used / ray_node_mem_total)",
    "task_failure_rate": (
        "100 * increase(rayscope_task_attempts_failed_total[5m]) / "
        "(increase(rayscope_task_attempts_failed_total[5m])"
        " + increase(rayscope_task_attempts_finished_total[5m]))"
    ),
}
_DEAD_NODE = "rayscope_node_up == 0"


def in_our_form(given: Any) -> str | None:
    """A rule file that says the same; None for what has another form."""
    if not isinstance(given, Mapping) or not {"metric", "operator", "threshold"} <= set(given):
        return None
    metric, operator, threshold = (str(given[key])[:200] for key in ("metric", "operator", "threshold"))
    compared = f"{_METRICS.get(metric, metric)} {operator} {threshold}"
    rule: dict[str, Any] = {
        "alert": str(given.get("name") or given.get("id") or metric)[:200],
        "expr": _DEAD_NODE if metric == "node_status" else compared,
    }
    if given.get("duration"):
        rule["for"] = f"{str(given['duration']).removesuffix('s')[:20]}s"
    if given.get("severity"):
        rule["labels"] = {"severity": str(given["severity"])[:50]}
    document = {"groups": [{"name": "mine", "rules": [rule]}]}
    text: str = yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=1000)
    return text
