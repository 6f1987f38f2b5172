"""The same function, job and moment has the same numbers everywhere (docs/reference/glossary.md)."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story, at
from tests.waiting import wait_until

from rayscope.model import Entity, TaskError

OTHER_JOB = "02000000"
ACTOR = "c" * 16 + "d" * 8
#: Nothing is on record after this (ms of the story): what has not ended lasts until then.
NOW = 1000
#: By function of the first job, in ms: (attempts, total, waiting, duration, executing, awaiting, blocked).
#: All of ``total`` that is none of waiting, executing, awaiting, and blocked is storing.
EXPECTED = {
    # Each: 10 to the node, 20 to the worker, 5 of loading, 60 in the function, 5 of storing; it waits for 30.
    "train": (2, 200, 70, 140, 60, 0, 60),
    # One in 10 after 30, one runs since 50, one waits for a node since 100, one failed and is tried again.
    "load": (5, 30 + 10 + 20 + 950 + 900 + 30 + 50, 30 + 20 + 900 + 10 + 20, 10 + 950 + 20 + 30, 1010, 0, 0),
    # It is blocked since 240; the end was not reported.
    "waits": (1, 800, 10, 790, 30, 0, 760),
    "Store.__init__": (2, 40, 20, 20, 20, 0, 0),
    "Store.put": (1, 10, 5, 5, 5, 0, 0),
    # One awaits 30 + 15 of 100, and a value for 20; one is suspended since 640, to this day.
    "Store.poll": (2, 110 + 400, 10, 500, 35 + 40, 45 + 360, 20),
    # It was never to run, as its argument failed.
    "never": (1, 45, 45, 0, 0, 0, 0),
    # It ran, but its worker died before it could report that: how long it waited is not known.
    "lost": (1, 50, 0, 0, 0, 0, 0),
}
Numbers = dict[str, dict[str, Any]]


@pytest.fixture
def recorded(fresh: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    """A job with known numbers at one moment, and another job running at the same time."""
    monkeypatch.setattr(time, "time_ns", lambda: at(NOW))
    story = Story()
    for begin in (0, 100):
        train = story.task("train", begin, begin + 30, begin + 100, queued=begin + 10)
        made = story.batch.attempts[-1]
        made.phases = {
            "execute": (at(begin + 35), at(begin + 95)),
            "total": (at(begin + 30), at(begin + 100)),
        }
        if begin == 0:
            read = story.task("load", 40, 70, 80, parent=train)
        story.get(train, read, begin + 40, begin + 60)
        story.get(train, read, begin + 50, begin + 70)  # overlaps the one before
    story.task("load", 30, 50)
    story.task("load", 100)
    again = story.task("load", 200, 210, 230, failed=True)
    story.task("load", 230, 250, 280, task_id=again, attempt=1)
    waits = story.task("waits", 200, 210)
    story.blocks(waits, again, 240)
    init = story.task("Store.__init__", 0, 10, 20, actor=ACTOR, task_id="f" * 16 + ACTOR + JOB)
    story.task("Store.__init__", 300, 310, 320, actor=ACTOR, task_id=init, attempt=1)
    restart = story.batch.attempts[-1]
    restart.name = restart.func_name = None  # Ray's restarts of actors have no definition
    story.batch.entities.append(Entity("actor", init[16:], {"class_name": "Store", "job_id": JOB}))
    story.task("Store.put", 400, 405, 410, actor=ACTOR)
    poll = story.task("Store.poll", 400, 410, 510, actor=ACTOR)
    story.awaits(poll, 420, 450)
    story.awaits(poll, 460, 500, awaited=15)
    story.get(poll, read, 450, 470)
    story.suspended(story.task("Store.poll", 600, 600, actor=ACTOR), 640)
    story.task("never", 500, None, 545, failed=True)
    story.batch.attempts[-1].error = TaskError(at(545), "OBJECT_LOST", "Its argument was lost.")
    story.task("lost", 500, None, 550, failed=True)
    other = "f" * 40 + OTHER_JOB
    story.task("load", 0, 10, 700, parent=other, job=OTHER_JOB)
    for job in (JOB, OTHER_JOB):
        story.batch.entities.append(Entity("job", job, {"state": "RUNNING", "start_ns": at(0)}))
    fresh.record(story)
    return fresh


def _named(rows: list[dict[str, Any]], name: str = "func_name") -> Numbers:
    named = {row[name]: row for row in rows}
    assert len(named) == len(rows)
    return named


def _sums(rows: list[dict[str, Any]], *fields: str) -> Numbers:
    sums: dict[str, Counter[str]] = {}
    for row in rows:
        sums.setdefault(row["func_name"], Counter()).update(
            {"attempts": 1, **{field: row[field] or 0 for field in fields}}
        )
    return {name: dict(sum_) for name, sum_ in sums.items()}


def _sql(server: Running, query: str) -> Numbers:
    answer = server.client.post("/api/v1/sql", json={"sql": query})
    assert answer.status_code == 200, answer.text
    names = [name for name, _ in answer.json()["columns"]]
    return _named([dict(zip(names, row, strict=True)) for row in answer.json()["rows"]])


def _flame(server: Running, **params: Any) -> Numbers:
    frames = server.get("/api/v1/flow/flame", **params)["frames"]
    calls = [{**frame, "func_name": frame["name"]} for frame in frames if frame["attempts"]]
    fields = ("attempts", "duration_ns", "executing_ns", "awaiting_ns", "blocked_ns")
    sums: dict[str, Counter[str]] = {}
    for call in calls:
        sums.setdefault(call["func_name"], Counter()).update({field: call[field] for field in fields})
    return {name: dict(sum_) for name, sum_ in sums.items()}


def numbers_by_place(server: Running) -> dict[str, Numbers]:
    """Numbers of functions by the place that shows them, function, and field."""
    of_job = {"job_id": JOB}
    logical = server.get("/api/v1/flow/logical", **of_job)["nodes"]
    ranged = server.get("/api/v1/flow/range", **of_job)["functions"]
    tasks = server.get("/api/v1/tasks", limit=1000, **of_job)["items"]
    detail = [
        scheduled
        for task_id in {task["task_id"] for task in tasks}
        for scheduled in server.get(f"/api/v1/tasks/{task_id}")["scheduling"]
    ]
    times = ("total_ns", "waiting_ns", "duration_ns")
    phases = ("executing_ns", "awaiting_ns", "blocked_ns")
    sums = ", ".join(f"coalesce(sum({name}), 0)::BIGINT AS {name}" for name in times)
    more = ", ".join(f"coalesce(sum({name}), 0)::BIGINT AS {name}" for name in phases)
    grouped = f"WHERE job_id = '{JOB}' GROUP BY func_name"
    return {
        "progress": _named(server.get(f"/api/v1/jobs/{JOB}/progress")["functions"]),
        "scheduling": _named(server.get("/api/v1/scheduling", **of_job)["items"]),
        "tasks": _sums(tasks, *times),
        "task": _sums(detail, *times, *phases),
        "flame": _flame(server, **of_job),
        "logical": _named([node for node in logical if node["kind"] in ("function", "method")], "name"),
        "range": _named(ranged, "name"),
        "tasks in SQL": _sql(server, f"SELECT func_name, count(*) AS attempts, {sums} FROM tasks {grouped}"),
        "phases in SQL": _sql(
            server, f"SELECT func_name, count(*) AS attempts, {sums}, {more} FROM phases {grouped}"
        ),
    }


FIELDS = ("attempts", "total_ns", "waiting_ns", "duration_ns", "executing_ns", "awaiting_ns", "blocked_ns")


def test_every_page_shows_the_same_numbers(recorded: Running) -> None:
    wanted = {
        name: dict(zip(FIELDS, (numbers[0], *(ms * MS for ms in numbers[1:])), strict=True))
        for name, numbers in EXPECTED.items()
    }
    for where, functions in numbers_by_place(recorded).items():
        found = {
            name: {field: row[field] for field in FIELDS if field in row} for name, row in functions.items()
        }
        fields = next(iter(found.values())).keys()
        assert len(fields) >= 3, where
        expected = {name: {field: row[field] for field in fields} for name, row in wanted.items()}
        assert found == expected, where


def test_the_summary_agrees_with_all_jobs(recorded: Running) -> None:
    summary = _named(recorded.get("/api/v1/summary")["functions"])
    everything = _named(recorded.get("/api/v1/scheduling")["items"])
    for name, row in summary.items():
        for field in ("attempts", "total_ns", "waiting_ns", "duration_ns"):
            assert row[field] == everything[name][field], (name, field)
    assert summary.keys() == everything.keys() == EXPECTED.keys()
    assert summary["load"]["duration_ns"] == (EXPECTED["load"][3] + 690) * MS
    actor = recorded.get(f"/api/v1/actors/{ACTOR + JOB}/progress")["functions"]
    for name, row in _named(actor).items():
        assert row["duration_ns"] == summary[name]["duration_ns"], name


def test_the_same_quantiles_of_durations(recorded: Running) -> None:
    logical = _named(recorded.get("/api/v1/flow/logical")["nodes"], "id")
    flame = {frame["name"]: frame for frame in recorded.get("/api/v1/flow/flame")["frames"]}
    summary = _named(recorded.get("/api/v1/summary")["functions"])
    for name in ("train", "waits"):
        numbers = {field: summary[name][field] for field in ("p50_ns", "p95_ns", "max_ns")}
        assert numbers == {field: flame[name][field] for field in numbers}
        assert {field: logical[f"f:{name}"][field] for field in ("p50_ns", "p95_ns")} == {
            field: numbers[field] for field in ("p50_ns", "p95_ns")
        }


def test_tasks_that_wait_for_a_node_show_how_long(recorded: Running) -> None:
    waiting = recorded.get("/api/v1/tasks", state="PENDING_NODE_ASSIGNMENT", sort="-waiting_ns")["items"]
    assert [(task["waiting_ns"], task["duration_ns"]) for task in waiting] == [(900 * MS, None)]
    (scheduled,) = recorded.get(f"/api/v1/tasks/{waiting[0]['task_id']}")["scheduling"]
    assert (scheduled["waiting_node_ns"], scheduled["total_ns"]) == (900 * MS, 900 * MS)
    longest = recorded.get("/api/v1/tasks", sort="-waiting_ns", limit=1)["items"]
    assert longest == waiting
    assert DRIVER not in {task["task_id"] for task in waiting}


def test_the_navigation_counts_what_the_lists_have(fresh: Running) -> None:
    story = Story()
    for kind, count in (("job", 1), ("actor", 2), ("node", 3), ("worker", 4), ("placement_group", 5)):
        for number in range(count):
            story.entity(kind, f"{number:0>2}", number)
    story.entity("job", "internal", 0, is_internal=True)
    fresh.record(story)
    # (A collector may have asked just before the story was written, and its answer is good for a moment.)
    cluster = wait_until(lambda: (found := fresh.get("/api/v1/cluster"))["jobs"] and found, "the counts")
    for count, kind in enumerate(("jobs", "actors", "nodes", "workers", "placement-groups"), 1):
        assert (
            sum(cluster[kind.replace("-", "_")].values()) == fresh.get(f"/api/v1/{kind}")["total"] == count
        ), kind
