"""Prometheus' HTTP API for one session, so that Grafana and other clients can read it like a Prometheus.

POST requests carry the parameters of long queries. They change nothing, so they need no operator token.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Collection, Iterator
from typing import Any

import msgspec
import numpy as np
import promql_parser as parser
from fastapi.responses import Response

from rayscope.metrics.prometheus import results
from rayscope.metrics.prometheus.protocol import (
    CurrentForm,
    CurrentStore,
    Form,
    TimedOut,
    invalid,
    prometheus_router,
    success,
)
from rayscope.metrics.promql.evaluate import RANGES, bare, compute, compute_range, in_result_order, parsed
from rayscope.metrics.promql.functions import LABEL
from rayscope.metrics.promql.select import Context, conditions, matching_names, named
from rayscope.metrics.promql.values import LAST_S, NAME, Times
from rayscope.metrics.tsdb import target_labels
from rayscope.metrics.tsdb.matching import matching
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Labels, Matcher
from rayscope.storage.errors import BadQuery
from rayscope.storage.interruption import current_work
from rayscope.storage.slots import Slots
from rayscope.version import __version__

#: Maximum number of steps in a range, as in Prometheus.
_MAX_STEPS = 11_000
#: Time limit of a query, s. A request may set a shorter one.
_TIME_LIMIT_S = 30.0
#: Maximum number of selectors in a request.
_MAX_SELECTORS = 100
#: The values of a query take a few times 64 MB. A dashboard asks for all its panels at once.
_SLOTS = Slots(4, "Too many metric queries are running.", waiting=24, wait_s=20.0)
#: The version of Prometheus whose rules we follow. Grafana chooses the features that it uses by it.
_PROMETHEUS_VERSION = "2.42.0"
_ANY = ["GET", "POST"]

router = prometheus_router()


@router.api_route("/query", methods=_ANY)
def query(form: CurrentForm, store: CurrentStore) -> Response:
    """The value of an expression at one time."""
    time_ns = form.time_ns("time", time.time_ns() // 10**6 * 10**6)
    return _evaluate(form, store, np.array([time_ns]), is_instant=True, end_ns=time_ns)


@router.api_route("/query_range", methods=_ANY)
def query_range(form: CurrentForm, store: CurrentStore) -> Response:
    """The values of an expression at every step from start to end."""
    start_ns, end_ns = form.time_ns("start"), form.time_ns("end")
    if end_ns < start_ns:
        raise invalid("end", "end timestamp must not be before start time")
    step_ns = form.duration_ns("step")
    if step_ns is None:
        raise invalid("step", 'cannot parse "" to a valid duration')
    if step_ns <= 0:
        raise invalid(
            "step", "zero or negative query resolution step widths are not accepted. Try a positive integer"
        )
    if (end_ns - start_ns) // step_ns > _MAX_STEPS:
        raise invalid(
            "step",
            f"exceeded maximum resolution of {_MAX_STEPS:,} points per timeseries. "
            "Try decreasing the query resolution (?step=XX)",
        )
    times_ns = np.arange(start_ns, end_ns + 1, step_ns, dtype=np.int64)
    return _evaluate(form, store, times_ns, is_instant=False, end_ns=end_ns)


@router.api_route("/series", methods=_ANY)
def series(form: CurrentForm, store: CurrentStore) -> Response:
    """The series that match a selector."""
    if not form.all("match[]"):
        raise invalid("match[]", "no match[] parameter provided")
    return _limited(form, [dict(labels) for labels in sorted(_matching_series(form, store))])


@router.api_route("/labels", methods=_ANY)
def label_names(form: CurrentForm, store: CurrentStore) -> Response:
    """The names of all labels, or of those of the series that match a selector."""
    found = {name for labels in _matching_series(form, store) for name, _ in labels}
    return _limited(form, sorted(found))


@router.get("/label/{name}/values")
def label_values(form: CurrentForm, store: CurrentStore, name: str) -> Response:
    """The values of a label in all series, or in those that match a selector."""
    if not LABEL.fullmatch(name):
        raise invalid("name", f'invalid label name: "{name[:100]}"')
    found = {value for labels in _matching_series(form, store) for each, value in labels if each == name}
    return _limited(form, sorted(found))


@router.get("/metadata")
def metadata(form: CurrentForm, store: CurrentStore) -> Response:
    """The type, help and unit of each metric. The parts of a histogram have one entry."""
    found: dict[str, list[dict[str, str]]] = {}
    for family in store.families().values():
        name = family.name
        if family.type == "histogram":
            name = re.sub("_(bucket|sum|count)$", "", name)
        if name not in found and form.text("metric") in ("", name):
            found[name] = [{"type": family.type, "help": family.help, "unit": family.unit}]
    return success(msgspec.json.encode(dict(sorted(found.items())[: form.limit()])))


@router.api_route("/format_query", methods=_ANY)
def format_query(form: CurrentForm) -> Response:
    """An expression in Prometheus' own style."""
    return success(msgspec.json.encode(_parse(form.text("query"), "query").prettify()))


@router.api_route("/query_exemplars", methods=_ANY)
def query_exemplars() -> Response:
    """Exemplars are not recorded."""
    return success(b"[]")


@router.get("/status/buildinfo")
def build_info() -> Response:
    """The version. Grafana asks for it."""
    info = {
        "version": _PROMETHEUS_VERSION,
        "revision": f"rayscope-{__version__}",
        "branch": "",
        "buildUser": "",
        "buildDate": "",
        "goVersion": "",
    }
    return success(msgspec.json.encode(info))


def _parse(expr: str, parameter: str) -> parser.Expr:
    try:
        return parsed(expr)
    except BadQuery as error:
        raise invalid(parameter, str(error)) from error


def _check_of(form: Form) -> Callable[[], None]:
    """A function that raises TimedOut after the time limit, or Abandoned if the client is gone.

    It does not interrupt a query of the file that takes too long; only a client that is gone does.
    """
    timeout_ns = form.duration_ns("timeout")
    limit_s = _TIME_LIMIT_S if timeout_ns is None else min(_TIME_LIMIT_S, timeout_ns / 1e9)
    deadline, work = time.monotonic() + limit_s, current_work()

    def check() -> None:
        if work is not None:
            work.check()
        if time.monotonic() > deadline:
            raise TimedOut("query timed out in expression evaluation")

    return check


def _evaluate(form: Form, store: SeriesStore, times_ns: Times, *, is_instant: bool, end_ns: int) -> Response:
    """The whole value of an expression. Raises BadQuery if a part of it would be missing."""
    tree, limit, check = bare(_parse(form.text("query"), "query")), form.limit(), _check_of(form)
    if not is_instant and isinstance(tree, (parser.StringLiteral, *RANGES)):
        kind = "string" if isinstance(tree, parser.StringLiteral) else "range vector"
        reason = f'invalid expression type "{kind}" for range query, must be Scalar or instant Vector'
        raise invalid("query", reason)
    time_ns = int(times_ns[0])
    context = Context(store, times_ns, target_labels.NAMES, (time_ns, end_ns), check)
    with _SLOTS.take(check):
        if isinstance(tree, RANGES):
            ranges = compute_range(tree, context)
            found = sum(len(block.labels) for block, low, high in ranges.groups if high[0] > low[0])
            kind = "matrix"
            items: Iterator[bytes] = itertools.islice(results.sample_items(ranges), limit)
        else:
            value = compute(tree, context)
            if isinstance(value, str):
                return success(results.result("string", results.point(time_ns, value)))
            if is_instant and isinstance(value, np.ndarray):
                return success(results.result("scalar", results.scalar_point(time_ns, value)))
            vector, rows = in_result_order(tree, value, is_instant=is_instant)
            found = len(rows)
            if is_instant:
                kind, items = "vector", results.vector_items(vector, rows[:limit], time_ns)
            else:
                kind, items = "matrix", results.matrix_items(vector, rows[:limit], times_ns)
        if context.left_out:
            raise BadQuery(
                f"The expression uses {context.left_out} series more than can be read at once.",
                "Select fewer series with matchers.",
            )
        data = results.result(kind, results.json_array(items, check))
    return success(data, [warning["message"] for warning in context.warnings] + _truncated(limit, found))


def _matching_series(form: Form, store: SeriesStore) -> set[Labels]:
    """The series that match any selector of a request, or all without one, in its range of time."""
    start_ns, end_ns = form.time_ns("start", 0), form.time_ns("end", int(LAST_S) * 10**9)
    if end_ns < start_ns:
        raise invalid("end", "end timestamp must not be before start time")
    texts = form.all("match[]")
    if len(texts) > _MAX_SELECTORS:
        raise invalid("match[]", f"at most {_MAX_SELECTORS} selectors are supported")
    selectors = [_selector(text) for text in texts] or [(None, [])]
    names, targets, check = store.names(), store.target_labels, _check_of(form)
    found: set[Labels] = set()
    with _SLOTS.take(check):
        conditions_of: dict[str, list[list[Matcher]]] = {}
        for name, matchers in selectors:
            check()
            rest = [matcher for matcher in matchers if matcher.label != NAME]
            for each in matching_names(names, name, matchers):
                conditions_of.setdefault(each, []).append(rest)
        for each, present in store.series_between(conditions_of, start_ns, end_ns) if conditions_of else ():
            labels = list(present)
            if targets is not None:
                labels = targets.add(labels, target_labels.NAMES)
            for rest in conditions_of[each]:
                check()
                found.update(named(each, matching(labels, rest) if rest else labels))
    return found


def _selector(text: str) -> tuple[str | None, list[Matcher]]:
    tree = _parse(text, "match[]")
    if not isinstance(tree, parser.VectorSelector):
        raise invalid("match[]", f"{text[:100]} is not a selector of series")
    return conditions(tree)


def _limited(form: Form, items: Collection[Any]) -> Response:
    limit = form.limit()
    data = results.json_array(map(msgspec.json.encode, itertools.islice(items, limit)), lambda: None)
    return success(data, _truncated(limit, len(items)))


def _truncated(limit: int | None, total: int) -> list[str]:
    return [] if limit is None or total <= limit else ["results truncated due to limit"]
