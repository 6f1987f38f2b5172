"""Routes for PromQL over a session's metrics, the pages' charts, and users' dashboards."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

from fastapi import Path, Query
from fastapi.responses import Response

from rayscope.api.parameters import CurrentRecords, CurrentSettings, Cursor, Nanoseconds, Session, Text
from rayscope.api.responses import Json, answer
from rayscope.api.routes import Router
from rayscope.api.schemas import ErrorDetail
from rayscope.api.security import error_detail
from rayscope.api.write_access import OPERATOR_ONLY
from rayscope.metrics import query_schemas
from rayscope.metrics.api import collected, place_of
from rayscope.metrics.charts import PAGES
from rayscope.metrics.dashboards import (
    NAME,
    CurrentDashboards,
    StoredChart,
    StoredDashboard,
    StoredQuery,
    encode,
)
from rayscope.metrics.promql.evaluate import MAX_EXPR_CHARS, MAX_STEPS, Result, check, evaluate, parsed
from rayscope.metrics.promql.units import unit_of
from rayscope.metrics.promql.values import NAME as METRIC
from rayscope.metrics.remote_prometheus import PromqlError, query_range
from rayscope.metrics.service import CurrentMetrics, Metrics
from rayscope.model.metric import Labels
from rayscope.records.reader import SessionReader
from rayscope.settings import Settings
from rayscope.storage.errors import BadQuery
from rayscope.storage.sql.pages import encode_cursor

_HOUR_NS = 3600 * 10**9
_DAY_NS = 24 * _HOUR_NS
#: Steps to choose from, s. The shortest one with which a chart has at most about 300 points is used.
_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)
_POINTS = 300
#: Default number of series returned for an expression. ``_MAX_LIMIT`` is the maximum of any response.
_LIMIT = 20
_MAX_LIMIT = 500
#: Name of the sort order of a collector's series, as stored in cursors.
_ORDER = "series"

Expr = Annotated[
    str, Query(min_length=1, max_length=MAX_EXPR_CHARS, description="PromQL: see docs/reference/promql.md")
]
Step = Annotated[int | None, Query(ge=1_000_000, le=366 * _DAY_NS)]
Name = Annotated[str, Path(pattern=f"^{NAME}$")]


router = Router()


@router.get("/api/v1/metrics/query")
def query(
    settings: CurrentSettings,
    records: CurrentRecords,
    metrics: CurrentMetrics,
    expr: Expr | None = None,
    collector: Text = None,
    session: Session = None,
    since_ns: Nanoseconds = None,
    until_ns: Nanoseconds = None,
    step_ns: Step = None,
    limit: Annotated[int | None, Query(ge=1, le=_MAX_LIMIT)] = None,
    cursor: Cursor = None,
) -> Json[query_schemas.QueryAnswer]:
    """The values of an expression over time, for the ``limit`` series with the highest average.

    With ``collector`` instead of ``expr``: all series of one collector, sorted by name and labels, in pages.
    """
    chosen = records.resolve(session)
    if (expr is None) == (collector is None):
        raise BadQuery("Give either expr or collector.", "Use expr=PROMQL, or collector=NAME such as tasks.")
    if expr is not None and cursor is not None:
        raise BadQuery(
            "Only the series of a collector have pages.", "Leave cursor out, or use a larger limit."
        )
    if expr is not None:
        parsed(expr)
    times = _times(settings, records, chosen, since_ns, until_ns, step_ns)
    following = None
    if expr is not None:
        limit = limit or _LIMIT
        source, result = _evaluate(settings, metrics, chosen, expr, times, limit)
        series, left_out = greatest(result.series, limit)
    else:
        source, limit = "record", limit or _MAX_LIMIT
        after = place_of(cursor, _ORDER) if cursor else None
        result = _collected(metrics, chosen, collector or "", times, limit, after)
        series, left_out = result.series, 0
        if result.others and series:
            following = encode_cursor([_ORDER, *_key(series[-1][0])])
    return answer(
        {
            "session": chosen,
            "expr": expr or "",
            "since_ns": times.start,
            "until_ns": times[-1],
            "step_ns": times.step,
            "times_ms": [time_ns // 1_000_000 for time_ns in result.times_ns],
            "series": [{"labels": labels, "values": values} for labels, values in series],
            "left_out": left_out + result.others + result.left_out,
            "next": following,
            "warnings": result.warnings,
            "source": source,
            "unit": unit_of(expr, metrics.store(chosen).families()) if expr else "",
        }
    )


@router.get("/api/v1/metrics/charts")
def charts() -> Json[query_schemas.ChartsAnswer]:
    """The charts of every page, with their expressions."""
    return answer(
        {
            "pages": [
                {
                    "name": page.name,
                    "title": page.title,
                    "charts": [
                        {
                            "key": chart.key,
                            "title": chart.title,
                            "queries": [
                                {"expr": each.expr, "legend": each.legend, "bold": each.bold}
                                for each in chart.queries
                            ],
                            "unit": chart.unit,
                            "stacked": chart.stacked,
                            "width": chart.width,
                        }
                        for chart in page.charts
                    ],
                    "variables": [
                        {"name": each.name, "label": each.label, "metric": each.metric}
                        for each in page.variables
                    ],
                }
                for page in PAGES
            ]
        }
    )


@router.get("/api/v1/dashboards")
def list_dashboards(dashboards: CurrentDashboards) -> Json[query_schemas.DashboardsAnswer]:
    """All dashboards, without their charts, sorted by name."""
    items, unreadable = dashboards.all()
    return answer({"items": items, "unreadable": unreadable})


@router.get("/api/v1/dashboards/{name}")
def get_dashboard(dashboards: CurrentDashboards, name: Name) -> Json[query_schemas.Dashboard]:
    """A dashboard with its charts."""
    return answer(dashboards.get(name))


@router.put(
    "/api/v1/dashboards/{name}",
    dependencies=OPERATOR_ONLY,
)
def put(
    dashboards: CurrentDashboards, name: Name, body: query_schemas.DashboardGiven
) -> Json[query_schemas.Dashboard]:
    """Create or replace a dashboard. Every expression must be valid."""
    kept = StoredDashboard(body.title, [_stored_chart(chart) for chart in body.charts])
    encode(kept)  # check the size before parsing the expressions
    for chart in kept.charts:
        _check(chart)
    return answer(dashboards.put(name, kept))


@router.delete("/api/v1/dashboards/{name}", dependencies=OPERATOR_ONLY, status_code=204)
def delete(dashboards: CurrentDashboards, name: Name) -> Response:
    """Delete a dashboard."""
    dashboards.delete(name)
    return Response(status_code=204)


def _stored_chart(chart: query_schemas.DashboardChart) -> StoredChart:
    queries = [StoredQuery(each.expr, each.legend, each.bold) for each in chart.queries]
    if chart.expr is not None:
        queries.insert(0, StoredQuery(chart.expr))
    if not queries:
        raise BadQuery(
            f"The chart {chart.title[:80]!r} has no expression.",
            "Add `expr` or `queries`.",
            what="chart_without_expr",
            chart=chart.title[:80],
        )
    return StoredChart(chart.title, queries, chart.unit, chart.width, chart.stacked)


def _check(chart: StoredChart) -> None:
    for each in chart.queries:
        try:
            check(each.expr)
        except BadQuery as error:
            message = f"In the chart {chart.title[:80]!r}: {error.message}"
            raise BadQuery(message, error.remedy).with_params(error.params) from error


def _times(
    settings: Settings,
    records: SessionReader,
    session: str,
    since_ns: int | None,
    until_ns: int | None,
    step_ns: int | None,
) -> range:
    """The times of a chart, ns: multiples of the step, so that they do not change while the range moves.

    A single time (from = to) is used as it is. Raises BadQuery if there are none or too many.
    """
    until_ns = records.last_ns(session) if until_ns is None else until_ns
    since_ns = max(0, until_ns - _HOUR_NS) if since_ns is None else since_ns
    if since_ns > until_ns:
        raise BadQuery(
            "since_ns is after until_ns.", "Use a range that ends after it starts.", what="time_range"
        )
    if since_ns == until_ns:
        return range(since_ns, until_ns + 1, step_ns or 10**9)
    if step_ns is None:
        wanted_s = max((until_ns - since_ns) / 1e9 / _POINTS, settings.metrics_interval_s)
        step_ns = next((s for s in _STEPS_S if s >= wanted_s), math.ceil(wanted_s / 86400) * 86400) * 10**9
    start_ns, end_ns = since_ns // step_ns * step_ns, until_ns // step_ns * step_ns
    if (end_ns - start_ns) // step_ns >= MAX_STEPS:
        raise BadQuery(
            f"The range has more than {MAX_STEPS} points.",
            f"Use a step_ns of at least {math.ceil((until_ns - since_ns) / (MAX_STEPS - 1))}, or none.",
            what="points",
            limit=MAX_STEPS,
        )
    return range(start_ns, end_ns + 1, step_ns)


def _evaluate(
    settings: Settings, metrics: Metrics, session: str, expr: str, times: range, limit: int
) -> tuple[query_schemas.Source, Result]:
    """The values, and their source: the record (``limit`` series), or the configured Prometheus."""
    url = settings.prometheus_url
    warnings: list[ErrorDetail] = []
    if url and times[-1] - times[0] > settings.metrics_full_h * _HOUR_NS:
        try:
            series, said = query_range(url, expr, list(times), times.step)
            return "prometheus", Result(
                list(times), series, 0, [error_detail("prometheus", text, "") for text in said]
            )
        except PromqlError as error:
            message = f"The configured Prometheus was not used: {error.message}."
            warnings.append(error_detail(error.code, message, "", error.params))
    result = evaluate(metrics.store(session), expr, times[0], times[-1], times.step, limit)
    result.warnings = warnings + result.warnings
    return "record", result


def _collected(
    metrics: Metrics, session: str, collector: str, times: range, limit: int, after: tuple[str, Labels] | None
) -> Result:
    """The raw values of a collector's first ``limit`` series that follow ``after``, by name and labels."""
    store = metrics.store(session)
    page = Result(list(times), [], 0, [])
    for name in sorted(collected(store, collector)):
        if after is not None and name < after[0]:
            continue
        room = limit - len(page.series)
        # Once the page is full, the other names' series are only counted.
        part = evaluate(store, name, times[0], times[-1], times.step, None if room else 1)
        found = sorted(part.series, key=lambda one: _key(one[0]))
        if after is not None:
            found = [one for one in found if _key(one[0]) > after]
        page.series += found[:room]
        page.others += len(found[room:]) + part.others
        page.left_out += part.left_out
        page.warnings += part.warnings
    return page


def _key(labels: Mapping[str, str]) -> tuple[str, Labels]:
    """The sort key of a collector's series: its name and all of its labels."""
    return labels.get(METRIC, ""), tuple(sorted(labels.items()))


def greatest(
    series: list[tuple[dict[str, str], list[float | None]]], limit: int
) -> tuple[list[tuple[dict[str, str], list[float | None]]], int]:
    """The ``limit`` series with the greatest means, in original order, and the number of other series."""
    if len(series) <= limit:
        return series, 0

    def mean(values: list[float | None]) -> float:
        numbers = [value for value in values if value is not None and math.isfinite(value)]
        return math.fsum(numbers) / len(numbers) if numbers else -math.inf

    order = sorted(range(len(series)), key=lambda at: mean(series[at][1]), reverse=True)
    return [series[at] for at in sorted(order[:limit])], len(series) - limit
