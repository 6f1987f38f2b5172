"""Findings of running jobs as metrics: published while they hold, at a bounded cost, for alerts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, SESSION, Story
from tests.waiting import wait_until

from rayscope.insights.live import MAX_FINDINGS, SHARE, SPENT, LiveFindings
from rayscope.insights.replay import read
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.views.critical_path.read import read_ns_by_task

RULE = """
groups:
- name: mine
  interval: 1s
  rules:
  - {alert: Looping, expr: 'rayscope_finding_share{kind="get_in_loop"} >= 0.15'}
"""


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Running]:
    """A server that measures each second and has a rule on findings."""
    (tmp_path / "alerts").mkdir()
    (tmp_path / "alerts" / "mine.yml").write_text(RULE)
    server = Server(Settings(data_dir=tmp_path, port=0, metrics_interval_s=1))
    server.start()
    with httpx.Client(base_url=server.url) as client:
        yield Running(server, client, tmp_path)
    server.stop()


def looping(functions: int = 1, end: float | None = None) -> Story:
    """A job that runs still unless it has an ``end``: loops of 6 calls, one at a time, of each function."""
    story = Story()
    begin = 0
    for number in range(functions):
        for _ in range(6):
            task = story.task(f"load_{number}", begin, begin, begin + 100, resources='{"CPU":1.0}')
            story.get(DRIVER, task, begin, begin + 100)
            begin += 100
    story.entity("node", "a" * 56, -1000, resources_total='{"CPU":4.0}', is_head=True)
    story.entity("job", JOB, 0, end, entrypoint="python /code/load.py 7")
    return story


def record(running: Running, story: Story) -> LiveFindings:
    """Record a story whose session lives as long as the test; nothing else computes its findings."""
    running.record(story)
    services: Any = running.server.services
    services.catalog.about(SESSION).last_ns = 2**62
    now_ns = max(time_ns for each in story.batch.attempts for time_ns in each.states.values())
    services.records.last_ns = lambda session: now_ns
    return LiveFindings(services.records, services.metrics, read_ns_by_task)


def share_samples(findings: LiveFindings) -> list[Any]:
    """The metrics about findings."""
    cluster: Any = type("Cluster", (), {"session": SESSION})
    return [one for one in findings.collect(cluster) if one.name == SHARE.name and one not in (SHARE, SPENT)]


def test_a_finding_is_a_metric_and_a_rule_fires_on_it_until_the_job_ends(live: Running) -> None:
    record(live, looping())

    def shares() -> Any:
        return live.get("/api/v1/metrics", name=SHARE.name)["items"]

    (one,) = wait_until(shares, "the metric")
    what = {"kind": "get_in_loop", "title": "ray.get in a loop", "function": "load_0"}
    assert one["labels"] == {**what, "job_id": JOB, "script": "load.py"}
    insights = live.get("/api/v1/insights")
    assert insights["so_far"]
    assert one["value"] == insights["findings"][0]["share"] > 0.15
    assert [each["name"] for each in live.get("/api/v1/metrics", name=SPENT.name)["items"]] == [SPENT.name]

    def firing() -> Any:
        alerts = live.get("/api/v1/alerts")["items"]
        return [alert for alert in alerts if (alert["rule"], alert["state"]) == ("Looping", "firing")]

    (alert,) = wait_until(firing, "the alert")
    assert alert["labels"]["function"] == "load_0"
    record(live, looping(end=600))
    wait_until(lambda: not shares(), "the end of the series")
    wait_until(lambda: not firing(), "the end of the alert")


def test_the_alert_ends_with_its_session(live: Running) -> None:
    record(live, looping())

    def firing() -> Any:
        alerts = live.get("/api/v1/alerts")["items"]
        return [alert for alert in alerts if (alert["rule"], alert["state"]) == ("Looping", "firing")]

    wait_until(firing, "the alert")
    services: Any = live.server.services
    services.catalog.about(SESSION).last_ns = time.time_ns() - 3600 * 10**9
    wait_until(lambda: not firing(), "the end of the alert")


@pytest.mark.parametrize("is_awaited", [True, False])
def test_a_finding_off_the_critical_path_is_no_metric(fresh: Running, is_awaited: bool) -> None:
    """A call that takes long, and one that the driver waits for longer; or the driver waits for it."""
    story = Story()
    calls = [
        story.task("load", 0, 1 + 50 * n, 51 + 50 * n, resources='{"CPU":1.0}', worker=f"{1:056x}")
        for n in range(9)
    ]
    for begin, end in ((1, 51), (51, 900)):  # a worker's first call may import modules
        calls.append(story.task("load", 0, begin, end, resources='{"CPU":1.0}', worker=f"{2:056x}"))
    other = story.task("train", 0, 1, 1000, resources='{"CPU":1.0}', worker=f"{3:056x}")
    story.get(DRIVER, calls if is_awaited else other, 0, 901 if is_awaited else 1000)
    story.entity("node", "a" * 56, -1000, resources_total='{"CPU":4.0}', is_head=True)
    story.entity("job", JOB, 0, None, entrypoint="python /code/load.py 7")
    findings = record(fresh, story)
    findings._evaluate_sessions()
    kinds = {dict(one.labels)["kind"] for one in share_samples(findings)}
    assert ("straggler" in kinds) is is_awaited
    assert len(kinds) == is_awaited


def test_the_largest_findings_of_a_session_are_published(fresh: Running) -> None:
    findings = record(fresh, looping(functions=15))
    findings._evaluate_sessions()
    found = share_samples(findings)
    assert len(found) == MAX_FINDINGS
    assert [one.value for one in found] == sorted((one.value for one in found), reverse=True)
    assert len({one.labels for one in found}) == MAX_FINDINGS


def test_a_job_is_looked_at_again_only_when_it_has_changed_and_not_when_large(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[str] = []
    original = read.read
    monkeypatch.setattr(
        read, "read", lambda file, job, until_ns: searched.append(job) or original(file, job, until_ns)
    )  # type: ignore[func-returns-value]
    findings = record(fresh, looping())
    findings._evaluate_sessions()
    findings._evaluate_sessions()
    assert searched == [JOB]
    assert len(share_samples(findings)) == 1
    record(fresh, looping(functions=2))
    findings._evaluate_sessions()
    assert searched == [JOB, JOB]
    monkeypatch.setattr("rayscope.insights.gains.MAX_ATTEMPTS", 5)
    record(fresh, looping(functions=3))
    findings._evaluate_sessions()
    assert searched == [JOB, JOB]
    assert share_samples(findings) == []


def test_it_rests_a_hundred_times_as_long_as_it_looked(
    fresh: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rayscope.insights.live._MIN_PAUSE_S", 0.0)
    findings = record(fresh, looping())
    rest_s = findings._evaluate_sessions()
    assert rest_s == 100 * findings._spent_s > 0


def test_a_session_that_has_ended_has_none(fresh: Running) -> None:
    findings = record(fresh, looping())
    findings._evaluate_sessions()
    services: Any = fresh.server.services
    services.catalog.about(SESSION).last_ns = 1
    findings._evaluate_sessions()
    assert share_samples(findings) == []
