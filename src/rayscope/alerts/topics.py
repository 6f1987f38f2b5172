"""The topic of the live push about alerts."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from rayscope.alerts.state import Alert, State
from rayscope.server.services import Services

_ALERTS = 100


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
