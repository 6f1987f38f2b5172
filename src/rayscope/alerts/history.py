"""The history of a session's alerts: transitions with the values that caused them, and the current state."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import msgspec

from rayscope.alerts import schemas
from rayscope.alerts.files import load, save
from rayscope.alerts.rules import Rule
from rayscope.alerts.state import Alert, Alerts, State, Transition
from rayscope.api.schemas import ErrorDetail
from rayscope.metrics.promql.evaluate import evaluate
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.storage.errors import StoreError

MAX_EVENTS = 500
_POINTS = 60
#: The series stored with a transition begins this long before the condition began to hold, in ns.
_BEFORE_NS = 60 * 10**9
_LONGEST_NS = 3600 * 10**9

#: Labels of a series, without those that the rule sets.
_Own = frozenset[tuple[str, str]]


class Event(msgspec.Struct, frozen=True):
    """A recorded transition. ``times_ms`` and ``values`` are the series that the rule compares, up to the
    transition.
    """

    time_ns: int
    rule: str
    fingerprint: str
    before: State
    after: State
    labels: dict[str, str]
    annotations: dict[str, str]
    value: float | None
    threshold: float | None = None
    op: str | None = None
    times_ms: list[int] = []
    values: list[float | None] = []
    profile: schemas.AlertProfile | None = None


class SavedState(msgspec.Struct):
    """A session's state that survives restarts of the server. ``alerts``: rule -> fingerprint -> alert.

    ``profiles_from_ns``: from when on alerts may take profiles.
    """

    alerts: dict[str, Alerts] = {}
    events: list[Event] = []
    evaluated_ns: int = 0
    profiles_from_ns: int = 0


_SAVED_STATE = msgspec.json.Decoder(SavedState)


class RuleValues(NamedTuple):
    """A rule's result at ``time_ns``. ``stamp`` identifies the samples of the metrics ``names`` just before
    then.
    """

    vector: list[tuple[Mapping[str, str], float]]
    time_ns: int
    names: frozenset[str] | None
    stamp: Hashable


class Session:
    """The alerts of one session. They are kept in memory and in the session's folder."""

    def __init__(self, path: Path) -> None:
        kept = load(path, _SAVED_STATE, SavedState())
        self._path = path
        self.alerts = kept.alerts
        self.events: deque[Event] = deque(kept.events, MAX_EVENTS)
        self.evaluated_ns = kept.evaluated_ns
        self.profiles_from_ns = kept.profiles_from_ns
        #: Rule -> the time of its next evaluation (ns). Likewise ``errors`` has its last error, ``cost_s``
        #: the time that its last evaluation took, and ``matched`` how many series its last result had.
        self.due_ns: dict[str, int] = {}
        self.errors: dict[str, ErrorDetail] = {}
        #: Rule -> why one of its labels or annotations could not be rendered the last time, or None.
        self.template_errors: dict[str, ErrorDetail | None] = {}
        self.cost_s: dict[str, float] = {}
        self.matched: dict[str, int] = {}
        #: Rule -> the last result of its expression.
        self.results: dict[str, RuleValues] = {}

    @property
    def is_removed(self) -> bool:
        """Whether the session's folder is gone."""
        return not self._path.parent.is_dir()

    def save(self) -> bool:
        """Save the state for the next start, unless retention has deleted the session."""
        return not self.is_removed and save(
            self._path, SavedState(self.alerts, list(self.events), self.evaluated_ns, self.profiles_from_ns)
        )

    def of(self, *states: State) -> list[Alert]:
        """Return the alerts in these states, newest first."""
        return in_states(self.alerts, *states)


def in_states(alerts: Mapping[str, Alerts], *states: State) -> list[Alert]:
    """Return the alerts of all rules that are in one of ``states``, newest first."""
    found = [alert for of_rule in alerts.values() for alert in of_rule.values() if alert.state in states]
    return sorted(found, key=lambda alert: (-_since(alert), alert.fingerprint))


def _since(alert: Alert) -> int:
    return alert.resolved_ns or alert.fired_ns or alert.active_ns


class TransitionSeries:
    """The series that caused one rule's transitions in one turn. Alerts with similar ranges share an
    evaluation.
    """

    def __init__(self, rule: Rule, store: SeriesStore) -> None:
        self._rule, self._store = rule, store
        self._made: dict[tuple[int, int], tuple[list[int], dict[_Own, list[float | None]]]] = {}

    def of(self, alert: Alert, end_ns: int) -> tuple[list[int], list[float | None]]:
        """Return the times (ms) and values of an alert's series, or empty lists if there are none."""
        # Keep at most the last hour: if an alert fired for days, recent values are what ended it.
        since_ns = max(alert.active_ns - _BEFORE_NS, end_ns - _LONGEST_NS)
        # Round the length up to one of four lengths, so that all alerts of a turn share a few evaluations.
        shared_ns = _BEFORE_NS
        while shared_ns < end_ns - since_ns:
            shared_ns *= 4
        times, series = self._evaluate_range(end_ns - min(shared_ns, _LONGEST_NS), end_ns)
        mine = {name: text for name, text in alert.labels.items() if name not in self._rule.labels}
        found = series.get(frozenset((name, text) for name, text in mine.items() if name != "alertname"))
        if found is None:
            found = next(
                (items for own, items in series.items() if all(mine.get(name) == text for name, text in own)),
                None,
            )
        first = bisect_left(times, since_ns // 10**6)
        return ([], []) if found is None else (times[first:], [_finite(value) for value in found[first:]])

    def _evaluate_range(self, since_ns: int, end_ns: int) -> tuple[list[int], dict[_Own, list[float | None]]]:
        made = self._made.get((since_ns, end_ns))
        if made is not None:
            return made
        step_ns = max((end_ns - since_ns) // _POINTS, 10**9)
        first_ns = end_ns - (end_ns - since_ns) // step_ns * step_ns
        rule = self._rule
        try:
            result = evaluate(self._store, rule.value_expr or rule.expr, first_ns, end_ns, step_ns)
        except StoreError:
            made = [], {}
        else:
            series: dict[_Own, list[float | None]] = {}
            for labels, values in result.series:
                own = ((n, text) for n, text in labels.items() if n != "__name__" and n not in rule.labels)
                series.setdefault(frozenset(own), values)
            made = [ns // 10**6 for ns in result.times_ns], series
        self._made[(since_ns, end_ns)] = made
        return made


def event_of(rule: Rule, change: Transition, series: TransitionSeries) -> Event:
    """Return a transition as an event, with the series that caused it."""
    alert = change.alert
    times, values = series.of(alert, change.time_ns)
    return Event(
        change.time_ns,
        rule.name,
        alert.fingerprint,
        change.before,
        change.after,
        alert.labels,
        alert.annotations,
        _finite(alert.value),
        rule.threshold,
        rule.op,
        times,
        values,
        alert.profile,
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or value != value or value in (float("inf"), float("-inf")) else value


def newest_first(events: Sequence[Event]) -> list[schemas.AlertEvent]:
    """Return events in the API's format, newest first."""
    # The structs are encoded like dicts, so converting them would only take time and memory.
    return cast(list[schemas.AlertEvent], list(reversed(events)))
