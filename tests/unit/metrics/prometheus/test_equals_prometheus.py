"""Every kind of query has the same answer here and from a real Prometheus with the same samples."""

from __future__ import annotations

import itertools
import math
import subprocess
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.cluster import free_port
from tests.measured_session import BEGIN_S, END_S, Metered, openmetrics
from tests.prometheus_server import serving

INSTANTS = [END_S, END_S - 1234.567, BEGIN_S + 605, END_S + 300]
RANGES = [
    {"start": BEGIN_S, "end": END_S, "step": 60},
    {"start": BEGIN_S - 300.25, "end": BEGIN_S + 900, "step": "7s"},
    {"start": END_S - 600, "end": END_S - 600, "step": "1m30s"},
]
AGGREGATIONS = ("sum", "avg", "min", "max", "count", "group", "stddev", "stdvar")
GROUPINGS = ("", "by ()", "by (node_id)", "by (type, nothing)", "without ()", "without (node_id, job)")
OVER_TIME = ("sum", "avg", "min", "max", "count", "last", "present", "stddev", "stdvar", "absent")
ARITHMETIC = ("+", "-", "*", "/", "%", "^", "atan2")
COMPARISONS = ("==", "!=", "<", ">", "<=", ">=")
MATH = "abs ceil floor exp sqrt ln log2 log10 round sgn sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh deg rad"
DATES = "minute hour day_of_week day_of_month day_of_year days_in_month month year"
OF_COUNTER = ("rate", "increase", "irate", "resets", "changes", "delta", "idelta", "deriv")
LENGTHS = ("1s", "15s", "1m", "5m", "1h")


def expressions() -> Iterator[str]:
    yield from ("42", ".5", "1.23e-3", "0x1f", "Inf", "-Inf", "NaN", "-1 ^ 2", "2 ^ 3 ^ 2", "time()", "pi()")
    yield from ("vector(1.5)", "vector(time())", "scalar(cpus)", 'scalar(cpus{node_id="node0"}) + 1')
    yield from (
        "memory_bytes",
        '{__name__="memory_bytes"}',
        '{__name__=~"cpus|disk_.+", node_id!="node1"}',
        'memory_bytes{type!="free"}',
        'memory_bytes{type=~"f.*|cached"}',
        'memory_bytes{type!~"f.*", instance="10.0.0.2"}',
        'memory_bytes{SessionName=~".+"}',
        'memory_bytes{nothing=""}',
        "nothing",
        "extremes",
        "intermittent",
        "intermittent offset 1m",
        "intermittent offset -2m",
        f"cpus @ {END_S - 60}",
        "disk_bytes @ end()",
        "disk_bytes @ start() - disk_bytes",
    )
    for name, grouping in itertools.product(AGGREGATIONS, GROUPINGS):
        yield f"{name} {grouping} (memory_bytes)"
    for name in ("topk", "bottomk"):
        yield from (f"{name} {grouping} (2, memory_bytes)" for grouping in GROUPINGS)
    for quantile in ("-0.5", "0.1", "0.5", "1", "2", "NaN"):
        yield f"quantile by (type) ({quantile}, memory_bytes)"
        yield f"quantile_over_time({quantile}, memory_bytes[2m])"
        yield f"histogram_quantile({quantile}, rate(latency_bucket[5m]))"
        yield f"histogram_quantile({quantile}, sum by (le) (latency_bucket))"
    yield 'count_values("cores", cpus)'
    yield 'count_values by (node_id) ("n", latency_bucket)'
    for op in (*ARITHMETIC, *COMPARISONS):
        as_bool = f"{op} bool" if op in COMPARISONS else op
        yield f"1 {as_bool} 2"
        yield f"time() {as_bool} 1"
        yield f"memory_bytes {op} 1234567.5"
        yield f"0.125 {as_bool} disk_bytes"
        yield f"memory_bytes {as_bool} on (node_id) group_left cpus"
        yield f"cpus {op} on (node_id) group_right cpu_seconds_total"
        yield f"disk_bytes {op} ignoring (nothing) cpus"
    for op in ("and", "or", "unless"):
        yield f"memory_bytes {op} on (node_id) (cpus > 4)"
        yield f"cpus {op} disk_bytes"
    yield "sum without (job) (cpus) / on (node_id) group_left (job) cpus"
    yield from ("cpus * Inf", "cpus * NaN", "-cpus", "cpus + -(1)", "timestamp(-cpus)", "timestamp(cpus)")
    for name in MATH.split():
        yield f"{name}(cpus / 5)"
        yield f"{name}(-extremes)"
    for name in DATES.split():
        yield f"{name}()"
        yield f"{name}(last_success_seconds offset 1m)"
    for name, length in itertools.product(OVER_TIME, LENGTHS):
        yield f"{name}_over_time(memory_bytes[{length}])"
    for name, length in itertools.product(OF_COUNTER, LENGTHS):
        yield f"{name}(cpu_seconds_total[{length}])"
    yield from (f"rate(intermittent[{length}])" for length in LENGTHS)
    yield "predict_linear(disk_bytes[5m], 600)"
    yield "holt_winters(disk_bytes[5m], 0.3, 0.7)"
    yield from (
        "clamp(cpus, 5, 9)",
        "clamp(cpus, 9, 5)",
        "clamp_min(cpus, 5)",
        "clamp_max(cpus, 5)",
        "round(cpus, 3)",
    )
    yield from (
        "sort(memory_bytes)",
        "sort_desc(memory_bytes)",
        "absent(memory_bytes)",
        'absent(nothing{a="b"})',
    )
    yield r'label_replace(cpus, "to", "v-$1", "node_ip", "10.0.(.*)")'
    yield 'label_replace(cpus, "job", "", "nothing", "")'
    yield 'label_join(cpus, "new", "-", "node_id", "job", "nothing")'
    yield "max_over_time((time() - max(last_success_seconds) < 1000)[5m:10s] offset 5m)"
    yield "avg_over_time(rate(cpu_seconds_total[1m])[2m:10s])"
    yield "sum(rate(cpu_seconds_total[1m])) by (mode) # a comment"


WRONG = [
    "",
    "sum(",
    "memory_bytes{",
    'memory_bytes{type=~"("}',
    "unknown_function(cpus)",
    "rate(cpus)",
    "sum(1)",
    '"a" + 1',
    "cpus + on (job) disk_bytes",
    "memory_bytes / on (node_id) cpus",
    'label_replace(cpus, "x-y", "", "node_id", "")',
    'label_replace(memory_bytes, "type", "", "", "")',
    "holt_winters(cpus[1m], 0, 0.5)",
    "{}",
    '{a=""}',
    "cpus > bool on () group_left cpus",
]


@pytest.fixture(scope="module")
def prometheus(metered: Metered, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    url = f"http://127.0.0.1:{free_port()}"
    with serving(tmp_path_factory.mktemp("oracle"), url, openmetrics(metered.session)):
        yield url


def answers(metered: Metered, prometheus: str, path: str, **params: Any) -> tuple[Any, Any, int, int]:
    ours = httpx.post(f"{metered.url}/api/v1/{path}", data=params)
    theirs = httpx.post(f"{prometheus}/api/v1/{path}", data=params)
    return ours.json(), theirs.json(), ours.status_code, theirs.status_code


def difference(metered: Metered, prometheus: str, path: str, **params: Any) -> str:
    """The first difference between our good answer and Prometheus', or an empty string."""
    ours, theirs, status, right = answers(metered, prometheus, path, **params)
    if status != right or status != 200:
        return f"{ours} is not {theirs}"
    return differing(ours["data"], theirs["data"])


def series_of(data: Any) -> dict[tuple[tuple[str, str], ...], list[Any]]:
    return {
        tuple(sorted(series["metric"].items())): series.get("values") or [series["value"]]
        for series in data["result"]
    }


def differing(ours: Any, theirs: Any) -> str:
    """The first difference between two answers. Rounding and the order of series do not count."""
    if ours["resultType"] != theirs["resultType"]:
        return f"{ours['resultType']} is not {theirs['resultType']}"
    if ours["resultType"] in ("scalar", "string"):
        return "" if are_equal([ours["result"]], [theirs["result"]]) else f"{ours} is not {theirs}"
    mine, right = series_of(ours), series_of(theirs)
    if len(mine) != len(ours["result"]) or mine.keys() != right.keys():
        return f"{list(mine)} are not {list(right)}"
    return next((f"{labels}: {mine[labels]} are not {right[labels]}" for labels in mine
                 if not are_equal(mine[labels], right[labels])), "")  # fmt: skip


def are_equal(ours: list[Any], theirs: list[Any]) -> bool:
    return len(ours) == len(theirs) and all(
        mine[0] == right[0] and (mine[1] == right[1] or are_close(float(mine[1]), float(right[1])))
        for mine, right in zip(ours, theirs, strict=True)
    )


def are_close(ours: float, theirs: float) -> bool:
    return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)


def test_values_at_one_time_are_those_of_prometheus(metered: Metered, prometheus: str) -> None:
    wrong = []
    for expr, at in itertools.product([*expressions(), *RANGED, '"text"'], INSTANTS):
        if said := difference(metered, prometheus, "query", query=expr, time=at):
            wrong.append(f"{expr} at {at}: {said[:600]}")
    assert not wrong, (len(wrong), "\n".join(wrong[:20]))


RANGED = [
    "memory_bytes[1m]",
    "intermittent[10m]",
    "(cpus[31s] offset 1m)",
    "extremes[5m]",
    "rate(cpu_seconds_total[1m])[2m:30s]",
]


def test_values_over_time_are_those_of_prometheus(metered: Metered, prometheus: str) -> None:
    wrong = []
    for expr, steps in itertools.product(expressions(), RANGES):
        if said := difference(metered, prometheus, "query_range", query=expr, **steps):
            wrong.append(f"{expr} over {steps}: {said[:600]}")
    assert not wrong, (len(wrong), "\n".join(wrong[:20]))


def test_plain_values_have_the_same_text(metered: Metered, prometheus: str) -> None:
    for expr in ("extremes", "disk_bytes", "intermittent", "latency_bucket"):
        ours, theirs, *_ = answers(metered, prometheus, "query_range", query=expr, **RANGES[0])
        assert series_of(ours["data"]) == series_of(theirs["data"])
        assert [each["metric"] for each in ours["data"]["result"]] == [
            each["metric"] for each in theirs["data"]["result"]
        ]


@pytest.mark.parametrize("expr", WRONG)
def test_expressions_without_a_value_fail_alike(metered: Metered, prometheus: str, expr: str) -> None:
    ours, theirs, status, right = answers(metered, prometheus, "query", query=expr, time=END_S)
    assert (status, ours["errorType"]) == (right, theirs["errorType"]), (ours, theirs)
    assert ours["error"]


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("query", {"query": "cpus", "time": "yesterday"}),
        ("query", {"query": "cpus", "timeout": "soon"}),
        ("query_range", {"query": "cpus", "end": END_S, "step": 1}),
        ("query_range", {"query": "cpus", "start": END_S, "end": END_S - 1, "step": 1}),
        ("query_range", {"query": "cpus", "start": END_S, "end": END_S, "step": 0}),
        ("query_range", {"query": "cpus", "start": END_S, "end": END_S, "step": "-5"}),
        ("query_range", {"query": "cpus", "start": END_S, "end": END_S}),
        ("query_range", {"query": "cpus", "start": END_S, "end": END_S, "step": "1 m"}),
        ("query_range", {"query": "cpus", "start": 0, "end": 11_001, "step": 1}),
        ("query_range", {"query": "cpus[1m]", "start": 0, "end": 11_000, "step": 1}),
        ("query_range", {"query": '"text"', "start": 0, "end": 11_000, "step": 1}),
        ("series", {}),
        ("series", {"match[]": "sum(cpus)"}),
        ("series", {"match[]": "cpus[5m]"}),
        ("series", {"match[]": '{a=""}'}),
        ("series", {"match[]": "cpus", "start": "x"}),
        ("labels", {"match[]": "cpus{"}),
    ],
)
def test_bad_parameters_fail_alike(
    metered: Metered, prometheus: str, path: str, params: dict[str, Any]
) -> None:
    ours, theirs, status, right = answers(metered, prometheus, path, **params)
    assert (status, ours["errorType"]) == (right, theirs["errorType"]) == (400, "bad_data"), (ours, theirs)


@pytest.mark.parametrize(
    ("path", "params"),
    [
        ("query_range", {"query": "count(cpus)", "start": 0, "end": 11_000, "step": 1}),
        ("query", {"query": "cpus", "time": "2026-09-21T14:13:59.5+02:00"}),
        ("query", {"query": "cpus", "time": "2026-09-21T14:13:59.123456789Z"}),
        ("query", {"query": "cpus", "time": END_S, "timeout": "5s"}),
    ],
)
def test_times_and_durations_are_read_alike(
    metered: Metered, prometheus: str, path: str, params: dict[str, Any]
) -> None:
    ours, theirs, status, right = answers(metered, prometheus, path, **params)
    assert status == right == 200
    assert not differing(ours["data"], theirs["data"])


@pytest.mark.parametrize(
    "match", [None, "cpus", '{__name__=~"cpu.*"}', 'memory_bytes{type!="free"}', "nothing"]
)
def test_series_and_labels_are_those_of_prometheus(
    metered: Metered, prometheus: str, match: str | None
) -> None:
    params = {} if match is None else {"match[]": [match, "last_success_seconds"]}
    paths = [
        "labels",
        *(f"label/{name}/values" for name in ("__name__", "instance", "le", "job", "SessionName", "x")),
    ]
    times: list[dict[str, Any]] = [
        {},
        {"start": BEGIN_S, "end": END_S},
        {"start": f"{END_S}.5"},
        {"end": BEGIN_S - 3 * 3600},
    ]
    for path, span in itertools.product([*paths, *(["series"] if match else [])], times):
        url = f"/api/v1/{path}"
        ours = httpx.get(metered.url + url, params={**params, **span}).json()
        theirs = httpx.get(prometheus + url, params={**params, **span}).json()
        assert ours == theirs, (path, span)


def test_promtool_is_a_client(metered: Metered, prometheus: str) -> None:
    def said(url: str, *words: str) -> str:
        done = subprocess.run(["promtool", "query", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    at, span = f"--time={END_S}", [f"--start={BEGIN_S}", f"--end={END_S}", "--step=5m"]
    for url in (metered.url, prometheus):
        assert said(url, "instant", at, url, "sum by (node_id) (cpus)").count("=> ") == 3
    ours, theirs = (said(url, "range", *span, url, "cpus") for url in (metered.url, prometheus))
    assert ours == theirs
    ours, theirs = (
        said(url, "series", "--match=cpus", f"--start={BEGIN_S}", url) for url in (metered.url, prometheus)
    )
    assert ours == theirs
    ours, theirs = (
        said(url, "labels", f"--start={BEGIN_S}", url, "mode") for url in (metered.url, prometheus)
    )
    assert ours == theirs
