"""Findings about data, resources and machines in records with known numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.running import Running
from tests.story import DRIVER, JOB, MS, SESSION, Story, at

from rayscope.insights.finding import Facts, NotEnoughData
from rayscope.insights.replay import read
from rayscope.insights.series import series_reader
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.model import Edge, TaskError
from rayscope.model.metric import sample

HEAD, OTHER = "a" * 56, "b" * 56
S = 1000.0
A_WORKER, B_WORKER = "c" * 56, "d" * 56
MIB, GIB = 2**20, 2**30
CPU = '{"CPU":1.0}'
#: Indices of objects of ray.put.
FIRST_PUT = 100_000_001


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
    answer = running.get("/api/v1/insights")
    found = [one for one in answer["findings"] if one["kind"] == kind]
    assert len(found) < 2, found
    skipped = {one["kind"]: one["message"] for one in answer["silent"]}
    assert "failed" not in skipped.get(kind, ""), skipped[kind]
    return (found[0] if found else {}), skipped.get(kind, "")


def test_metrics_of_the_time_of_a_job(fresh: Running) -> None:
    story = Story()
    story.get(DRIVER, story.task("work", 10, 20, 9990), 20, 9990)
    node(story, OTHER)
    ends(story, 10 * S)
    busy = [(second * S, float(second)) for second in range(-5, 16)]
    measure(fresh, "cpu", {HEAD: busy, OTHER: [(2 * S, 7.0)], "c" * 56: busy}, part="user")
    measure(fresh, "cpu", {HEAD: [(second * S, 100.0) for second, _ in enumerate(busy)]}, part="system")
    measure(fresh, "many", {HEAD: [(step * 20, float(step)) for step in range(500)]})
    fresh.record(story)
    services = fresh.server.services
    assert services is not None
    with services.catalog.reading(SESSION) as file:
        recorded = read.read(file, JOB)
    facts = Facts(recorded, series_reader(services.metrics, SESSION, recorded))
    assert facts.series("cpu", part="user") == {0: [(second * 10**9, second) for second in range(11)]}
    assert facts.series("cpu")[0][3] == (3 * 10**9, 103.0)
    samples = facts.series("many")[0]
    assert len(samples) <= 200
    assert all(value == time_ns / 20e6 for time_ns, value in samples)
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


def cpu_ns(story: Story, used_ms: float) -> None:
    """The CPU time of the last attempt."""
    story.batch.attempts[-1].cpu_ns = round(used_ms * MS)


def sleepers(used_ms: float, cpus: float = 2) -> Story:
    """Ten tasks of 1 s, two at a time, that each reserve ``cpus`` CPUs and use ``used_ms`` of CPU time."""
    story = Story()
    tasks, asked = [], json.dumps({"CPU": cpus})
    for number in range(10):
        since = 10 + S * (number // 2)
        tasks.append(story.task("work", 10, since, since + S, worker=f"{number % 2:056x}", resources=asked))
        cpu_ns(story, used_ms)
    story.get(DRIVER, tasks, 10, 10 + 5 * S)
    ends(story, 20 + 5 * S, cpus=round(2 * cpus))
    return story


@pytest.mark.parametrize(
    ("used_ms", "cpus", "percent", "is_found"),
    [(100, 2, 20, True), (100, 2, 95, False), (900, 2, 20, False), (100, 1, 20, False)],
)
def test_more_cpus_are_reserved_than_used(
    fresh: Running, used_ms: float, cpus: float, percent: float, is_found: bool
) -> None:
    measure(fresh, "ray_node_cpu_utilization", {HEAD: [(1 * S, percent), (3 * S, percent)]})
    found, skipped = insights(fresh, sleepers(used_ms, cpus), "over_asked_cpus")
    assert (bool(found), skipped) == (is_found, "")
    if found:
        assert (found["function"], found["severity"], found["cost_ns"]) == ("work", "critical", 4 * S * MS)
        numbers = found["numbers"]
        assert (numbers["reserved"], numbers["used"], numbers["busy"]) == (2.0, pytest.approx(0.1), 0.2)
        assert numbers["needed"] == pytest.approx(0.2)
        # All ten at once.
        assert found["saving_ns"] == pytest.approx(4 * S * MS, rel=0.01)


def test_without_metrics_idle_cpus_are_unknown(fresh: Running) -> None:
    found, skipped = insights(fresh, sleepers(100), "over_asked_cpus")
    assert not found
    assert "no samples of ray_node_cpu_utilization" in skipped


@pytest.mark.parametrize("threads", [1, 2])
def test_more_cpus_are_used_than_reserved(fresh: Running, threads: int) -> None:
    story = Story()
    tasks = []
    for number in range(2):
        tasks.append(story.task("alone", 0, S * number, S * number + S, worker="c" * 56, resources=CPU))
        cpu_ns(story, threads * S)
    for number in range(2):
        tasks.append(story.task("alone", 0, 2 * S, 4 * S, worker=f"{number:056x}", resources=CPU))
        cpu_ns(story, 2 * S)
    story.get(DRIVER, tasks, 0, 4 * S)
    ends(story, 4 * S, cpus=2)
    found, skipped = insights(fresh, story, "under_asked_cpus")
    assert (bool(found), skipped) == (threads == 2, "")
    if found:
        assert found["numbers"]["used"] == pytest.approx(2)
        assert found["numbers"]["needed"] == 2
        # Half of the 8 s of CPU time, shared by 2 CPUs.
        assert found["cost_ns"] == 2 * S * MS


@pytest.mark.parametrize("used_ms", [950, 1900])
def test_an_actor_with_two_cpus_that_uses_one(fresh: Running, used_ms: float) -> None:
    story = Story()
    actor = "ac" * 12
    tasks = [story.task("Model.__init__", 0, 10, 20, actor=actor, resources='{"CPU":2.0}')]
    cpu_ns(story, 5)
    for number in range(5):
        tasks.append(story.task("Model.run", 20, 20 + S * number, 20 + S * (number + 1), actor=actor))
        cpu_ns(story, used_ms)
    story.entity("actor", actor + JOB, 20, class_name="Model", job_id=JOB, required_resources='{"CPU":2.0}')
    story.get(DRIVER, tasks, 20, 20 + 5 * S)
    ends(story, 30 + 5 * S)
    measure(fresh, "ray_node_cpu_utilization", {HEAD: [(1 * S, 30), (3 * S, 40)]})
    found, skipped = insights(fresh, story, "single_core_actor")
    assert (bool(found), skipped) == (used_ms == 950, "")
    if found:
        assert (found["actor_class"], found["cost_ns"]) == ("Model", 2500 * MS)
        assert found["numbers"]["used"] == pytest.approx(0.95)
        assert "Model.options(num_cpus=1).remote() for _ in range(2)" in found["sketch"]


@pytest.mark.parametrize("slowly", [100, 180])
def test_a_slow_node(fresh: Running, slowly: float) -> None:
    story = Story()
    tasks = []
    for number in range(12):
        where, each = ((HEAD, 100.0), (OTHER, slowly))[number % 2]
        since = each * (number // 2)
        tasks.append(story.task("train", 0, since, since + each, node=where, worker=where, resources=CPU))
    story.get(DRIVER, tasks, 0, 6 * slowly)
    node(story, cpus=1)
    node(story, OTHER, cpus=1, until=6 * slowly + 100)
    story.entity("job", JOB, 0, 6 * slowly)
    found, _ = insights(fresh, story, "slow_node")
    assert bool(found) == (slowly == 180)
    if found:
        numbers = found["numbers"]
        assert (numbers["times"], numbers["calls"], numbers["node"]) == (pytest.approx(1.8), 6, OTHER[:8])
        assert (numbers["median_ns"], numbers["others_ns"]) == (180 * MS, 100 * MS)
        assert found["cost_ns"] == pytest.approx(480 * MS, abs=MS)


@pytest.mark.parametrize(
    ("calls", "large", "long", "other", "kind"),
    [
        (10, 8, 800, 102, "data_skew"),
        (10, 1, 800, 102, "straggler"),
        (10, 8, 100, 102, None),
        (10, 1, 100, 102, None),
        (6, 8, 800, 102, "data_skew"),
        (6, 1, 800, 102, "straggler"),
        (6, 8, 300, 102, None),
        (3, 8, 800, 102, None),
        (10, 8, 800, 260, "data_skew"),
        (10, 8, 800, 290, "straggler"),
    ],
)
def test_one_call_gets_more_data(
    fresh: Running, calls: int, large: int, long: float, other: float, kind: str | None
) -> None:
    """``long``: duration of the last call; ``other``: that of the second. The rest take about 100 ms."""
    story = Story()
    tasks = []
    for number in range(calls):
        is_last = number == calls - 1
        size, took = (large, long) if is_last else (1, other if number == 1 else 100 + number % 3)
        source = story.task("load", 0, 1, 2, worker=f"{number:056x}", resources=CPU)
        worker = f"{number % 4:056x}"
        begin = 10 if is_last else 10 + 110 * (number // 3)
        tasks.append(story.task("reduce", 2, begin, begin + took, worker=worker, resources=CPU))
        story.argument(tasks[-1], source, size * MIB)
        story.fetched(tasks[-1], source, size * MIB, begin)
    story.get(DRIVER, tasks, 2, 850)
    ends(story, 850)
    fresh.record(story)
    findings = {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}
    assert {"data_skew", "straggler"} & findings.keys() == ({kind} if kind else set())
    if kind == "data_skew":
        found = findings[kind]
        assert (found["function"], found["numbers"]["skewed"], found["numbers"]["calls"]) == (
            "reduce",
            1,
            calls,
        )
        assert found["numbers"]["largest_bytes"] == 8 * MIB
        assert found["numbers"]["correlation"] == pytest.approx(1, abs=0.05)
        assert found["cost_ns"] == pytest.approx((700 - 700 / calls) * MS, rel=0.03)
        assert "up to 8.39 MB of arguments" in found["advice"]


@pytest.mark.parametrize("starts", [2, 9])
def test_workers_are_started_too_often(fresh: Running, starts: int) -> None:
    story = Story()
    tasks = []
    for number in range(9):
        since = S * number
        worker = f"{number % starts:056x}"
        waits = number < starts
        given = since + 800 * waits
        tasks.append(
            story.task("step", since, given + 5, given + 100, worker=worker, queued=given, resources=CPU)
        )
        if waits:
            story.entity("worker", worker, given - 5, node_id=HEAD, launch_ns=at(since + 10), job_id=JOB)
        story.get(DRIVER, tasks[-1], since, given + 100)
    ends(story, 9 * S, cpus=2)
    found, skipped = insights(fresh, story, "worker_startup")
    assert (bool(found), skipped) == (starts == 9, "")
    if found:
        assert (found["numbers"]["starts"], found["numbers"]["at_once"]) == (9, 1)
        assert found["severity"] == "critical"


@pytest.mark.parametrize("case", ["fast", "slow", "mostly slow"])
def test_time_goes_into_packing(fresh: Running, case: str) -> None:
    """Arrays are copied fast, though on a busy machine not all of them."""
    story = Story()
    tasks = []
    for number in range(4):
        begin = 300 * number
        packing = 5 if case == "fast" or (case == "mostly slow" and number == 3) else 100
        source = story.task("load", begin, begin, begin + 10, worker=A_WORKER, resources=CPU)
        tasks.append(story.task("parse", begin, begin + 20, begin + 290, worker=B_WORKER, resources=CPU))
        phases = {"deserialize": (20, 20), "execute": (20 + packing, 290 - packing), "total": (20, 290)}
        story.batch.attempts[-1].phases = {
            name: (at(begin + since), at(begin + until)) for name, (since, until) in phases.items()
        }
        story.argument(tasks[-1], source, 30 * MIB)
        story.fetched(tasks[-1], source, 30 * MIB, begin + 20 + packing)
    story.get(DRIVER, tasks, 0, 1190)
    ends(story, 1200)
    found, _ = insights(fresh, story, "serialization")
    assert bool(found) == (case == "slow")
    if found:
        # Before its first call the worker imported modules.
        assert (found["function"], found["cost_ns"]) == ("parse", 600 * MS)
        assert found["numbers"] == {
            "calls": 3,
            "packing_ns": 600 * MS,
            "share": pytest.approx(600 / 810),
            "data_bytes": 90 * MIB,
        }


@pytest.mark.parametrize(("is_full", "where"), [(False, OTHER), (True, OTHER), (False, HEAD)])
def test_tasks_run_away_from_their_data(fresh: Running, is_full: bool, where: str) -> None:
    story = Story()
    tasks = []
    if is_full:
        story.task("other", 0, 1, 2000, worker="e" * 56, resources='{"CPU":4.0}')
    for number in range(4):
        begin = 300 * number
        source = story.task("load", begin, begin + 2, begin + 10, worker=A_WORKER, resources="{}")
        tasks.append(
            story.task("use", begin + 10, begin + 210, begin + 250, node=where, worker=where, resources=CPU)
        )
        story.argument(tasks[-1], source, 50 * MIB)
        story.fetched(tasks[-1], source, 50 * MIB, begin + 210)
    story.get(DRIVER, tasks, 0, 1190)
    node(story)
    node(story, OTHER)
    story.entity("job", JOB, 0, 2000)
    found, _ = insights(fresh, story, "locality")
    assert bool(found) == (not is_full and where == OTHER)
    if found:
        assert (found["function"], found["numbers"]["away"], found["cost_ns"]) == ("use", 4, 800 * MS)
        assert found["numbers"]["moved_bytes"] == 200 * MIB


@pytest.mark.parametrize("spilled", [0, 300])
def test_the_object_store_spills(fresh: Running, spilled: int) -> None:
    story = Story()
    tasks = [story.task("produce", 0, 10, 9000, resources=CPU)]
    story.get(DRIVER, tasks, 0, 9000)
    node(story, object_store_memory=100.0 * MIB)
    story.entity("job", JOB, 0, 10 * S)
    steps = [(second * S, max(0.0, second - 4) / 4 * spilled * MIB) for second in range(9)]
    measure(fresh, "ray_object_store_memory", {HEAD: steps}, Location="SPILLED")
    measure(
        fresh,
        "ray_object_store_memory",
        {HEAD: [(second * S, 9e7) for second in range(9)]},
        Location="IN_MEMORY",
    )
    found, skipped = insights(fresh, story, "object_store_full")
    assert (bool(found), skipped) == (spilled > 0, "")
    if found:
        assert found["numbers"]["spilled_bytes"] == 300 * MIB
        assert found["numbers"]["capacity_bytes"] == 100 * MIB
        assert found["cost_ns"] == 5 * S * MS


@pytest.mark.parametrize(
    ("used_s", "in_memory", "is_found"), [(5, 100, True), (50, 100, False), (5, 40, False)]
)
def test_unused_objects(fresh: Running, used_s: int, in_memory: int, is_found: bool) -> None:
    story = Story()
    load = story.task("load", 0, 10, 1000, resources=CPU)
    total = story.task("total", 1000, 1010, 58 * S, resources=CPU)
    for index in range(FIRST_PUT, FIRST_PUT + 10):
        story.batch.edges.append(Edge(load, 0, "put", load, index, 10 * MIB, at(500), at(501)))
        used = at(used_s * S), at(used_s * S + 1)
        story.batch.edges.append(Edge(total, 0, "get", load, index, 10 * MIB, *used))
    story.get(DRIVER, [load, total], 0, 59 * S)
    node(story, object_store_memory=200.0 * MIB)
    story.entity("job", JOB, 0, 60 * S)
    steps = [(second * S, float(in_memory * MIB)) for second in range(0, 60, 5)]
    measure(fresh, "ray_object_store_memory", {HEAD: steps}, Location="IN_MEMORY")
    found, skipped = insights(fresh, story, "leaked_objects")
    assert (bool(found), skipped) == (is_found, "")
    if found:
        assert (found["function"], found["severity"], found["is_risk"]) == ("load", "info", True)
        numbers = found["numbers"]
        assert (numbers["objects"], numbers["unused_bytes"]) == (10, 100 * MIB)
        assert numbers["unused_ns"] == 30 * S * MS


def lost_node(error: str, died: bool) -> Story:
    """Two tasks on a node: one fails when the node dies, and both run again on another node."""
    story = Story()
    kept = story.task("load", 0, 10, 300, node=OTHER, worker=A_WORKER, resources=CPU)
    lost = story.task("load", 0, 10, 500, node=OTHER, worker=B_WORKER, resources=CPU)
    fail(story, 500, error)
    story.batch.attempts[-1].states.pop("FINISHED")
    for number, task_id in enumerate((kept, lost)):
        worker = f"{number:056x}"
        story.task("load", 0, 520, 900, worker=worker, resources=CPU, attempt=1, task_id=task_id)
    story.get(DRIVER, [kept, lost], 0, 900)
    node(story)
    node(story, OTHER, until=500 if died else None)
    if died:
        for account in story.batch.entities[-1].transitions.values():
            account["death_reason"] = "UNEXPECTED_TERMINATION"
    story.entity("job", JOB, 0, 900)
    return story


@pytest.mark.parametrize(("error", "died"), [("NODE_DIED", True), ("TASK_EXECUTION_EXCEPTION", False)])
def test_a_node_dies(fresh: Running, error: str, died: bool) -> None:
    found, _ = insights(fresh, lost_node(error, died), "node_death")
    assert bool(found) == died
    if found:
        assert (found["function"], found["numbers"]["lost"], found["numbers"]["again"]) == ("load", 1, 1)
        assert found["numbers"]["death"] == "UNEXPECTED_TERMINATION"
        assert found["cost_ns"] == 510 * MS


def test_results_are_made_again(fresh: Running) -> None:
    fresh.record(lost_node("NODE_DIED", True))
    findings = {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}
    assert "retries" not in findings
    assert findings["reconstruction"]["numbers"] == {"again": 1, "again_ns": 380 * MS}


def test_failures_make_nothing_again(fresh: Running) -> None:
    story = Story()
    task = story.task("load", 0, 10, 500, resources=CPU, failed=True)
    story.task("load", 0, 520, 900, resources=CPU, attempt=1, task_id=task)
    story.get(DRIVER, task, 0, 900)
    ends(story, 900)
    fresh.record(story)
    kinds = {one["kind"] for one in fresh.get("/api/v1/insights")["findings"]}
    assert "retries" in kinds
    assert not kinds & {"reconstruction", "node_death", "oom_kill"}


@pytest.mark.parametrize(("module", "is_found"), [("ray.serve._private.controller", False), ("shop", True)])
def test_no_work_is_lost_if_a_library_stops_its_actor(fresh: Running, module: str, is_found: bool) -> None:
    story = Story()
    actor, killed = "c" * 24, {"actor_died_error_context": {"reason": "RAY_KILL"}}
    story.entity("actor", actor + JOB, 0, 510, state="DEAD", death_cause=json.dumps(killed))
    task = story.task("Controller.shut_down", 0, 10, 500, failed=True, actor=actor)
    fail(story, 500, "ACTOR_DIED")
    story.task("Controller.shut_down", 0, 500, 510, attempt=1, task_id=task, actor=actor)
    for attempt in story.batch.attempts:
        attempt.module_name = module
    story.get(DRIVER, task, 0, 510)
    ends(story, 510)
    fresh.record(story)
    kinds = {one["kind"] for one in fresh.get("/api/v1/insights")["findings"]}
    assert ("retries" in kinds) == is_found


@pytest.mark.parametrize("percent", [3.0, 160.0])
def test_gpus_are_idle(fresh: Running, percent: float) -> None:
    story = Story()
    tasks = [
        story.task("train", 0, 10, 8 * S, worker=f"{number:056x}", resources='{"CPU":1.0,"GPU":1.0}')
        for number in range(2)
    ]
    story.get(DRIVER, tasks, 0, 8 * S)
    node(story, GPU=2.0)
    story.entity("job", JOB, 0, 8 * S)
    for gpu in range(2):
        steps = [(second * S, percent / 2) for second in range(1, 8)]
        measure(fresh, "ray_node_gpus_utilization", {HEAD: steps}, GpuIndex=str(gpu))
    found, skipped = insights(fresh, story, "gpu_idle")
    assert (bool(found), skipped) == (percent == 3, "")
    if found:
        assert (found["function"], found["numbers"]["busy"]) == ("train", pytest.approx(0.015))
        assert found["cost_ns"] == pytest.approx(8 * S * MS, rel=0.01)


def test_no_gpu_is_asked_for(fresh: Running) -> None:
    assert insights(fresh, sleepers(900), "gpu_idle") == ({}, "")


@pytest.mark.parametrize(("head", "other"), [(99, 10), (99, 90), (50, 10)])
def test_the_head_node_is_overloaded(fresh: Running, head: float, other: float) -> None:
    story = Story()
    story.get(DRIVER, story.task("work", 0, 10, 8 * S, resources=CPU), 0, 8 * S)
    node(story)
    node(story, OTHER)
    story.entity("job", JOB, 0, 8 * S)
    points = {HEAD: [(second * S, head) for second in range(8)]}
    points[OTHER] = [(second * S, other) for second in range(8)]
    measure(fresh, "ray_node_cpu_utilization", points)
    found, skipped = insights(fresh, story, "head_overloaded")
    assert (bool(found), skipped) == ((head, other) == (99, 10), "")
    if found:
        assert found["numbers"] == {"head_busy": 0.99, "others_busy": 0.1, "workers": 1, "full_share": 1}


@pytest.mark.parametrize(("slow", "kind"), [((3,), "slow_place"), ((0, 1, 2, 3), None), ((), None)])
def test_slow_calls_share_an_actor(fresh: Running, slow: tuple[int, ...], kind: str | None) -> None:
    story = Story()
    node(story)
    calls = []
    for number in range(4):
        actor, worker = f"{number + 1:024x}", f"{number + 1:056x}"
        story.entity("actor", actor + JOB, 0, class_name="Scorer", job_id=JOB, required_resources=CPU)
        story.task("Scorer.__init__", 0, 1, 2, actor=actor, worker=worker)
        now = 10
        for call in range(5):
            # A few calls anywhere are long too.
            took = 100 if number in slow or (call == 4 and number == 0 and slow) else 20
            calls.append(story.task("Scorer.score", 5, now, now + took, actor=actor, worker=worker))
            now += took
    story.get(DRIVER, calls, 5, 520)
    story.entity("job", JOB, 0, 520)
    fresh.record(story)
    findings = {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}
    assert {"slow_place", "straggler"} & findings.keys() == ({kind} if kind else set())
    if kind:
        found = findings[kind]
        numbers = found["numbers"]
        assert (numbers["shared"], numbers["stragglers"], numbers["calls"]) == (5, 6, 20)
        assert numbers["ran_on"] == f"Scorer {0:08x} (pid 100 @ {HEAD[:8]})"
        assert found["filters"]["actor_id"] == f"{4:024x}{JOB}"
        assert "5 of the 6 slow calls of Scorer.score ran on Scorer" in found["advice"]
        assert found["cost_ns"] == pytest.approx(400 * MS, abs=MS)


def test_actors_that_are_always_slower_have_no_stragglers(fresh: Running) -> None:
    story = Story()
    node(story)
    calls = []
    for number in range(12):
        actor, worker = f"{number + 1:024x}", f"{number + 1:056x}"
        story.entity("actor", actor + JOB, 0, class_name="Scorer", job_id=JOB, required_resources=CPU)
        story.task("Scorer.__init__", 0, 1, 2, actor=actor, worker=worker)
        took = 100 if number < 2 else 20
        for call in range(5):
            begin = 10 + call * took
            calls.append(story.task("Scorer.score", 5, begin, begin + took, actor=actor, worker=worker))
    story.get(DRIVER, calls, 5, 520)
    story.entity("job", JOB, 0, 520)
    fresh.record(story)
    answer = fresh.get("/api/v1/insights")
    assert not {"slow_place", "straggler"} & {one["kind"] for one in answer["findings"]}


@pytest.mark.parametrize(("cpus", "kind"), [(1, "waiting_actor"), (0, None)])
def test_actors_hold_cpus_while_they_wait(fresh: Running, cpus: int, kind: str | None) -> None:
    """Two actors on four CPUs wait for four tasks each; two tasks run at a time, or four."""
    story = Story()
    node(story)
    calls = []
    length = 800 if cpus else 400
    for number in range(2):
        actor, worker = f"{number + 1:024x}", f"{number + 1:056x}"
        resources = {"required_resources": CPU} if cpus else {}
        story.entity("actor", actor + JOB, 0, class_name="Boss", job_id=JOB, **resources)
        story.task("Boss.__init__", 0, 1, 2, actor=actor, worker=worker, resources=CPU if cpus else None)
        calls.append(story.task("Boss.run", 5, 10, 10 + length, actor=actor, worker=worker))
        tasks = []
        for part in range(4):
            begin = 10 + (200 * part if cpus else 200 * (part // 2))
            slot = f"{10 + 4 * number + (0 if cpus else part % 2):056x}"
            tasks.append(
                story.task("part", 10, begin, begin + 200, parent=calls[-1], worker=slot, resources=CPU)
            )
        story.get(calls[-1], tasks, 10, 10 + length)
    story.get(DRIVER, calls, 5, 10 + length)
    story.entity("job", JOB, 0, 20 + length)
    fresh.record(story)
    findings = {one["kind"]: one for one in fresh.get("/api/v1/insights")["findings"]}
    assert ("waiting_actor" in findings) == (kind is not None), sorted(findings)
    if kind:
        found = findings[kind]
        numbers = found["numbers"]
        assert (found["actor_class"], numbers["name"]) == ("Boss", "part")
        assert (numbers["actors"], numbers["tasks"], numbers["held"], numbers["total"]) == (2, 6, "2", "4")
        assert found["cost_ns"] == pytest.approx(300 * MS, abs=MS)
        assert "num_cpus=0" in found["sketch"]
