"""Small Ray programs with a knob, for whatif.py. Runs one of them, with its knob turned or not.

    python benchmarks/whatif_programs.py fan_out before

After a warm-up, which is not timed, it prints the job's ID and its duration. All tasks but those of
``computing`` sleep instead of computing, because contention for few cores is not what is tested.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import ray
from ray.util import ActorPool
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

CPUS = 4


@dataclass
class Program:
    """A program.

    Attributes:
        run: the timed part. Gets whether the knob is turned (``after``), and the result of ``prepare``.
        prepare: the part that is not timed.
        changes: the changes for the replay that correspond to the knob.
        cpus_after: number of CPUs of the cluster with the knob turned.
        workers: number of workers needed at the same time, if there are more than CPUs.
        both: changes that apply to both predictions.
    """

    run: Callable[..., Any]
    changes: list[dict[str, Any]]
    prepare: Callable[[bool], Any] = lambda _: None
    cpus_after: int = CPUS
    workers: int = 0
    both: list[dict[str, Any]] = field(default_factory=list)


PROGRAMS: dict[str, Program] = {}


def program(*changes: dict[str, Any], **more: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program by its function's name."""

    def add(run: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS[run.__name__] = Program(run, list(changes), **more)
        return run

    return add


def faster(function: str, times: float) -> dict[str, Any]:
    return {"kind": "speed", "function": function, "times": times}


@ray.remote
def warm(_: int) -> int:
    time.sleep(0.5)
    return os.getpid()


@ray.remote
def work(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@program(faster("work", 2))
def fan_out(after: bool, _: None) -> None:
    ray.get([work.remote(0.1 if after else 0.2) for _ in range(40)])


# The start of additional workers or actors is not timed: they exist by then.
@program({"kind": "cpus", "count": 4}, cpus_after=8, both=[{"kind": "no_startup"}])
def more_cpus(after: bool, _: None) -> None:
    ray.get([work.remote(0.25) for _ in range(32)])


@program({"kind": "one_get", "function": "work"})
def get_in_a_loop(after: bool, _: None) -> None:
    if after:
        ray.get([work.remote(0.15) for _ in range(24)])
    else:
        for _ in range(24):
            ray.get(work.remote(0.15))


@ray.remote
def crunch(loops: int) -> int:
    return sum(range(loops))


# The only program that computes, so its tasks contend for the machine's cores.
@program(faster("crunch", 2))
def computing(after: bool, _: None) -> None:
    ray.get([crunch.remote(5_000_000 if after else 10_000_000) for _ in range(24)])


@ray.remote
class Board:
    def offer(self, seconds: float) -> float:
        time.sleep(seconds)
        return seconds


def boards(count: int) -> list[Any]:
    actors = [Board.remote() for _ in range(count)]
    ray.get([board.offer.remote(0) for board in actors])
    return actors


@program(
    {"kind": "actors", "class_name": "Board", "count": 3},
    both=[{"kind": "no_startup"}],
    prepare=lambda after: boards(4 if after else 1),
)
def one_actor(_: bool, actors: list[Any]) -> None:
    ray.get([actors[number % len(actors)].offer.remote(0.05) for number in range(80)])


@program(
    {"kind": "actors", "class_name": "Board", "count": 2},
    both=[{"kind": "no_startup"}],
    prepare=lambda after: boards(4 if after else 2),
)
def actor_pool(_: bool, actors: list[Any]) -> None:
    pool = ActorPool(actors)
    for _ in pool.map_unordered(lambda actor, seconds: actor.offer.remote(seconds), [0.15, 0.1] * 14):
        pass


@ray.remote
def outer(seconds: float) -> float:
    time.sleep(0.1)
    return sum(ray.get([work.remote(seconds) for _ in range(16)]))


@program(faster("work", 3), workers=2 * CPUS)
def nested(after: bool, _: None) -> None:
    ray.get([outer.remote(0.1 if after else 0.3) for _ in range(4)])


@program(faster("work", 2))
def wait_loop(after: bool, _: None) -> None:
    left = [(0.05 + 0.25 * (number % 5) / 4) / (2 if after else 1) for number in range(40)]
    pending = [work.remote(left.pop()) for _ in range(CPUS)]
    while pending:
        ready, pending = ray.wait(pending, num_returns=1)
        ray.get(ready)
        time.sleep(0.01)
        if left:
            pending.append(work.remote(left.pop()))


@program({"kind": "no_stragglers"})
def stragglers(after: bool, _: None) -> None:
    ray.get([work.remote(1.5 if not after and number % 8 == 7 else 0.2) for number in range(32)])


@ray.remote(max_concurrency=4)
class Async:
    async def fetch(self, seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds


def async_actor_made(_: bool) -> Any:
    actor = Async.remote()
    ray.get(actor.fetch.remote(0))
    return actor


@program(faster("Async.fetch", 2), prepare=async_actor_made)
def async_actor(after: bool, actor: Any) -> None:
    ray.get([actor.fetch.remote(0.1 if after else 0.2) for _ in range(48)])


@ray.remote
def load(number: int) -> Any:
    time.sleep(0.1)
    return np.full(1_000_000, number, dtype=np.float64)


@ray.remote
def transform(array: Any, seconds: float) -> Any:
    time.sleep(seconds)
    return array * 2


@ray.remote
def total(*arrays: Any) -> float:
    return float(sum(array[0] for array in arrays))


@program(faster("transform", 3))
def pipeline(after: bool, _: None) -> None:
    seconds = 0.1 if after else 0.3
    ray.get(total.remote(*[transform.remote(load.remote(number), seconds) for number in range(24)]))


@ray.remote(max_retries=2, retry_exceptions=True)
def flaky(marker: str, seconds: float) -> None:
    time.sleep(seconds)
    if marker and not Path(marker).exists():
        Path(marker).touch()
        raise ValueError("the first attempt fails")


@program({"kind": "no_retries"}, prepare=lambda _: tempfile.mkdtemp(prefix="rsw-"))
def retries(after: bool, folder: str) -> None:
    ray.get([flaky.remote("" if after or number % 2 else f"{folder}/{number}", 0.25) for number in range(24)])


@ray.remote
def merge(left: float, right: float, seconds: float) -> float:
    time.sleep(seconds)
    return left + right


@program(faster("merge", 4))
def tree_reduce(after: bool, _: None) -> None:
    level = [work.remote(0.1) for _ in range(16)]
    while len(level) > 1:
        level = [merge.remote(*level[at : at + 2], 0.1 if after else 0.4) for at in range(0, len(level), 2)]
    ray.get(level[0])


@ray.remote
def generate(seconds: float) -> Any:
    for number in range(25):
        time.sleep(seconds)
        yield number


@program(faster("generate", 2))
def generator(after: bool, _: None) -> None:
    for value in generate.remote(0.075 if after else 0.15):
        ray.get(value)
        time.sleep(0.05)


def reserved(_: bool) -> Any:
    group = placement_group([{"CPU": 1}] * 2)
    ray.get(group.ready())
    return group


@program(faster("work", 2), prepare=reserved)
def in_a_placement_group(after: bool, group: Any) -> None:
    where = PlacementGroupSchedulingStrategy(group)
    tasks = [work.options(scheduling_strategy=where).remote(0.1 if after else 0.2) for _ in range(24)]
    ray.get(tasks)
    remove_placement_group(group)


@program({"kind": "num_cpus", "function": "work", "num_cpus": 0.5}, workers=2 * CPUS)
def half_a_cpu(after: bool, _: None) -> None:
    ray.get([work.options(num_cpus=0.5 if after else 1).remote(0.25) for _ in range(32)])


@ray.remote
def consume(array: Any, seconds: float) -> float:
    time.sleep(seconds)
    return float(array[0])


@program(faster("consume", 4))
def puts(after: bool, _: None) -> None:
    found = []
    for number in range(16):
        array = ray.put(np.full(2_000_000, number, dtype=np.float64))
        found.append(consume.remote(array, 0.1 if after else 0.4))
    ray.get(found)


@ray.remote
def fine(sizes: int) -> int:
    for _ in range(sizes):
        time.sleep(0.002)
    return sizes


@program({"kind": "batch", "function": "fine", "size": 25})
def fine_grained(after: bool, _: None) -> None:
    ray.get([fine.remote(25 if after else 1) for _ in range(40 if after else 1000)])


def main() -> None:
    """Run one."""
    chosen, after = PROGRAMS[sys.argv[1]], sys.argv[2] == "after"
    ray.init(log_to_driver=False)
    # Each job has its own workers: start as many as it will need.
    cpus = ray.cluster_resources()["CPU"]
    count = chosen.workers or int(cpus)
    started: set[int] = set()
    for _ in range(20):
        started |= set(ray.get([warm.options(num_cpus=cpus / count).remote(n) for n in range(count)]))
        if len(started) >= count:
            break
    given = chosen.prepare(after)
    time.sleep(0.5)
    began = time.monotonic()
    chosen.run(after, given)
    took = time.monotonic() - began
    print("TOOK " + json.dumps({"job": ray.get_runtime_context().get_job_id(), "seconds": took}))


if __name__ == "__main__":
    main()
