"""The live push topic for alerts."""

from __future__ import annotations

import time
from collections import Counter

from rayscope.alerts import schemas
from rayscope.alerts.service import AlertService
from rayscope.alerts.state import Alert, State
from rayscope.records.reader import SessionReader

_ALERTS = 100


def alerts(records: SessionReader, alerts: AlertService, session: str) -> schemas.AlertsTopic:
    """Return the firing and pending alerts (the first 100) and how many there are.

    If the session has ended, return those that fired until then instead.
    """
    active = alerts.active(session)
    now_ns = time.time_ns()
    items = [alert_info(alerts, session, alert, now_ns) for alert in active[:_ALERTS]]
    return {"live": records.is_live(session), **count_alerts(active), "items": items}


def count_alerts(active: list[Alert]) -> schemas.AlertCounts:
    """Return how many alerts are in each state. Badges do not count firing alerts of severity ``info``."""
    states = Counter(alert.state for alert in active)
    return {
        "firing": states[State.FIRING],
        "info": sum(
            alert.state is State.FIRING and alert.labels.get("severity") == "info" for alert in active
        ),
        "pending": states[State.PENDING],
        "ended": states[State.ENDED],
    }


def alert_info(alerts: AlertService, session: str, alert: Alert, now_ns: int) -> schemas.AlertInfo:
    """Return an alert in the API's format, with the silences that match it."""
    return {
        **alert.info(),
        "severity": alert.labels.get("severity", "none"),
        "silenced_by": alerts.silences.silencing({**alert.labels, "session": session}, now_ns),
    }
