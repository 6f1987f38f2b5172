"""The part of Prometheus' HTTP API that lists rules and alerts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from typing import Annotated, Any

import msgspec
import numpy as np
from fastapi import Depends
from fastapi.responses import Response

from rayscope.alerts import schemas
from rayscope.alerts.rules import Rule
from rayscope.alerts.service import CurrentAlerts
from rayscope.alerts.state import Alert
from rayscope.api.parameters import CurrentRecords
from rayscope.metrics.prometheus.protocol import CurrentForm, invalid, prometheus_router, success

_TYPES = ("", "alert", "record")


async def _resolve(session: str, records: CurrentRecords) -> str:
    return records.resolve(session)


ResolvedSession = Annotated[str, Depends(_resolve)]

router = prometheus_router()


@router.get("/rules")
def rules(form: CurrentForm, alerts: CurrentAlerts, session: ResolvedSession) -> Response:
    """The alert rules by group, with their alerts. Recording rules are a part of the rules that use them."""
    kind = form.text("type").lower()
    if kind not in _TYPES:
        raise invalid("type", f"not supported value {kind[:100]!r}")
    active = {} if form.text("exclude_alerts") == "true" else _by_rule(alerts.active(session))
    wanted = {name: set(form.all(f"{name}[]")) for name in ("rule_name", "rule_group", "file")}
    states, evaluated = alerts.about_rules(session), _time(alerts.evaluated_ns(session))
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    for rule in alerts.rules.rules if kind != "record" else ():
        of_rule = {"rule_name": rule.name, "rule_group": rule.group, "file": rule.source}
        if any(names and of_rule[what] not in names for what, names in wanted.items()):
            continue
        if (state := states.get(rule.name)) is None:
            continue  # the rules were read again in the meantime
        group = groups.setdefault(
            (rule.source, rule.group),
            {
                "name": rule.group,
                "file": rule.source,
                "interval": rule.interval_ns / 1e9,
                "limit": 0,
                "rules": [],
                "evaluationTime": 0.0,
                "lastEvaluation": evaluated,
            },
        )
        group["evaluationTime"] += state["cost_s"] or 0.0
        group["rules"].append(_rule(rule, state, active.get(rule.name, ())) | {"lastEvaluation": evaluated})
    return success(msgspec.json.encode({"groups": list(groups.values())}))


@router.get("/alerts")
def list_alerts(alerts: CurrentAlerts, session: ResolvedSession) -> Response:
    """The pending and firing alerts. An ended session has none."""
    found = [_alert(alert) for each in _by_rule(alerts.active(session)).values() for alert in each]
    return success(msgspec.json.encode({"alerts": found}))


def _rule(rule: Rule, status: schemas.RuleStatus, alerts: Sequence[Alert]) -> dict[str, Any]:
    health = "err" if status["error"] else "unknown" if status["cost_s"] is None else "ok"
    found = {
        "type": "alerting",
        "name": rule.name,
        "query": rule.expr,
        "duration": rule.for_ns / 1e9,
        "keepFiringFor": rule.keep_firing_ns / 1e9,
        "labels": rule.labels,
        "annotations": rule.annotations,
        "state": status["state"] if status["state"] in ("pending", "firing") else "inactive",
        "alerts": [_alert(alert) for alert in alerts],
        "health": health,
        "evaluationTime": status["cost_s"] or 0.0,
    }
    return found | ({"lastError": status["error"]} if status["error"] else {})


def _by_rule(active: Sequence[Alert]) -> dict[str, list[Alert]]:
    found: dict[str, list[Alert]] = {}
    for alert in active:
        if alert.state in ("firing", "pending"):
            found.setdefault(alert.rule, []).append(alert)
    return found


def _alert(alert: Alert) -> dict[str, Any]:
    # The shortest digits with an exponent, as in Prometheus. NaN and infinite values are stored as None.
    value = "NaN" if alert.value is None else np.format_float_scientific(alert.value, trim="-", exp_digits=2)
    return {
        "labels": alert.labels,
        "annotations": alert.annotations,
        "state": alert.state,
        "activeAt": _time(alert.active_ns),
        "value": value,
    }


def _time(time_ns: int) -> str:
    """A time as RFC 3339. Prometheus writes year 1 for a time that never was."""
    if not time_ns:
        return "0001-01-01T00:00:00Z"
    text = datetime.fromtimestamp(time_ns // 10**9, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{time_ns % 10**9:09d}Z"
