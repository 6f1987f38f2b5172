"""Reports over the API: their numbers are the API's, and what they leave out is counted."""

from __future__ import annotations

import time
from typing import Any

import pytest
from tests.report_file import data_of
from tests.running import Running
from tests.story import JOB, SESSION, Story
from tests.waiting import wait_until

from rayscope.report import api, contents, page

OTHER = "02000000"


def job(story: Story, job: str, steps: int, since: float) -> None:
    """A job that calls ``load`` and waits for each call."""
    driver = "f" * 40 + job
    reached = since
    for _ in range(steps):
        reached += 20
        task = story.task("load", reached, reached + 5, reached + 15, parent=driver, job=job)
        story.get(driver, task, reached, reached + 16)
    story.entity("job", job, since, reached + 50, entrypoint="python train.py")


@pytest.fixture
def record(fresh: Running) -> Running:
    story = Story()
    job(story, JOB, 6, 0)
    job(story, OTHER, 9, 1_000)
    fresh.record(story)
    assert fresh.server.services is not None
    fresh.server.services.writer.end_session(SESSION, time.time_ns())
    assert fresh.server.services.writer.flush()
    # The outcome comes from the summaries of the jobs, which are written in the background.
    wait_until(lambda: fresh.get("/api/v1/sessions")["items"][0]["outcome"], "the outcome")
    return fresh


def report(record: Running, **params: str) -> Any:
    answer = record.client.get("/api/v1/report", params=params)
    assert answer.status_code == 200, answer.text
    assert len(answer.content) <= page.MAX_BYTES
    assert "attachment" in answer.headers["Content-Disposition"]
    return data_of(answer.content)


def test_every_number_of_a_report_is_the_apis(record: Running) -> None:
    data = report(record, session=SESSION)
    assert data["start"] == f"/s/{SESSION}/overview"
    paths = {path for path, *_ in data["answers"]}
    assert {"/summary", "/insights", "/failures", "/flow/gantt", "/flow/flame", "/flow/stack"} <= paths
    for path, query, status, body in data["answers"]:
        answer = record.client.get(f"/api/v1{path}", params=query)
        found = answer.json()
        if path == "/realtime":  # the rest is when it was asked
            found, body = found["data"], body["data"]
        assert (answer.status_code, found) == (status, body), (path, query)


def test_it_says_what_it_contains_a_part_of(record: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents, "_MAX_ROWS", 10)
    monkeypatch.setattr(contents, "_MAX_TASKS", 2)
    parts = {part["what"]: (part["shown"], part["total"]) for part in report(record)["parts"]}
    assert parts["tasks"] == (10, 15)
    shown, total = parts["task_details"]
    assert shown == 2 < total
    assert "answers" not in parts


@pytest.mark.parametrize("limit", ["room", "time"])
def test_what_finds_no_room_or_time_is_counted(
    record: Running, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    if limit == "room":
        monkeypatch.setattr(api, "room", lambda: 3_000)
    else:
        monkeypatch.setattr(api, "_MAX_S", 0.0)
    found = report(record)
    (part,) = [part for part in found["parts"] if part["what"] == "answers"]
    assert part["shown"] == len(found["answers"]) < part["total"]
    assert found["answers"][0][0] == "/sessions"


def test_a_comparison(record: Running) -> None:
    sides = {"a": f"{SESSION}/{JOB}", "b": f"{SESSION}/{OTHER}"}
    found = report(record, **sides)
    assert found["start"].startswith("/compare?a=")
    assert found["views"] == []
    answers = {path: body for path, query, _, body in found["answers"] if "functions_by" not in dict(query)}
    assert answers["/compare"] == record.get("/api/v1/compare", **sides)
    assert [item["session"] for item in answers["/sessions"]["items"]] == [SESSION]
    asked = {
        (path, dict(query).get("job_id"), dict(query).get("weight")) for path, query, *_ in found["answers"]
    }
    for job in (JOB, OTHER):
        for weight in ("executing", "critical_path"):
            assert ("/flow/flame", job, weight) in asked


def test_refusals(record: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    ask = record.client.get
    assert record.error(ask("/api/v1/report?session=nobody"), 404)["code"] == "not_found"
    assert record.error(ask("/api/v1/report?a=x"), 400)["code"] == "bad_query"
    assert record.error(ask(f"/api/v1/report?session={SESSION}&b=x"), 400)["code"] == "bad_query"
    assert record.error(ask("/api/v1/report?b=nobody"), 404)["code"] == "not_found"
    with api._SLOTS.take():
        assert record.error(ask("/api/v1/report"), 503)["code"] == "busy"
    monkeypatch.setattr(page, "_UI", record.folder)
    page._parts.cache_clear()
    assert record.error(ask("/api/v1/report"), 503)["code"] == "ui_missing"
