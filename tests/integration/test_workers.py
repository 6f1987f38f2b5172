"""The present activity of workers and drivers: the same in all places, and as in the call stack."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = pytest.mark.ray

WORK = """
import time
@ray.remote(num_cpus=0)
def sleeper(): time.sleep(600)
@ray.remote(num_cpus=0)
def waiter(references): return ray.get(references[0])
@ray.remote(num_cpus=0, max_concurrency=2)
class Threaded:
    def work(self): time.sleep(600)
sleepers = [sleeper.remote() for _ in range(2)]
threaded = Threaded.remote()
others = [waiter.remote([sleepers[0]]), *(threaded.work.remote() for _ in range(2))]
print("JOB", ray.get_runtime_context().get_job_id(), flush=True)
ray.get(sleepers)
"""
RUNNING = {"sleeper": 2, "waiter": 1, "Threaded.work": 2}


def test_workers_show_the_same_calls_as_the_stack(cluster: Recorded) -> None:
    driver = cluster.start_driver(WORK)
    try:
        assert driver.stdout is not None
        job = next(line for line in driver.stdout if line.startswith("JOB")).split()[1]
        script = f"driver-{len(cluster.processes) - 1}.py"

        def waiting() -> Any:  # a wait is reported once it has lasted a second
            workers = cluster.get("/api/v1/workers", state="ALIVE", job_id=job, limit=1000)["items"]
            attempts = [a for one in workers for a in one["attempts"]]
            counts: dict[str, int] = {}
            for attempt in attempts:
                counts[attempt["name"]] = counts.get(attempt["name"], 0) + 1
            blocked = {a["name"] for a in attempts if a["situation"] == "blocked"}
            return counts == {**RUNNING, script: 1} and blocked == {"waiter", script} and workers

        workers = wait_until(waiting, "what runs, and that the driver and a task wait")
        main = next(one for one in workers if one["worker_type"] == "DRIVER")
        assert (main["running"], main["blocked"]) == (0, 1)
        (waits,) = main["attempts"]
        assert (waits["type"], waits["call"]) == ("DRIVER_TASK", "ray.get")
        assert [(one["name"], one["count"]) for one in waits["blocked_on"]] == [("sleeper", 2)]
        waiter = next(a for one in workers for a in one["attempts"] if a["name"] == "waiter")
        assert [one["name"] for one in waiter["blocked_on"]] == ["sleeper"]

        stack = cluster.get("/api/v1/flow/stack", job_id=job)["nodes"]
        assert {(one["name"], one["situation"]) for one in stack} == {
            (a["name"], a["situation"]) for one in workers for a in one["attempts"]
        }

        # The workers of actors, too, are of a job and of its script.
        assert {(one["job_id"], one["script"]) for one in workers} == {(job, script)}
        assert "Threaded" in {one["actor_class"] for one in workers}

        # The node's panel and the physical view say the same.
        by_id = {one["worker_id"]: one for one in workers}
        for node in {one["node_id"] for one in workers}:
            for path, params in (
                (f"/api/v1/nodes/{node}", {}),
                ("/api/v1/flow/physical/node", {"on_node": node}),
            ):
                for one in cluster.get(path, **params)["workers"]:
                    if same := by_id.get(one["worker_id"]):
                        assert one["job_id"] == job
                        for field in ("running", "blocked", "attempts"):
                            assert one[field] == same[field], path
        columns = cluster.get("/api/v1/flow/physical")["workers"]
        assert columns["blocked"][columns["pid"].index(main["pid"])] == 1
    finally:
        driver.kill()
        driver.wait()
        cluster.processes.remove(driver)


GPUS = """
import json, time
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
group = placement_group([{"GPU": 0.5}])
ray.get(group.ready())
@ray.remote(num_cpus=0, num_gpus=1)
class Trainer:
    def ids(self): return ray.get_gpu_ids(), ray.get_runtime_context().get_actor_id()
@ray.remote(num_cpus=0)
class Told:
    def __init__(self): self.said = {}
    def say(self, name, ids, task): self.said[name] = ids, task
    def all(self): return self.said
@ray.remote(num_cpus=0, num_gpus=0.2)
def infer(name, told):
    ids = ray.get_gpu_ids()
    ray.get(told.say.remote(name, ids, ray.get_runtime_context().get_task_id()))
    time.sleep(600)
trainer, told = Trainer.remote(), Told.remote()
inside = PlacementGroupSchedulingStrategy(group)
kept = [infer.remote("alone", told), infer.options(scheduling_strategy=inside).remote("in_group", told)]
while len(said := ray.get(told.all.remote())) < 2: time.sleep(0.1)
print("SAID", json.dumps([ray.get(trainer.ids.remote()), said]), flush=True)
time.sleep(600)
"""


def test_gpus_are_those_that_ray_names_in_the_program(cluster: Recorded) -> None:
    driver = cluster.start_driver(GPUS)
    try:
        assert driver.stdout is not None
        line = next(line for line in driver.stdout if line.startswith("SAID"))
        (ids, actor), said = json.loads(line.removeprefix("SAID"))

        def known() -> Any:
            answers = {name: cluster.request(f"/api/v1/tasks/{task}") for name, (_, task) in said.items()}
            if any(answer.status_code == 404 for answer in answers.values()):  # its events are on their way
                return None
            tasks = {name: answer.json()["attempts"][0] for name, answer in answers.items()}
            found = {name: task["gpus"] for name, task in tasks.items()}
            found["actor"] = cluster.get(f"/api/v1/actors/{actor}")["gpus"]
            return all(one and one[0]["index"] is not None for one in found.values()) and (tasks, found)

        tasks, found = wait_until(known, "the index of each GPU")
        assert found == {
            "actor": [{"index": str(ids[0]), "share": 1.0}],
            **{name: [{"index": str(given[0]), "share": 0.2}] for name, (given, _) in said.items()},
        }
        place = cluster.get(f"/api/v1/actors/{actor}")
        holders = {tasks[name]["worker_id"]: found[name] for name in tasks} | {
            place["worker_id"]: found["actor"]
        }
        workers = cluster.get("/api/v1/workers", state="ALIVE", limit=1000)["items"]
        assert {one["worker_id"]: one["gpus"] for one in workers if one["gpus"]} == holders
        on_node = cluster.get(f"/api/v1/nodes/{place['node_id']}")["workers"]
        assert {one["worker_id"]: one["gpus"] for one in on_node if one["gpus"]} == holders
    finally:
        driver.kill()
        driver.wait()
        cluster.processes.remove(driver)
