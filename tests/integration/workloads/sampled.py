"""Functions whose slow lines are known: they end with ``# slow: FUNCTION``.

Run as ``sampled.py INIT``: the arguments of ``ray.init()`` as JSON.
"""

import asyncio
import json
import sys
import threading
import time

import numpy as np
import ray

SECONDS = 4.0


def compute() -> int:
    return sum(number * number for number in range(20_000))


def spin(until: float) -> None:
    while time.monotonic() < until:
        compute()  # slow: spin


@ray.remote
def loop() -> None:
    spin(time.monotonic() + SECONDS)  # slow: loop


@ray.remote
def threads() -> None:
    thread = threading.Thread(target=spin, args=(time.monotonic() + SECONDS,))
    thread.start()
    thread.join()  # slow: threads


@ray.remote
def native() -> None:
    matrix = np.random.default_rng(0).random((600, 600))
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        matrix @ matrix  # slow: native


@ray.remote
def gets(refs: list) -> None:
    ray.get(refs)  # slow: gets


@ray.remote(num_cpus=0, max_concurrency=2)
class Threaded:
    def first(self) -> None:
        spin(time.monotonic() + SECONDS)  # slow: Threaded.first

    def second(self) -> None:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            compute()  # slow: Threaded.second


@ray.remote(num_cpus=0)
class Async:
    async def runs(self) -> None:
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            compute()  # slow: Async.runs
            await asyncio.sleep(0)

    async def waits(self) -> None:
        await asyncio.sleep(SECONDS)  # slow: Async.waits

    async def blocks(self) -> None:
        time.sleep(SECONDS)  # slow: Async.blocks


ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
fast = {"env_vars": {"RAYSCOPE_TRACE_SAMPLES": "20"}}
looped = loop.options(runtime_env=fast).remote()
waited = gets.options(runtime_env=fast).remote([looped])
ray.get(
    [looped, waited, native.options(runtime_env=fast).remote(), threads.options(runtime_env=fast).remote()]
)
threaded, coroutines = Threaded.options(runtime_env=fast).remote(), Async.options(runtime_env=fast).remote()
calls = [
    threaded.first.remote(),
    threaded.second.remote(),
    coroutines.runs.remote(),
    coroutines.waits.remote(),
]
ray.get(calls)  # slow: driver
ray.get(coroutines.blocks.remote())
time.sleep(1.5)  # An actor that is killed loses the samples that it has not sent.
