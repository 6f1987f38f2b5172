"""The state machine of alerts, as a pure function. It follows the one of Prometheus (``rules/alerting.go``).

An alert is one series of a rule's result. This module does not access clocks, stores, or files.
"""

from __future__ import annotations

import enum
import hashlib
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, cast

import msgspec

from rayscope.alerts import schemas
from rayscope.alerts.finding_titles import with_chinese_title
from rayscope.alerts.rules import Rule
from rayscope.alerts.templates import Template
from rayscope.alerts.templating.evaluate import Rendering
from rayscope.alerts.templating.values import TemplateError
from rayscope.api.schemas import ErrorDetail
from rayscope.storage.errors import BadQuery


class State(str, enum.Enum):
    """State of an alert."""

    _value_: schemas.State
    #: The condition does not hold. This is the state of a rule without alerts, and the first state of an
    #: alert.
    INACTIVE = "inactive"
    #: The condition holds, but not yet for the duration of ``for``.
    PENDING = "pending"
    #: The condition held long enough. The alert fires until the condition has been false for
    #: ``keep_firing_for``.
    FIRING = "firing"
    #: The alert fired, and the condition is false now. It is kept for a while, so that channels can report
    #: the end.
    RESOLVED = "resolved"
    #: The alert fired until its cluster ended. It is kept and sent like a resolved alert.
    ENDED = "ended"


#: States of alerts whose end the channels report.
OVER = (State.RESOLVED, State.ENDED)


#: How long a resolved alert is kept, in ns.
RESOLVED_NS = 15 * 60 * 10**9


class Acknowledgement(msgspec.Struct, frozen=True):
    """An acknowledged alert is still shown, but no reminders are sent."""

    by: str
    comment: str
    time_ns: int


class Alert(msgspec.Struct):
    """One alert of a rule. Times are in ns since the epoch, or 0 if they do not apply.

    ``keep_ns`` is when the condition became false, if the alert fires only because of ``keep_firing_for``.
    ``value`` is None if it is not a finite number.
    """

    fingerprint: str
    rule: str
    labels: dict[str, str]
    annotations: dict[str, str]
    state: State
    value: float | None
    active_ns: int
    fired_ns: int = 0
    resolved_ns: int = 0
    keep_ns: int = 0
    ack: Acknowledgement | None = None
    condition: str = ""
    profile: schemas.AlertProfile | None = None

    def info(self) -> schemas.PlainAlert:
        """Return the alert in the API's format."""
        return cast(schemas.PlainAlert, msgspec.to_builtins(self))


class Transition(NamedTuple):
    """An alert's change of state. ``alert`` is a copy from that time."""

    time_ns: int
    before: State
    after: State
    alert: Alert


Alerts = dict[str, Alert]
Vector = Sequence[tuple[Mapping[str, str], float]]


class Rendered(NamedTuple):
    """The result of a rule's expression. ``alerts``: fingerprint -> labels, annotations, and value of an
    alert.

    ``problem`` is the first reason why a label or annotation could not be rendered, or None.
    """

    alerts: dict[str, tuple[dict[str, str], dict[str, str], float]]
    problem: ErrorDetail | None


class Machine:
    """The state machine of one rule, with its parsed templates."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self._labels, self._annotations = rule.templates()

    def step(
        self, alerts: Alerts, vector: Vector, now_ns: int, rendering: Rendering | None = None
    ) -> list[Transition]:
        """Call :meth:`render`, then :meth:`advance`. May raise BadQuery, and has not changed anything in that
        case.
        """
        return self.advance(alerts, self.render(vector, rendering or Rendering()).alerts, now_ns)

    def advance(
        self,
        alerts: Alerts,
        rendered: Mapping[str, tuple[dict[str, str], dict[str, str], float]],
        now_ns: int,
        is_lost: bool = False,
    ) -> list[Transition]:
        """Update ``alerts``, given ``rendered``, the alerts whose condition holds now. Returns the
        transitions.

        ``is_lost`` means that the cluster does not respond. In that case no alert is resolved, because its
        series may have ended only because the cluster did.
        """
        changes: list[Transition] = []

        def go(alert: Alert, after: State, before: State | None = None) -> None:
            before, alert.state = before or alert.state, after
            changes.append(Transition(now_ns, before, after, msgspec.structs.replace(alert)))

        for key, (labels, texts, number) in rendered.items():
            value = number if math.isfinite(number) else None
            known = alerts.get(key)
            if known is not None and known.state not in OVER:
                known.value, known.annotations, known.condition = value, texts, self.rule.condition
            else:
                alerts[key] = Alert(
                    key,
                    self.rule.name,
                    labels,
                    texts,
                    State.PENDING,
                    value,
                    active_ns=now_ns,
                    condition=self.rule.condition,
                )
                if self.rule.for_ns:
                    go(alerts[key], State.PENDING, State.INACTIVE)
        for key, alert in list(alerts.items()):
            if key in rendered:
                alert.keep_ns = 0
                if alert.state is State.PENDING and now_ns - alert.active_ns >= self.rule.for_ns:
                    alert.fired_ns = now_ns
                    go(alert, State.FIRING, None if self.rule.for_ns else State.INACTIVE)
            elif alert.state is State.PENDING:
                del alerts[key]
                go(alert, State.INACTIVE)
            elif alert.state in OVER:
                if now_ns - alert.resolved_ns > RESOLVED_NS:
                    del alerts[key]
            elif not self._keeps_firing(alert, now_ns) and not is_lost:
                alert.resolved_ns = now_ns
                go(alert, State.RESOLVED)
        return changes

    def _keeps_firing(self, alert: Alert, now_ns: int) -> bool:
        if not self.rule.keep_firing_ns:
            return False
        alert.keep_ns = alert.keep_ns or now_ns
        return now_ns - alert.keep_ns < self.rule.keep_firing_ns

    def render(self, vector: Vector, rendering: Rendering) -> Rendered:
        """Convert the result of the rule's expression to alerts. Raises BadQuery if two series produce the
        same alert.
        """
        alerts: dict[str, tuple[dict[str, str], dict[str, str], float]] = {}
        problems: list[ErrorDetail] = []

        def fill(name: str, template: Template, series: Mapping[str, str], value: float) -> str:
            try:
                return template.fill(series, value, rendering)
            except TemplateError as error:
                problems.append(
                    {
                        "code": "template_error",
                        "message": f"Could not render {name!r}: {error}.",
                        "remedy": "",
                        "params": {"name": name, "reason": str(error)},
                    }
                )
                return f"<error expanding template: {error}>"

        for series, value in vector:
            plain = {name: text for name, text in series.items() if name != "__name__"}
            labels = plain | {name: fill(name, each, series, value) for name, each in self._labels.items()}
            labels = {name: text for name, text in labels.items() if text}  # an empty label counts as absent
            labels["alertname"] = self.rule.name
            key = fingerprint(labels)
            if key in alerts:
                raise BadQuery(
                    f"Two series of {self.rule.name} produce the same alert: {labels}.",
                    "The rule's labels must not overwrite the labels that distinguish the series.",
                    what="same_alert",
                    name=self.rule.name,
                    labels=str(labels),
                )
            chinese = with_chinese_title(series)
            texts = {
                name: fill(name, each, chinese if name.endswith("_zh") else series, value)
                for name, each in self._annotations.items()
            }
            alerts[key] = (labels, texts, value)
        return Rendered(alerts, problems[0] if problems else None)


def fingerprint(labels: Mapping[str, str]) -> str:
    """Return the hash of an alert's labels, which identifies the alert."""
    text = "\xff".join(f"{name}\xfe{value}" for name, value in sorted(labels.items()))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def end_alerts(alerts: Alerts, now_ns: int) -> list[Transition]:
    """End firing alerts and remove pending ones, because their cluster has ended. Changes ``alerts``."""
    changes = []
    for key, alert in list(alerts.items()):
        before = alert.state
        if before is State.FIRING:
            alert.state, alert.resolved_ns = State.ENDED, now_ns
        elif before is State.PENDING:
            alert.state = State.INACTIVE
            del alerts[key]
        else:
            continue
        changes.append(Transition(now_ns, before, alert.state, msgspec.structs.replace(alert)))
    return changes


def as_ended(alerts: Alerts, end_ns: int) -> Alerts:
    """Return copies of ``alerts`` as they are if their cluster ended at ``end_ns``."""
    copies = {key: msgspec.structs.replace(alert) for key, alert in alerts.items()}
    end_alerts(copies, end_ns)
    return copies


def shift_pending(alerts: Alerts, gap_ns: int) -> None:
    """Do not count ``gap_ns`` without evaluations as pending time, as Prometheus does after a restart."""
    for alert in alerts.values():
        if alert.state is State.PENDING:
            alert.active_ns += gap_ns
