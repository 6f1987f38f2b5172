"""The detectors of scheduling, on records with known numbers."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story

from rayscope.insights.detect import load

CPU = '{"CPU":1.0}'


def find(fresh: Running, story: Story, end: float, cpus: float = 2) -> dict[str, dict[str, Any]]:
    """The findings by kind, for a job that took ``end`` ms on one node with some CPUs."""
    story.entity("node", "a" * 56, -1000, resources_total=json.dumps({"CPU": cpus}), is_head=True)
    story.entity("job", JOB, 0, end)
    story.entity("worker", "d" * 56, 0, worker_type="DRIVER", job_id=JOB, tracer="on")
    fresh.record(story)
    return {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}


@pytest.mark.parametrize(
    ("calls", "long_ms", "end", "is_found"),
    [
        (200, 9, 4000, True),
        (199, 9, 3980, False),
        (200, 10, 4000, False),
        (200, 9, 4001, False),
    ],
    ids=["found", "too-few", "too-long", "costs-too-little"],
)
def test_calls_that_do_less_than_they_cost(
    fresh: Running, calls: int, long_ms: float, end: float, is_found: bool
) -> None:
    story = Story()
    tasks = []
    for number in range(calls):
        begin = 20.0 * (number // 2)
        tasks.append(
            story.task("parse", 0, begin, begin + long_ms, worker=f"{number % 2:056x}", resources=CPU)
        )
    story.get(DRIVER, tasks, 1, end)
    findings = find(fresh, story, end)
    assert ("tiny_tasks" in findings) is is_found
    if is_found:
        finding = findings["tiny_tasks"]
        # A millisecond for each of 200 calls, shared by two CPUs.
        assert (finding["function"], finding["cost_ns"]) == ("parse", 100 * MS)
        assert finding["numbers"] == {"calls": 200, "median_ns": 9 * MS, "batch": 11}
        assert finding["filters"] == {"func_name": "parse"}


@pytest.mark.parametrize(
    ("pause", "running", "is_found"),
    [(250, 1, True), (249, 1, False), (250, 2, False)],
    ids=["found", "too-short", "busy"],
)
def test_a_driver_that_computes_between_its_submissions(
    fresh: Running, pause: float, running: int, is_found: bool
) -> None:
    """It submits some tasks, computes, submits a long one, and waits for all."""
    story = Story()
    tasks = [story.task("work", 0, 0, 500, worker=f"{place:056x}", resources=CPU) for place in range(running)]
    tasks.append(story.task("last", pause, pause, 999, worker="e" * 56, resources="{}"))
    story.get(DRIVER, tasks, pause, 1000)
    findings = find(fresh, story, 1000)
    assert ("driver_bound" in findings) is is_found
    if is_found:
        finding = findings["driver_bound"]
        assert (finding["function"], finding["cost_ns"]) == (None, 250 * MS)
        assert finding["numbers"] == {"own_ns": 250 * MS, "share": 0.25, "running": 1.0}


def results(ended: list[float], submitted: list[float]) -> Story:
    """The driver gets a result when it is there, one after the other, and works 100 ms on each."""
    story = Story()
    tasks = [
        story.task("fetch", created, created, end, worker=f"{number:056x}", resources=CPU)
        for number, (created, end) in enumerate(zip(submitted, ended, strict=True))
    ]
    now = 10.0
    for task, end in zip(tasks, ended, strict=True):
        story.get(DRIVER, task, now, max(now, end) + 1)
        now = max(now, end) + 101
    return story


@pytest.mark.parametrize(
    ("ended", "submitted", "is_found"),
    [
        ([800, 100, 100, 100, 100], [0] * 5, True),
        ([800, 100, 100, 100], [0] * 4, False),
        ([100, 200, 300, 400, 800], [0] * 5, False),
        ([800, 100, 100, 100, 100], [0, 0, 0, 0, 11], False),
    ],
    ids=["found", "too-few", "in-order", "submitted-later"],
)
def test_results_that_are_processed_in_the_order_of_submission(
    fresh: Running, ended: list[float], submitted: list[float], is_found: bool
) -> None:
    findings = find(fresh, results(ended, submitted), 1400, cpus=8)
    assert ("submission_order" in findings) is is_found
    if is_found:
        finding = findings["submission_order"]
        # The work on four of the results. The driver waited for 704 ms although others were there.
        assert (finding["function"], finding["caller"], finding["cost_ns"]) == ("fetch", "", 400 * MS)
        assert finding["numbers"] == {"calls": 5, "blocked_ns": 704 * MS, "between_ns": 400 * MS}


def board(calls: int, busy: float, together: int = 1) -> Story:
    """The driver submits all calls at once. The actor starts one every 100 ms and runs it for ``busy`` ms."""
    story = Story()
    made = add_actor(story, "Board", calls, busy, together)
    story.get(DRIVER, made, 6, 20 + 100.0 * calls)
    return story


def add_actor(
    story: Story,
    name: str,
    calls: int,
    busy: float,
    together: int = 1,
    actor: str = "ac" * 12,
    cpus: float = 0,
) -> list[str]:
    """An actor of a class and its calls, as those of a board."""
    story.task(f"{name}.__init__", 0, 0, 1, actor=actor, worker=actor * 2 + "0" * 8)
    resources = json.dumps({"CPU": cpus} if cpus else {})
    story.entity("actor", actor + JOB, 0, class_name=name, job_id=JOB, required_resources=resources)
    made = []
    for number in range(calls):
        begin = 10 + 100.0 * (number // together)
        worker = actor * 2 + "0" * 8
        made.append(story.task(f"{name}.post", 5, begin, begin + busy, actor=actor, worker=worker, queued=5))
    return made


@pytest.mark.parametrize(
    ("calls", "busy", "together", "end", "is_found"),
    [
        (8, 80, 1, 830, True),
        (7, 80, 1, 830, False),
        (8, 66, 1, 830, False),
        (8, 80, 2, 830, False),
        (8, 80, 1, 16_000, False),
    ],
    ids=["found", "too-few", "idle", "concurrent", "short"],
)
def test_an_actor_that_everything_waits_for(
    fresh: Running, calls: int, busy: float, together: int, end: float, is_found: bool
) -> None:
    findings = find(fresh, board(calls, busy, together), end)
    assert ("actor_bottleneck" in findings) is is_found
    if is_found:
        finding = findings["actor_bottleneck"]
        assert (finding["actor_class"], finding["cost_ns"]) == ("Board", 780 * MS)
        assert finding["filters"] == {"func_name": "Board.post", "actor_id": "ac" * 12 + JOB}
        assert finding["numbers"] == {
            "actor": "Board acacacac (pid 100 @ aaaaaaaa)",
            "calls": 8,
            "more": 4,
            "busy": pytest.approx(640 / 780),
            # Call n waits for 100 n ms.
            "queue": pytest.approx(2800 / 780),
        }


@pytest.mark.parametrize(("blocked", "is_found"), [(11, True), (13, False)])
def test_an_actor_that_is_blocked_is_not_the_bottleneck(
    fresh: Running, blocked: float, is_found: bool
) -> None:
    story = Story()
    made = add_actor(story, "Board", 8, 80)
    for number, call in enumerate(made):
        begin = 10 + 100.0 * number
        inner = story.task("look", begin, begin, begin + blocked, parent=call, worker="e" * 56)
        story.get(call, inner, begin, begin + blocked * 2 / 3)
        story.get(call, inner, begin + 30, begin + 30 + blocked / 3)
    story.get(DRIVER, made, 6, 820)
    findings = find(fresh, story, 830)
    assert ("actor_bottleneck" in findings) is is_found
    if is_found:
        found = findings["actor_bottleneck"]
        assert found["numbers"]["busy"] == pytest.approx((640 - 8 * blocked) / 780)
        assert "pool[at % 4].post.remote(item)" in found["sketch"]


@pytest.mark.parametrize("is_pool_first", [True, False])
def test_a_class_is_a_bottleneck_whatever_another_class_needs(fresh: Running, is_pool_first: bool) -> None:
    """Calls of a pool with an actor for each CPU wait for CPUs; those of one actor without a CPU wait for it."""
    story = Story()
    made = []
    places = [("Pool", f"{n:02x}" * 12, 1.0) for n in range(1, 5)]
    places.insert(0 if not is_pool_first else 4, ("Board", ("09" if is_pool_first else "00") * 12, 0.0))
    for name, actor, cpus in places:
        made += add_actor(story, name, 8, 80 if cpus else 90, actor=actor, cpus=cpus)
    story.get(DRIVER, made, 6, 820)
    find(fresh, story, 830, cpus=4)
    findings = fresh.get("/api/v1/insights")["findings"]
    assert [one["actor_class"] for one in findings if one["kind"] == "actor_bottleneck"] == ["Board"]


def test_each_kind_of_finding_is_found_in_a_unit_test() -> None:
    """Its name is a string in one of the tests, and not in a docstring."""
    named = set()
    for path in Path(__file__).parents[2].rglob("test_*.py"):
        named |= {
            node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)
        }
    assert {detector.kind for detector in load()} <= named
