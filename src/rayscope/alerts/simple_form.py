"""Converts alert rules from the form that is used in introductions to monitoring Ray.

A rule in this form has ``id``, ``name``, ``metric``, ``operator``, ``threshold``, ``duration``, and
``severity``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from rayscope.alerts.recorded import expand
from rayscope.metrics.promql.evaluate import parsed
from rayscope.storage.errors import BadQuery

#: The operators with which a rule may compare a value with its threshold.
OPERATORS = (">", ">=", "<", "<=", "==", "!=")
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
#: Maximum depth of a document at which rules are searched.
_MAX_LEVELS = 6
_NODE_UP = "rayscope_node_up"
#: Name of a metric in such a rule -> the expression that replaces it in PromQL.
RENAMED = {**METRICS, "node_status": _NODE_UP}


def refuse_simple_form(document: Any) -> None:
    """Raise BadQuery, with an equivalent rule file, if a rule or a document has rules in this form.

    The document may be one rule, or have rules below any keys and lists, except in groups, whose rules are
    checked one by one. The document's other rules are copied.
    """
    found = list(_rules_in(document))
    if not any(map(_is_simple, found)):
        return
    rules = [_converted(each) if _is_simple(each) else each for each in found]
    file = {"groups": [{"name": "mine", "rules": rules}]}
    text: str = yaml.safe_dump(file, sort_keys=False, allow_unicode=True, width=1000)
    raise BadQuery(
        "A rule needs `expr`, not `metric`, `operator`, and `threshold`.",
        f"Write:\n{text}",
        what="simple_rule",
        yaml=text,
    )


def translate_names(expr: str) -> str:
    """Return an expression with the metrics of this form replaced. Raises BadQuery if it selects series of
    them by labels or time.
    """
    translated = expand(expr, RENAMED)
    for name in RENAMED.values():
        if name.isidentifier():
            translated = translated.replace(f"({name})", name)
    return translated


def _is_simple(rule: Any) -> bool:
    return isinstance(rule, Mapping) and {"metric", "operator", "threshold"} <= set(rule)


def _is_group(part: Any) -> bool:
    return isinstance(part, Mapping) and "rules" in part


def _rules_in(part: Any, levels: int = _MAX_LEVELS) -> Iterator[Mapping[str, Any]]:
    """Yield the rules in a part of a document, in both forms, but not those in groups."""
    if isinstance(part, Mapping):
        if _is_simple(part) or "alert" in part:
            yield part
            return
        groups = part.get("groups")
        if isinstance(groups, list):
            part = {**part, "groups": [each for each in groups if not _is_group(each)]}
        part = list(part.values())
    for each in part if isinstance(part, list) and levels else ():
        yield from _rules_in(each, levels - 1)


def _converted(simple: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule in Prometheus' form. Raises BadQuery if its expression would not be PromQL."""
    metric, operator, threshold = (str(simple[key])[:200] for key in ("metric", "operator", "threshold"))
    name = str(simple.get("name") or simple.get("id") or metric)[:200]
    if operator not in OPERATORS:
        known = " ".join(OPERATORS)
        raise BadQuery(
            f"{name}: {operator[:20]!r} is not an operator.",
            f"Use one of {known}.",
            what="simple_operator",
            operator=operator[:20],
            known=known,
        )
    expr = f"{METRICS.get(metric, metric)} {operator} {threshold}"
    rule: dict[str, Any] = {"alert": name, "expr": f"{_NODE_UP} == 0" if metric == "node_status" else expr}
    try:
        parsed(rule["expr"])
    except BadQuery as problem:
        raise BadQuery(f"{name}: {problem.message}", problem.remedy).with_params(problem.params) from problem
    if simple.get("duration"):
        duration = str(simple["duration"])[:20]
        rule["for"] = f"{duration}s" if duration.isdecimal() else duration
    if simple.get("severity"):
        rule["labels"] = {"severity": str(simple["severity"])[:50]}
    return rule
