"""The live push topic for alerts."""

from __future__ import annotations

import time

from rayscope.alerts import schemas
from rayscope.alerts.service import AlertService
from rayscope.alerts.state import Alert, State
from rayscope.records.reader import SessionReader

_ALERTS = 100


def alerts(records: SessionReader, alerts: AlertService, session: str) -> schemas.AlertsTopic:
    """Return the firing and pending alerts (the first 100) and how many there are.

    If the session has ended, alerts that fired until then are included as firing.
    """
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
    """Return how many firing alerts have the severity ``info``. Badges do not count these."""
    return sum(each.state is not State.PENDING and each.labels.get("severity") == "info" for each in active)


def alert_info(alerts: AlertService, session: str, alert: Alert, now_ns: int) -> schemas.AlertInfo:
    """Return an alert in the API's format, with the silences that match it."""
    return {
        **alert.info(),
        "severity": alert.labels.get("severity", "none"),
        "silenced_by": alerts.silences.silencing({**alert.labels, "session": session}, now_ns),
    }
