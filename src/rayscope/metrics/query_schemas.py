"""OpenAPI schemas of query results, charts and dashboards."""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from typing_extensions import TypedDict

from rayscope.api.schemas import Body, ErrorDetail


class QueriedSeries(TypedDict):
    """One series of an expression, with a value for each of the answer's times."""

    labels: dict[str, str]
    values: list[float | None]


Source = Literal["record", "prometheus"]


class QueryAnswer(TypedDict):
    """Values from ``since_ns`` to ``until_ns``.

    ``left_out``: number of series that are not in this answer, or that follow this page of a collector's
    series. ``next``: cursor of the next page of a collector's series.
    """

    session: str
    expr: str
    since_ns: int
    until_ns: int
    step_ns: int
    times_ms: list[int]
    series: list[QueriedSeries]
    left_out: int
    next: str | None
    warnings: list[ErrorDetail]
    source: Source
    unit: str


class ChartQuery(TypedDict):
    """A PromQL expression, and the names of its series, in which `{{label}}` stands for a label's value.

    ``bold``: draw a thick line.
    """

    expr: str
    legend: str | None
    bold: bool


class KeptChart(TypedDict):
    """A stored chart."""

    title: str
    queries: list[ChartQuery]
    unit: str
    width: int
    stacked: bool


class ListedChart(KeptChart):
    """A chart of a page."""

    key: str


class ListedVariable(TypedDict):
    """A variable `$name` in a page's expressions, whose values are those of a metric's label."""

    name: str
    label: str
    metric: str


class ListedPage(TypedDict):
    """The charts of a page."""

    name: str
    title: str
    charts: list[ListedChart]
    variables: list[ListedVariable]


class ChartsAnswer(TypedDict):
    """The charts of all pages. The dashboards for Grafana show the same charts."""

    pages: list[ListedPage]


class QueryGiven(Body, extra="forbid"):
    """A PromQL expression, and the names of its series, as in `ChartQuery`."""

    expr: str = Field(min_length=1, max_length=4000)
    legend: str | None = Field(None, max_length=200)
    bold: bool = False


class DashboardChart(Body):
    """A chart of a dashboard: one expression (`expr`) or several (`queries`)."""

    title: str = Field(min_length=1, max_length=200)
    expr: str | None = Field(None, min_length=1, max_length=4000)
    queries: list[QueryGiven] = Field(default_factory=list, max_length=20)
    unit: str = Field("", max_length=30)
    width: Literal[1, 2, 3] = 1
    stacked: bool = False


class DashboardGiven(Body):
    """A dashboard to store."""

    title: str = Field(min_length=1, max_length=200)
    charts: list[DashboardChart] = Field(max_length=60)


class Dashboard(TypedDict):
    """A stored dashboard. Its name is the name of its file."""

    name: str
    title: str
    charts: list[KeptChart]


class DashboardInShort(TypedDict):
    """A dashboard without its charts. ``changed_ns``: when its file was written."""

    name: str
    title: str
    charts_total: int
    changed_ns: int


class DashboardsAnswer(TypedDict):
    """All dashboards. ``unreadable``: names of files that are not valid dashboards."""

    items: list[DashboardInShort]
    unreadable: list[str]
