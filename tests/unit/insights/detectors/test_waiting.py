"""Findings about waiting in records with known numbers."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story, at

from rayscope.insights.detect import load
from rayscope.insights.finding import Detector
from rayscope.model import Entity


@pytest.mark.parametrize("detector", load(), ids=lambda detector: detector.kind)
def test_a_detector_describes_its_finding_threshold_and_scope(detector: Detector) -> None:
    paragraphs = inspect.cleandoc(type(detector).__doc__ or "").split("\n\n")
    assert [text.partition(":")[0] for text in paragraphs[1:]] == ["Limits", "Needs"]
    assert all(text.endswith(".") for text in paragraphs)


def find(fresh: Running, story: Story) -> dict[str, dict[str, Any]]:
    """The findings about a job, by kind."""
    fresh.record(story)
    return {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}


def cluster(story: Story, end: float, **resources: float) -> None:
    """A node with two CPUs and more, and a job that lasted so long."""
    total = json.dumps({"CPU": 2.0, **resources})
    story.entity("node", "a" * 56, -1000, resources_total=total, is_head=True)
    story.entity("job", JOB, 0, end)
    story.entity("worker", "d" * 56, 0, worker_type="DRIVER", job_id=JOB, tracer="on")


def actor(story: Story, number: int, name: str, begin: float, end: float, **resources: float) -> str:
    """An actor that was created at once, and its resources."""
    identity = f"{number:024x}"
    asked = json.dumps(resources)
    story.task(f"{name}.__init__", begin, begin, begin + 1, actor=identity, resources=asked)
    story.entity("actor", identity + JOB, begin, end, class_name=name, job_id=JOB, required_resources=asked)
    return identity


def test_a_resource_that_an_actor_holds_throughout(fresh: Running) -> None:
    story = Story()
    actor(story, 1, "Model", 0, 80_000, GPU=1.0)
    tasks = [
        story.task("train", 10_000, 80_000 + 10 * place, 80_010 + 10 * place, resources='{"GPU":1.0}')
        for place in range(3)
    ]
    story.get(DRIVER, tasks, 10_000, 80_030)
    cluster(story, 100_000, GPU=1.0)
    finding = find(fresh, story)["pending_resources"]
    assert (finding["function"], finding["cost_ns"]) == ("train", 70_020 * MS)
    assert finding["numbers"] == {
        "waiter": "train",
        "waiting": 3,
        "waited_ns": 70_020 * MS,
        "needed": "1",
        "resource": "GPU",
        "total": "1",
        "held": "1",
        "holder": "Model",
        "holders": 1,
    }


def test_tasks_that_take_turns_wait_for_nobody_else(fresh: Running) -> None:
    story = Story()
    tasks = [
        story.task("train", 0, 10_000 * place, 10_000 * place + 10_000, resources='{"GPU":1.0}')
        for place in range(2)
    ]
    # An actor that holds another GPU blocks no one.
    actor(story, 1, "Model", 0, 20_000, GPU=1.0)
    story.get(DRIVER, tasks, 0, 20_000)
    cluster(story, 20_000, GPU=2.0)
    assert "pending_resources" not in find(fresh, story)


@pytest.mark.parametrize(
    ("cpus", "created", "awaited", "cost", "is_found"),
    # A job loses no more than all of its time, though the group waited longer, and nothing if it does not wait.
    [(64, 100, 100, 900, True), (64, -500, 0, 1000, True), (64, 100, None, 0, True), (1, 100, 100, 0, False)],
)
def test_placement_groups_that_no_node_can_hold(
    fresh: Running, cpus: int, created: int, awaited: int | None, cost: int, is_found: bool
) -> None:
    story = Story()
    inside = story.task("inside", max(0, created))
    story.batch.attempts[-1].placement_group_id = "9" * 28 + JOB
    story.task("work", 0, 0, 100)
    if awaited is not None:
        story.blocks(DRIVER, inside, awaited)
    bundles = json.dumps([{"index": 0, "node_id": None, "resources": {"CPU": cpus}}])
    group = Entity(
        "placement_group",
        "9" * 28 + JOB,
        {"job_id": JOB, "strategy": "PACK", "created_ns": at(created), "name": "big", "bundles": bundles},
    )
    story.batch.entities.append(group)
    cluster(story, 1000)
    findings = find(fresh, story)
    assert ("unschedulable_group" in findings) is is_found
    if is_found:
        finding = findings["unschedulable_group"]
        assert (finding["cost_ns"], finding["numbers"]["group"]) == (cost * MS, "placement group big")
        assert (finding["share"], finding["on_path_ns"] > 0) == (cost / 1000, cost > 0)
        assert "biggest node has 2" in finding["advice"]


def nested(inner: str, *, room: float) -> Story:
    """Two tasks that hold a GPU each and wait for what they submitted, with room for more of them or not."""
    story = Story()
    outer = [story.task("outer", 0, 0, resources='{"GPU":1.0}') for _ in range(2)]
    for by in outer:
        story.blocks(by, story.task("inner", 100, parent=by, resources=inner), 100)
    story.times_out(DRIVER, outer[0], 0, 10_000)
    cluster(story, 10_000, GPU=room)
    return story


def test_waiting_tasks_hold_the_resource_that_they_wait_for(fresh: Running) -> None:
    finding = find(fresh, nested('{"GPU":1.0}', room=2))["deadlock"]
    assert (finding["function"], finding["caller"], finding["severity"]) == ("inner", "outer", "critical")
    assert finding["numbers"]["tasks"] == finding["numbers"]["holders"] == 2
    assert finding["cost_ns"] == 9900 * MS


@pytest.mark.parametrize(("inner", "room"), [('{"GPU":1.0}', 3), ('{"CPU":1.0}', 2)])
def test_no_deadlock_where_there_is_room(fresh: Running, inner: str, room: float) -> None:
    assert not {"deadlock", "hang"} & find(fresh, nested(inner, room=room)).keys()


def test_actors_that_wait_for_each_other(fresh: Running) -> None:
    story = Story()
    actors = [actor(story, number, "Player", 0, 20_000) for number in (1, 2)]
    pings = [story.task("Player.ping", 10, 10, actor=one) for one in actors]
    for by, other in zip(pings, reversed(actors), strict=True):
        story.blocks(by, story.task("Player.pong", 100, parent=by, actor=other), 100)
    story.times_out(DRIVER, pings[0], 10, 20_000)
    cluster(story, 20_000)
    finding = find(fresh, story)["hang"]
    assert (finding["confidence"], finding["numbers"]["open"]) == ("high", 4)
    assert finding["numbers"]["chain"] == (
        "driver (blocked in ray.get) → Player.ping (blocked in ray.get) → Player.pong (waiting for its actor) "
        "→ Player.ping (blocked in ray.get) → Player.pong (waiting for its actor) → Player.ping again"
    )


@pytest.mark.parametrize(
    ("started", "cpus", "kinds"), [(None, 2, set()), (None, 3, {"unschedulable"}), (0, 2, set())]
)
def test_what_waits_for_one_task_is_no_circle(
    fresh: Running, started: float | None, cpus: float, kinds: set[str]
) -> None:
    story = Story()
    for _ in range(3):
        story.task("work", 0, 0, 100)
    last = story.task("work", 0, started, resources=json.dumps({"CPU": cpus}))
    story.times_out(DRIVER, last, 0, 90_000)
    cluster(story, 90_000)
    findings = find(fresh, story)
    assert {"hang", "unschedulable"} & findings.keys() == kinds
    if kinds:
        assert "each needs 3 CPU, and the largest node has 2." in findings["unschedulable"]["advice"]
        assert findings["unschedulable"]["sketch"].startswith("work.options(num_cpus=...)")


def stages(tasks: int, last: float = 1000) -> Story:
    """Three stages of some tasks of 1 s on two CPUs, each submitted when the one before is done."""
    story = Story()
    end = 0.0
    for stage in ("prepare", "train", "check"):
        begin, made = end, []
        for number in range(tasks):
            started = begin + 1000 * (number // 2)
            end = started + (last if number == tasks - 1 else 1000)
            made.append(
                story.task(stage, begin, started, end, worker=f"{number % 2:056x}", resources='{"CPU":1.0}')
            )
        story.get(DRIVER, made, begin, end)
    cluster(story, end)
    return story


@pytest.mark.parametrize(
    ("tasks", "last", "is_found"),
    [(3, 1000, True), (4, 1000, False), (3, 5000, True), (7, 5000, False), (2, 2500, False)],
    ids=["one-too-many", "even", "uneven", "straggler", "too-few"],
)
def test_cpus_that_idle_at_barriers(fresh: Running, tasks: int, last: float, is_found: bool) -> None:
    findings = find(fresh, stages(tasks, last))
    assert ("idle_gap" in findings) is is_found
    if is_found:
        finding = findings["idle_gap"]
        # Half of the CPUs for the last task of the first two stages; after the third one nothing follows.
        assert (finding["cost_ns"], finding["numbers"]["barriers"]) == (last * MS, 2)
        assert finding["numbers"]["idle_share"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("cpus", "busy", "is_found"),
    [(1.0, 100, True), (1.0, 3000, False), (0.0, 100, False), (1.0, 0, True)],
    ids=["idle", "busy", "holds-nothing", "never-called"],
)
def test_actors_that_hold_cpus_for_nothing(fresh: Running, cpus: float, busy: float, is_found: bool) -> None:
    story = Story()
    service = actor(story, 1, "Service", 0, 8000, **({"CPU": cpus} if cpus else {}))
    calls = [story.task("Service.answer", 10, 10, 10 + busy, actor=service)] if busy else []
    tasks = [
        story.task("work", 0, 1000 * place, 1000 * place + 1000, worker="e" * 56, resources='{"CPU":1.0}')
        for place in range(8)
    ]
    story.get(DRIVER, calls + tasks, 0, 8000)
    cluster(story, 8000)
    findings = find(fresh, story)
    assert ("idle_actors" in findings) is is_found
    if is_found:
        finding = findings["idle_actors"]
        # Half of the CPUs, while tasks waited for 7 s.
        assert (finding["actor_class"], finding["cost_ns"]) == ("Service", 3500 * MS)
        assert (finding["numbers"]["held"], finding["numbers"]["resource"]) == ("1", "CPU")
        assert finding["numbers"]["busy"] == pytest.approx(busy / 8000)


@pytest.mark.parametrize(
    ("actors", "calls", "start", "work", "is_found"),
    [
        (20, 1, 410, 10, True),
        (20, 4, 410, 10, False),
        (5, 1, 410, 10, False),
        (20, 1, 410, 500, False),
        (20, 1, 2000, 1500, False),
    ],
    ids=["short", "used", "few", "longer-than-its-start", "over-a-second"],
)
def test_actors_that_live_for_a_call(
    fresh: Running, actors: int, calls: int, start: float, work: float, is_found: bool
) -> None:
    story = Story()
    made = []
    each = start + 10 + calls * work
    for number in range(actors):
        begin = each * number
        identity = f"{number + 1:024x}"
        story.task("Parser.__init__", begin, begin + start - 10, begin + start, actor=identity, queued=begin)
        story.entity("actor", identity + JOB, begin, begin + each, class_name="Parser", job_id=JOB)
        for call in range(calls):
            at_ms = begin + start + 10 + work * call
            made.append(story.task("Parser.parse", begin, at_ms, at_ms + work, actor=identity))
    story.get(DRIVER, made, 0, each * actors)
    cluster(story, each * actors)
    findings = find(fresh, story)
    assert ("short_lived_actors" in findings) is is_found
    if is_found:
        numbers = findings["short_lived_actors"]["numbers"]
        assert numbers == {"actors": 20, "calls": 1.0, "work_ns": 10 * MS, "start_ns": 410 * MS}


@pytest.mark.parametrize(("tasks", "is_found"), [(10_500, True), (1_000, False)])
def test_more_pending_tasks_than_can_run(fresh: Running, tasks: int, is_found: bool) -> None:
    story = Story()
    for number in range(tasks):
        story.task("small", number, 11_000 + number, 11_001 + number)
    cluster(story, 22_000)
    findings = find(fresh, story)
    assert ("unbounded_pending" in findings) is is_found
    if is_found:
        finding = findings["unbounded_pending"]
        assert (finding["numbers"]["pending"], finding["cost_ns"]) == (10_500, 499 * MS)
