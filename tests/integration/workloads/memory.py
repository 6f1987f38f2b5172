"""Tasks that hold known amounts of memory. Prints the size of the process that each knows of itself.

Args: a folder for Ray.
"""

import asyncio
import json
import sys
import threading
import time

import ray

MB = 1_000_000


def size() -> int:
    """The size of this process, in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def hold(megabytes: int) -> tuple[int, int]:
    """Hold memory for a moment. Returns the size at the start and the peak."""
    start = size()
    data = bytearray(megabytes * MB)
    data[::4096] = b"x" * len(data[::4096])
    time.sleep(0.2)
    return start, start + megabytes * MB


held = ray.remote(num_cpus=1)(hold)


@ray.remote(num_cpus=0, max_concurrency=2)
class Threaded:
    """Its two calls run at the same time."""

    def __init__(self) -> None:
        self.both = threading.Barrier(2)

    def hold(self, megabytes: int) -> int:
        """Hold memory while the other call runs."""
        self.both.wait()
        _, peak = hold(megabytes)
        self.both.wait()
        return peak


@ray.remote(num_cpus=0)
class Async:
    """Its two calls take turns."""

    def __init__(self) -> None:
        self.calls = 0

    async def hold(self, megabytes: int) -> int:
        """Hold memory while the other call is suspended."""
        await self._reach(2)
        _, peak = hold(megabytes)
        await self._reach(4)
        return peak

    async def _reach(self, calls: int) -> None:
        self.calls += 1
        while self.calls < calls:
            await asyncio.sleep(0.01)


ray.init(num_cpus=1, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
ray.get(held.remote(1))  # the first call of a worker loads what the others find loaded
own = {}
for megabytes in (50, 200, 400):
    for name, amount in ((f"{megabytes} MB", megabytes), (f"small after {megabytes} MB", 1)):
        own[name] = ray.get(held.options(name=name).remote(amount))
shared = {}
for kind in (Threaded, Async):
    actor = kind.remote()
    names = [f"{kind.__ray_metadata__.class_name} {at}" for at in range(2)]
    calls = [actor.hold.options(name=name).remote(100) for name in names]
    shared.update(zip(names, ray.get(calls), strict=True))
off = {"env_vars": {"RAYSCOPE_TRACE_MEMORY": "0"}}
ray.get(held.options(name="off", runtime_env=off).remote(1))
print("EXPECTED " + json.dumps({"own": own, "shared": shared}))
