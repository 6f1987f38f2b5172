"""Schemas of the requests and responses for alerts, used in the OpenAPI description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body, ErrorDetail

AlertState = Literal["pending", "firing", "resolved", "ended"]
#: A rule without alerts is inactive, and so is a series before its condition holds.
State = Literal["inactive", "pending", "firing", "resolved", "ended"]


class AckInfo(TypedDict):
    """The acknowledgement of an alert."""

    by: str
    comment: str
    time_ns: int


class AlertProfile(TypedDict):
    """The profile that an alert took when it began to fire, or the reason why it took none."""

    profile_id: str | None
    problem: ErrorDetail | None


class PlainAlert(TypedDict):
    """One alert, without the silences that match it. Times that do not apply are 0.

    ``condition`` is the rule's expression with the duration for which it must hold. ``profile``: null unless
    the rule takes profiles and the alert has fired.
    """

    fingerprint: str
    rule: str
    labels: dict[str, str]
    annotations: dict[str, str]
    state: AlertState
    value: float | None
    active_ns: int
    fired_ns: int
    resolved_ns: int
    keep_ns: int
    ack: AckInfo | None
    condition: str
    profile: AlertProfile | None


class AlertInfo(PlainAlert):
    """One alert. Times that do not apply are 0. ``silenced_by`` contains the IDs of active silences that
    match it.

    ``condition`` is the rule's expression with the duration for which it must hold.
    """

    severity: str
    silenced_by: list[str]


class AlertCounts(TypedDict):
    """How many alerts a session has in each state. Nothing fires or is pending once it has ended; ``ended``
    counts the alerts that fired until then.

    ``info`` is how many firing alerts have the severity ``info``.
    """

    firing: int
    info: int
    pending: int
    ended: int


class AlertsTopic(AlertCounts):
    """The alerts of a session that are firing or pending, or fired until it ended."""

    live: bool
    items: list[AlertInfo]


class AlertsAnswer(AlertsTopic):
    """The alerts of a session. If it is not ``live``, ``items`` are those that fired until it ended, and
    ``ended`` is their number.

    ``info`` is how many firing alerts have the severity ``info``.
    """

    session: str
    evaluated_ns: int | None
    left_out: int
    resolved: list[AlertInfo]
    resolved_left_out: int


class RuleDefinition(TypedDict):
    """A rule. The alert's value is that of ``value_expr``, which is compared with ``threshold``."""

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


class RuleStatus(TypedDict):
    """A rule's state in a session, its number of alerts, its errors, and its cost."""

    state: State
    alerts: int
    error: str | None
    template_error: str | None
    problems: list[ErrorDetail]
    unknown_metrics: list[str]
    cost_s: float | None


class RuleInfo(RuleDefinition, RuleStatus):
    """A rule and its state in the session. ``value_expr`` is compared with ``threshold``.

    ``error`` is why the rule could not be evaluated, and ``template_error`` why one of its labels or
    annotations could not be rendered. ``problems`` has both with their codes. ``unknown_metrics`` are metrics
    in a user's rule for which there are no series (yet).
    """

    enabled: bool


class FileProblem(ErrorDetail):
    """A rule file, or a rule in one, that cannot be used. ``rule`` is empty if the whole file is meant.

    ``params``: ``what`` the message is about, and the values in it.
    """

    file: str
    rule: str


class RulesAnswer(TypedDict):
    """All rules, including those that are switched off. ``session`` is null if nothing is recorded."""

    session: str | None
    items: list[RuleInfo]
    problems: list[FileProblem]
    folder: str


class TestedTransition(TypedDict):
    """An alert's change of state in a tested rule."""

    time_ns: int
    before: State
    after: State
    labels: dict[str, str]
    annotations: dict[str, str]
    value: float | None


class AlertEvent(TestedTransition):
    """An alert's change of state, and the series that caused it."""

    rule: str
    fingerprint: str
    threshold: float | None
    op: str | None
    times_ms: list[int]
    values: list[float | None]
    profile: AlertProfile | None


class HistoryAnswer(TypedDict):
    """The newest transitions of a session's alerts. At most ``kept_at_most`` are kept."""

    session: str
    items: list[AlertEvent]
    total: int
    kept_at_most: int


#: The comparisons of PromQL's label matchers.
Operator = Literal["=", "!=", "=~", "!~"]


class Matcher(TypedDict):
    """A condition on a label."""

    label: str
    op: Operator
    value: str


class MatcherBody(Body, extra="forbid"):
    """A condition on a label."""

    label: str = Field(max_length=200)
    op: Operator = "="
    value: str = Field(max_length=1000)


class SilenceBody(Body):
    """A new silence. It begins now or at ``starts_ns``, and lasts for ``duration_s``."""

    matchers: list[MatcherBody] = Field(min_length=1, max_length=20)
    duration_s: float = Field(gt=0, le=366 * 86400)
    starts_ns: int | None = Field(None, ge=0, le=2**62)
    created_by: str = Field(min_length=1, max_length=200)
    comment: str = Field("", max_length=1000)


SilenceState = Literal["active", "pending", "expired"]


class SilenceInfo(TypedDict):
    """A silence and its state."""

    id: str
    matchers: list[Matcher]
    starts_ns: int
    ends_ns: int
    created_by: str
    comment: str
    state: SilenceState


class SilencesAnswer(TypedDict):
    """All silences that are active, scheduled, or ended within five days."""

    items: list[SilenceInfo]


class AckBody(Body):
    """The acknowledgement of an alert."""

    session: str | None = Field(None, max_length=200)
    fingerprint: str = Field(max_length=100)
    by: str = Field(min_length=1, max_length=200)
    comment: str = Field("", max_length=1000)


class ChannelInfo(TypedDict):
    """A channel, its targets (without secrets), and the state of its deliveries."""

    name: str
    type: str
    targets: list[str]
    match: dict[str, str]
    rules: list[str]
    send_resolved: bool
    send_info: bool
    group_by: list[str]
    group_wait_s: float
    group_interval_s: float
    repeat_interval_s: float
    problem: ErrorDetail | None
    sent: int
    failed: int
    dropped: int
    waiting: int
    tries: int
    last_ns: int | None
    last_ok: bool | None
    last_error: ErrorDetail | None
    last_title: str | None
    next_try_ns: int | None


class ChannelsAnswer(TypedDict):
    """The channels of ``channels.yml``."""

    items: list[ChannelInfo]
    kinds: list[str]
    file: str
    problem: ErrorDetail | None


class ChannelTested(TypedDict):
    """The result of a test notification."""

    ok: bool
    error: ErrorDetail | None


class TestBody(Body):
    """A rule to evaluate on recorded series: its name, or the text of a file with one rule."""

    session: str | None = Field(None, max_length=200)
    rule: str | None = Field(None, max_length=200)
    yaml: str | None = Field(None, max_length=64 << 10)
    since_ns: int | None = Field(None, ge=0, le=2**62)
    until_ns: int | None = Field(None, ge=0, le=2**62)


class TestResult(TypedDict):
    """When a rule's alerts would have changed their state. ``left_out`` counts transitions beyond the first
    500.
    """

    evaluations: int
    fired: int
    transitions: list[TestedTransition]
    left_out: int
    firing_at_end: list[PlainAlert]


class TestAnswer(TestResult):
    """When the tested rule's alerts would have changed their state."""

    session: str
    rule: RuleDefinition
    since_ns: int
    until_ns: int


class RuleBody(Body):
    """A rule that the operator adds or replaces."""

    expr: str = Field(min_length=1, max_length=4000)
    for_s: float = Field(0, ge=0, le=366 * 86400)
    keep_firing_for_s: float = Field(0, ge=0, le=366 * 86400)
    labels: dict[str, str] = Field({}, max_length=50)
    annotations: dict[str, str] = Field({}, max_length=50)


class EnabledBody(Body):
    """Whether a rule is evaluated."""

    enabled: bool


class ChannelBody(Body):
    """A channel. ``config`` contains the settings of its type, such as ``urls``. Null keeps the current
    settings. ``rules``: the rules whose alerts are sent, all if empty.
    """

    type: str = Field(min_length=1, max_length=100)
    config: dict[str, Any] | None = Field(None, max_length=20)
    match: dict[str, str] = Field({}, max_length=20)
    rules: list[Annotated[str, Field(max_length=200)]] = Field([], max_length=100)
    send_resolved: bool = True
    send_info: bool = False


class Changed(TypedDict):
    """The rule or channel that was changed."""

    name: str


class RuleChanged(Changed):
    """The rule that was added or replaced. ``warnings``: what may keep it from ever firing."""

    warnings: list[ErrorDetail]
