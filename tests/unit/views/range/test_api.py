"""The statistics of a range of time, over the API, of executions whose numbers are known."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running import Running
from tests.story import MS, Story, at

from rayscope.model import Span

A, B = "a" * 56, "b" * 56
N, M = "1" * 56, "2" * 56


@pytest.fixture
def story() -> Story:
    """Between 100 and 200: `outer` (50 to 300, blocked 80 to 150 and since 190) and its `inner` (90 to 180,
    failed) on A; `long` (160 on, running still) on B; `early` (ended at 95) and `late` (waits from 180 on).
    """
    story = Story()
    story.task("early", 0, 10, 95, worker=A, node=N)
    outer = story.task("outer", 20, 50, 300, worker=A, node=N)
    inner = story.task("inner", 70, 90, 180, worker=A, node=N, parent=outer, queued=85, failed=True)
    story.get(outer, inner, 80, 150)
    story.task("long", 110, 160, worker=B, node=M, queued=140)
    story.blocks(outer, inner, 190)
    story.task("late", 180, 240, 250, worker=B, node=M, queued=230)
    return story


def get_range(running: Running, since: float, until: float, **more: Any) -> Any:
    return running.get("/api/v1/flow/range", since_ns=at(since), until_ns=at(until), **more)


def test_times_are_cut_to_the_range(fresh: Running, story: Story) -> None:
    fresh.record(story)
    found = get_range(fresh, 100, 200)
    assert (found["attempts"], found["states"]) == (
        4,
        {"FINISHED": 2, "FAILED": 1, "RUNNING": 1},
    )
    # `long` waits 110 to 140 for a node and 140 to 160 in the queue, `late` 180 to 200 for a node; `outer` is
    # blocked from 100 to 150 and from 190 to 200.
    assert {phase: spent / MS for phase, spent in found["phases"].items()} == {
        "waiting_args": 0,
        "waiting_node": 30 + 20,
        "starting_worker": 0,
        "queued": 20,
        "loading": 0,
        "fetching": 0,
        "executing": (100 - 60) + 80 + 40,
        "awaiting": 0,
        "blocked": 60,
        "storing": 0,
    }
    assert found["busy_ns"] == (100 + 80 + 40) * MS
    assert found["running"] == {"mean": 2.2, "most": 3}
    assert [
        (
            row["name"],
            row["attempts"],
            row["failed"],
            row["executing_ns"] / MS,
            row["blocked_ns"] / MS,
            row["mean"],
        )
        for row in found["functions"]
    ] == [
        ("inner", 1, 1, 80, 0, 0.8),
        ("long", 1, 0, 40, 0, 0.4),
        ("outer", 1, 0, 40, 60, 1.0),
        ("late", 1, 0, 0, 0, 0),
    ]
    assert [
        (lane["id"], lane["attempts"], lane["busy_ns"] / MS, lane["rows"], lane["share"])
        for lane in found["lanes"]
    ] == [
        (A, 2, 180, 2, 0.9),
        (B, 1, 40, 1, 0.4),
    ]


def test_the_largest_peak_memory_is_of_attempts_on_workers_in_the_range(fresh: Running, story: Story) -> None:
    for attempt, peak in zip(story.batch.attempts, (9_000, 100, 300, None, 9_000), strict=True):
        attempt.peak_memory = peak
    fresh.record(story)
    found = get_range(fresh, 100, 200)
    assert {row["name"]: row["max_memory"] for row in found["functions"]} == {
        "inner": 300,
        "outer": 100,
        "long": None,
        "late": None,  # it only waits here
    }
    assert [lane["max_memory"] for lane in found["lanes"]] == [300, None]


def test_a_range_gets_its_share_of_waits_reported_as_one_sum(fresh: Running) -> None:
    story = Story()
    task = story.task("many", 0, 0, 100)
    extra = f'{{"calls":5000,"blocked_ns":{20 * MS}}}'
    story.batch.spans.append(Span(task, 0, "ray.get", at(20), at(60), extra))
    fresh.record(story)
    for since, until, blocked in ((0, 100, 20), (10, 30, 5), (60, 100, 0)):
        assert get_range(fresh, since, until)["phases"]["blocked"] == blocked * MS


def test_lanes_and_filters(fresh: Running, story: Story) -> None:
    fresh.record(story)
    nodes = get_range(fresh, 100, 200, by="node")["lanes"]
    assert [(lane["id"], lane["kind"], lane["rows"]) for lane in nodes] == [(N, "node", 2), (M, "node", 1)]
    inner = get_range(fresh, 100, 200, by="function", func_name="inner")
    assert [(lane["id"], lane["share"]) for lane in inner["lanes"]] == [("inner", 0.8)]
    assert (inner["attempts"], inner["running"]["most"]) == (1, 1)


def test_without_a_range_it_is_all_of_it(fresh: Running, story: Story) -> None:
    fresh.record(story)
    found = fresh.get("/api/v1/flow/range", state="FINISHED")
    assert (found["since_ns"], found["until_ns"]) == (at(0), at(300))
    assert found["attempts"] == 3
    # A wait without a reported end lasts as long as its task.
    outer = next(row for row in found["functions"] if row["name"] == "outer")
    assert (outer["executing_ns"], outer["blocked_ns"]) == ((250 - 180) * MS, 180 * MS)


def test_parts_of_a_time_add_up_to_it(fresh: Running, story: Story) -> None:
    fresh.record(story)
    whole = get_range(fresh, 0, 400)
    parts = [get_range(fresh, since, until) for since, until in ((0, 85), (85, 133), (133, 195), (195, 400))]
    for phase, spent in whole["phases"].items():
        assert sum(part["phases"][phase] for part in parts) == spent
    assert sum(part["busy_ns"] for part in parts) == whole["busy_ns"]
    for found in (whole, *parts):
        for name in ("executing", "blocked"):
            assert sum(row[f"{name}_ns"] for row in found["functions"]) == found["phases"][name]
        assert sum(lane["busy_ns"] for lane in found["lanes"]) == found["busy_ns"]
        assert sum(found["states"].values()) == sum(row["attempts"] for row in found["functions"])
        assert found["functions_left_out_ns"] == found["lanes_left_out_ns"] == 0


def test_tasks_that_never_reached_a_worker_keep_none_busy(fresh: Running) -> None:
    story = Story()
    story.task("runs", 0, 10, 200, worker=A, node=N)
    for _ in range(5):
        story.task("pending", 0)
    story.task("lost", 0, ended=50, failed=True)
    fresh.record(story)
    found = get_range(fresh, 0, 100)
    assert (found["attempts"], found["busy_ns"], found["lanes_left_out_ns"]) == (7, 90 * MS, 0)
    assert found["running"] == {"mean": 0.9, "most": 1}
    assert {row["name"]: row["mean"] for row in found["functions"]} == {"runs": 0.9, "pending": 0, "lost": 0}


def test_a_range_may_have_one_end(fresh: Running, story: Story) -> None:
    fresh.record(story)
    found = fresh.get("/api/v1/flow/range", until_ns=at(-50))
    assert (found["attempts"], found["until_ns"]) == (0, at(-50))


def test_running_tasks_belong_to_the_range_up_to_now(fresh: Running, story: Story) -> None:
    fresh.record(story)
    services = fresh.server.services
    assert services is not None
    found = fresh.get("/api/v1/flow/range")
    assert found["since_ns"] == at(0)
    # `long` has no end: the range extends to the newest record, past the last end at 300.
    assert found["until_ns"] > at(300)
    assert found["until_ns"] <= services.records.last_ns(services.records.resolve(None))


def test_nothing_in_the_range_and_what_is_no_range(fresh: Running, story: Story) -> None:
    fresh.record(story)
    found = get_range(fresh, -100, -50)
    assert (found["attempts"], found["lanes"], found["functions"]) == (0, [], [])
    assert found["running"] == {"mean": 0, "most": 0}
    for params in ({"since_ns": at(5), "until_ns": at(5)}, {"by": "colour"}):
        fresh.error(fresh.client.get("/api/v1/flow/range", params=params), 400)


def test_concurrency_of_too_many_attempts_is_not_counted(
    fresh: Running, story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.record(story)
    monkeypatch.setattr("rayscope.views.range.sql.MAX_COUNTED", 2)
    found = get_range(fresh, 100, 200)
    assert found["running"] == {"mean": 2.2, "most": None}
    assert [(lane["busy_ns"] / MS, lane["rows"], lane["share"]) for lane in found["lanes"]] == [
        (180, None, None),
        (40, None, None),
    ]
