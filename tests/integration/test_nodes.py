"""The pages about machines equal psutil on the machine, Ray's own figures, and Ray's behaviour."""

from __future__ import annotations

import json
from typing import Any

import psutil
import pytest
from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]

WORK = """
import time
@ray.remote(num_cpus=0.5)
class Holder:
    def __init__(self): self.kept = ray.put(b"x" * 20_000_000)
    def pid(self):
        import os
        return os.getpid()
@ray.remote(num_cpus=1)
def spin():
    while True: sum(range(1000))
@ray.remote(resources={"unobtainium": 2})
def never(): pass
holder, spins = Holder.remote(), spin.remote()
waits = [never.remote() for _ in range(3)]
# Whoever downloads this waits for a server that never answers.
import socket
silent = socket.create_server(("127.0.0.1", 0))
address = f"https://127.0.0.1:{silent.getsockname()[1]}/code.zip"
@ray.remote(num_cpus=0, runtime_env={"working_dir": address})
def unbuilt(): pass
unbuilt.remote()
print(ray.get(holder.pid.remote()), flush=True)
input()
"""
STATE = """
import json
print("JSON" + json.dumps([ray.cluster_resources(), ray.available_resources()]))
"""


def node_of(cluster: Recorded, pid: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The node, and its worker with that process id once it is measured."""
    for node in cluster.get("/api/v1/nodes")["items"]:
        if node["state"] != "ALIVE":
            continue
        detail = cluster.get(f"/api/v1/nodes/{node['node_id']}")
        for worker in detail["workers"]:
            if worker["pid"] == pid and worker["memory_bytes"] is not None:
                return detail, worker
    return None


def test_use_and_resources_equal_psutil_and_ray(cluster: Recorded) -> None:
    driver = cluster.start_driver(WORK)
    try:
        assert driver.stdout is not None
        pid = int(next(line for line in driver.stdout if line.strip().isdecimal()))

        # First, since Ray stops retrying the download after a while.
        def building() -> Any:
            waiting = cluster.get("/api/v1/cluster/status")["pending"]
            return next((one for one in waiting if one["reason"]["code"] == "runtime_env"), None)

        unbuilt = wait_until(building, "what waits for its runtime environment")
        # The other node's agent counts too while it is too busy to answer.
        assert unbuilt["name"] == "unbuilt"
        assert unbuilt["reason"]["nodes"] in (1, 2)
        assert "code.zip" in unbuilt["runtime_env"]

        # Its class comes with Ray's events, after the first account.
        node, worker = wait_until(
            lambda: (found := node_of(cluster, pid)) and found[1]["actor_class"] and found,
            "an account of the worker, and its class",
        )

        def measured() -> bool:  # the first account may be of before the actor held its array
            rss = psutil.Process(pid).memory_info().rss
            found = node_of(cluster, pid)
            return found is not None and found[1]["memory_bytes"] == pytest.approx(rss, rel=0.2)

        wait_until(measured, "what the worker's memory is")
        assert worker["actor_class"] == "Holder"
        assert worker["reserved"] == {"CPU": 0.5}
        usage = node["usage"]
        assert usage["current"]
        assert usage["mem_total_bytes"] == pytest.approx(psutil.virtual_memory().total, rel=0.1)
        disk = next(one for one in node["measured"]["disks"] if one["path"] == "/")
        assert disk["used_bytes"] == pytest.approx(psutil.disk_usage("/").used, rel=0.05)
        assert node["measured"]["cpus"] == psutil.cpu_count()

        def stored() -> bool:
            usage = cluster.get(f"/api/v1/nodes/{node['node_id']}")["usage"]
            return int(usage["object_store_used_bytes"] or 0) >= 20_000_000

        wait_until(stored, "what the actor put into the object store")

        # The spinning worker is listed with its task. Ray's workers have a low priority, so other processes
        # may use most of the cores.
        def spinning() -> Any:
            for one in cluster.get("/api/v1/nodes")["items"]:
                for worker in cluster.get(f"/api/v1/nodes/{one['node_id']}")["workers"]:
                    runs = [attempt["name"] for attempt in worker["attempts"]]
                    if runs == ["spin"] and (worker["cpu_percent"] or 0) > 1:
                        return worker
            return None

        spins = wait_until(spinning, "the worker that spins")
        rows = cluster.get("/api/v1/workers", sort="-cpu_percent", at_least="cpu_percent:1")["items"]
        assert spins["worker_id"] in [one["worker_id"] for one in rows]
        assert all(one["cpu_percent"] >= 1 for one in rows)

        def drawn() -> bool:
            cells = cluster.get("/api/v1/nodes/cells")
            if spins["pid"] not in cells["workers"]["pid"]:
                return False
            place = cells["workers"]["pid"].index(spins["pid"])
            runs = cells["functions"][cells["workers"]["function"][place]]
            return bool(runs == "spin" and (cells["measured"]["cpu"][place] or 0) > 0)

        wait_until(drawn, "its cell")

        said = cluster.run(STATE)
        total, available = json.loads(said[said.index("JSON") + 4 :].splitlines()[0])
        expected = {name: amount for name, amount in total.items() if not name.startswith("node:")}
        left = {name: available.get(name, 0.0) for name in ("CPU", "second")}

        def compared() -> tuple[Any, ...]:
            status = cluster.get("/api/v1/cluster/status")
            resources = status["resources"]
            held = {(one["kind"], one["name"]): one["resources"] for one in status["by"]}
            return (
                {name: one["total"] for name, one in resources.items()} == pytest.approx(expected),
                {name: resources[name]["available"] for name in left} == pytest.approx(left),
                held.get(("actor", "Holder")) == {"CPU": 0.5},
                held.get(("task", "spin")) == {"CPU": 1.0},
            )

        # An account is some seconds old, and the driver that asked Ray has only just ended.
        wait_until(lambda: all(compared()), "the resources as Ray tells them")

        def waiting() -> Any:
            pending = cluster.get("/api/v1/cluster/status")["pending"]
            return next((one for one in pending if one["name"] == "never" and one["count"] == 3), None)

        pending = wait_until(waiting, "what never finds a place")
        assert pending["resources"] == {"CPU": 1.0, "unobtainium": 2.0}
        reason = pending["reason"]
        assert (reason["code"], reason["never"], reason["resource"]) == ("no_resource", True, "unobtainium")
        shapes = cluster.get("/api/v1/cluster/status")["shapes"]
        assert any(one["infeasible"] == 3 and "unobtainium" in one["resources"] for one in shapes)
    finally:
        driver.kill()
        driver.wait()
        cluster.processes.remove(driver)


HELD = """
import time
from ray.util.placement_group import placement_group
whole = ray.cluster_resources()["second"]
@ray.remote(num_cpus=0, resources={"second": 0.6 * whole})
class Keeper:
    def ready(self): return True
@ray.remote(num_cpus=0, resources={"second": 0.3 * whole})
def keep(): time.sleep(600)
@ray.remote(num_cpus=0, resources={"second": whole})
def want_all(): pass
@ray.remote(num_cpus=0)
def use(value): pass
group = placement_group([{"second": 0.1 * whole}], name="shelf")
keeper = Keeper.remote()
ray.get([group.ready(), keeper.ready.remote()])
kept = keep.remote()
waits = [want_all.remote(), use.remote(kept)]
print("WHOLE", whole, flush=True)
input()
"""


def test_holders_of_resources_that_others_wait_for(cluster: Recorded) -> None:
    driver = cluster.start_driver(HELD)
    try:
        assert driver.stdout is not None
        whole = float(next(line for line in driver.stdout if line.startswith("WHOLE")).split()[1])

        def waiting() -> Any:
            pending = cluster.get("/api/v1/cluster/status")["pending"]
            found = next((one for one in pending if one["name"] == "want_all"), None)
            return found is not None and len(found["holders"]) == 3 and found

        pending = wait_until(waiting, "what waits, and the three that hold what it waits for")
        assert (pending["reason"]["code"], pending["reason"]["resource"]) == ("busy", "second")
        assert "second" in pending["reason"]["remedy"]
        held = [(one["kind"], one["name"], one["amount"]) for one in pending["holders"]]
        assert held == [
            ("actor", "Keeper", pytest.approx(0.6 * whole)),
            ("task", "keep", pytest.approx(0.3 * whole)),
            ("placement_group", "shelf", pytest.approx(0.1 * whole)),
        ]
        assert pending["holders_left_out"] == 0
        actor, task, group = pending["holders"]
        assert cluster.get(f"/api/v1/actors/{actor['id']}")["class_name"] == "Keeper"
        assert cluster.get(f"/api/v1/placement-groups/{group['id']}")["name"] == "shelf"
        assert pending["since_ns"] > group["since_ns"] > 0

        # The tracer reports arguments a little later than Ray reports the task.
        def missing() -> Any:
            found = cluster.get("/api/v1/tasks", func_name="use")["items"]
            return found and cluster.get(f"/api/v1/tasks/{found[0]['task_id']}")["waits_for"]

        assert wait_until(missing, "the task that makes an argument") == [
            {"task_id": task["id"], "name": "keep", "state": "RUNNING"}
        ]
    finally:
        driver.kill()
        driver.wait()
        cluster.processes.remove(driver)
