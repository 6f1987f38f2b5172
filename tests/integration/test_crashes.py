"""Real workers that abort: one as it exits, which does no harm, and one in a task."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cluster import wait_until
from tests.recorded import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.timeout(240)]

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
print(ray.get(actor.pid.remote()))
del actor
try:
    ray.get(aborts_in_task.remote())
except ray.exceptions.WorkerCrashedError:
    pass
time.sleep(3)
"""


def test_workers_that_abort_are_shown_with_the_harm_that_they_did(cluster: Recorded) -> None:
    pid = int(cluster.run(ABORTS).splitlines()[-1])

    def crashes() -> dict[str, Any] | None:
        items = cluster.get("/api/crashes", limit=100)["items"]
        found = {item["actor_class"] or item["function"]: item for item in items}
        # The reports come with the logs, the ends with the events.
        wanted = [found.get("AbortsAtExit"), found.get("aborts_in_task")]
        return found if all(item and item["signal"] and item["exit_type"] for item in wanted) else None

    found = wait_until(crashes, "both crashes")
    at_exit, in_task = found["AbortsAtExit"], found["aborts_in_task"]
    assert (at_exit["pid"], at_exit["signal"]) == (pid, "SIGABRT")
    assert at_exit["exit_type"].startswith("INTENDED")  # for Ray, all was well
    assert (at_exit["harm"]["harm"], at_exit["harm"]["code"]) == ("none", "released")
    assert (in_task["exit_type"], in_task["signal"]) == ("SYSTEM_ERROR", "SIGABRT")
    assert (in_task["harm"]["harm"], in_task["harm"]["code"]) == ("harmed", "attempts")
    assert any("SIGABRT received" in line for line in in_task["lines"])
    assert [at_exit["is_race"], in_task["is_race"]] == [False, False]
