"""OpenAPI schemas of responses about metrics. Times are in ns since the epoch."""

from __future__ import annotations

from typing_extensions import TypedDict

from rayscope.api.schemas import ErrorDetail

Labels = dict[str, str]


class LatestItem(TypedDict):
    """The newest value of a series that has not ended."""

    name: str
    labels: Labels
    value: float
    time_ns: int


class CollectorItem(TypedDict):
    """The state of a collector. ``ok`` is null before its first result. If ``ok``, ``error`` is a warning.

    ``problems``: the errors in ``error``, each with its code.
    """

    name: str
    target: str
    ok: bool | None
    error: str | None
    remedy: str | None
    code: str | None
    params: dict[str, str | int] | None
    problems: list[ErrorDetail]
    cost_s: float
    took_s: float
    last_ns: int | None
    samples: int
    left_out: int
    interval_s: float
    timeout_s: float


class MetricsState(TypedDict):
    """The state of a session's collectors and store."""

    left_out: int
    problem: ErrorDetail | None
    note: ErrorDetail | None
    collectors: list[CollectorItem]


class LatestAnswer(MetricsState):
    """The newest values. ``total``: number of matching series; ``next``: cursor of the next page.

    ``left_out``: number of series for which the session has no room.
    """

    session: str
    time_ns: int
    items: list[LatestItem]
    next: str | None
    total: int
    series: int


class NameItem(TypedDict):
    """A metric's name with its description, its number of series, and the number of values of each label."""

    name: str
    type: str
    help: str
    unit: str
    series: int
    labels: dict[str, int]


class NamesAnswer(TypedDict):
    """The matching names of a session's metrics."""

    session: str
    items: list[NameItem]
    total: int


class LabelValuesAnswer(TypedDict):
    """The values of a label."""

    session: str
    items: list[str]
    total: int


class DiscoveredTarget(TypedDict):
    """A target in Prometheus' format: https://prometheus.io/docs/prometheus/latest/http_sd/"""

    targets: list[str]
    labels: Labels
