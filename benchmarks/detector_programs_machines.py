"""Pairs of programs that use data, resources and machines badly and well.

python benchmarks/detector_programs_machines.py NAME_bad

Most are drivers of the running Ray. Those in OWN_CLUSTER start one of their own, with settings or several
nodes.
"""

from __future__ import annotations

import os
import sys
import time

import ray

#: Programs that start their own Ray.
OWN_CLUSTER = ("oom_kill",)

MIB = 2**20


def spin(seconds: float) -> None:
    """Compute for so long."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@ray.remote(num_cpus=0.5)
def warm() -> None:
    time.sleep(0.3)


def start() -> None:
    """Join the running Ray, and let workers start before what counts."""
    ray.init(log_to_driver=False)
    _about()
    ray.get([warm.remote() for _ in range(4)])


def _about() -> None:
    context = ray.get_runtime_context()
    print("JOB", context.get_job_id())
    print("SESSION", context.get_session_name())


def _grow(first: int) -> None:
    """Four tasks at once that take so many MiB when first tried, on a machine with room for 2,000 MiB more."""
    import tempfile

    import psutil

    memory = psutil.virtual_memory()
    limit = (memory.total - memory.available + 2000 * MIB) / memory.total
    ray.init(
        address="local",
        num_cpus=2,
        log_to_driver=False,
        include_dashboard=False,
        _system_config={"memory_usage_threshold": limit, "memory_monitor_refresh_ms": 100},
    )
    _about()

    @ray.remote(num_cpus=0.5, max_retries=3)
    def load(number: int, tried: str) -> int:
        path = f"{tried}/{number}"
        megabytes = 100 if os.path.exists(path) else first
        open(path, "w").close()
        held = []
        for _ in range(megabytes // 50):
            held.append(os.urandom(1024) * (50 * 1024))
            time.sleep(0.1)
        time.sleep(0.5)
        return len(held)

    with tempfile.TemporaryDirectory() as tried:
        print(sum(ray.get([load.remote(number, tried) for number in range(4)])))


def oom_kill_bad() -> None:
    _grow(1000)


def oom_kill_good() -> None:
    _grow(100)


if __name__ == "__main__":
    name = sys.argv[1]
    if not name.startswith(OWN_CLUSTER):
        start()
    globals()[name]()
