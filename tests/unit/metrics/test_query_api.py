"""PromQL over HTTP, long ranges from a real Prometheus, the list of charts, and dashboards of users."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import free_port
from tests.measured_session import ended_session
from tests.prometheus_server import serving
from tests.running import Running
from tests.waiting import TIMEOUT_S

from rayscope.api.write_access import HEADER
from rayscope.model.metric import Family, Sample, sample
from rayscope.settings import operator_token

S = 10**9
#: The record's last sign of life; a multiple of a minute.
END_S = 1_790_000_040
HOURS = 3


def samples(second: int) -> list[Sample]:
    made = [sample("work_total", 3 * second + node, node=str(node)) for node in range(30)]
    return [*made, sample("load", second % 600, node="0")]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """An ended session with three hours of metrics, of which one is long; and a Prometheus not yet there."""
    url = f"http://127.0.0.1:{free_port()}"
    folder = tmp_path_factory.mktemp("queried")
    with ended_session(folder, metrics_full_h=2, prometheus_url=url) as (running, session, store):
        assert running.server.services is not None
        running.server.services.catalog.about(session).last_ns = END_S * S
        family = Family("work_total", "counter", "", "bytes")
        for second in range(0, HOURS * 3600 + 1, 15):
            at_ns = (END_S - HOURS * 3600 + second) * S
            store.append(at_ns, samples(second), families=[family])
        store.close()
        yield running


def query(measured: Running, expr: str, **params: Any) -> Any:
    return measured.get("/api/v1/metrics/query", expr=expr, **params)


def test_the_last_hour_in_some_300_points(measured: Running) -> None:
    found = query(measured, "sum(rate(work_total[1m]))")
    assert (found["source"], found["unit"], found["left_out"]) == ("record", "bytes/s", 0)
    assert found["until_ns"] == END_S * S
    assert found["until_ns"] - found["since_ns"] == 3600 * S
    assert (
        len(found["times_ms"])
        == found["until_ns"] // found["step_ns"] - found["since_ns"] // found["step_ns"] + 1
    )
    assert found["times_ms"][0] == found["since_ns"] // 1_000_000
    assert 200 < len(found["times_ms"]) <= 400
    (series,) = found["series"]
    assert series["labels"] == {}
    assert series["values"] == pytest.approx([90.0] * len(found["times_ms"]))


def test_the_greatest_series_are_kept_and_the_others_counted(measured: Running) -> None:
    found = query(measured, "work_total", limit=2)
    assert [series["labels"]["node"] for series in found["series"]] == ["28", "29"]
    assert found["left_out"] == 28


def test_times_are_multiples_of_the_step_but_for_one_alone(measured: Running) -> None:
    start, end = (END_S - 1000) * S + 7, END_S * S
    found = query(measured, "load", since_ns=start, until_ns=end, step_ns=20 * S)
    assert {time % 20_000 for time in found["times_ms"]} == {0}
    one = query(measured, "load", since_ns=start, until_ns=start)
    assert (one["since_ns"], one["times_ms"]) == (start, [start // 1_000_000])
    before = query(measured, "load", since_ns=0, until_ns=1000 * S)
    assert before["series"] == []


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"expr": "sum(load) by"}, "at character 11"),
        ({"expr": "load[5m]"}, "not a value"),
        ({"expr": "load", "since_ns": END_S * S, "until_ns": 5}, "after"),
        ({"expr": "load", "since_ns": 0, "until_ns": END_S * S, "step_ns": S}, "2000 points"),
        ({"expr": 'load{node=~"("}'}, "illegal regex"),
        ({"expr": "load", "session": "no_such"}, ""),
    ],
)
def test_queries_without_an_answer_have_a_remedy(
    measured: Running, params: dict[str, Any], said: str
) -> None:
    answer = measured.client.get("/api/v1/metrics/query", params=params)
    error = measured.error(answer, 404 if params.get("session") else 400)
    assert said in error["message"]


def openmetrics() -> str:
    """The recorded series in the format that Prometheus reads."""
    lines = ["# TYPE work counter", "# TYPE load gauge"]
    by_name: dict[str, list[str]] = {"work_total": [], "load": []}
    for second in range(0, HOURS * 3600 + 1, 15):
        for name, labels, value in samples(second):
            text = ",".join(f'{label}="{text}"' for label, text in labels)
            by_name[name].append(f"{name}{{{text}}} {value} {END_S - HOURS * 3600 + second}")
    return "\n".join([lines[0], *by_name["work_total"], lines[1], *by_name["load"], "# EOF\n"])


@pytest.fixture
def prometheus(measured: Running, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Prometheus where the settings say that one is, with the same samples."""
    url = measured.server.settings.prometheus_url
    assert url is not None
    with serving(tmp_path, url, openmetrics()) as process:
        yield process


LONG = {"since_ns": (END_S - HOURS * 3600) * S, "until_ns": END_S * S, "step_ns": 60 * S}


def test_long_ranges_come_from_the_prometheus_of_the_settings(
    measured: Running, prometheus: subprocess.Popen[bytes]
) -> None:
    exprs = ("sum by (node) (rate(work_total[5m]))", "max_over_time(load[10m])", "load / 2", "1 > bool 2")
    theirs = [query(measured, expr, **LONG, limit=50) for expr in exprs]
    assert {found["source"] for found in theirs} == {"prometheus"}
    short = query(measured, "load", since_ns=(END_S - 3600) * S, until_ns=END_S * S)
    assert short["source"] == "record"

    wrong = {"expr": "load + on() group_left work_total", **LONG}
    error = measured.error(measured.client.get("/api/v1/metrics/query", params=wrong), 400)
    assert "many-to-many" in error["remedy"]

    prometheus.terminate()
    prometheus.wait(TIMEOUT_S)
    ours = [query(measured, expr, **LONG, limit=50) for expr in exprs]
    for here, there in zip(ours, theirs, strict=True):
        assert here["source"] == "record"
        assert "not reachable" in here["warnings"][0]["message"]
        assert here["times_ms"] == there["times_ms"]
        of_theirs = {
            json.dumps(series["labels"], sort_keys=True): series["values"] for series in there["series"]
        }
        of_ours = {
            json.dumps(series["labels"], sort_keys=True): series["values"] for series in here["series"]
        }
        assert of_ours.keys() == of_theirs.keys()
        for labels, values in of_ours.items():
            assert values == pytest.approx(of_theirs[labels]), (here["expr"], labels)


def test_charts_are_listed(measured: Running) -> None:
    pages = measured.get("/api/v1/metrics/charts")["pages"]
    assert [page["name"] for page in pages] == ["cluster", "node", "job", "rayscope"]
    node = pages[1]
    assert node["variables"] == [
        {"name": "node_id", "label": "node_id", "metric": "ray_node_cpu_utilization"}
    ]
    cpus = {"expr": 'sum(ray_resources{Name="CPU",node_id="$node_id"})', "legend": "total", "bold": False}
    assert cpus in node["charts"][0]["queries"]


BOARD = {"title": "Mine", "charts": [{"title": "Load", "expr": "sum(load)", "unit": "count", "width": 2}]}


def test_the_operator_makes_dashboards_and_everyone_reads_them(fresh: Running) -> None:
    operator = {HEADER: operator_token(fresh.folder)}
    path = "/api/v1/dashboards/my-board"
    assert fresh.get("/api/v1/dashboards") == {"items": [], "unreadable": []}
    assert fresh.error(fresh.client.put(path, json=BOARD), 403)["code"] == "needs_operator"
    made = fresh.client.put(path, json=BOARD, headers=operator)
    kept = {
        "name": "my-board",
        "title": "Mine",
        "charts": [
            {
                "title": "Load",
                "queries": [{"expr": "sum(load)", "legend": None, "bold": False}],
                "unit": "count",
                "width": 2,
                "stacked": False,
            }
        ],
    }
    assert made.json() == fresh.get(path) == kept
    file = fresh.folder / "dashboards/my-board.json"
    assert json.loads(file.read_text())["title"] == "Mine"
    in_short = {
        "name": "my-board",
        "title": "Mine",
        "charts_total": 1,
        "changed_ns": file.stat().st_mtime_ns,
    }
    assert fresh.get("/api/v1/dashboards") == {"items": [in_short], "unreadable": []}
    for damaged in (b"{", b'{"title": "\xff"}', b'{"charts": ' + b"[" * 5000):
        (fresh.folder / "dashboards/broken.json").write_bytes(damaged)
        assert fresh.get("/api/v1/dashboards") == {"items": [in_short], "unreadable": ["broken.json"]}
    assert fresh.error(fresh.client.delete(path), 403)["code"] == "needs_operator"
    assert fresh.client.delete(path, headers=operator).status_code == 204
    fresh.error(fresh.client.delete(path, headers=operator), 404)
    fresh.error(fresh.client.get(path), 404)


def test_invalid_dashboards_are_refused(fresh: Running) -> None:
    operator = {HEADER: operator_token(fresh.folder)}

    def put(name: str, body: Any) -> httpx.Response:
        return fresh.client.put(f"/api/v1/dashboards/{name}", json=body, headers=operator)

    for name in ("UPPER", "-x", "a" * 65, "a.b", "a_b", "..%2Fkey", "%2e%2e%2fx"):
        assert put(name, BOARD).status_code in (404, 405, 422), name
    wrong = {"title": "x", "charts": [{"title": "Bad", "expr": "sum(load"}]}
    assert "In the chart 'Bad'" in fresh.error(put("x", wrong), 400)["message"]
    unsupported = {"title": "x", "charts": [{"title": "Bad", "queries": [{"expr": "mad_over_time(x[1m])"}]}]}
    assert "mad_over_time" in fresh.error(put("x", unsupported), 400)["message"]
    assert (
        "no expression" in fresh.error(put("x", {"title": "x", "charts": [{"title": "y"}]}), 400)["message"]
    )
    number = {"title": "x", "charts": [{"title": "y", "expr": "load", "stacked": 0}]}
    assert put("x", number).status_code == 422
    large = {"title": "x", "charts": [{"title": "y" * 200, "queries": [{"expr": "x" * 3000}] * 20}] * 6}
    assert "bytes" in fresh.error(put("x", large), 400)["message"]
    assert not list((fresh.folder / "dashboards").glob("*"))
