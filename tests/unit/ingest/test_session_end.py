"""A program that ends takes its jobs along, and perhaps its cluster: Ray does not learn how it ended."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from tests.story import JOB, SESSION, Story, at

from rayscope.cli.api import Api
from rayscope.cli.recording import program_end_url
from rayscope.model import CUT_OFF, Entity

PID = 4242


def test_the_exit_code_and_the_end_of_the_cluster_are_recorded(fresh: Any) -> None:
    story = Story()
    story.task("ran", 0, 10)
    for job, pid in ((JOB, PID), ("02000000", PID + 1)):
        fields: dict[str, Any] = {"driver_pid": pid, "start_ns": at(1), "entrypoint": "python x.py"}
        story.batch.entities.append(Entity("job", job, fields, {(at(1), "RUNNING"): {}}))
    story.entity("node", "a" * 56, 0)
    fresh.record(story)
    url = program_end_url(fresh.server.ingest_url)
    how = {"session": SESSION, "pid": PID, "began_ns": at(0), "ended_ns": at(90), "exit_code": 137}
    assert httpx.post(url.replace("/program-end", "x/program-end"), json=how).status_code == 404
    with Api(fresh.server.url) as api:
        api.tell_program_end(url, **how, cluster_is_gone=True)

    jobs = {job["job_id"]: job for job in fresh.get("/api/v1/jobs")["items"]}
    assert (jobs[JOB]["state"], jobs[JOB]["exit_code"], jobs[JOB]["end_ns"]) == ("FAILED", 137, at(90))
    assert jobs[JOB]["message"] == "The driver ended with exit code 137 (SIGKILL)."
    assert jobs["02000000"]["state"] == CUT_OFF
    (ran,) = fresh.get("/api/v1/tasks")["items"]
    assert (ran["state"], ran["reported_state"], ran["end_known_by"]) == (CUT_OFF, "RUNNING", "job")
    assert (ran["end_ns"], ran["duration_ns"]) == (at(90), at(90) - at(10))
    (node,) = fresh.get("/api/v1/nodes")["items"]
    assert (node["state"], node["end_known_by"]) == ("DEAD", "session")
    (session,) = fresh.get("/api/v1/sessions")["items"]
    assert session["state"] == "ended"
    progress = fresh.get(f"/api/v1/jobs/{JOB}/progress")
    assert progress["states"] == {CUT_OFF: 1}
    assert not [
        event
        for event in fresh.get("/api/v1/events")["items"]
        if event["kind"] in ("node", "task") and event["severity"] != "INFO"
    ]

    # It is heard of again: it was not the end.
    later = Story()
    later.task("more", 100, 110, task_id="7" * 48)
    fresh.record(later)
    assert {one["state"] for one in fresh.get("/api/v1/nodes")["items"]} == {"ALIVE"}
    (session,) = fresh.get("/api/v1/sessions")["items"]
    assert session["state"] == "live"


def test_the_gcs_of_an_ended_session_is_not_missed(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story()
    story.task("ran", 0, 10)
    fresh.record(story)
    services = fresh.server.services
    status = SimpleNamespace(ok=False, error="no answer", session="", last_success_ns=0)
    cluster = SimpleNamespace(poller=SimpleNamespace(status=status))
    monkeypatch.setattr(services.clusters, "_of", lambda _: cluster)
    assert services.clusters.troubles(SESSION) == ["gcs_unreachable"]
    services.writer.end_session(SESSION, at(90))
    assert services.writer.flush()
    assert services.clusters.troubles(SESSION) == []


def test_no_program_ends_later_than_now(fresh: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is ahead, or an invented end, must not keep a session ended for good."""
    monkeypatch.setattr("rayscope.ingest.writer.STRAGGLERS_NS", 0)
    story = Story()
    story.task("ran", 0, 10)
    fresh.record(story)
    url = program_end_url(fresh.server.ingest_url)
    with Api(fresh.server.url) as api:
        api.tell_program_end(
            url,
            session=SESSION,
            pid=PID,
            began_ns=at(0),
            ended_ns=2**62,
            exit_code=0,
            cluster_is_gone=True,
        )
    (ran,) = fresh.get("/api/v1/tasks")["items"]
    assert ran["end_ns"] <= time.time_ns()
    later = Story()
    later.task("more", 100, 110, task_id="7" * 48)
    fresh.record(later)
    (session,) = fresh.get("/api/v1/sessions")["items"]
    assert session["state"] == "live"


def test_agents_that_met_no_server_are_given_the_time_to_send_again(fresh: Any) -> None:
    services = fresh.server.services
    fresh.record(Story())
    begin_ns = time.time_ns()
    services.session_ends.started_ns = begin_ns  # it takes the place of a server that has just ended
    about = services.catalog.about(SESSION)
    about.first_ns = begin_ns - 10**9
    assert services.session_ends._agents_pause_s(SESSION) > 0
    assert services.session_ends._agents_pause_s("session_unheard_of") > 0
    about.first_ns = begin_ns + 10**9  # its agents have known no other server
    assert services.session_ends._agents_pause_s(SESSION) == 0
    about.first_ns = begin_ns - 10**9
    services.session_ends.started_ns = begin_ns - 60 * 10**9
    assert services.session_ends._agents_pause_s(SESSION) == 0
