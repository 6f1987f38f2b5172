"""Prometheus' API of a session: forms, times, limits, labels, metadata, and who may read it."""

from __future__ import annotations

import http.client
import json
import threading
import time
from typing import Any

import httpx
import pytest
from tests.measured_session import BEGIN_S, END_S, NODES, Metered
from tests.waiting import TIMEOUT_S

from rayscope.metrics.prometheus import api, results
from rayscope.metrics.promql.select import Context
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.interruption import Abandoned

CPUS = {"query": "cpus", "time": END_S}
RANGE = {"query": "cpus", "start": BEGIN_S, "end": END_S, "step": "15s"}


def test_values_have_the_labels_that_rays_prometheus_adds(metered: Metered) -> None:
    found = metered.data("query", query='cpus{node_id="node1"}', time=END_S)
    assert found == {
        "resultType": "vector",
        "result": [
            {
                "metric": {
                    "__name__": "cpus",
                    "SessionName": metered.session,
                    "instance": "10.0.0.2",
                    "job": "ray",
                    "node_id": "node1",
                    "node_ip": "10.0.0.2",
                },
                "value": [END_S, "8"],
            }
        ],
    }


def test_a_form_answers_like_a_query(metered: Metered) -> None:
    url = f"{metered.url}/api/v1/query_range"
    by_query = httpx.get(url, params=RANGE)
    by_form = httpx.post(url, data=RANGE)
    both = httpx.post(url, params={**RANGE, "query": "nothing", "extra": "1"}, data={"query": "cpus"})
    assert by_query.json() == by_form.json() == both.json()
    assert len(by_query.json()["data"]["result"]) == 3
    no_form = httpx.post(url, params=RANGE, content="query=nothing", headers={"content-type": "text/plain"})
    assert no_form.json() == by_query.json()
    refused = httpx.post(
        url, content="a=1&" * 1001, headers={"content-type": "application/x-www-form-urlencoded"}
    )
    assert (refused.status_code, refused.json()["errorType"]) == (400, "bad_data")
    form = {"content-type": "Application/X-WWW-Form-Urlencoded; charset=UTF-8"}
    assert httpx.post(url, params=RANGE, content="query=nothing", headers=form).json()["data"]["result"] == []
    large = httpx.post(url, data={"query": "x" * (2 << 20)})
    assert large.status_code == 413


def test_without_a_time_the_value_is_that_of_now(metered: Metered) -> None:
    assert metered.data("query", query="cpus")["result"] == []  # the session ended long ago
    at, text = metered.data("query", query="time()")["result"]
    assert float(text) == at > END_S - 10**9


def test_a_limit_keeps_the_first_and_says_so(metered: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, params in (("query", CPUS), ("query_range", RANGE), ("query", {**CPUS, "query": "cpus[1m]"})):
        whole = metered.data(path, **params)["result"]
        body = metered.get(path, **params, limit=2).json()
        assert body["data"]["result"] == whole[:2]
        assert body["warnings"] == ["results truncated due to limit"]
        assert "warnings" not in metered.get(path, **params, limit=3).json()
        assert metered.data(path, **params, limit=0)["result"] == whole
    with monkeypatch.context() as patch:
        patch.setattr(results, "MAX_BYTES", 12_000)  # one series of three fits
        metered.data("query", **{**CPUS, "query": "cpus[2h]"}, limit=1)
        assert metered.error("query", 422, **{**CPUS, "query": "cpus[2h]"}).startswith("execution")
    for path in ("series", "labels", "label/node_id/values"):
        body = metered.get(path, limit=1, **{"match[]": "cpus"}).json()
        assert (len(body["data"]), body["warnings"]) == (1, ["results truncated due to limit"])
    for limit in ("-1", "many", "1.5", "9" * 20):
        assert metered.error("labels", 400, limit=limit).startswith("bad_data")


def test_times_are_cut_to_milliseconds_and_a_step_of_zero_is_refused(metered: Metered) -> None:
    at, _ = metered.data("query", query="1", time="2026-01-01T00:00:00.9999Z")["result"]
    assert at == 1767225600.999
    assert "zero or negative" in metered.error("query_range", 400, **{**RANGE, "step": "0s"})
    for number in (" 5", "\N{ARABIC-INDIC DIGIT FIVE}"):
        assert metered.error("query", 400, query="1", time=number).startswith("bad_data")
        assert metered.error("query", 400, **CPUS, limit=number).startswith("bad_data")


def test_the_templates_of_rays_dashboards(metered: Metered) -> None:
    def values(label: str, match: str) -> Any:
        return metered.data(f"label/{label}/values", start=BEGIN_S, end=END_S, **{"match[]": match})

    assert values("SessionName", "cpus{}") == [metered.session]
    assert values("instance", f'cpus{{SessionName=~"{metered.session}"}}') == list(NODES)
    assert values("instance", 'cpus{SessionName="another"}') == []
    assert values("ray_io_cluster", "cpus") == []
    found = metered.data("query", query="count by (SessionName) (last_over_time(cpus[1h]))", time=END_S)
    assert found["result"][0]["metric"] == {"SessionName": metered.session}


def test_selectors_are_bounded_and_read_together(metered: Metered) -> None:
    def labels(number: int, method: str) -> httpx.Response:
        selectors = [f'cpus{{node_id="node{at % 3}"}}' for at in range(number)]
        return httpx.request(method, f"{metered.url}/api/v1/series", params={"match[]": selectors})

    for method in ("GET", "POST"):
        assert labels(100, method).json()["data"] == metered.data("series", **{"match[]": "cpus"})
        assert (labels(101, method).status_code, labels(101, method).json()["errorType"]) == (400, "bad_data")


def test_series_end_with_the_range(metered: Metered) -> None:
    def there(**span: float) -> bool:
        return bool(metered.data("series", **span, **{"match[]": "intermittent"}))

    assert there()
    assert there(start=BEGIN_S, end=BEGIN_S + 60)
    assert not there(start=BEGIN_S + 240, end=BEGIN_S + 540)
    assert not there(start=END_S + 60)


def test_metadata_has_one_entry_for_a_histogram(metered: Metered) -> None:
    found = metered.data("metadata")
    assert found["latency"] == [{"type": "histogram", "help": "Latency of requests.", "unit": "s"}]
    assert not [name for name in found if name.startswith("latency_")]
    assert found["cpu_seconds_total"][0]["type"] == "counter"
    assert metered.data("metadata", metric="cpus").keys() == {"cpus"}
    assert len(metered.data("metadata", limit=2)) == 2


def test_what_else_grafana_asks(metered: Metered) -> None:
    assert metered.data("status/buildinfo")["version"] == "2.42.0"
    assert metered.data("query_exemplars", query="cpus", start=BEGIN_S, end=END_S) == []
    assert metered.data("format_query", query="sum(cpus)by(node_id)") == "sum by (node_id) (cpus)"
    assert metered.error("format_query", 400, query="sum(").startswith("bad_data")
    assert metered.data("query", query="1+1", time=END_S) == {"resultType": "scalar", "result": [END_S, "2"]}


def test_unknown_sessions_and_paths_are_errors(metered: Metered) -> None:
    answer = httpx.get(f"{metered.running.server.url}/prometheus/no_such/api/v1/query", params=CPUS)
    assert (answer.status_code, answer.json()["errorType"]) == (404, "not_found")
    for path in ("nothing", "admin/tsdb/delete_series"):
        for method in ("GET", "POST"):
            unknown = httpx.request(method, f"{metered.url}/api/v1/{path}")
            assert unknown.status_code == 404
            assert unknown.json()["error"]["code"] == "not_found"
    assert httpx.request("DELETE", f"{metered.url}/api/v1/series").status_code == 405


def test_an_answer_is_whole_or_an_error(metered: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(results, "MAX_BYTES", 5000)
        assert metered.error("query_range", 422, **RANGE).startswith("execution: The answer would be larger")
        assert metered.error("series", 422, **{"match[]": '{__name__=~".+"}'}).startswith("execution")
    with monkeypatch.context() as patch:
        patch.setattr("rayscope.metrics.promql.select.MAX_SERIES", 2)
        assert "1 series more" in metered.error("query", 422, **CPUS)
    huge = {"query": "memory_bytes", "start": 0, "end": 11_000, "step": 1}
    with monkeypatch.context() as patch:
        patch.setattr("rayscope.metrics.promql.values.MAX_CELLS", 1000)
        on_one_node = {**RANGE, "query": 'cpus{instance="10.0.0.2"}'}
        assert len(metered.data("query_range", **on_one_node)["result"]) == 1
        assert metered.error("query_range", 422, **{**RANGE, "query": "memory_bytes"}).startswith("execution")
    assert metered.data("query_range", **huge)["result"] == []


def test_a_query_ends_at_its_time_limit(metered: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = {"match[]": "nothing"}
    for path, params in (("query", CPUS), ("query_range", RANGE), ("labels", {}), ("labels", nothing)):
        for timeout in ("0", "0s"):
            text = metered.error(path, 503, **params, timeout=timeout)
            assert text == "timeout: query timed out in expression evaluation"
    monkeypatch.setattr(api, "_TIME_LIMIT_S", 0)
    assert metered.error("query", 503, **CPUS, timeout="1h").startswith("timeout")


def test_too_many_queries_at_once_are_told_to_wait(metered: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "_SLOTS", api.Slots(1, "Too many metric queries are running."))
    running, leave = threading.Event(), threading.Event()
    compute = api.compute

    def slow(*args: Any) -> Any:
        running.set()
        assert leave.wait(TIMEOUT_S)
        return compute(*args)

    monkeypatch.setattr(api, "compute", slow)
    first = threading.Thread(target=metered.data, args=("query",), kwargs=CPUS)
    first.start()
    assert running.wait(TIMEOUT_S)
    answer = metered.get("query", **CPUS)
    leave.set()
    first.join()
    assert (answer.status_code, answer.json()["errorType"]) == (503, "unavailable")
    assert answer.headers["retry-after"] == "2"


@pytest.mark.parametrize("content_type", ["application/x-www-form-urlencoded", "text/plain"])
def test_a_query_ends_when_its_client_is_gone(
    metered: Metered, monkeypatch: pytest.MonkeyPatch, content_type: str
) -> None:
    running, gone = threading.Event(), threading.Event()

    def endless(_tree: Any, context: Context) -> Any:
        running.set()
        try:
            while True:
                context.check()
                time.sleep(0.01)
        except Abandoned:
            gone.set()
            raise

    monkeypatch.setattr(api, "_TIME_LIMIT_S", float("inf"))
    monkeypatch.setattr(api, "compute", endless)
    url = httpx.URL(f"{metered.url}/api/v1/query", params=CPUS)
    connection = http.client.HTTPConnection(url.host, url.port)
    connection.request("POST", url.raw_path.decode(), "extra=1", {"Content-Type": content_type})
    assert running.wait(TIMEOUT_S)
    connection.close()
    assert gone.wait(TIMEOUT_S)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_pages_of_other_sites_cannot_ask(metered: Metered, method: str) -> None:
    url = f"{metered.url}/api/v1/query"
    for headers in (
        {"Origin": "http://elsewhere.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Host": "elsewhere.example"},
    ):
        answer = httpx.request(method, url, params=CPUS, headers=headers)
        assert answer.status_code == 403
        assert answer.json()["error"]["code"] in ("bad_origin", "bad_host")
    own = httpx.request(method, url, params=CPUS, headers={"Origin": metered.running.server.url})
    assert own.status_code == 200


def test_the_token_is_needed_below_a_root_path_too(metered: Metered) -> None:
    server = Server(
        Settings(data_dir=metered.running.folder / "other", port=0, token="secret", root_path="/tools")
    )
    server.start()
    try:
        for base in (server.url, server.url.removesuffix("/tools")):
            url = f"{base}/prometheus/{metered.session}/api/v1/status/buildinfo"
            assert httpx.get(url).status_code == 401
            assert httpx.post(url.replace("status/buildinfo", "query"), data=CPUS).status_code == 401
            assert httpx.get(url, headers={"Authorization": "Bearer wrong"}).status_code == 401
            reader = {"Authorization": "Bearer secret"}
            assert httpx.get(url, headers=reader).json()["data"]["version"] == "2.42.0"
            unknown = httpx.post(url.replace("status/buildinfo", "query"), data=CPUS, headers=reader)
            assert (unknown.status_code, unknown.json()["errorType"]) == (404, "not_found")
    finally:
        server.stop()


def test_numbers_are_json_strings_as_prometheus_writes_them(metered: Metered) -> None:
    texts = {
        "1e21": "1e+21", "-1e-7": "-1e-07", "123456789012345678": "123456789012345680", "-0.0": "-0",
        "1e16": "10000000000000000", "0.00001": "0.00001", "Inf": "+Inf", "-Inf": "-Inf", "NaN": "NaN", "1/3": "0.3333333333333333",
    }  # fmt: skip
    for expr, text in texts.items():
        answer = metered.get("query", query=expr, time=f"{END_S}.25")
        assert answer.json()["data"]["result"] == [END_S + 0.25, text]
        assert json.dumps(text) in answer.text
