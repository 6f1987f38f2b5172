"""The topic of the live push about alerts."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from rayscope.alerts.service import AlertService
from rayscope.alerts.state import Alert, State
from rayscope.records.reader import SessionReader

_ALERTS = 100


def alerts(records: SessionReader, alerts: AlertService, session: str) -> dict[str, Any]:
    """What fires and is pending (the first 100), and how much of each; of an ended session, when it ended."""
    active = alerts.active(session)
    now_ns = time.time_ns()
    items = [alert_info(alerts, session, alert, now_ns) for alert in active[:_ALERTS]]
    pending = sum(each.state is State.PENDING for each in active)
    return {
        "live": records.is_live(session),
        "firing": len(active) - pending,
        "info": info_count(active),
        "pending": pending,
        "items": items,
    }


def info_count(active: list[Alert]) -> int:
    """How many of the alerts that fire have the severity ``info``: no badge counts them."""
    return sum(each.state is not State.PENDING and each.labels.get("severity") == "info" for each in active)


def alert_info(alerts: AlertService, session: str, alert: Alert, now_ns: int) -> dict[str, Any]:
    """An alert as the API tells it, with the silences that hold for it."""
    told: dict[str, Any] = msgspec.to_builtins(alert)
    told["severity"] = alert.labels.get("severity", "none")
    told["silenced_by"] = alerts.silences.silencing({**alert.labels, "session": session}, now_ns)
    return told
