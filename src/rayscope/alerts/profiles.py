"""Profiles that alerts take of the workers that their labels select."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rayscope.alerts.history import Session
from rayscope.alerts.rules import Rule
from rayscope.alerts.schemas import AlertProfile
from rayscope.alerts.state import Alert
from rayscope.api.responses import error_info
from rayscope.storage.errors import StoreError
from rayscope.storage.sql.filters import TaskFilters

#: Takes a profile of a session: filters, seconds, and the rule's name. Returns its ID. Raises StoreError.
TakeProfile = Callable[[str, TaskFilters, int, str], str]

#: Minimum pause between two profiles of a session that alerts take, in ns.
PAUSE_NS = 600 * 10**9
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
        "message": "Alerts profile a session at most once in 10 minutes.",
        "remedy": "See the profile of the alert before it, or take one by hand.",
    },
}


def take_profiles(
    session: Session, name: str, rule: Rule, alerts: Iterable[Alert], now_ns: int, take: TakeProfile
) -> None:
    """Take a profile for alerts that have begun to fire, and note in each alert which one, or why none."""
    for alert in alerts:
        if 0 <= now_ns - session.profiled_ns < PAUSE_NS:
            alert.profile = _PAUSED
            continue
        # A failed try counts, too: it reads the record.
        session.profiled_ns = now_ns
        try:
            profile_id = take(name, filters_of(alert.labels), rule.profile_s, rule.name)
        except StoreError as problem:
            alert.profile = {"profile_id": None, "problem": error_info(problem)}
        else:
            alert.profile = {"profile_id": profile_id, "problem": None}


def filters_of(labels: Mapping[str, str]) -> TaskFilters:
    """Return the filters for the workers that an alert is about. Without a known label, they select all."""
    chosen: dict[str, Any] = {_FILTERS[name]: value for name, value in labels.items() if name in _FILTERS}
    return TaskFilters(**chosen)
