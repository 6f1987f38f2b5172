"""Some of everything that Ray's state API lists: tasks, actors, a placement group, objects, a submitted job.

Run as a driver, ``ray_api.py RAY_ADDRESS DASHBOARD_URL``. Prints ``ready`` once the workload has come to rest,
and ends when its input ends.
"""

import contextlib
import os
import sys
import time

import ray
from ray.job_submission import JobStatus, JobSubmissionClient
from ray.util.placement_group import placement_group, remove_placement_group


@ray.remote(num_cpus=0.2)
def plain(x: int) -> int:
    print("plain", x)
    return x


@ray.remote(num_cpus=0.2)
def calls(n: int) -> int:
    return sum(ray.get([plain.remote(i) for i in range(n)]))


@ray.remote(num_cpus=0.2, max_retries=2, retry_exceptions=True)
def fails() -> None:
    raise ValueError("no \x1b[31mluck\x1b[0m")


@ray.remote(num_cpus=0.2, max_retries=0)
def exits() -> None:
    os._exit(7)


@ray.remote(num_cpus=0.2, max_retries=0)
def sleeps() -> None:
    time.sleep(3600)


@ray.remote(num_cpus=1000)
def waits_for_ever() -> None:
    pass


@ray.remote(num_cpus=0.1)
class Counter:
    def add(self) -> int:
        print("added")
        return 1


@ray.remote(num_cpus=0.1)
class Named:
    def add(self) -> int:
        return 2

    def __repr__(self) -> str:
        return "Named(it)"


def main(address: str, dashboard: str) -> None:
    ray.init(address, log_to_driver=False, namespace="space")
    held = [ray.put(b"x" * 200_000)]
    ray.get([plain.remote(1), calls.remote(3), plain.options(name="renamed").remote(2)])
    for failing in (fails, exits):
        with contextlib.suppress(ray.exceptions.RayError):
            ray.get(failing.remote())
    ray.get(plain.options(runtime_env={"env_vars": {"COLOUR": "blue"}}).remote(3))
    held += [sleeps.remote(), waits_for_ever.remote()]
    alive, named = Counter.remote(), Named.options(name="it", lifetime="detached").remote()
    ray.get([alive.add.remote(), named.add.remote()])
    killed = Counter.remote()
    ray.get(killed.add.remote())
    ray.kill(killed)
    kept, removed = placement_group([{"CPU": 0.1}] * 2, name="kept"), placement_group([{"CPU": 0.1}])
    ray.get([kept.ready(), removed.ready()])
    remove_placement_group(removed)
    jobs = JobSubmissionClient(dashboard)
    submitted = jobs.submit_job(
        entrypoint="echo hello; echo world", submission_id="submitted", metadata={"team": "blue"}
    )
    while jobs.get_job_status(submitted) not in (JobStatus.SUCCEEDED, JobStatus.FAILED):
        time.sleep(0.2)
    print("ready", flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
