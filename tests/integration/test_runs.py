"""The summary of a job of a real cluster says what the lists of jobs, tasks and functions say."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]

PROGRAM = """
import ray

@ray.remote
def load(number):
    return sum(range(200_000)) + number

@ray.remote(max_retries=0)
def fail():
    raise ValueError("as planned")

@ray.remote(num_gpus=1)
def train():
    return 1

ray.get([load.remote(number) for number in range(12)])
ray.get(train.remote())
try:
    ray.get(fail.remote())
except ray.exceptions.RayTaskError:
    pass
print(ray.get_runtime_context().get_job_id())
"""


def test_a_summary_equals_the_record(cluster: Recorded) -> None:
    job_id = cluster.run(PROGRAM).strip().splitlines()[-1]
    path = f"/api/v1/runs/{cluster.session}/{job_id}"

    def settled() -> Any:
        answer = httpx.get(f"{cluster.url}{path}")
        return answer.status_code == 200 and answer.json()

    answer = wait_until(settled, "a summary")
    run, functions = answer["run"], answer["functions"]
    job = cluster.get(f"/api/v1/jobs/{job_id}")
    assert (run["outcome"], run["begin_ns"], run["end_ns"]) == (job["state"], job["start_ns"], job["end_ns"])
    assert run["duration_ns"] == job["end_ns"] - job["start_ns"]
    assert run["name"] in job["entrypoint"]
    assert run["attempts"] == sum(job["tasks"].values()) == 14
    assert run["failed"] == 1
    rows = cluster.get("/api/v1/functions", job_id=job_id)["items"]
    by_name = {one["func_name"]: (one["attempts"], one["failed"]) for one in rows}
    assert {one["name"]: (one["attempts"], one["failed"]) for one in functions} == by_name
    times = cluster.get("/api/v1/scheduling", job_id=job_id)["items"]
    executing = {one["func_name"]: one["executing_ns"] for one in times}
    assert {one["name"]: one["total_ns"] for one in functions} == executing
    assert run["gpu_ns"] == executing["train"]
    assert run["nodes"] == 2
    params = {"q": job_id, "in_session": cluster.session}
    assert httpx.get(f"{cluster.url}/api/v1/runs", params=params).json()["items"] == [run]
