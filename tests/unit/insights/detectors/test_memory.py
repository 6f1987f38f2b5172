"""Findings about memory in records with known sizes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, Story, at
from tests.unit.insights.detectors.test_machines import CPU, GIB, HEAD, MIB, fail, insights, node

from rayscope.model import Edge, Entity

S = 1000.0
#: The size of a worker that has run nothing.
EMPTY = 100 * MIB


def memory(story: Story, peak: float, start: float = EMPTY, scope: str = "own") -> None:
    """The memory of the last attempt."""
    last = story.batch.attempts[-1]
    last.peak_memory, last.start_memory, last.memory_scope = round(peak), round(start), scope


def killed(story: Story, worker: str, when: float, pid: int, size: float, *, by_kernel: bool) -> None:
    """A worker that was killed for lack of memory."""
    exit_type = "SYSTEM_ERROR" if by_kernel else "NODE_OUT_OF_MEMORY"
    story.entity("worker", worker, 0, when, node_id=HEAD, pid=pid, job_id=JOB, exit_type=exit_type)
    fields: dict[str, Any] = {
        "node_id": HEAD,
        "pid": pid,
        "signal": "SIGKILL",
        "end_ns": at(when),
        "rss_bytes": round(size),
        "memory_total": 8 * GIB,
        "oom_kills": int(by_kernel),
    }
    story.batch.entities.append(Entity("process_end", f"end-{pid}", fields))


def loaders(
    peak: float, *, at_once: int = 4, scope: str = "own", resources: str = CPU, objects: float = 0
) -> Story:
    """Eight tasks, ``at_once`` at a time, on a node with 4 CPUs and 6 GiB."""
    story = Story()
    tasks = []
    for number in range(8):
        begin = 10 + S * (number // at_once)
        tasks.append(
            story.task(
                "load", 5, begin, begin + S, worker=f"{number % at_once + 1:056x}", resources=resources
            )
        )
        memory(story, peak, scope=scope)
        if objects:
            end = at(begin + S)
            story.batch.edges.append(Edge(tasks[-1], 0, "get", DRIVER, 100_000_001, round(objects), end, end))
    story.get(DRIVER, tasks, 5, 10 + S * 8 / at_once)
    node(story, memory=6.0 * GIB)
    story.entity("job", JOB, 0, 20 + S * 8 / at_once)
    return story


def test_tasks_that_reserve_no_memory_and_need_more_than_the_node_has(fresh: Running) -> None:
    found, skipped = insights(fresh, loaders(1.6 * GIB), "memory_not_requested")
    assert skipped == ""
    assert (found["function"], found["is_risk"], found["cost_ns"]) == ("load", True, 0)
    each = round(1.6 * GIB)
    assert found["numbers"] == {
        "calls": 8,
        "mean_bytes": each,
        "peak_bytes": each,
        "at_once": 4,
        "together_bytes": 4 * each,
        "node_memory_bytes": 6 * GIB,
        "memory_bytes": 2 * GIB,
        "fit": 3,
    }
    assert f"load.options(memory={2 * GIB})" in found["sketch"]


@pytest.mark.parametrize(
    ("peak", "more"),
    [
        (1.4 * GIB, {}),  # four fit
        (1.6 * GIB, {"at_once": 2}),
        (1.6 * GIB, {"scope": "shared"}),
        (1.6 * GIB, {"resources": json.dumps({"CPU": 1.0, "memory": 1.0 * GIB})}),
        (1.6 * GIB, {"objects": 1 * GIB}),  # which processes share
    ],
)
def test_tasks_whose_memory_suffices_or_is_unknown(fresh: Running, peak: float, more: dict[str, Any]) -> None:
    assert insights(fresh, loaders(peak, **more), "memory_not_requested") == ({}, "")


def test_without_the_tracer_memory_is_unknown(fresh: Running) -> None:
    story = loaders(0)
    for attempt in story.batch.attempts:
        attempt.peak_memory = attempt.start_memory = attempt.memory_scope = None
    fresh.record(story)
    answer = fresh.get("/api/v1/insights")
    skipped = {one["kind"]: one["message"] for one in answer["silent"]}
    for kind in (
        "memory_not_requested",
        "memory_requested_unused",
        "actor_memory_grows",
        "filled_node_memory",
    ):
        assert "measured no memory" in skipped[kind]
    assert not any("memory" in one["kind"] for one in answer["findings"])


def test_tasks_that_the_memory_monitor_killed_are_reported_once(fresh: Running) -> None:
    story = loaders(1.6 * GIB)
    fail(story, 10 + 2 * S, "OUT_OF_MEMORY")
    fresh.record(story)
    kinds = {one["kind"] for one in fresh.get("/api/v1/insights")["findings"]}
    assert "oom_kill" in kinds
    assert "memory_not_requested" not in kinds


def reservers(peak: float, reserved: float, *, cpus: float = 8, calls: int = 12) -> Story:
    """Tasks that reserve memory. Three of 2 GiB fit at once on a node with 6 GiB."""
    story = Story()
    tasks = []
    at_once = max(1, int(6 * GIB / reserved))
    asked = json.dumps({"CPU": 1.0, "memory": float(reserved)})
    for number in range(calls):
        begin = 10 + S * (number // at_once)
        tasks.append(
            story.task(
                "load",
                5,
                begin,
                begin + S,
                worker=f"{number % at_once + 1:056x}",
                resources=asked,
                queued=begin - 1,
            )
        )
        memory(story, peak)
    end = 10 + S * (-(-calls // at_once))
    story.get(DRIVER, tasks, 5, end)
    node(story, cpus=cpus, memory=6.0 * GIB)
    story.entity("job", JOB, 0, end + 10)
    return story


def test_tasks_that_reserve_more_memory_than_they_use(fresh: Running) -> None:
    found, skipped = insights(fresh, reservers(400 * MIB, 2 * GIB), "memory_requested_unused")
    assert skipped == ""
    assert found["function"] == "load"
    numbers = found["numbers"]
    assert numbers["waited_ns"] == pytest.approx(3 * S * MS, rel=0.01)
    assert numbers == {
        "calls": 12,
        "reserved_bytes": 2 * GIB,
        "peak_bytes": 400 * MIB,
        "unused_bytes": 2 * GIB - 400 * MIB,
        "memory_bytes": 512 * MIB,
        "fit": 3,
        "could": 8,
        "waited_ns": numbers["waited_ns"],
    }
    assert found["cost_ns"] == pytest.approx(numbers["waited_ns"] * (1 - 3 / 8), abs=1)


@pytest.mark.parametrize(
    ("peak", "reserved", "more"),
    [
        (1.1 * GIB, 2 * GIB, {}),  # more than half
        (100 * MIB, 300 * MIB, {"cpus": 30, "calls": 40}),  # little is unused
        (400 * MIB, 2 * GIB, {"cpus": 3}),  # no CPUs for more
        (400 * MIB, 2 * GIB, {"calls": 9}),
        (400 * MIB, 2 * GIB, {"cpus": 8, "calls": 3}),  # nothing waits
    ],
)
def test_reservations_of_memory_that_are_about_right_or_keep_nobody_waiting(
    fresh: Running, peak: float, reserved: float, more: dict[str, Any]
) -> None:
    assert insights(fresh, reservers(peak, reserved, **more), "memory_requested_unused") == ({}, "")


def keeper(sizes: list[float], *, scope: str = "own", objects: float = 0) -> Story:
    """An actor whose process has these sizes at the begin of its calls."""
    story = Story()
    actor, now = "ac" * 12, 20.0
    tasks = [story.task("Keeper.__init__", 0, 10, 20, actor=actor)]
    for size in sizes:
        tasks.append(story.task("Keeper.keep", 15, now, now + 100, actor=actor))
        memory(story, size + MIB, size, scope)
        if objects:
            end = at(now + 100)
            story.batch.edges.append(Edge(tasks[-1], 0, "get", DRIVER, 100_000_001, round(objects), end, end))
        now += 100
    story.get(DRIVER, tasks, 15, now)
    story.entity("actor", actor + JOB, 10, class_name="Keeper", job_id=JOB, required_resources=CPU)
    node(story)
    story.entity("job", JOB, 0, now + 10)
    return story


def test_an_actor_that_grows_with_each_call(fresh: Running) -> None:
    sizes = [EMPTY + number * 10.0 * MIB for number in range(20)]
    found, skipped = insights(fresh, keeper(sizes), "actor_memory_grows")
    assert skipped == ""
    assert (found["actor_class"], found["is_risk"], found["cost_ns"]) == ("Keeper", True, 0)
    numbers = found["numbers"]
    assert numbers["actor"].startswith("Keeper acacacac")
    assert {name: number for name, number in numbers.items() if name != "actor"} == {
        "actors": 1,
        "calls": 20,
        "first_bytes": EMPTY,
        "last_bytes": EMPTY + 190 * MIB,
        "grown_bytes": 190 * MIB,
        "each_bytes": 10 * MIB,
    }


@pytest.mark.parametrize(
    ("sizes", "more"),
    [
        ([EMPTY + number * 10.0 * MIB for number in range(19)], {}),  # too few calls
        ([EMPTY + number * 5.0 * MIB for number in range(20)], {}),  # too little growth
        ([GIB + number * 10.0 * MIB for number in range(20)], {}),  # too little for its size
        ([EMPTY + min(number, 10) * 20.0 * MIB for number in range(30)], {}),  # it has ceased to grow
        ([EMPTY] * 10 + [EMPTY + 500.0 * MIB] * 10, {}),  # it loaded something once
        ([EMPTY + (number % 2) * 500.0 * MIB for number in range(30)], {}),
        ([EMPTY + number * 10.0 * MIB for number in range(20)], {"scope": "shared"}),
        ([EMPTY + number * 10.0 * MIB for number in range(20)], {"objects": 9.0 * MIB}),
    ],
)
def test_actors_that_do_not_grow_steadily(fresh: Running, sizes: list[float], more: dict[str, Any]) -> None:
    assert insights(fresh, keeper(sizes, **more), "actor_memory_grows") == ({}, "")


def crowded(hog_bytes: float, *, by_kernel: bool, victim: str = "parse", size: float = GIB) -> Story:
    """Two tasks that take much memory, until another one on their node is killed."""
    story = Story()
    tasks = []
    for number in range(2):
        tasks.append(story.task("hog", 5, 10, 10 + 2 * S, worker=f"{number + 1:056x}", resources=CPU))
        memory(story, hog_bytes)
    tasks.append(story.task(victim, 5, 10, 10 + S, worker="e" * 56, resources=CPU))
    fail(story, 10 + S, "WORKER_DIED" if by_kernel else "OUT_OF_MEMORY")
    killed(story, "e" * 56, 10 + S, 77, size, by_kernel=by_kernel)
    story.get(DRIVER, tasks, 5, 10 + 2 * S)
    node(story, memory=5.0 * GIB)
    story.entity("job", JOB, 0, 20 + 2 * S)
    return story


@pytest.mark.parametrize("by_kernel", [True, False])
def test_a_function_that_filled_the_node_of_a_killed_one(fresh: Running, by_kernel: bool) -> None:
    found, skipped = insights(fresh, crowded(2.5 * GIB, by_kernel=by_kernel), "filled_node_memory")
    assert skipped == ""
    assert (found["function"], found["is_risk"]) == ("hog", True)
    numbers = found["numbers"]
    assert numbers == {
        "name": "hog",
        "killed": "parse",
        "kills": 1,
        "node": numbers["node"],
        "processes": 2,
        "held_bytes": 5 * GIB,
        "peak_bytes": round(2.5 * GIB),
        "node_memory_bytes": 8 * GIB,
        "memory_bytes": 3200 * MIB,
    }


@pytest.mark.parametrize(
    ("hog_bytes", "more"),
    [
        (1.9 * GIB, {}),  # less than half
        (2.5 * GIB, {"victim": "hog"}),
        (2.5 * GIB, {"size": 6 * GIB}),  # the killed one was larger
    ],
)
def test_nodes_that_no_other_function_filled(fresh: Running, hog_bytes: float, more: dict[str, Any]) -> None:
    story = crowded(hog_bytes, by_kernel=True, **more)
    assert insights(fresh, story, "filled_node_memory") == ({}, "")


@pytest.mark.parametrize("by_kernel", [True, False])
def test_attempts_that_the_kernel_killed_for_lack_of_memory(fresh: Running, by_kernel: bool) -> None:
    story = crowded(2.5 * GIB, by_kernel=True)
    if not by_kernel:
        story.batch.entities = [one for one in story.batch.entities if one.kind != "process_end"]
    found, _ = insights(fresh, story, "oom_kill")
    assert bool(found) == by_kernel
    if found:
        assert (found["function"], found["numbers"]["killed"], found["numbers"]["running"]) == ("parse", 1, 3)
