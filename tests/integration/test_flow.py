"""The views of an execution on a live run whose bottleneck is known: each must point at it."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import pytest
from tests.flow_tree import Tree

pytestmark = [pytest.mark.ray]
#: How long most calls of `process` sleep at the default scale, ms.
USUAL_MS = 100
#: How long its slow calls sleep, ms.
BOTTLENECK_MS = 600
#: The number of slow calls.
CALLS = 10


def test_the_flame_graph_adds_up_to_what_ray_says(tree: Tree) -> None:
    answer = tree.get("/api/v1/flow/flame", weight="count")
    by_name: dict[str, int] = defaultdict(int)
    for frame in answer["frames"]:
        by_name[frame["name"]] += frame["own"]
    assert by_name["Worker.process"] == tree.printed["calls"]
    assert by_name["Worker.run"] == by_name["Worker.__init__"] == tree.printed["workers"]
    assert answer["total"] == tree.get("/api/v1/summary")["tasks"]
    total = tree.get("/api/v1/flow/flame", weight="duration")["total"]
    lasted = [task["duration_ns"] for task in tree.get("/api/v1/tasks", limit=1000)["items"]]
    assert total == sum(lasted)
    # Where workers worked rather than waited: in `process`; `run` only waits.
    own: dict[str, int] = defaultdict(int)
    for frame in tree.get("/api/v1/flow/flame", weight="executing")["frames"]:
        own[frame["name"]] += frame["own"]
    asleep = ((tree.printed["calls"] - CALLS) * USUAL_MS + CALLS * BOTTLENECK_MS) * 10**6
    assert own["Worker.process"] >= asleep
    assert max(own, key=lambda name: own[name]) == "Worker.process"
    called = tree.get("/api/v1/flow/flame", weight="count", of="Worker.process")
    assert called["own"] == tree.printed["calls"]


def test_the_critical_path_leads_through_the_bottleneck(tree: Tree) -> None:
    path = tree.get("/api/v1/flow/critical-path")
    links = path["links"]
    assert sum(link["end_ns"] - link["begin_ns"] for link in links) == path["duration_ns"]
    assert all(a["end_ns"] == b["begin_ns"] for a, b in pairwise(links))
    slow = {task["task_id"] for task in tree.slow}
    assert len(slow) == CALLS
    explained = sum(link["end_ns"] - link["begin_ns"] for link in links if link["task_id"] in slow)
    # Its ten calls follow one another, and everybody waits for the last.
    assert explained >= CALLS * BOTTLENECK_MS * 10**6 * 0.95
    # Only functions: the path also has the start of worker processes, whose time depends on the machine.
    functions = [function for function in path["functions"] if not function["is_driver"]]
    busiest = max(functions, key=lambda function: function["by_phase"].get("executing", 0))
    assert busiest["name"] == "Worker.process"
    # From the begin to the end of the driver; the first actors waited for their processes to start.
    assert (path["so_far"], path["driver_traced"]) == (False, True)
    (job,) = tree.get("/api/v1/jobs")["items"]
    assert abs(path["end_ns"] - job["end_ns"]) < 10**9
    assert links[-1]["name"] == "driver"
    assert path["phases"]["starting_worker"] > 0


def test_the_stack_shows_what_the_job_waits_for(tree: Tree) -> None:
    middle = tree.slow[CALLS // 2]
    when = (middle["start_ns"] + middle["end_ns"]) // 2
    answer = tree.get("/api/v1/flow/stack", at_ns=when)
    awaited = [node for node in answer["nodes"] if node["deepest"] and node["situation"] == "running"]
    assert [node["name"] for node in awaited] == ["Worker.process"]
    assert [example["task_id"] for example in awaited[0]["examples"]] == [middle["task_id"]]
    chains = [[(link["name"], link["situation"]) for link in chain] for chain in answer["chains"]]
    (chain,) = [chain for chain in chains if chain[-1][1] == "running"]
    assert chain[-1][0] == "Worker.process"
    # The driver waits for the root's run, that for its child's, and so on down to the slow worker.
    assert {situation for _, situation in chain[:-1]} == {"blocked"}
    assert [name for name, _ in chain[1:-1]] == ["Worker.run"] * (len(chain) - 2)
    assert len(chain) > 3


def test_the_gantt_chart_has_every_attempt(tree: Tree) -> None:
    answer = tree.get("/api/v1/flow/gantt", by="actor", width=1600)
    assert sum(lane["attempts"] for lane in answer["lanes"]) == tree.get("/api/v1/summary")["attempts"]
    bars = answer["bars"]
    slow = {task["task_id"]: task for task in tree.slow}
    lanes = set()
    for number, task_id in enumerate(bars["task_id"]):
        if task_id not in slow or bars["count"][number] != 1:
            continue
        lanes.add(answer["lanes"][bars["lane"][number]]["actor_id"])
        begin, end = (answer["origin_ns"] + bars[name][number] for name in ("begin", "end"))
        assert slow[task_id]["start_ns"] <= begin <= end - BOTTLENECK_MS * 1_000_000
        assert end <= slow[task_id]["end_ns"]
        assert bars["row"][number] == 0  # an actor runs one call at a time
    assert lanes == {tree.slow[0]["actor_id"]}
    whole = tree.get("/api/v1/flow/logical")
    calls = sum(call["attempts"] for call in whole["calls"])
    assert calls == tree.get("/api/v1/summary")["attempts"]


def test_the_physical_view_has_on_each_worker_what_ran_there_then(tree: Tree) -> None:
    middle = tree.slow[CALLS // 2]
    when = (middle["start_ns"] + middle["end_ns"]) // 2
    answer = tree.get("/api/v1/flow/physical", at_ns=when, with_bytes=True)
    assert answer["nodes"]["node_id"] == [middle["node_id"]]
    running = [
        task
        for task in tree.get("/api/v1/tasks", since_ns=when, until_ns=when, limit=1000)["items"]
        if task["start_ns"] is not None and task["start_ns"] <= when < task["end_ns"]
    ]
    by_worker: dict[str, list[str]] = defaultdict(list)
    for task in running:
        by_worker[task["worker_id"][:16]].append(task["func_name"])
    workers = answer["workers"]
    by_flame_graph = {
        key: (workers["running"][at], answer["functions"][workers["function"][at]])
        for at, key in enumerate(workers["key"])
        if workers["running"][at]
    }
    assert set(by_flame_graph) == set(by_worker)
    assert all(
        by_flame_graph[key][0] == len(names) and by_flame_graph[key][1] in names
        for key, names in by_worker.items()
    )
    # Every actor is in the worker that Ray says; the driver is one more.
    actors = {actor["worker_id"][:16] for actor in tree.get("/api/v1/actors", limit=1000)["items"]}
    classes = {key for at, key in enumerate(workers["key"]) if workers["actor_class"][at] >= 0}
    assert classes == actors
    assert len(actors) == tree.printed["workers"]
    node = tree.get("/api/v1/flow/physical/node", at_ns=when, on_node=middle["node_id"])
    slow = next(worker for worker in node["workers"] if worker["worker_id"] == middle["worker_id"])
    assert middle["task_id"] in {attempt["task_id"] for attempt in slow["attempts"]}
    assert slow["actor_id"] == middle["actor_id"]
    assert tree.get("/api/v1/flow/transfers")["pairs"] == []  # there is one node
