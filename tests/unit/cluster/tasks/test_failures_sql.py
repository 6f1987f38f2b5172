"""Failures grouped by signature, and what became of their tasks."""

from __future__ import annotations

from typing import Any

from tests.running import Running
from tests.story import JOB, MS, Story, at

from rayscope.model import Entity, TaskError

TRACEBACK = """\x1b[36mray::{name}()\x1b[39m (pid={pid}, ip=192.0.2.7)
  File "/home/me/jobs/etl.py", line {line}, in {name}
    rows = table.read(path)
  File "/usr/lib/python3.11/site-packages/pandas/io.py", line 900, in read
    raise KeyError(path)
{said}
"""


def _fail(story: Story, name: str, begin: float, said: str, line: int = 12, **more: Any) -> str:
    task_id = story.task(name, begin, begin + 1, begin + 2, failed=True, **more)
    text = TRACEBACK.format(name=name, pid=1000 + round(begin), line=line, said=said)
    story.batch.attempts[-1].error = TaskError(at(begin + 2), "TASK_EXECUTION_EXCEPTION", text)
    return task_id


def _story() -> Story:
    story = Story()
    for number in range(3):  # alike but for numbers, ids and a temporary file; the third is final
        said = (
            f"KeyError: 'row {number}e3 of /tmp/x{number}/a.csv for 0x7f{number}ab, {number}bcdef0123456789'"
        )
        task_id = _fail(story, "load", 10 * number, said)
        if number < 2:
            story.task("load", 10 * number + 5, 10 * number + 6, 10 * number + 7, task_id=task_id, attempt=1)
        else:
            _fail(story, "load", 10 * number + 5, said, task_id=task_id, attempt=1)
    for number in range(5):
        task_id = _fail(
            story, "load", 100 + 10 * number, f"ValueError: part-{number}.csv has -{number}", line=20
        )
        story.task(
            "load", 105 + 10 * number, 106 + 10 * number, 107 + 10 * number, task_id=task_id, attempt=1
        )
    retried = _fail(story, "slow", 200, "ValueError: 1.5")
    story.task("slow", 210, 220, task_id=retried, attempt=1)
    died = story.task("gone", 300, 310, 320, failed=True)
    story.batch.attempts[-1].error = TaskError(at(320), "WORKER_DIED", "The worker died unexpectedly.")
    assert died
    return story


def test_alike_failures_are_one_group_and_final_ones_come_first(fresh: Running) -> None:
    fresh.record(_story())
    found = fresh.get("/api/v1/failures")
    groups = [
        (g["func_name"], g["error_type"], g["file"], g["line"], g["outcome"], g["attempts"], g["tasks"])
        for g in found["items"]
    ]
    task_error = "TASK_EXECUTION_EXCEPTION"
    assert groups == [
        ("load", task_error, "etl.py", 12, "final", 4, 3),
        ("gone", "WORKER_DIED", None, None, "final", 1, 1),
        ("slow", task_error, "etl.py", 12, "retrying", 1, 1),
        ("load", task_error, "etl.py", 20, "recovered", 5, 5),
    ]
    assert (found["total"], found["tasks"]) == (4, {"final": 2, "retrying": 1, "recovered": 7})
    first, *_, last = found["items"]
    assert first["message"] == "KeyError: 'row # of # for #, #'"
    assert last["message"] == "ValueError: part-#.csv has #"
    assert (first["final"], first["recovered"]) == (1, 2)
    assert (first["first_ns"], first["last_ns"]) == (at(2), at(27))
    assert first["path"] == "/home/me/jobs/etl.py"
    latest = [(one["attempt"], one["outcome"], one["end_ns"]) for one in first["latest"]]
    assert latest == [
        (1, "final", at(27)), (0, "final", at(22)), (0, "recovered", at(12)), (0, "recovered", at(2)),
    ]  # fmt: skip
    assert first["latest"][0]["message"].startswith("KeyError: 'row 2e3 of /tmp/x2/a.csv")


def test_filters_leave_the_failures_of_an_outcome_a_function_or_a_range(fresh: Running) -> None:
    fresh.record(_story())
    recovered = fresh.get("/api/v1/failures", outcome="recovered")
    assert [(g["attempts"], g["final"]) for g in recovered["items"]] == [(5, 0), (2, 0)]
    assert recovered["tasks"] == {"final": 2, "retrying": 1, "recovered": 7}
    assert [g["func_name"] for g in fresh.get("/api/v1/failures", func_name="slow")["items"]] == ["slow"]
    late = fresh.get("/api/v1/failures", since_ns=at(150))["items"]
    assert sum(g["attempts"] for g in late) == 2
    fresh.error(fresh.client.get("/api/v1/failures", params={"outcome": "x'"}), 400)


def test_a_session_without_failures_has_none_of_any_outcome(fresh: Running) -> None:
    story = Story()
    story.task("fine", 0, 1, 2)
    fresh.record(story)
    found = fresh.get("/api/v1/failures")
    assert (found["items"], found["total"], found["stopped_by_libraries"]) == ([], 0, 0)
    assert found["tasks"] == {"final": 0, "retrying": 0, "recovered": 0}
    failed = Story()
    _fail(failed, "load", 10, "ValueError: 1")
    fresh.record(failed)
    found = fresh.get("/api/v1/failures", outcome="recovered")
    assert (found["items"], found["total"]) == ([], 0)
    assert found["tasks"] == {"final": 1, "retrying": 0, "recovered": 0}


def test_very_long_and_odd_messages_are_grouped_in_linear_time(fresh: Running) -> None:
    story = Story()
    texts = ["(" * 100_000 + "1" * 100_000, 'File "' * 20_000, "", "\n" * 50_000, "a-" * 50_000 + "\x00é"]
    for number, text in enumerate(texts):
        story.task("odd", number, number + 1, number + 2, failed=True)
        story.batch.attempts[-1].error = TaskError(at(number + 2), "TASK_EXECUTION_EXCEPTION", text)
    fresh.record(story)
    found = fresh.get("/api/v1/failures")
    assert sum(group["attempts"] for group in found["items"]) == len(texts)
    assert all(len(group["message"] or "") <= 300 for group in found["items"])
    assert found["items"][0]["first_ns"] >= at(0) + 2 * MS


def test_a_call_while_its_actor_restarts_is_lost_with_the_previous_worker(fresh: Running) -> None:
    story, actor, worker = Story(), "1" * 24, "d" * 56
    steps = {
        (at(1), "ALIVE"): {"worker_id": worker},
        (at(20), "RESTARTING"): {"num_restarts": 1},
        (at(25), "ALIVE"): {"worker_id": "e" * 56},
        (at(50), "DEAD"): {"end_ns": at(50)},
    }
    story.batch.entities.append(Entity("actor", actor + JOB, {"class_name": "A", "job_id": JOB}, steps))
    story.entity(
        "worker", worker, 0, 20, exit_type="SYSTEM_ERROR", exit_detail="worker killed by `ray.kill`."
    )
    lost = {}
    for ended in (10, 22):
        task_id = story.task("A.f", ended - 1, ended=ended, failed=True, actor=actor)
        story.batch.attempts[-1].error = TaskError(at(ended), "ACTOR_UNAVAILABLE", f"unavailable at {ended}")
        lost[task_id] = {"kind": "worker", "id": worker} if ended > 20 else None
    fresh.record(story)
    for task_id, expected in lost.items():
        (attempt,) = fresh.get(f"/api/v1/tasks/{task_id}")["attempts"]
        assert attempt["lost_with"] == expected
    groups = fresh.get("/api/v1/failures")["items"]
    assert {row["task_id"]: row["lost_with"] for group in groups for row in group["latest"]} == lost
