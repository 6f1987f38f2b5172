"""Profiles that alerts take of the workers that their labels select."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rayscope.alerts.history import Session
from rayscope.alerts.rules import Rule
from rayscope.alerts.schemas import AlertProfile
from rayscope.alerts.state import Alert
from rayscope.api.responses import error_info
from rayscope.api.schemas import ErrorDetail
from rayscope.storage.errors import StoreError
from rayscope.storage.sql.filters import TaskFilters

log = logging.getLogger("rayscope.alerts")

#: Takes a profile of a session: filters, seconds, and the rule's name. Returns its ID. Raises StoreError.
TakeProfile = Callable[[str, TaskFilters, int, str], str]

#: Minimum pause after a profile of a session that an alert takes, and after one that failed, in ns.
#: Even a try reads the record.
PAUSE_NS = 600 * 10**9
FAILED_PAUSE_NS = 30 * 10**9
#: Label -> the filter with its meaning.
_FILTERS = {
    "job_id": "job_id",
    "node_id": "node_id",
    "worker_id": "worker_id",
    "actor_id": "actor_id",
    "func_name": "func_name",
    "function": "func_name",
}
_PAUSED: AlertProfile = {
    "profile_id": None,
    "problem": {
        "code": "profile_pause",
        "message": "An alert has just profiled this session or tried to. The limit is one in 10 minutes.",
        "remedy": "See the other alerts and their profiles, or take one by hand.",
    },
}


def take_profiles(
    session: Session, name: str, rule: Rule, alerts: Iterable[Alert], now_ns: int, take: TakeProfile
) -> None:
    """Take a profile for alerts that have begun to fire, and note in each alert which one, or why none."""
    for alert in alerts:
        if now_ns < session.profiles_from_ns:
            alert.profile = _PAUSED
            continue
        session.profiles_from_ns = now_ns + FAILED_PAUSE_NS
        try:
            profile_id = take(name, filters_of(alert.labels), rule.profile_s, rule.name)
        except StoreError as problem:
            alert.profile = {"profile_id": None, "problem": error_info(problem)}
        except Exception as error:  # such as too many threads
            log.exception("the profile of the alert %s", rule.name)
            alert.profile = {"profile_id": None, "problem": _failed(error)}
        else:
            session.profiles_from_ns = now_ns + PAUSE_NS
            alert.profile = {"profile_id": profile_id, "problem": None}


def _failed(error: Exception) -> ErrorDetail:
    reason = f"{type(error).__name__}: {error}"[:200]
    return {
        "code": "profile_failed",
        "message": f"The profile could not be started: {reason}",
        "remedy": "See the server's log.",
        "params": {"reason": reason},
    }


def filters_of(labels: Mapping[str, str]) -> TaskFilters:
    """Return the filters for the workers that an alert is about. Without a known label, they select all."""
    chosen: dict[str, Any] = {_FILTERS[name]: value for name, value in labels.items() if name in _FILTERS}
    return TaskFilters(**chosen)
