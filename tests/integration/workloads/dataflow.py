"""Tasks whose data flow is known by construction. Prints it as JSON: every edge that a record must have.

An edge: producer and consumer task, object, kind, whether nested, bytes (what Ray itself says, or null).

Run as ``dataflow.py INIT [SECONDS]``: the arguments of ``ray.init()`` as JSON, and how long to stay at the end.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ray

EDGES: list[list[Any]] = []


def me() -> str:
    context = ray.get_runtime_context()
    return context.get_task_id() or "ff" * 20 + context.get_job_id()  # a driver's task has no name there


def size(ref: Any) -> int | None:
    return ray.experimental.get_object_locations([ref])[ref].get("object_size")


def returned(caller: str, *refs: Any) -> None:
    for ref in refs:
        EDGES.append([ref.task_id().hex(), caller, ref.hex(), "return", False, size(ref)])


def passed(callee: str, *refs: Any, made_by: str | None = None, nested: bool = False) -> None:
    for ref in refs:
        EDGES.append([made_by or ref.task_id().hex(), callee, ref.hex(), "argument", nested, size(ref)])


def passed_by_value(caller: str, callee: Any) -> None:
    """Ray turns a large value into an object that has no reference."""
    EDGES.append([caller, callee.task_id().hex(), "by value", "argument", False, None])


def got(consumer: str, *refs: Any, made_by: str | None = None) -> None:
    for ref in refs:
        EDGES.append([made_by or ref.task_id().hex(), consumer, ref.hex(), "get", False, size(ref)])


def put(task: str, *refs: Any) -> None:
    for ref in refs:
        EDGES.append([task, task, ref.hex(), "put", False, size(ref)])


@ray.remote
def make(number: int) -> bytes:
    return bytes(number)


@ray.remote
def add(*parts: bytes, more: bytes = b"") -> int:
    return sum(map(len, parts)) + len(more)


@ray.remote
def keep(values: Any) -> None:
    pass


@ray.remote(num_returns=3)
def three() -> tuple[bytes, bytes, bytes]:
    return bytes(10), bytes(200_000), bytes(30)


@ray.remote
def count_up(number: int) -> Any:
    for i in range(number):
        yield bytes(1000 * (i + 1))


@ray.remote
def sleep() -> None:
    time.sleep(0.5)


@ray.remote
def outer() -> list[Any]:
    inner = [make.remote(n) for n in (5, 300_000)]
    ray.get(inner)
    mine = ray.put(bytes(70))
    ray.get(mine)
    returned(me(), *inner)
    got(me(), *inner)
    put(me(), mine)
    got(me(), mine, made_by=me())
    large = add.remote(bytes(150_000), b"small")
    passed_by_value(me(), large)
    returned(me(), large)
    return EDGES


@ray.remote
def in_a_thread() -> list[Any]:
    ref = make.remote(11)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(ray.get, ref).result()
    returned(me(), ref)
    got(me(), ref)
    return EDGES


@ray.remote
class Stage:
    def __init__(self, suffix: bytes = b"") -> None:
        self.suffix = suffix

    def step(self, value: bytes) -> bytes:
        return value + self.suffix


@ray.remote
class Waiting:
    async def both(self, refs: list[Any]) -> int:
        return sum(map(len, [await refs[0], await refs[1]]))

    async def gives_up(self, refs: list[Any]) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(refs[0], 0.05)

    async def calls(self) -> list[Any]:
        """A coroutine's calls are its own, also inside another one. Ray attributes them to ``__init__``."""
        (large,) = await asyncio.create_task(self._call())
        await large
        returned(me(), large)
        got(me(), large)
        return EDGES

    async def _call(self) -> list[Any]:
        large = add.remote(bytes(150_000))
        passed_by_value(me(), large)
        return [large]


@ray.remote(max_concurrency=4)
class Threaded:
    def __init__(self) -> None:
        self.both = threading.Barrier(2, timeout=60)

    def meet(self, refs: list[Any]) -> int:
        self.both.wait()  # two run at a time
        return len(ray.get(refs[0]))

    def calls(self) -> list[Any]:
        large = add.remote(bytes(150_000))
        ray.get(large)
        passed_by_value(me(), large)
        returned(me(), large)
        got(me(), large)
        return EDGES


def take(driver: str, edges: list[Any], ref: Any) -> None:
    """Add the edges that a task reported itself, and the edge of its result."""
    EDGES.extend(edges)
    returned(driver, ref)
    got(driver, ref)


def main() -> None:
    ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
    driver = me()

    # Map and reduce: some values so small that they travel with the task, some through the object store.
    maps = [make.remote(n) for n in (1, 50_000, 150_000, 1_000_000)]
    reduced = add.remote(*maps[:3], more=maps[3])
    assert ray.get(reduced) == 1_200_001
    returned(driver, *maps, reduced)
    passed(reduced.task_id().hex(), *maps)
    got(driver, reduced)

    # One object for many, and as it is, and inside others.
    shared = ray.put(bytes(400_000))
    small = ray.put(bytes(4))
    put(driver, shared, small)
    users = [add.remote(shared, small) for _ in range(5)]
    ray.get(users)
    for user in users:
        passed(user.task_id().hex(), shared, small, made_by=driver)
    inside = keep.remote([shared, {"deep": (small,)}])
    ray.get(inside)
    passed(inside.task_id().hex(), shared, small, made_by=driver, nested=True)
    returned(driver, *users, inside)
    got(driver, *users, inside)

    # A large value, stored again for each call.
    large = bytes(200_000)
    given = [add.remote(large, b"small"), add.remote(more=large)]
    ray.wait(given, num_returns=2)
    for taker in given:
        passed_by_value(driver, taker)
    returned(driver, *given)

    # Several values, of which one is used, and not by the driver.
    first, second, third = three.remote()
    used = add.remote(second, third)
    assert ray.get(used) == 200_030
    passed(used.task_id().hex(), second, third)
    returned(driver, first, second, third, used)
    got(driver, used)

    # A generator. At its end Ray gets the generator's own object.
    generator = count_up.remote(3)
    yielded = list(generator)
    ray.get(yielded)
    returned(driver, *yielded)
    got(driver, *yielded)
    task = yielded[0].task_id().hex()
    EDGES.append([task, driver, f"{task}01000000", "get", False, None])

    # A pipeline of actors, created with an object.
    stages = [Stage.remote(small), Stage.remote()]
    for stage, *given in ((stages[0], small), (stages[1],)):
        passed("ff" * 8 + stage._actor_id.hex(), *given, made_by=driver)
    value = make.remote(120_000)
    returned(driver, value)
    for stage in stages:
        following = stage.step.remote(value)
        passed(following.task_id().hex(), value)
        returned(driver, following)
        value = following
    assert len(ray.get(value)) == 120_004
    got(driver, value)

    # Tasks that get, put and wait themselves, in their own thread, in another and in coroutines.
    #: Tasks that run at the same time as others in their process, and their calls.
    beside = set()
    for function in (outer, in_a_thread):
        said = function.remote()
        take(driver, ray.get(said), said)
        if function is in_a_thread:
            beside.add(said.task_id().hex())
    parts = [make.remote(n) for n in (7, 110_000)]
    waiting = Waiting.remote()
    awaited = [waiting.both.remote(parts) for _ in range(3)]
    ray.get(awaited)
    for one in awaited:
        passed(one.task_id().hex(), *parts, nested=True)
        got(one.task_id().hex(), *parts)
    # Waited for, and not got.
    slow = sleep.remote()
    in_vain = waiting.gives_up.remote([slow])
    ray.get(in_vain)
    with contextlib.suppress(ray.exceptions.GetTimeoutError):
        ray.get(slow, timeout=0.01)
    ray.wait([slow])
    passed(in_vain.task_id().hex(), slow, nested=True)
    returned(driver, slow, in_vain)
    got(driver, in_vain)

    threaded = Threaded.remote()
    met = [threaded.meet.remote([part]) for part in parts]
    ray.get(met)
    for one, part in zip(met, parts, strict=True):
        passed(one.task_id().hex(), part, nested=True)
        got(one.task_id().hex(), part)
    for actor in (waiting, threaded):
        said = actor.calls.remote()
        edges = ray.get(said)
        take(driver, edges, said)
        beside |= {task for edge in edges for task in edge[:2]}
    returned(driver, *parts, *awaited, *met)
    got(driver, *awaited, *met)
    time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
    beside |= {one.task_id().hex() for one in (*awaited, in_vain)}
    print("BESIDE " + json.dumps(sorted(beside - {driver})))
    print("EDGES " + json.dumps(EDGES))


if __name__ == "__main__":
    main()
