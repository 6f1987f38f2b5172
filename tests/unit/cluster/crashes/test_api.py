"""Workers that crashed: which they are, whether it did harm, and what their logs say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, Story, at

from rayscope.model import Edge, TaskError

NODE = "a" * 56
WORKER = "b" * 56
OTHER = "c" * 56
ACTOR = "1" * 24
UNEXPECTED = {
    "exit_type": "SYSTEM_ERROR",
    "exit_detail": "Worker unexpectedly exits with a connection error code 2. End of file.",
}
IDLE = {
    "exit_type": "INTENDED_SYSTEM_EXIT",
    "exit_detail": "Worker exited because it was idle for a long time",
}
RACE = """:task_name:work
printed before
[mutex.cc : 2487] RAW: Mutex corrupt: both reader and writer lock held: 0x28
*** SIGABRT received at time=1760000000 on cpu 1 ***
PC: @     0x7f0000000000  (unknown)  raise
Fatal Python error: Aborted
"""


def worker(story: Story, end: float | None = 20, **fields: Any) -> None:
    story.entity("node", NODE, 0)
    story.entity("worker", WORKER, 0, end, **{"node_id": NODE, "pid": 100, "worker_type": "WORKER", **fields})


def log(running: Running, text: str, stream: str = "err") -> None:
    assert running.server.services is not None
    services = running.server.services
    store = services.logs.store(services.records.resolve(None), make=True)
    assert store is not None
    store.append(NODE, f"worker-{WORKER}-{JOB}-100.{stream}", 0, text.encode(), at(20))


def crash(running: Running, story: Story) -> dict[str, Any]:
    """The only crash of a story."""
    running.record(story)
    found = running.get("/api/v1/crashes")
    assert (found["total"], found["workers"], len(found["items"])) == (1, 1, 1)
    item: dict[str, Any] = found["items"][0]
    assert found["harmed"] == (item["harm"]["harm"] == "harmed")
    assert found["unknown"] == (item["harm"]["harm"] == "unknown")
    return item


def test_a_worker_that_hits_rays_race_as_it_exits_did_no_harm(fresh: Running) -> None:
    story = Story()
    story.task("first", 0, 1, 2)
    story.task("last", 0, 3, 4)
    worker(story, **IDLE)
    fresh.record(story)
    assert fresh.get("/api/v1/crashes")["total"] == 0  # an intended end, as far as Ray knows
    log(fresh, RACE)
    found = fresh.get("/api/v1/crashes")
    assert (found["total"], found["harmed"], found["unknown"], found["in_race"]) == (1, 0, 0, 1)
    item = found["items"][0]
    assert (item["function"], item["node_id"], item["pid"], item["signal"]) == ("last", NODE, 100, "SIGABRT")
    assert item["reason"] == "Mutex corrupt: both reader and writer lock held: 0x28"
    assert (item["harm"]["harm"], item["harm"]["code"]) == ("none", "released")
    assert item["lines"] == RACE.splitlines()[1:]  # without Ray's own mark
    assert RACE.encode()[item["offset"] :].startswith(b"[mutex.cc")


def _idle(story: Story) -> None:
    story.task("work", 0, 1, 2)
    worker(story, tracer="on", **UNEXPECTED)


def _ran_nothing(story: Story) -> None:
    worker(story, **UNEXPECTED)


def _untraced(story: Story) -> None:
    story.task("work", 0, 1, 2)
    worker(story, **UNEXPECTED)


def _put(story: Story) -> None:
    task = story.task("work", 0, 1, 2)
    story.batch.edges.append(Edge(task, 0, "put", task, 1_000, 100, at(1), at(2)))
    worker(story, tracer="on", **UNEXPECTED)


def _submitted(story: Story) -> None:
    task = story.task("work", 0, 1, 2)
    story.task("child", 1, 1, 2, parent=task, worker=OTHER)
    worker(story, tracer="on", **UNEXPECTED)


def _running(story: Story) -> None:
    story.task("work", 0, 1)
    worker(story, tracer="on", **UNEXPECTED)


def _died(story: Story) -> None:
    story.task("work", 0, 1, 20, failed=True)
    del story.batch.attempts[-1].states["RUNNING"]  # the worker died before reporting it
    story.batch.attempts[-1].error = TaskError(at(20), "WORKER_DIED", "The worker died unexpectedly.")
    worker(story, tracer="on", **UNEXPECTED)


def _raised(story: Story) -> None:
    story.task("work", 0, 1, 2, failed=True)  # by an exception of its own, long before
    worker(story, tracer="on", **UNEXPECTED)


def _needed(story: Story) -> None:
    story.task("work", 0, 1, 2)
    story.task("reader", 0, 30, 31, worker=OTHER, failed=True)
    message = f"OwnerDiedError: check cluster logs (/tmp/ray/session_latest/logs/*{WORKER}*)"
    story.batch.attempts[-1].error = TaskError(at(31), "TASK_EXECUTION_EXCEPTION", message)
    worker(story, tracer="on", **UNEXPECTED)


def _actor(story: Story, until: float | None, **fields: Any) -> None:
    story.task("A.__init__", 0, 1, 2, actor=ACTOR)
    known = {"class_name": "A", "name": "keeper", "worker_id": WORKER, "node_id": NODE, "job_id": JOB}
    story.entity("actor", ACTOR + JOB, 0, until, **{**known, **fields})


def _actor_died(story: Story) -> None:
    reason = "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR"
    _actor(
        story, 20, death_reason=reason, death_cause='{"actor_died_error_context":{"reason":"WORKER_DIED"}}'
    )
    worker(story, tracer="on", **UNEXPECTED)


def _actor_let_go(story: Story) -> None:
    _actor(story, 20, death_cause='{"actor_died_error_context":{"reason":"OUT_OF_SCOPE"}}')
    worker(story, tracer="on", **UNEXPECTED)


def _actor_restarted(story: Story) -> None:
    _actor(story, None, worker_id=OTHER)
    worker(story, tracer="on", **UNEXPECTED)


def _actor_open(story: Story) -> None:
    _actor(story, None)
    worker(story, tracer="on", **UNEXPECTED)


def _out_of_memory(story: Story) -> None:
    story.task("work", 0, 1, 20, failed=True)
    story.batch.attempts[-1].error = TaskError(at(20), "OUT_OF_MEMORY", "Task was killed.")
    worker(story, tracer="on", exit_type="NODE_OUT_OF_MEMORY")


def _after_its_job(story: Story) -> None:
    story.task("work", 0, 1, 2)
    story.entity("job", JOB, 0, 10)
    worker(story, **UNEXPECTED)


def _spill_worker(story: Story) -> None:
    worker(story, **UNEXPECTED, worker_type="SPILL_WORKER")


FUNCTIONS = {_ran_nothing: None, _spill_worker: None} | dict.fromkeys(
    (_actor_died, _actor_let_go, _actor_restarted, _actor_open), "A.__init__"
)


@pytest.mark.parametrize(
    ("add_to", "harm", "code"),
    [
        (_idle, "none", "idle"),
        (_ran_nothing, "none", "idle"),
        (_raised, "none", "idle"),
        (_actor_let_go, "none", "released"),
        (_after_its_job, "none", "job_ended"),
        (_running, "harmed", "attempts"),
        (_died, "harmed", "attempts"),
        (_out_of_memory, "harmed", "attempts"),
        (_needed, "harmed", "objects"),
        (_actor_died, "harmed", "actor_died"),
        (_actor_restarted, "harmed", "actor_restarted"),
        (_untraced, "unknown", "untraced"),
        (_put, "unknown", "owned"),
        (_submitted, "unknown", "owned"),
        (_actor_open, "unknown", "actor_open"),
        (_spill_worker, "unknown", "io_worker"),
    ],
)
def test_harm_is_what_the_record_shows(
    fresh: Running, add_to: Callable[[Story], None], harm: str, code: str
) -> None:
    story = Story()
    add_to(story)
    item = crash(fresh, story)
    assert (item["harm"]["harm"], item["harm"]["code"]) == (harm, code)
    assert ("Unknown" in item["harm"]["message"]) == (harm == "unknown")
    assert (item["signal"], item["function"]) == (None, FUNCTIONS.get(add_to, "work"))


def test_tasks_that_a_crashed_worker_had_submitted_are_lost_with_it(fresh: Running) -> None:
    story = Story()
    task = story.task("work", 0, 1, 2)
    story.task("child", 1, 3, parent=task, worker=OTHER)
    worker(story, tracer="on", **UNEXPECTED)
    assert crash(fresh, story)["harm"]["code"] == "calls"


def test_a_crash_whose_end_ray_has_not_reported_is_unknown(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 1, 2)
    worker(story, None)
    fresh.record(story)
    log(fresh, RACE)
    found = fresh.get("/api/v1/crashes")
    assert (found["total"], found["unknown"]) == (1, 1)
    assert found["items"][0]["harm"]["code"] == "no_end"


def test_other_ends_are_no_crashes(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 1, 2)
    worker(story, exit_type="USER_ERROR", exit_detail="Exception raised from an actor init method.")
    fresh.record(story)
    log(fresh, "*** SIGTERM received at time=1760000000 on cpu 1 ***\n")
    found = fresh.get("/api/v1/crashes")
    assert (found["total"], found["workers"], found["items"]) == (0, 1, [])


@pytest.mark.parametrize(
    ("ended", "harm", "code"), [(2, "unknown", "driver_open"), (None, "harmed", "driver")]
)
def test_a_driver_that_crashed_is_shown_by_its_script(
    fresh: Running, ended: float | None, harm: str, code: str
) -> None:
    story = Story()
    story.task("work", 0, 1, ended, worker=OTHER)
    story.entity("job", JOB, 0, 20, entrypoint="python -u nightly.py")
    worker(story, worker_type="DRIVER", job_id=JOB, **UNEXPECTED)
    item = crash(fresh, story)
    assert (item["script"], item["harm"]["harm"], item["harm"]["code"]) == ("nightly.py", harm, code)


def test_without_a_report_the_last_lines_are_shown(fresh: Running) -> None:
    story = Story()
    story.task("work", 0, 1)
    worker(story, **UNEXPECTED)
    fresh.record(story)
    log(fresh, "".join(f"line {number}\n" for number in range(50)), "out")
    (item,) = fresh.get("/api/v1/crashes")["items"]
    assert item["lines"] == [f"line {number}" for number in range(38, 50)]
    assert (item["file"], item["offset"], item["is_race"]) == (None, None, False)


def test_the_newest_are_listed_and_all_are_counted(fresh: Running) -> None:
    story = Story()
    story.entity("node", NODE, 0)
    for number in range(7):
        identity = f"{number:056x}"
        story.entity("worker", identity, 0, 10 + number, node_id=NODE, worker_type="WORKER", **UNEXPECTED)
    story.task("work", 0, 1, 2, parent=DRIVER)
    fresh.record(story)
    found = fresh.get("/api/v1/crashes", limit=2)
    assert [int(item["worker_id"], 16) for item in found["items"]] == [6, 5]
    assert (found["total"], found["left_out"], found["harmed"], found["unknown"]) == (7, 5, 0, 0)
