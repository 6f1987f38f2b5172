"""Metrics over HTTP: the latest, the names, ended sessions, our own text, behind the token."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.running import Running, start
from tests.story import Story
from tests.waiting import TIMEOUT_S, wait_until

import rayscope
from rayscope.metrics.collector import Cluster
from rayscope.metrics.service import Metrics
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model.metric import Family, Sample, sample
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.about import About
from rayscope.storage.catalog import Retention

S = 10**9


class Numbers:
    """A collector of the test's own."""

    interval_s = 0.0
    timeout_s = 5.0

    def collect(self, cluster: Cluster) -> Iterable[Sample | Family]:
        yield Family("some_number", "gauge", "A number.", "count")
        yield sample("some_number", 7, kind="a")
        yield sample("some_number", 8, kind="b")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterable[Running]:
    """A server that measures each second, with a session that has just sent events."""
    folder = tmp_path_factory.mktemp("measured")
    server = Server(Settings(data_dir=folder, port=0, metrics_interval_s=1, token="open sesame"))
    server.start()
    assert server.services is not None
    server.services.metrics.register("numbers", Numbers)
    with httpx.Client(base_url=server.url, headers={"Authorization": "Bearer open sesame"}) as client:
        running = Running(server, client, folder)
        story = Story()
        story.task("f", 0, 1, 2)
        story.task("f", 0, 1, 2, failed=True)
        story.task("g", 0, 1)
        running.record(story)
        server.services.catalog.about(story.batch.session).last_ns = 2**62  # it lives as long as the test
        wait_until(lambda: running.get("/api/v1/metrics", name="some_number")["total"] == 2, "samples")
        # One for each state: a record that was begun and has no attempt yet has none.
        wait_until(
            lambda: running.get("/api/v1/metrics", name="rayscope_task_attempts")["total"] == 3, "samples"
        )
        yield running
    server.stop()


def test_pages_list_every_series_once_our_own_first(measured: Running) -> None:
    whole = measured.get("/api/v1/metrics", limit=1000)
    names = [item["name"] for item in whole["items"]]
    assert names.index("some_number") > names.index("rayscope_task_attempts")
    paged, cursor = [], None
    while True:
        page = measured.get("/api/v1/metrics", limit=3, **({"cursor": cursor} if cursor else {}))
        paged += [(item["name"], item["labels"]) for item in page["items"]]
        cursor = page["next"]
        if cursor is None:
            break
    assert paged == [(item["name"], item["labels"]) for item in whole["items"]]
    measured.error(measured.client.get("/api/v1/metrics", params={"cursor": "bm9uZQ"}), 400)


def test_the_series_of_one_collector(measured: Running) -> None:
    found = measured.get("/api/v1/metrics", collector="numbers")
    assert [(item["name"], item["labels"]) for item in found["items"]] == [
        ("some_number", {"kind": "a"}),
        ("some_number", {"kind": "b"}),
    ]
    assert measured.get("/api/v1/metrics", collector="tasks", name="rayscope_task_attempts")["total"] == 3
    at = found["time_ns"]
    over_time = measured.get("/api/v1/metrics/query", collector="numbers", since_ns=at, until_ns=at)["series"]
    assert {(one["labels"]["__name__"], one["labels"]["kind"]) for one in over_time} == {
        ("some_number", "a"),
        ("some_number", "b"),
    }
    whole = measured.get("/api/v1/metrics/query", collector="rayscope", since_ns=at, until_ns=at)
    assert (whole["left_out"], whole["next"]) == (0, None)
    assert len(whole["series"]) > 7
    names = [one["labels"]["__name__"] for one in whole["series"]]
    assert names == sorted(names)
    paged: list[Any] = []
    with rayscope.Client(measured.server.url, "open sesame") as client:
        more = {"collector": "rayscope", "since": at, "until": at, "limit": 7}
        page = client.metrics(**more)
        while page["next"] is not None:
            paged += page["series"]
            assert page["left_out"] == len(names) - len(paged)
            page = client.metrics(**more, cursor=page["next"])
    assert paged + page["series"] == whole["series"]
    assert page["left_out"] == 0
    query = "/api/v1/metrics/query"
    measured.error(measured.client.get(query, params={"collector": "rayscope", "cursor": "bm9uZQ"}), 400)
    measured.error(measured.client.get(query, params={"expr": "some_number", "cursor": "bm9uZQ"}), 400)
    refused = measured.error(measured.client.get("/api/v1/metrics", params={"collector": "nobody"}), 400)
    assert "numbers" in refused["remedy"]
    measured.error(measured.client.get("/api/v1/metrics/query"), 400)


def test_the_latest_values_by_name_beginning_and_label(measured: Running) -> None:
    found = measured.get("/api/v1/metrics", name="some_number", label="kind=b")
    assert [(item["labels"], item["value"]) for item in found["items"]] == [({"kind": "b"}, 8)]
    assert found["items"][0]["time_ns"] == found["time_ns"]
    assert found["problem"] is None
    some = measured.get("/api/v1/metrics", limit=1)
    assert len(some["items"]) == 1 < some["total"]
    values = {
        (item["name"], *item["labels"].values()): item["value"]
        for item in measured.get("/api/v1/metrics", name="rayscope_*")["items"]
    }
    assert values["rayscope_task_attempts", "FAILED"] == 1
    assert values["rayscope_task_attempts_finished_total",] == 1
    assert values["rayscope_function_failed_total", "f"] == 1
    assert values["rayscope_function_finished_total", "g"] == 0
    measured.error(measured.client.get("/api/v1/metrics", params={"label": "kind"}), 400)


def test_collectors_without_a_cluster_say_so_and_the_others_continue(measured: Running) -> None:
    collectors = {each["name"]: each for each in measured.get("/api/v1/metrics")["collectors"]}
    assert collectors["numbers"]["ok"] is True
    assert collectors["tasks"]["ok"] is True
    assert collectors["rayscope"]["ok"] is True
    assert collectors["ray"]["ok"] is False
    assert "is not being read" in collectors["ray"]["error"]
    assert collectors["ray"]["remedy"]


def test_names_describe_what_is_measured(measured: Running) -> None:
    items = measured.get("/api/v1/metrics/names", q="some_num")["items"]
    assert items == [
        {
            "name": "some_number",
            "type": "gauge",
            "help": "A number.",
            "unit": "count",
            "series": 2,
            "labels": {"kind": 2},
        }
    ]
    assert measured.get("/api/v1/metrics/names")["total"] > 10
    kinds = measured.get("/api/v1/metrics/label-values", label="kind", name="some_number", limit=1)
    assert (len(kinds["items"]), kinds["total"]) == (1, 2)


def test_our_own_text_needs_the_token_and_is_prometheus(measured: Running) -> None:
    for path in ("/metrics", "/api/v1/metrics", "/api/v1/prometheus/sd"):
        measured.error(httpx.get(f"{measured.server.url}{path}"), 401)
    answer = measured.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }
    session = measured.get("/api/v1/metrics")["session"]
    assert values["rayscope_up",] == 1
    assert values["rayscope_session_live", session] == 1
    assert values["rayscope_session_task_attempts", session, "FAILED"] == 1
    assert values["rayscope_process_resident_bytes",] > 1e7
    assert measured.get("/api/v1/prometheus/sd") == []


ENDED = "session_long_ago"


@pytest.fixture
def ended(tmp_path: Path) -> Iterable[Running]:
    """A server on a folder with a session that ended long ago and has a sample."""
    folder = tmp_path / "sessions" / ENDED
    folder.mkdir(parents=True)
    (folder / "about.json").write_bytes(msgspec.json.encode(About(ENDED, first_ns=1, last_ns=1)))
    store = SeriesStore(folder / "metrics.duckdb")
    store.append(5 * S, [sample("m", 3, a="b")], source="one")
    store.close()
    yield from start(tmp_path, [])


def test_series_of_an_ended_session_are_read_from_its_file_and_go_with_it(ended: Running) -> None:
    services = ended.server.services
    assert services is not None
    found = ended.get("/api/v1/metrics", session=ENDED)
    assert [(item["name"], item["value"]) for item in found["items"]] == [("m", 3)]
    assert ended.get("/api/v1/metrics", session=ENDED, collector="one")["items"] == found["items"]
    assert found["collectors"] == []
    folder = services.catalog.path(ENDED).parent
    assert services.catalog.disk_bytes(ENDED) > (folder / "metrics.duckdb").stat().st_size
    # A round of the server's own may be reading it: then it goes the next time.
    dropped = wait_until(
        lambda: services.catalog.apply_retention(Retention(max_age_s=1), 10**18), "it is dropped"
    )
    assert dropped == [ENDED]
    assert not folder.exists()
    ended.error(ended.client.get("/api/v1/metrics", params={"session": ENDED}), 404)


def test_a_damaged_metrics_file_is_reported_and_the_record_is_still_read(ended: Running) -> None:
    services = ended.server.services
    assert services is not None
    folder = services.catalog.path(ENDED).parent
    (folder / "metrics.duckdb").write_bytes(b"nonsense" * 5000)
    error = ended.error(ended.client.get("/api/v1/metrics", params={"session": ENDED}), 503)
    assert error["code"] == "corrupt"
    assert ended.get("/api/v1/tasks", session=ENDED)["total"] == 0
    services.catalog.about(ENDED).last_ns = 2**62  # its cluster has metrics again
    assert "damaged" in ended.get("/api/v1/metrics", session=ENDED)["note"]["message"]
    assert list(folder.glob("metrics.damaged-*"))


def test_settings_bound_what_is_kept(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="metrics_interval_s"):
        Settings(data_dir=tmp_path, metrics_interval_s=0.1)


def test_a_file_that_opens_slowly_holds_up_no_other_session(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing: Any = None
    catalog: Any = SimpleNamespace(about=lambda session: None)
    records: Any = SimpleNamespace(is_live=lambda session: False)
    metrics = Metrics(nothing, catalog, records, nothing, nothing, nothing, nothing)
    go, opened = threading.Event(), []

    def open_it(session: str, *, read_only: bool) -> Any:
        opened.append(session)
        if session == "slow":
            go.wait(TIMEOUT_S)
        return SimpleNamespace(problem=None, path=None, session=session, close=lambda: None)

    monkeypatch.setattr(metrics, "_open_store", open_it)
    with ThreadPoolExecutor(3) as pool:
        slow = [pool.submit(metrics.store, "slow") for _ in range(2)]
        wait_until(lambda: opened == ["slow"], "the slow one")
        assert pool.submit(metrics.store, "quick").result(TIMEOUT_S).session == "quick"
        go.set()
        assert slow[0].result(TIMEOUT_S) is slow[1].result(TIMEOUT_S)  # it was opened once
    assert opened == ["slow", "quick"]
