"""What detectors say of data, resources and machines, in records whose every number is known."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.story import DRIVER, JOB, MS, SESSION, Story, at
from tests.unit.server.conftest import Running

from rayscope.insights.finding import Facts, NotEnoughData
from rayscope.insights.replay import read
from rayscope.insights.series import series_reader
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model import TaskError
from rayscope.model.metric import sample

HEAD, OTHER = "a" * 56, "b" * 56
S = 1000.0
MIB, GIB = 2**20, 2**30
CPU = '{"CPU":1.0}'


def node(story: Story, node_id: str = HEAD, cpus: float = 4, until: float | None = None, **more: Any) -> None:
    """A node with some CPUs, and other resources."""
    resources = {"CPU": float(cpus), **more}
    story.entity(
        "node", node_id, -1000, until, resources_total=json.dumps(resources), is_head=node_id == HEAD
    )


def ends(story: Story, end: float, cpus: float = 4) -> None:
    """One node, and a job that lasted so long."""
    node(story, cpus=cpus)
    story.entity("job", JOB, 0, end)


def fail(story: Story, when: float, error: str, message: str = "It is a story.") -> None:
    """The last attempt failed with an error of Ray's."""
    story.batch.attempts[-1].states["FAILED"] = at(when)
    story.batch.attempts[-1].error = TaskError(at(when), error, message)


def measure(
    running: Running, metric: str, points: dict[str, list[tuple[float, float]]], **labels: str
) -> None:
    """A metric of some nodes, as (ms, value), in the session's file of metrics."""
    services = running.server.services
    assert services is not None
    services.metrics.stop()  # what is measured now would hide what is written here
    folder = running.folder / "sessions" / SESSION
    folder.mkdir(parents=True, exist_ok=True)
    store = SeriesStore(folder / "metrics.duckdb", step_s=1.0)
    for time in sorted({time for of_node in points.values() for time, _ in of_node}):
        found = [
            sample(metric, value, node_id=node_id, **labels)
            for node_id, of_node in points.items()
            for when, value in of_node
            if when == time
        ]
        store.append(at(time), found)
    store.close()


def insights(running: Running, story: Story, kind: str) -> tuple[dict[str, Any], str]:
    """The one finding of a kind, and why there is none: each empty if it is not so."""
    running.record(story)
    answer = running.get("/api/insights")
    found = [one for one in answer["findings"] if one["kind"] == kind]
    assert len(found) < 2, found
    silent = {one["kind"]: one["message"] for one in answer["silent"]}
    assert "failed" not in silent.get(kind, ""), silent[kind]
    return (found[0] if found else {}), silent.get(kind, "")


def test_metrics_of_the_time_of_a_job(fresh: Running) -> None:
    story = Story()
    story.get(DRIVER, story.task("work", 10, 20, 9990), 20, 9990)
    node(story, OTHER)
    ends(story, 10 * S)
    fresh.record(story)
    busy = [(second * S, float(second)) for second in range(-5, 16)]
    measure(fresh, "cpu", {HEAD: busy, OTHER: [(2 * S, 7.0)], "c" * 56: busy}, part="user")
    measure(fresh, "cpu", {HEAD: [(second * S, 100.0) for second, _ in enumerate(busy)]}, part="system")
    measure(fresh, "many", {HEAD: [(step * 20, float(step)) for step in range(500)]})
    services = fresh.server.services
    assert services is not None
    with services.catalog.reading(SESSION) as file:
        recorded = read.read(file, JOB)
    facts = Facts(recorded, series_reader(services.metrics, SESSION, recorded))
    assert facts.series("cpu", part="user") == {0: [(second * 10**9, second) for second in range(11)]}
    assert facts.series("cpu")[0][3] == (3 * 10**9, 103.0)
    many = facts.series("many")[0]
    assert len(many) <= 200
    assert all(value == time_ns / 20e6 for time_ns, value in many)
    with pytest.raises(NotEnoughData, match="no samples of memory"):
        facts.series("memory")


@pytest.mark.parametrize("error", ["OUT_OF_MEMORY", "TASK_EXECUTION_EXCEPTION"])
def test_tasks_that_are_killed_for_lack_of_memory(fresh: Running, error: str) -> None:
    story = Story()
    tasks = [story.task("load", 10, 20, 900, worker=f"{number:056x}", resources=CPU) for number in range(2)]
    killed = story.task("load", 10, 20, 500, worker="e" * 56, resources=CPU)
    fail(story, 500, error)
    story.task("load", 10, 700, 1000, worker="f" * 56, resources=CPU, attempt=1, task_id=killed)
    story.get(DRIVER, [*tasks, killed], 10, 1000)
    node(story, memory=6.0 * GIB)
    story.entity("job", JOB, 0, 1000)
    found, _ = insights(fresh, story, "oom_kill")
    if error != "OUT_OF_MEMORY":
        assert not found
        return
    # From its begin to that of the next attempt.
    assert (found["function"], found["cost_ns"], found["saving_ns"]) == ("load", 680 * MS, None)
    assert found["numbers"] == {
        "killed": 1,
        "calls": 3,
        "running": 3,
        "lost_ns": 480 * MS,
        "node_memory_bytes": 6 * GIB,
        "memory_bytes": 3 * GIB,
    }
    assert "Reserve 3.22 GB for each" in found["advice"]
    assert f"memory={3 * GIB}" in found["sketch"]
