"""The shapes of what the alerts answer and are asked, for the OpenAPI description."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from rayscope.api.schemas import Answer, Body


class AckInfo(Answer):
    """Who has taken an alert on."""

    by: str
    comment: str
    time_ns: int


class AlertInfo(Answer):
    """One alert. Times are 0 where that has not happened; ``silenced_by``: silences that hold for it now.

    ``condition``: the rule's expression and how long it has to hold.
    """

    fingerprint: str
    rule: str
    condition: str
    labels: dict[str, str]
    annotations: dict[str, str]
    state: Literal["pending", "firing", "resolved", "ended"]
    severity: str
    value: float | None
    active_ns: int
    fired_ns: int
    resolved_ns: int
    keep_ns: int
    ack: AckInfo | None
    silenced_by: list[str]


class AlertsAnswer(Answer):
    """``live``: false if the session is over; then ``items`` is what fired or was pending at its end.

    ``firing``: also those that fired until the session ended; ``info`` of them have the severity ``info``.
    """

    session: str
    live: bool
    evaluated_ns: int | None
    firing: int
    info: int
    pending: int
    items: list[AlertInfo]
    left_out: int
    resolved: list[AlertInfo]
    resolved_left_out: int


class RuleInfo(Answer):
    """A rule and how it is with the session; ``value_expr``: what the threshold bounds.

    ``error``: why it could not be evaluated. ``template_error``: why one of its texts could not be rendered.
    ``unknown_metrics``: names in the expression of a rule of somebody's own that no series has (yet).
    """

    name: str
    group: str
    source: str
    severity: str
    expr: str
    value_expr: str | None
    op: str | None
    threshold: float | None
    interval_s: float
    for_s: float
    keep_firing_for_s: float
    labels: dict[str, str]
    annotations: dict[str, str]
    enabled: bool
    state: Literal["inactive", "pending", "firing", "resolved", "ended"]
    alerts: int
    error: str | None
    template_error: str | None
    unknown_metrics: list[str]
    cost_s: float | None


class FileProblem(Answer):
    """A file of rules, or a rule of it (``rule``, else empty), that cannot be used."""

    file: str
    rule: str
    message: str
    remedy: str


class RulesAnswer(Answer):
    """All rules, those that are switched off too."""

    session: str
    items: list[RuleInfo]
    problems: list[FileProblem]
    folder: str


class AlertEvent(Answer):
    """A transition, and the series that caused it."""

    time_ns: int
    rule: str
    fingerprint: str
    before: Literal["inactive", "pending", "firing", "resolved", "ended"]
    after: Literal["inactive", "pending", "firing", "resolved", "ended"]
    labels: dict[str, str]
    annotations: dict[str, str]
    value: float | None
    threshold: float | None
    op: str | None
    times_ms: list[int]
    values: list[float | None]


class HistoryAnswer(Answer):
    """The newest transitions; ``kept_at_most``: older ones are dropped beyond."""

    session: str
    items: list[AlertEvent]
    total: int
    kept_at_most: int


class MatcherBody(Answer):
    """A condition on a label."""

    label: str = Field(max_length=200)
    op: Literal["=", "!=", "=~", "!~"] = "="
    value: str = Field(max_length=1000)


class SilenceBody(Body):
    """A new silence: from now, or ``starts_ns``, for ``duration_s``."""

    matchers: list[MatcherBody] = Field(min_length=1, max_length=20)
    duration_s: float = Field(gt=0, le=366 * 86400)
    starts_ns: int | None = Field(None, ge=0, le=2**62)
    created_by: str = Field(min_length=1, max_length=200)
    comment: str = Field("", max_length=1000)


class SilenceInfo(Answer):
    """A silence and whether it holds."""

    id: str
    matchers: list[MatcherBody]
    starts_ns: int
    ends_ns: int
    created_by: str
    comment: str
    state: Literal["active", "pending", "expired"]


class SilencesAnswer(Answer):
    """All silences that hold or ended within five days."""

    items: list[SilenceInfo]


class AckBody(Body):
    """Take an alert on."""

    session: str | None = Field(None, max_length=200)
    fingerprint: str = Field(max_length=100)
    by: str = Field(min_length=1, max_length=200)
    comment: str = Field("", max_length=1000)


class ChannelInfo(Answer):
    """A channel, where it sends to (no secrets), and how its deliveries go. Times in ns, durations in s."""

    name: str
    type: str
    targets: list[str]
    match: dict[str, str]
    send_resolved: bool
    send_info: bool
    group_by: list[str]
    group_wait_s: float
    group_interval_s: float
    repeat_interval_s: float
    problem: str | None
    remedy: str | None
    sent: int
    failed: int
    dropped: int
    waiting: int
    tries: int
    last_ns: int | None
    last_ok: bool | None
    last_error: str | None
    last_title: str | None
    next_try_ns: int | None


class ChannelsAnswer(Answer):
    """The channels of ``channels.yml``."""

    items: list[ChannelInfo]
    kinds: list[str]
    file: str
    problem: str | None
    remedy: str | None


class ChannelTested(Answer):
    """How a test notification went."""

    ok: bool
    error: str | None


class TestBody(Body):
    """A rule (by name, or a file's text with one rule) to be tried on what is on record."""

    session: str | None = Field(None, max_length=200)
    rule: str | None = Field(None, max_length=200)
    yaml: str | None = Field(None, max_length=64 << 10)
    from_ns: int | None = Field(None, ge=0, le=2**62)
    to_ns: int | None = Field(None, ge=0, le=2**62)


class TestAnswer(Answer):
    """When the rule would have gone from one state to another."""

    session: str
    rule: RuleInfo | dict[str, Any]
    from_ns: int
    to_ns: int
    evaluations: int
    fired: int
    transitions: list[dict[str, Any]]
    left_out: int
    firing_at_end: list[dict[str, Any]]


class RuleBody(Body):
    """A rule of the operator's."""

    expr: str = Field(min_length=1, max_length=4000)
    for_s: float = Field(0, ge=0, le=366 * 86400)
    keep_firing_for_s: float = Field(0, ge=0, le=366 * 86400)
    labels: dict[str, str] = Field({}, max_length=50)
    annotations: dict[str, str] = Field({}, max_length=50)


class EnabledBody(Body):
    """Whether a rule is to be evaluated."""

    enabled: bool


class ChannelBody(Body):
    """A channel; ``config`` is what its type reads (``urls``, or ``url`` ...), null keeps what there is."""

    type: str = Field(min_length=1, max_length=100)
    config: dict[str, Any] | None = Field(None, max_length=20)
    match: dict[str, str] = Field({}, max_length=20)
    send_resolved: bool = True
    send_info: bool = False


class Changed(Answer):
    """What was changed."""

    name: str
