"""The workloads of libraries.py, in their own cluster.

python benchmarks/libraries_driver.py TEMP_DIR --rows N --requests N
"""

import argparse
import asyncio
import contextlib
import json
import time
from collections.abc import Callable
from typing import Any

import psutil
import ray
import ray.data
from ray import serve

from common import cpu_of

_AT_ONCE = 16


@serve.deployment(ray_actor_options={"num_cpus": 0.1}, max_ongoing_requests=32)
class Model:
    """Doubles numbers."""

    async def double(self, number: int) -> int:
        """Twice the number."""
        return 2 * number


@serve.deployment(ray_actor_options={"num_cpus": 0.1}, max_ongoing_requests=32)
class Front:
    """Calls the model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    async def ask(self, number: int) -> int:
        """One more than twice the number."""
        doubled: int = await self._model.double.remote(number)
        return doubled + 1


def read_data(rows: int) -> tuple[float, Any]:
    """Rows per second of a pipeline with a shuffle, and the sum of its output."""
    began = time.perf_counter()
    dataset = ray.data.range(rows, override_num_blocks=64)
    dataset = dataset.map_batches(lambda batch: {"id": batch["id"] * 2}).random_shuffle(seed=1)
    total = sum(int(batch["id"].sum()) for batch in dataset.iter_batches(batch_size=4096))
    return rows / (time.perf_counter() - began), total


def ask_serve(requests: int) -> tuple[float, Any]:
    """Requests per second through two deployments, and the sum of the responses."""
    handle = serve.run(Front.bind(Model.bind()), name="bench", route_prefix=None)

    async def load(number: int) -> list[int]:
        numbers = range(number, requests, _AT_ONCE)
        return [await handle.ask.remote(value) for value in numbers]

    async def all_of_it() -> int:
        return sum(sum(answers) for answers in await asyncio.gather(*map(load, range(_AT_ONCE))))

    handle.ask.remote(0).result()
    began = time.perf_counter()
    total = asyncio.run(all_of_it())
    return requests / (time.perf_counter() - began), total


def cpu_s() -> float:
    """CPU seconds of this driver and its cluster, which depend little on other load."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            total += cpu_of(process)
    return total


def measured(work: Callable[[int], tuple[float, Any]], number: int) -> dict[str, Any]:
    """The rate and the output of a workload, and the CPU time of each of its ``number`` units, µs."""
    before = cpu_s()
    rate, output = work(number)
    return {"rate": rate, "output": output, "cpu_us": (cpu_s() - before) / number * 1e6}


def main() -> None:
    """Run both and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("temp")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--requests", type=int)
    args = parser.parse_args()
    ray.init(num_cpus=4, _temp_dir=args.temp, log_to_driver=False, dashboard_port=0)
    ray.data.DataContext.get_current().enable_progress_bars = False
    read_data(args.rows // 10)  # starts workers and imports
    results = {
        "Data: rows": measured(read_data, args.rows),
        "Serve: requests": measured(ask_serve, args.requests),
    }
    print("RESULT", json.dumps(results), flush=True)
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
