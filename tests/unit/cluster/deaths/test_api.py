"""The causes of deaths in a record."""

from __future__ import annotations

import json
from typing import Any

from tests.running import Running
from tests.story import JOB, Story, at

from rayscope.model import Entity

NODE = "a" * 56
WORKER = "b" * 56
ACTOR = "1" * 32
UNEXPECTED = {
    "exit_type": "SYSTEM_ERROR",
    "exit_detail": "Worker unexpectedly exits with a connection error code 2. End of file.",
}


def lost_actor(story: Story) -> None:
    story.entity("node", NODE, 0)
    story.entity(
        "worker", WORKER, 0, 20, **{"node_id": NODE, "pid": 100, "worker_type": "WORKER", **UNEXPECTED}
    )
    cause = {"actor_died_error_context": {"reason": "WORKER_DIED"}}
    story.entity(
        "actor", ACTOR, 1, 21, worker_id=WORKER, node_id=NODE, job_id=JOB, death_cause=json.dumps(cause)
    )


def process_end(story: Story, end_ms: float, **fields: Any) -> None:
    known = {"node_id": NODE, "pid": 100, "source": "pidfd", "end_ns": at(end_ms)}
    story.batch.entities.append(Entity("process_end", f"{NODE}:100:{at(end_ms)}", {**known, **fields}))


def test_an_actors_death_is_followed_to_the_exit_status_of_its_worker(fresh: Running) -> None:
    story = Story()
    lost_actor(story)
    process_end(story, 20.2, signal="SIGKILL", oom_kills=1, rss_bytes=8_000_000_000)
    process_end(story, 900_000, exit_code=0)  # of a later process with the same process ID
    fresh.record(story)
    (found,) = fresh.get("/api/v1/deaths", kind="actor", id=ACTOR)["items"]
    assert [link["code"] for link in found["chain"]] == ["worker_died", "kernel_oom"]
    assert found["process"]["rss_bytes"] == 8_000_000_000
    answer = fresh.get("/api/v1/deaths", kind="worker")
    assert (answer["total"], answer["left_out"]) == (1, 0)
    assert answer["items"][0]["cause"] == "kernel_oom"


def test_the_memory_that_ray_reports_is_recorded(fresh: Running) -> None:
    story = Story()
    killed = {"exit_type": "NODE_OUT_OF_MEMORY", "exit_detail": "low on memory"}
    story.entity("worker", WORKER, 0, 20, worker_type="WORKER", death_memory_bytes=2**33, **killed)
    fresh.record(story)
    (found,) = fresh.get("/api/v1/deaths", kind="worker", id=WORKER)["items"]
    assert (found["cause"], found["memory_bytes"], found["process"]) == ("memory_monitor", 2**33, None)
    assert fresh.get(f"/api/v1/workers/{WORKER}")["death_memory_bytes"] == 2**33


def test_what_is_not_known_is_not_guessed(fresh: Running) -> None:
    story = Story()
    lost_actor(story)
    fresh.record(story)
    (found,) = fresh.get("/api/v1/deaths", kind="worker", id=WORKER)["items"]
    assert (found["cause"], len(found["candidates"]), found["process"]) == ("unknown", 4, None)
    assert found["ray"].startswith("SYSTEM_ERROR: Worker unexpectedly")
    assert fresh.get("/api/v1/deaths", kind="node", id=NODE)["items"] == []
    assert fresh.get("/api/v1/deaths", kind="job", id="no such")["items"] == []


def test_each_restart_of_an_actor_that_lives_says_why_its_worker_ended(fresh: Running) -> None:
    story = Story()
    story.entity("node", NODE, 0)
    story.entity(
        "worker", WORKER, 0, 20, **{"node_id": NODE, "pid": 100, "worker_type": "WORKER", **UNEXPECTED}
    )
    process_end(story, 20.2, signal="SIGKILL", oom_kills=1)
    steps = {
        (at(1), "ALIVE"): {"worker_id": WORKER},
        (at(21), "RESTARTING"): {"num_restarts": 1},
        (at(22), "ALIVE"): {"worker_id": "c" * 56},
    }
    fields = {"class_name": "Flaky", "job_id": JOB, "start_ns": at(1)}
    story.batch.entities.append(Entity("actor", ACTOR, fields, steps))
    fresh.record(story)
    restart = fresh.get(f"/api/v1/actors/{ACTOR}")["history"][1]
    (event,) = [e for e in fresh.get("/api/v1/events")["items"] if e["event"] == "ACTOR_RESTARTING"]
    assert restart["ended_worker_id"] == WORKER
    assert event["ended"] == {"kind": "worker", "id": WORKER}
    assert [link["code"] for link in event["causes"]] == ["kernel_oom"]
    assert restart["causes"] == event["causes"]
    (death,) = fresh.get("/api/v1/deaths", kind="worker", class_name="Flaky")["items"]
    assert (death["id"], death["cause"]) == (WORKER, "kernel_oom")
    assert fresh.get("/api/v1/deaths", kind="actor", class_name="Flaky")["items"] == []
    assert fresh.get("/api/v1/deaths", kind="worker", class_name="Other")["total"] == 0
    fresh.error(fresh.client.get("/api/v1/deaths", params={"kind": "node", "class_name": "Flaky"}), 400)
