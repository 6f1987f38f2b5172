"""The list of events and the progress of jobs, for a session with known events."""

from __future__ import annotations

from typing import Any

import pytest
from tests.story import JOB, MS, ORIGIN_NS, SESSION, Story

from rayscope.model import Entity, RecordBatch

OTHER = "02000000"


def entity(
    kind: Any, entity_id: str, fields: dict[str, Any], **steps: tuple[float, dict[str, Any]]
) -> Entity:
    return Entity(
        kind,
        entity_id,
        fields=fields,
        transitions={(ORIGIN_NS + int(when * MS), state): extra for state, (when, extra) in steps.items()},
    )


@pytest.fixture
def seeded(fresh: Any) -> Any:
    story = Story()
    for number in range(3):
        story.task("broken", number, number + 1, number + 2, failed=True)
    story.task("broken", 0, 70_000, 70_001, failed=True)
    story.task("fine", 0, 1, 2)
    story.task("fine", 0, 1)
    story.task("fine", 0, 1, 2, job=OTHER)
    ns = {ms: ORIGIN_NS + ms * MS for ms in (1, 5, 9, 12, 20, 30)}
    story.batch.entities += [
        entity("node", "a" * 56, {"node_name": "head", "start_ns": ns[1]}, ALIVE=(1, {})),
        entity(
            "node",
            "c" * 56,
            {"node_name": "lost", "start_ns": ns[1]},
            ALIVE=(1, {}),
            DEAD=(20, {"death_reason": "UNEXPECTED_TERMINATION", "death_message": "gone", "end_ns": ns[20]}),
        ),
        entity(
            "actor",
            "1" * 24 + JOB,
            {"class_name": "Flaky", "job_id": JOB, "start_ns": ns[5]},
            ALIVE=(5, {"worker_id": "e" * 56}),
            RESTARTING=(9, {"num_restarts": 1, "restart_reason": "ACTOR_FAILURE"}),
            DEAD=(30, {"death_reason": "Worker exit type: SYSTEM_ERROR", "end_ns": ns[30]}),
        ),
        entity("job", JOB, {"entrypoint": "python x.py", "start_ns": ns[1]}, RUNNING=(1, {})),
        entity(
            "job",
            OTHER,
            {"entrypoint": "python y.py", "start_ns": ns[1]},
            FAILED=(12, {"message": "exit code 1", "end_ns": ns[12]}),
        ),
        entity(  # Ray ended it after its job
            "worker",
            "f" * 56,
            {"worker_type": "WORKER", "exit_type": "SYSTEM_ERROR", "job_id": OTHER},
            DEAD=(13, {"end_ns": ORIGIN_NS + 13 * MS}),
        ),
        entity(
            "worker",
            "e" * 56,
            {"worker_type": "WORKER", "exit_type": "SYSTEM_ERROR", "exit_detail": "killed"},
            ALIVE=(1, {}),
        ),
    ]
    fresh.record(story)
    return fresh


def test_events_are_listed_newest_first_with_their_severity(seeded: Any) -> None:
    found = seeded.get("/api/v1/events", severity="ERROR,WARNING")
    assert [(row["event"], row["title"], row["count"]) for row in found["items"]] == [
        ("TASK_FAILED", "broken", 1),  # another minute
        ("ACTOR_DEAD", "Flaky", 1),
        ("NODE_DEAD", "lost", 1),
        ("JOB_FAILED", "y.py", 1),
        ("ACTOR_RESTARTING", "Flaky", 1),
        ("TASK_FAILED", "broken", 3),
    ]
    assert found["items"][2]["message"] == "UNEXPECTED_TERMINATION: gone"
    assert found["items"][4]["message"] == "SYSTEM_ERROR: killed"
    history = seeded.get(f"/api/v1/actors/{'1' * 24}{JOB}")["history"]
    assert [(step["state"], step.get("message")) for step in history] == [
        ("ALIVE", None),
        ("RESTARTING", "SYSTEM_ERROR: killed"),
        ("DEAD", None),
    ]
    assert found["by_severity"] == {"ERROR": 5, "WARNING": 1, "INFO": 6}
    assert found["total"] == 6


def test_an_attempt_that_was_retried_is_a_warning(fresh: Any) -> None:
    story = Story()
    flaky = story.task("flaky", 0, 1, 2, failed=True)
    story.task("flaky", 0, 3, 4, task_id=flaky, attempt=1)
    broken = story.task("broken", 0, 1, 5, failed=True)
    story.task("broken", 0, 6, 7, task_id=broken, attempt=1, failed=True)
    fresh.record(story)
    found = fresh.get("/api/v1/events", kind="task")["items"]
    assert [(row["event"], row["severity"], row["title"]) for row in found] == [
        ("TASK_FAILED", "ERROR", "broken"),
        ("TASK_RETRIED", "WARNING", "broken"),
        ("TASK_RETRIED", "WARNING", "flaky"),
    ]


def test_pages_filters_and_a_search_return_the_same_events(seeded: Any) -> None:
    whole = seeded.get("/api/v1/events")
    assert whole["total"] == len(whole["items"]) == 12
    paged, cursor = [], None
    while True:
        page = seeded.get("/api/v1/events", limit=2, **({"cursor": cursor} if cursor else {}))
        paged += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert paged == whole["items"]
    assert seeded.get("/api/v1/events", q="flak")["total"] == 3
    assert seeded.get("/api/v1/events", kind="job", job_id=OTHER)["total"] == 2
    assert seeded.get("/api/v1/events", node_id="c" * 56)["total"] == 2
    assert seeded.get("/api/v1/events", until_ns=ORIGIN_NS + 2 * MS)["total"] == 4
    # From a time on: what happened then or later, and what was still going on.
    since = ORIGIN_NS + 12 * MS
    items = whole["items"]
    later = [item for item in items if max(item["time_ns"], item["last_ns"] or 0) >= since]
    assert 0 < len(later) < len(items)
    assert seeded.get("/api/v1/events", since_ns=since)["items"] == later
    assert seeded.get("/api/v1/events", node_id="cccc") == seeded.get("/api/v1/events", node_id="c" * 56)
    assert "ERROR" in seeded.error(seeded.client.get("/api/v1/events?severity=BAD"), 400)["remedy"]


def test_a_jobs_progress_counts_all_its_attempts(seeded: Any) -> None:
    progress = seeded.get(f"/api/v1/jobs/{JOB}/progress")
    assert progress["states"] == {"FAILED": 4, "FINISHED": 1, "RUNNING": 1}
    assert [(row["func_name"], row["states"]) for row in progress["functions"]] == [
        ("broken", {"FAILED": 4}),
        ("fine", {"FINISHED": 1, "RUNNING": 1}),
    ]
    assert progress["functions"][0]["duration_ns"] == 4 * MS
    jobs = {row["job_id"]: row["tasks"] for row in seeded.get("/api/v1/jobs")["items"]}
    assert jobs == {JOB: progress["states"], OTHER: {"FINISHED": 1}}
    seeded.error(seeded.client.get("/api/v1/jobs/ff/progress"), 404)


def test_a_submissions_progress_is_that_of_all_its_drivers(seeded: Any) -> None:
    seeded.server.services.writer.submit_records(
        RecordBatch(SESSION, entities=[entity("job", "sub_1", {"submission_id": "sub_1", "alias_of": JOB})]),
        "gcs",
    )
    assert seeded.server.services.writer.flush()
    states = seeded.get("/api/v1/jobs/sub_1/progress")["states"]
    assert states == seeded.get(f"/api/v1/jobs/{JOB}/progress")["states"] != {}
    seeded.server.services.writer.submit_records(
        RecordBatch(SESSION, entities=[entity("job", OTHER, {"submission_id": "sub_1"})]), "gcs"
    )
    assert seeded.server.services.writer.flush()
    both = seeded.get("/api/v1/jobs/sub_1/progress")
    assert both["states"] == {**states, "FINISHED": states["FINISHED"] + 1}
    assert seeded.get(f"/api/v1/jobs/{JOB}/progress")["states"] == states


def test_a_change_of_a_placement_group_is_an_event(fresh: Any) -> None:
    asked = ORIGIN_NS + 5 * MS
    story = Story()
    story.batch.entities += [
        entity(
            "placement_group",
            "d" * 36,
            {"name": "moved", "created_ns": asked},
            PENDING=(5, {}),
            CREATED=(6, {}),
            RESCHEDULING=(7, {}),
            REMOVED=(9, {}),
        ),
        # The GCS says what is now, and of its placing how long it took.
        Entity(
            "placement_group",
            "e" * 36,
            {"name": "seen", "created_ns": asked},
            observed_ns=asked + 90 * MS,
            observed={"state": "REMOVED", "stats": '{"end_to_end_creation_latency_us":3000}'},
        ),
    ]
    fresh.record(story)
    items = fresh.get("/api/v1/events", kind="placement_group")["items"]
    assert [
        (row["title"], row["event"].removeprefix("PLACEMENT_GROUP_"), (row["time_ns"] - asked) / MS)
        for row in sorted(items, key=lambda row: (row["title"], row["time_ns"]))
    ] == [
        ("moved", "PENDING", 0),
        ("moved", "CREATED", 1),
        ("moved", "RESCHEDULING", 2),
        ("moved", "REMOVED", 4),
        ("seen", "PENDING", 0),
        ("seen", "CREATED", 3),
    ]
    assert [row["title"] for row in items if row["severity"] == "WARNING"] == ["moved"]


def test_acts_need_the_operator_and_a_cluster(seeded: Any) -> None:
    operator = {"X-Rayscope-Operator": seeded.server.services.secrets.operator_token}
    for method, path in (
        ("POST", "/api/v1/jobs"),
        ("POST", f"/api/v1/jobs/{JOB}/stop"),
        ("DELETE", f"/api/v1/jobs/{JOB}"),
    ):
        body = {"entrypoint": "true"} if path == "/api/v1/jobs" else None
        assert seeded.error(seeded.client.request(method, path, json=body), 403)["code"] == "needs_operator"
        answer = seeded.client.request(method, path, json=body, headers=operator)
        assert seeded.error(answer, 502)["code"] == "no_job_api"
    local = {"entrypoint": "true", "runtime_env": {"working_dir": "/etc"}}
    assert (
        "URI"
        in seeded.error(seeded.client.post("/api/v1/jobs", json=local, headers=operator), 400)["message"]
    )
