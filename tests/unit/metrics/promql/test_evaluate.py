"""PromQL: the cases in testdata/, on our evaluation and on Prometheus' own, and random expressions on both."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import promql_parser as parser
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests import promqltest
from tests.promqltest import Case, Group, Line, answer, are_equal, loaded, our_result, prometheus_answers

from rayscope.metrics.promql import range_functions
from rayscope.metrics.promql.evaluate import MAX_STEPS, evaluate
from rayscope.metrics.promql.units import unit_of
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.metrics.tsdb.target_labels import TargetLabels, Targets
from rayscope.model.metric import Family, sample
from rayscope.storage.errors import BadQuery

FILES = sorted((Path(__file__).parent / "testdata").glob("*.test"))
S = 10**9


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_expressions_return_the_expected_values(file: Path) -> None:
    for group in promqltest.read(file):
        store = loaded(group)
        for case in group.cases:
            result = our_result(store, case)
            expected = None if case.expected is None else dict(case.expected)
            assert are_equal(answer(result), expected), (case, result)
            if case.ordered:
                assert result is not None
                assert list(answer(result)) == [labels for labels, _ in case.expected], case


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_range_query_ends_with_the_value_of_an_instant_query(file: Path) -> None:
    """The windows of its later steps begin after the first sample that was read."""
    for group in promqltest.read(file):
        store = loaded(group)
        for case in group.cases:
            if case.expected is None:
                continue
            end_ns = int(case.at_s * S)
            result = evaluate(store, case.expr, end_ns - 60 * S, end_ns, 20 * S)
            assert are_equal(answer(result, 3), dict(case.expected)), case


def test_prometheus_returns_the_same(tmp_path: Path) -> None:
    groups = [group for file in FILES for group in promqltest.read(file)]
    for group, answers in zip(groups, prometheus_answers(groups, tmp_path), strict=True):
        for case, said in zip(group.cases, answers, strict=True):
            assert are_equal(None if case.expected is None else dict(case.expected), said), (case, said)
    assert sum(len(group.cases) for group in groups) > 120


def counted(store: SeriesStore, nodes: int, seconds: int, step_s: int = 5) -> None:
    """A counter of each node that grows by 2 a second, and a gauge."""
    family = Family("work_total", "counter", "", "bytes")
    for at in range(0, seconds + 1, step_s):
        samples = [sample("work_total", 2 * at + node, node=str(node)) for node in range(nodes)]
        samples += [sample("load", at % 60, node=str(node)) for node in range(nodes)]
        store.append(at * S, samples, families=[family])


def test_rates_of_minutes_are_those_of_samples(tmp_path: Path) -> None:
    """Series rolled up to minutes have the same rate over any range."""
    store = SeriesStore(tmp_path / "metrics.duckdb", step_s=10, full_s=300)
    counted(store, 2, 8 * 3600, 10)
    store.flush()
    store.close()
    store = SeriesStore(tmp_path / "metrics.duckdb", step_s=10, read_only=True)
    for expr in ("rate(work_total[30s])", "rate(work_total[5m])", "irate(work_total[1m])"):
        result = evaluate(store, expr, 600 * S, 8 * 3600 * S, 300 * S)
        values = [value for _, row in result.series for value in row]
        assert len(result.series) == 2
        assert values == pytest.approx([2.0] * len(values), rel=0.01), expr
        assert ("widened" in str(result.warnings)) == ("5m" not in expr)
    peak = evaluate(store, "max_over_time(load[5m])", 600 * S, 8 * 3600 * S, 300 * S)
    assert {value for _, row in peak.series for value in row} == {50.0}
    store.close()


def test_labels_of_the_session_and_node_are_there_for_who_mentions_them() -> None:
    store = SeriesStore()
    store.target_labels = TargetLabels("session_1", lambda: Targets({"a": 8080}, "raycluster"))
    series = [
        sample("ray_load", 1, node_id="a", node_ip="10.0.0.1"),
        sample("ray_load", 2, node_id="b", node_ip="10.0.0.2"),
        sample("ray_load", 4, job="mine"),
    ]
    store.append(60 * S, series)

    def of(expr: str) -> list[tuple[dict[str, str], float | None]]:
        return [(labels, row[0]) for labels, row in evaluate(store, expr, 60 * S, 60 * S, 0).series]

    assert of("sum(ray_load)") == [({}, 7)]
    assert of('sum(ray_load{SessionName=~".+"})') == of('sum(ray_load{SessionName="session_1"})') == [({}, 7)]
    assert of('ray_load{SessionName!="session_1"}') == []
    assert of('sum by (instance) (ray_load{job="ray"})') == [
        ({"instance": "10.0.0.1:8080"}, 1),
        ({"instance": "10.0.0.2"}, 2),
    ]
    assert of('ray_load{job="mine"}') == [({"__name__": "ray_load", "job": "mine"}, 4)]
    assert of('count by (ray_io_cluster) (ray_load{ray_io_cluster=~"ray.*"})') == [
        ({"ray_io_cluster": "raycluster"}, 3)
    ]
    assert of("ray_load + on (instance) ray_load")[1] == ({"instance": "10.0.0.1:8080"}, 2)


@pytest.mark.parametrize(
    "expr",
    [
        "absent(ray_gcs_latency_ms_bucket)",
        "absent_over_time(ray_grpc_server_req_bucket{a='b'}[5m])",
        "count(ray_gcs_latency_ms_bucket)",
    ],
)
def test_series_that_are_not_recorded_on_purpose_are_not_absent(expr: str) -> None:
    result = evaluate(SeriesStore(), expr, 60 * S, 120 * S, 60 * S)
    assert result.series == []
    assert [warning["message"].partition(":")[0] for warning in result.warnings] == [
        f"{re.search('ray_[a-z_]+', expr)[0]} is not recorded"  # type: ignore[index]
    ]
    assert evaluate(SeriesStore(), "absent(ray_gcs_latency_ms_sum)", 60 * S, 60 * S, 0).series


def test_left_out_series_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayscope.metrics.promql.select.MAX_SERIES", 3)
    store = SeriesStore()
    counted(store, 5, 60)
    result = evaluate(store, "sum(load)", 60 * S, 60 * S, 0)
    assert (result.left_out, [warning["message"] for warning in result.warnings]) == (
        2,
        ["load: 2 series were left out; 3 are counted."],
    )


@pytest.mark.parametrize(
    ("expr", "said", "at"),
    [
        ("sum(load) by", "invalid", 11),
        ("1 + rat(load[1m])", "rat", 5),
        ('load{node=~"("}', "illegal regex", 13),
        ("rate(load)", "expected type matrix", 1),
        ("sum(load", "unclosed", 4),
        ("sum by (a) (rate(load[1m])", "unclosed", 12),
        ('load{a="(", b="c', "unterminated", 15),
    ],
)
def test_a_bad_expression_says_where_it_goes_wrong(expr: str, said: str, at: int) -> None:
    with pytest.raises(BadQuery, match=said) as error:
        evaluate(SeriesStore(), expr, 0, 0, 0)
    assert f"(at character {at})" in error.value.message
    assert error.value.remedy


def test_where_a_long_expression_goes_wrong_is_looked_for_in_a_bounded_number_of_tries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tries: list[int] = []
    parse = parser.parse
    monkeypatch.setattr(parser, "parse", lambda expr: tries.append(len(expr)) or parse(expr))
    with pytest.raises(BadQuery):
        evaluate(SeriesStore(), "a," * 1990, 0, 0, 0)
    assert len(tries) <= 301


@pytest.mark.parametrize(
    "expr",
    [
        "load[5m]",
        '"text"',
        "load[5m:1m]",
        "rate(load[24h:1s])",
        'count_values("x-y", load)',
        "mad_over_time(load[1m])",
        'load{a="1" or b="2"}',
        "load + fill(0) load",
        "limitk(2, load)",
        "-" * 3000 + "load",
        "(" * 1900 + "load" + ")" * 1900,
        "load" + "+load" * 700,
        "load" + "<=bool-load" * 300,
        "load" + " " * 5000,
        "load offset 300000y",
        "rate(load[9999999d])",
        "load offset 999999999y",
        "rate(load[999999999y])",
        "load @ 1e300",
        "load @ -1e18",
        "rate(load[1m] @ 9e18)",
        "sum(load @ -1)",
    ],
)
def test_unsupported_expressions_are_refused_with_a_remedy(expr: str) -> None:
    with pytest.raises(BadQuery) as error:
        evaluate(SeriesStore(), expr, 0, 0, 0)
    assert error.value.remedy


def test_answers_are_bounded() -> None:
    store = SeriesStore()
    counted(store, 2, 10)
    with pytest.raises(BadQuery, match="steps"):
        evaluate(store, "load", 0, MAX_STEPS * S, S)
    with pytest.raises(BadQuery, match="ends before"):
        evaluate(store, "load", 1, 0, S)
    result = evaluate(store, "load", 0, (MAX_STEPS - 1) * S, S)
    assert len(result.times_ns) == MAX_STEPS


def test_windows_are_copied_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    store, copies = SeriesStore(step_s=5), range_functions.Part.copies
    for second in range(0, 300, 5):
        store.append(second * S, [sample("load", second % 35, node=str(node)) for node in range(5)])
    calls = {
        name: f"{name}({before}load[1m]{after})"
        for name, before, after in (
            ("quantile_over_time", "0.5, ", ""),
            ("holt_winters", "", ", 0.5, 0.1"),
            ("predict_linear", "", ", time()"),
            *((name, "", "") for name in ("deriv", "stddev_over_time", "stdvar_over_time")),
        )
    }
    whole = {name: evaluate(store, expr, 0, 300 * S, 5 * S).series for name, expr in calls.items()}
    sizes: list[int] = []

    def measured(part: range_functions.Part) -> Any:
        found = copies(part)
        sizes.append(found[0].size)
        return found

    monkeypatch.setattr(range_functions.Part, "copies", measured)
    monkeypatch.setattr(range_functions, "_CHUNK", 50)
    for name, expr in calls.items():
        found = evaluate(store, expr, 0, 300 * S, 5 * S).series
        for (labels, values), (whole_labels, whole_values) in zip(found, whole[name], strict=True):
            assert labels == whole_labels
            assert values == pytest.approx(whole_values, nan_ok=True)
    assert 30 < max(sizes) <= 50
    assert evaluate(store, "rate((vector(1) > 2)[5m:1m])", 300 * S, 300 * S, 0).series == []


def test_values_are_counted_with_their_sign() -> None:
    zeros = 'vector(0) or label_replace(vector(-0.0), "a", "b", "", "")'
    found = evaluate(SeriesStore(step_s=5), f'count_values(("value"), {zeros})', 0, 0, 0).series
    assert found == [({"value": "-0"}, [1]), ({"value": "0"}, [1])]


def test_the_points_of_a_chart_are_computed_together() -> None:
    """A loop over points would take a minute for a thousand nodes; `benchmarks/promql.py` has the times."""
    store = SeriesStore()
    counted(store, 20, 600)

    def calls(seconds: int) -> int:
        number = 0

        def count(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal number
            number += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            evaluate(store, "rate(work_total[1m])", 0, seconds * S, 2 * S)
        finally:
            sys.setprofile(None)
        return number

    assert calls(600) < 1.5 * calls(60)


@pytest.mark.parametrize(
    ("expr", "unit"),
    [
        ("work_total", "bytes"),
        ("sum by (node) (rate(work_total[1m]))", "bytes/s"),
        ("topk(3, increase(work_total[1m])) > 5", "bytes"),
        ("100 * work_total / work_total", ""),
        ("count(work_total)", "count"),
        ("1 + max(work_total) or vector(0)", "bytes"),
        ("time() - timestamp(load)", "s"),
        ("load", ""),
    ],
)
def test_the_unit_comes_from_the_metrics(expr: str, unit: str) -> None:
    assert unit_of(expr, {"work_total": Family("work_total", "counter", "", "bytes")}) == unit


# Random expressions over random series. Among equal values topk keeps any: their sum is the same.

VALUES = st.one_of(
    st.lists(
        st.sampled_from(["0", "1", "2", "5", "7.5", "-3", "_", "stale", "100"]), min_size=1, max_size=30
    ).map(" ".join),
    st.tuples(st.integers(0, 50), st.integers(0, 9), st.integers(5, 30)).map(
        lambda x: f"{x[0]}+{x[1]}x{x[2]}"
    ),
)
SERIES = [f'{name}{{a="{a}",b="{b}"}}' for name in ("x", "y") for a in "12" for b in "12"]
SERIES += [f'h_bucket{{a="{a}",le="{le}"}}' for a in "12" for le in ("1", "5", "+Inf")]
DURATIONS = st.sampled_from(["5s", "12s", "30s", "1m", "2m"])
LABELS = st.sampled_from(["a", "b", "a, b", "", "le"])
SELECTORS = st.builds(
    "{}{{{}}}{}".format,
    st.sampled_from(["x", "x", "y", "y", "h_bucket", "h_bucket", "nothing"]),
    st.sampled_from(["", 'a="1"', 'a=~"1|2",b!="2"', 'b!~"[^1]"', 'c=""', 'a="3"']),
    st.sampled_from(["", "", "", " offset 20s", " offset -10s", " @ 60", " @ end()"]),
)
NUMBERS = st.sampled_from(["0", "1", "2.5", "-1", "0.5", "Inf", "3"])
OVER = st.sampled_from(
    """rate increase irate delta idelta deriv avg_over_time min_over_time max_over_time sum_over_time count_over_time
    last_over_time stddev_over_time stdvar_over_time changes resets absent_over_time present_over_time""".split()  # noqa: SIM905
)


@st.composite
def of_range(draw: st.DrawFn) -> str:
    selector, duration = draw(SELECTORS), draw(DURATIONS)
    end = selector.index("}") + 1
    samples = f"{selector[:end]}[{duration}]{selector[end:]}"
    if draw(st.integers(0, 5)) == 0:
        return f"quantile_over_time({draw(NUMBERS)}, {samples})"
    return f"{draw(OVER)}({samples})"


def wrapped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    grouping = st.builds("{} ({}) ".format, st.sampled_from(["by", "without"]), LABELS)
    some = st.one_of(st.just(""), grouping)
    matching = st.one_of(
        st.just(""),
        st.builds("{}({})".format, st.sampled_from(["on", "ignoring"]), LABELS),
        st.builds(
            "{}({}) {}({})".format,
            st.sampled_from(["on", "ignoring"]),
            st.sampled_from(["a", "b"]),
            st.sampled_from(["group_left", "group_right"]),
            st.sampled_from(["", "c"]),
        ),
    )
    functions = ["abs", "ceil", "floor", "round", "sgn", "sort", "absent", "-", "timestamp"]
    aggregations = ["sum", "avg", "min", "max", "count", "group"]
    return st.one_of(
        # Finite values only: versions of Prometheus differ in the deviation of infinite ones.
        st.builds("{} {}({})".format, st.sampled_from(["stddev", "stdvar"]), some, SELECTORS),
        st.builds("{} {}({})".format, st.sampled_from(aggregations), some, inner),
        st.builds("sum({} {}({}, {}))".format, st.sampled_from(["topk", "bottomk"]), some, st.sampled_from("0129"), inner),
        st.builds("quantile {}({}, {})".format, some, NUMBERS, inner),
        st.builds("{}({})".format, st.sampled_from(functions), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["clamp_min", "clamp_max", "round"]), inner, NUMBERS),
        st.builds("histogram_quantile({}, {})".format, NUMBERS, inner),
        st.builds("vector(scalar({})) + {}".format, inner, inner),
        st.builds('label_replace({}, "{}", "$1", "a", "(.)")'.format, inner, st.sampled_from("bc")),
        st.builds("({}) {} {} ({})".format, inner, st.sampled_from("+-*/%^"), matching, inner),
        st.builds(
            "({}) {} {} ({})".format, inner, st.sampled_from(["==", "!=", ">", "<", ">=", "<=", "> bool"]), matching, inner
        ),
        st.builds("{} {} ({})".format, NUMBERS, st.sampled_from([*"+-*/%^", ">", "<= bool"]), inner),
        st.builds(
            "({}) {} {} ({})".format,
            inner,
            st.sampled_from(["and", "or", "unless"]),
            st.one_of(st.just(""), st.builds("{}({})".format, st.sampled_from(["on", "ignoring"]), LABELS)),
            inner,
        ),
    )  # fmt: skip


EXPRESSIONS = st.recursive(st.one_of(SELECTORS, of_range()), wrapped, max_leaves=4)
GROUPS = st.builds(
    lambda values, exprs, starts: Group(
        "5s",
        [Line(series, line) for series, line in zip(SERIES, values, strict=True)],
        [Case(expr, at + i * 13.5, None) for expr, at in zip(exprs, starts, strict=True) for i in range(4)],
    ),
    st.lists(VALUES, min_size=len(SERIES), max_size=len(SERIES)),
    st.lists(EXPRESSIONS, min_size=12, max_size=12),
    st.lists(st.integers(0, 120), min_size=12, max_size=12),
)


@settings(
    max_examples=settings().max_examples // 4,  # each runs promtool
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(group=GROUPS)
def test_random_expressions_return_the_same_as_prometheus(
    tmp_path_factory: pytest.TempPathFactory, group: Group
) -> None:
    """Each at four times: evaluated one by one, and as one range."""
    (said,) = prometheus_answers([group], tmp_path_factory.mktemp("oracle"))
    store = loaded(group)
    for first in range(0, len(group.cases), 4):
        four = group.cases[first : first + 4]
        for case, wanted in zip(four, said[first : first + 4], strict=True):
            ours = answer(our_result(store, case))
            assert are_equal(ours, wanted), (case, ours, wanted)
        start_ns = int(four[0].at_s * S)
        if None in said[first : first + 4] or "end()" in four[0].expr:
            continue
        result = evaluate(store, four[0].expr, start_ns, start_ns + 41 * S, int(13.5 * S))
        for step, wanted in enumerate(said[first : first + 4]):
            assert are_equal(answer(result, step), wanted), (four[step], answer(result, step), wanted)
