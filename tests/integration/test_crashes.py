"""Real workers that abort: one as it exits, which does no harm, and one in a task."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest
from tests.recorded import Recorded
from tests.waiting import TIMEOUT_S, wait_until

pytestmark = [pytest.mark.ray]

ABORTS = """
import atexit, os, time

@ray.remote(num_cpus=0.1)
class AbortsAtExit:
    def __init__(self):
        atexit.register(os.abort)
    def pid(self):
        return os.getpid()

@ray.remote(num_cpus=0.1, max_retries=0)
def aborts_in_task():
    print("about to abort", flush=True)
    os.abort()

actor = AbortsAtExit.remote()
print("pid:", ray.get(actor.pid.remote()), flush=True)
del actor
try:
    ray.get(aborts_in_task.remote())
except ray.exceptions.WorkerCrashedError:
    pass
time.sleep(3)
"""


def test_workers_that_abort_are_shown_with_the_harm_that_they_did(cluster: Recorded) -> None:
    printed = re.search(r"^pid: (\d+)$", cluster.run(ABORTS), re.MULTILINE)
    assert printed is not None

    def crashes() -> dict[str, Any] | None:
        items = cluster.get("/api/v1/crashes", limit=100)["items"]
        found = {item["actor_class"] or item["function"]: item for item in items}
        # The reports come with the logs, the ends with the events, and why the actor died with the GCS's table.
        actors = cluster.get("/api/v1/actors", class_name="AbortsAtExit")["items"]
        wanted = [found.get("AbortsAtExit"), found.get("aborts_in_task")]
        is_known = all(item and item["signal"] and item["exit_type"] for item in wanted)
        return found if is_known and actors and actors[0]["death_cause"] else None

    found = wait_until(crashes, "both crashes")
    at_exit, in_task = found["AbortsAtExit"], found["aborts_in_task"]
    assert (at_exit["pid"], at_exit["signal"]) == (int(printed[1]), "SIGABRT")
    assert at_exit["exit_type"].startswith("INTENDED")  # for Ray, all was well
    assert (at_exit["harm"]["harm"], at_exit["harm"]["code"]) == ("none", "released")
    assert (in_task["exit_type"], in_task["signal"]) == ("SYSTEM_ERROR", "SIGABRT")
    assert (in_task["harm"]["harm"], in_task["harm"]["code"]) == ("harmed", "attempts")
    assert any("SIGABRT received" in line for line in in_task["lines"])
    assert [at_exit["is_race"], in_task["is_race"]] == [False, False]


CRASHING_DRIVER = """
import os, time

@ray.remote(num_cpus=0.1)
def sleeps():
    time.sleep(600)

running = sleeps.remote()
time.sleep(2)
os.abort()
"""


def test_a_driver_that_aborts_is_shown(cluster: Recorded) -> None:
    driver = cluster.start_driver(CRASHING_DRIVER)
    assert driver.wait(TIMEOUT_S) == -signal.SIGABRT

    def crash() -> dict[str, Any] | None:
        items = cluster.get("/api/v1/crashes", limit=100)["items"]
        return next((item for item in items if item["pid"] == driver.pid), None)

    found = wait_until(crash, "the crash of the driver")
    assert (found["worker_type"], found["exit_type"]) == ("DRIVER", "SYSTEM_ERROR")
    assert found["script"]
    assert (found["harm"]["harm"], found["harm"]["code"]) == ("harmed", "driver")
