"""A data directory that commit 361e277f wrote opens unchanged: records, logs, metrics, dashboards, rules and channels."""

from __future__ import annotations

import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.running import Running, start

SAMPLE = Path(__file__).parent / "samples" / "data-361e277f.tar.xz"

pytestmark = pytest.mark.skipif(
    sys.version_info < (3, 11), reason="DuckDB 1.x, for Python 3.10, cannot read files of 2.0"
)


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("old")
    with tarfile.open(SAMPLE) as archive:
        archive.extractall(folder, filter="data")
    yield from start(folder, [])


def test_the_record(old: Running) -> None:
    (session,) = old.get("/api/v1/sessions")["items"]
    assert (session["name"], session["tags"], session["state"]) == ("first run", ["kept"], "ended")
    assert (session["script"], session["error"]) == ("program.py", None)
    functions = {row["func_name"]: row["attempts"] for row in old.get("/api/v1/functions")["items"]}
    assert functions == {"load": 10, "Counter.add": 10, "Counter.__init__": 1, "fail": 1}
    (failure,) = old.get("/api/v1/failures")["items"]
    assert (failure["message"], failure["line"]) == ("ValueError: no such file: a.csv", 16)
    (actor,) = old.get("/api/v1/actors")["items"]
    assert (actor["name"], actor["state"]) == ("counter", "DEAD")
    assert old.get("/api/v1/flow/gantt", by="worker")["bars"]
    assert old.get("/api/v1/flow/critical-path")["links"]
    insights = old.get("/api/v1/insights")
    assert sum(cause["share"] for cause in insights["causes"]) == pytest.approx(1)
    sql = old.client.post(
        "/api/v1/sql", json={"sql": "SELECT count(*) FROM attempts WHERE state = 'FINISHED'"}
    )
    assert sql.json()["rows"] == [[22]]


def test_logs_and_metrics(old: Running) -> None:
    lines = old.get("/api/v1/logs/search", q="no such file")["items"]
    assert any("ValueError" in line["text"] for line in lines)
    session = old.get("/api/v1/sessions")["items"][0]
    (series,) = old.get(
        "/api/v1/metrics/query",
        expr="ray_node_cpu_utilization",
        since_ns=session["first_ns"],
        until_ns=session["last_ns"],
    )["series"]
    assert any(value is not None for value in series["values"])


def test_dashboards_rules_channels_and_silences(old: Running) -> None:
    dashboard = old.get("/api/v1/dashboards/mine")
    assert [chart["title"] for chart in dashboard["charts"]] == ["CPU", "Two"]
    assert dashboard["charts"][1]["queries"][0]["legend"] == "{{state}}"
    answer = old.get("/api/v1/alerts/rules")
    rule = next(item for item in answer["items"] if item["name"] == "QueueLong")
    assert (rule["enabled"], answer["problems"]) == (True, [])
    (channel,) = old.get("/api/v1/alerts/channels")["items"]
    assert (channel["name"], channel["type"]) == ("team", "apprise")
    (silence,) = old.get("/api/v1/alerts/silences")["items"]
    assert (silence["matchers"][0]["value"], silence["state"]) == ("QueueLong", "active")
