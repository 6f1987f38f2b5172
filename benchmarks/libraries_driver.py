"""The programs of libraries.py, in a cluster of its own: ``libraries_driver.py TEMP_DIR --rows N --requests N``."""

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
    """Doubles."""

    async def double(self, number: int) -> int:
        """Twice the number."""
        return 2 * number


@serve.deployment(ray_actor_options={"num_cpus": 0.1}, max_ongoing_requests=32)
class Front:
    """Asks the model."""

    def __init__(self, model: Any) -> None:
        self._model = model

    async def ask(self, number: int) -> int:
        """One more than twice the number."""
        doubled: int = await self._model.double.remote(number)
        return doubled + 1


def read_data(rows: int) -> tuple[float, Any]:
    """Rows a second of a pipeline with a shuffle, and the sum of what came out."""
    began = time.perf_counter()
    dataset = ray.data.range(rows, override_num_blocks=64)
    dataset = dataset.map_batches(lambda batch: {"id": batch["id"] * 2}).random_shuffle(seed=1)
    total = sum(int(batch["id"].sum()) for batch in dataset.iter_batches(batch_size=4096))
    return rows / (time.perf_counter() - began), total


def ask_serve(requests: int) -> tuple[float, Any]:
    """Requests a second through two deployments, and the sum of the answers."""
    handle = serve.run(Front.bind(Model.bind()), name="bench", route_prefix=None)

    async def load(number: int) -> list[int]:
        asked = range(number, requests, _AT_ONCE)
        return [await handle.ask.remote(one) for one in asked]

    async def all_of_it() -> int:
        return sum(sum(answers) for answers in await asyncio.gather(*map(load, range(_AT_ONCE))))

    handle.ask.remote(0).result()
    began = time.perf_counter()
    total = asyncio.run(all_of_it())
    return requests / (time.perf_counter() - began), total


def cpu_s() -> float:
    """CPU seconds of this driver and of the cluster that it started: what a busy machine cannot stretch."""
    me = psutil.Process()
    total = 0.0
    for process in (me, *me.children(recursive=True)):
        with contextlib.suppress(psutil.Error):
            total += cpu_of(process)
    return total


def measured(work: Callable[[int], tuple[float, Any]], number: int) -> dict[str, Any]:
    """The rate and the output of a workload, and the CPU that each of its ``number`` units took (µs)."""
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
    read_data(args.rows // 10)  # the first time, workers start and import
    told = {
        "Data: rows": measured(read_data, args.rows),
        "Serve: requests": measured(ask_serve, args.requests),
    }
    print("RESULT", json.dumps(told), flush=True)
    serve.shutdown()
    ray.shutdown()


if __name__ == "__main__":
    main()
