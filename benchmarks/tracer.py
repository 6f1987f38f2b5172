"""Overhead of the tracer per call in a driver, in microseconds.

    python benchmarks/tracer.py

The driver of a local cluster is traced. Calls alternate in groups of a few hundred between the tracer being
on and its wrappers returning immediately, so that other load affects both. The medians are compared. The
later cost of the events (sending, receiving) is not included: see overhead.py.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine
from typing import Any

os.environ["RAYSCOPE_TRACE"] = "1"

from common import SRC, header, parse_arguments, table

sys.path.insert(0, str(SRC))

import ray

from rayscope.tracer import emit, entry, hooks
from rayscope.tracer.awaits import Awaits
from rayscope.tracer.coroutines import Driver

if not hooks.state.on:  # this interpreter was started without the setting
    entry.enter(ray)


@ray.remote
def noop(value: object = None) -> None:
    """Do nothing."""


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--calls", type=int, default=200)
    args = parse_arguments(parser, rounds=1, calls=10)
    print(header("The tracer, call by call", ["ray"]))
    temp = tempfile.mkdtemp(prefix="rsb-")
    ray.init(num_cpus=1, _temp_dir=temp, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    assert hooks.state.on
    small, refs = ray.put(1), [ray.put(i) for i in range(100)]
    kinds: dict[str, Callable[[], object]] = {
        "ray.get of a value at hand": lambda: ray.get(small),
        "ray.get of 100 values at hand": lambda: ray.get(refs),
        "ray.wait of 100 values at hand": lambda: ray.wait(refs, num_returns=100),
        "ray.put of a small value": lambda: ray.put(1),
        "submission without references": lambda: noop.remote(1),
        "submission with a reference": lambda: noop.remote(small),
        "submission with 100 references in a list": lambda: noop.remote(refs),
    }
    rows = []
    for name, call in kinds.items():
        took: dict[bool, list[float]] = {True: [], False: []}
        for number in range(args.rounds):
            for on in (True, False) if number % 2 else (False, True):
                hooks.state.on = on
                hooks.state.used = 0  # stay within the budget
                if name.startswith("submission"):
                    kept = []
                    began = time.perf_counter()
                    for _ in range(args.calls // 4):
                        kept.append(call())
                    took[on].append((time.perf_counter() - began) / (args.calls // 4))
                    hooks.state.on = False
                    ray.get(kept)
                else:
                    began = time.perf_counter()
                    for _ in range(args.calls):
                        call()
                    took[on].append((time.perf_counter() - began) / args.calls)
        without, with_it = (statistics.median(took[on]) * 1e6 for on in (False, True))
        added = statistics.median(a - b for a, b in zip(took[True], took[False], strict=True)) * 1e6
        rows.append([name, f"{without:.1f}", f"{with_it:.1f}", f"**{added:.1f}**"])
    print(table(["Call", "without, us", "with, us", "added, us"], rows))
    ray.shutdown()
    print("\nCoroutines of async methods, CPU time:\n")
    print(table(["", "without, us", "with, us", "added, us"], coroutines(args.rounds)))
    return 0


class _TaskId:
    def binary(self) -> bytes:
        return b"task"


def coroutines(rounds: int, times: int = 5_000) -> list[list[str]]:
    """Table rows with the overhead of the coroutine driver per step, and per call that is never suspended."""

    async def method(steps: int) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)

    task = emit.state.tasks[b"task"] = emit.Task(b"task", 0, 0)

    def drive(coroutine: Coroutine[None, None, None]) -> Any:
        task.awaits = Awaits()
        return Driver(coroutine, _TaskId)

    async def run(wrap: Callable[[Any], Any], steps: int, calls: int) -> float:
        loop = asyncio.get_running_loop()
        began = time.process_time()
        for _ in range(calls):
            await loop.create_task(wrap(method(steps)))
        return (time.process_time() - began) / times * 1e6

    rows = []
    for name, steps, calls in (("a step", times, 1), ("a call", 0, times)):
        took: dict[bool, list[float]] = {True: [], False: []}
        for number in range(rounds):
            for is_driven in (True, False) if number % 2 else (False, True):
                wrap = drive if is_driven else lambda coroutine: coroutine
                took[is_driven].append(asyncio.run(run(wrap, steps, calls)))
        without, with_it = statistics.median(took[False]), statistics.median(took[True])
        rows.append([name, f"{without:.2f}", f"{with_it:.2f}", f"**{with_it - without:.2f}**"])
    return rows


if __name__ == "__main__":
    sys.exit(main())
