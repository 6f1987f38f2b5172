"""Many tasks and calls, environments of the user's own, annotations, and more calls than Ray carries."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
import threading
import time
from typing import Any

import numpy as np
import ray

import rayscope

CALLS = 6000
#: Objects that exceed the store by far: Ray spills them, and restores them when they are used.
SPILLED = 20
#: Size of each of these objects.
SPILLED_BYTES = 10_000_000
STORE_BYTES = 80_000_000


def setup() -> None:
    os.environ["SET_UP_BY"] = "the user"


@ray.remote
def work(number: int) -> int:
    if number % 97 == 0:
        time.sleep(0.01)
    return number


@ray.remote(max_retries=0)
def fails(number: int) -> None:
    raise ValueError(number)


@ray.remote
def parent(number: int) -> int:
    return sum(ray.get([work.remote(i) for i in range(number)]))


@ray.remote
def total(values: Any) -> int:
    return int(values.sum())


def spill() -> int:
    refs = [ray.put(np.full(SPILLED_BYTES // 8, number)) for number in range(SPILLED)]
    return sum(ray.get([total.remote(ref) for ref in refs])) + sum(int(ray.get(ref)[0]) for ref in refs)


@ray.remote
def environment(ref: list[Any]) -> tuple[str | None, str | None]:
    ray.get(ref[0])
    return os.environ.get("SET_UP_BY"), os.environ.get("SECOND")


@ray.remote
def many_gets(ref: list[Any]) -> int:
    """More calls in a second than Ray takes of one task."""
    for _ in range(CALLS):
        ray.get(ref[0])
        rayscope.counter("calls", 1)
    return CALLS


@ray.remote
@rayscope.span("generate")
def generate(number: int) -> Any:
    """Stays a generator under the decorator."""
    for i in range(number):
        yield 2 * i


def burn(cpu_s: float) -> None:
    until = time.thread_time() + cpu_s
    while time.thread_time() < until:
        pass


@ray.remote(max_retries=0)
def burns(cpu_s: float, fail: bool = False) -> int:
    """A third of it in another thread. Returns what this process used meanwhile, ns."""
    began = time.process_time_ns()
    beside = threading.Thread(target=burn, args=(cpu_s / 3,))
    beside.start()
    burn(cpu_s * 2 / 3)
    beside.join()
    if fail:
        raise ValueError(cpu_s)
    return time.process_time_ns() - began


@ray.remote
def rests() -> None:
    time.sleep(0.5)


@ray.remote(max_concurrency=2)
class Threaded:
    def burns(self, cpu_s: float) -> int:
        began = time.thread_time_ns()
        burn(cpu_s)
        return time.thread_time_ns() - began


@ray.remote
class Model:
    def __init__(self) -> None:
        rayscope.annotate(model="resnet", layers=50)

    @rayscope.span("forward", batch=32)
    def forward(self) -> str:
        rayscope.annotate(epoch=3, note="第一")
        for step in range(3):
            rayscope.counter("loss", np.float32(1 / (step + 1)))
        rayscope.counter("loss", float("nan"))
        rayscope.counter("loss", "no number")  # type: ignore[arg-type]
        with rayscope.span("inner"):
            return ray.get_runtime_context().get_task_id()


@ray.remote
class Async:
    @rayscope.span("turn")
    async def turn(self) -> str:
        rayscope.annotate(kind="coroutine")
        return ray.get_runtime_context().get_task_id()


@ray.remote(enable_task_events=False)
class NoEvents:
    def double(self, number: int) -> int:
        return 2 * number


@ray.remote(enable_task_events=False)
class NoEventsAsync:
    async def double(self, number: int) -> int:
        return 2 * number


def joins(connection: Any) -> None:
    """A driver in a process that was forked when Ray was loaded already."""
    ray.init(connection.recv(), log_to_driver=False)
    rayscope.annotate(forked="a driver")
    connection.send(ray.get(work.remote(1)))
    ray.shutdown()


def fork() -> int:
    """A child of a connected driver uses what is left to it; its exit status."""
    child = os.fork()
    if child == 0:
        rayscope.counter("of a fork", 1)
        with rayscope.span("of a fork"):
            os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> None:
    os.environ["RAY_AUTH_MODE"] = "disabled"  # the second driver has no token
    ours, theirs = multiprocessing.Pipe()
    joining = multiprocessing.get_context("fork").Process(target=joins, args=(theirs,), daemon=True)
    joining.start()
    theirs.close()
    os.environ["PYTHONPATH"] = os.pathsep.join([sys.path[0], os.environ.get("PYTHONPATH", "")])
    ray.init(
        num_cpus=4,
        _temp_dir=sys.argv[1],
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=STORE_BYTES,
        runtime_env={"worker_process_setup_hook": setup},
        _system_config={"preload_python_modules": ["preloaded"]},
    )
    rayscope.annotate(run="nightly")
    assert ray.get([work.remote(i) for i in range(2500)]) == list(range(2500))
    ray.wait([fails.remote(i) for i in range(50)], num_returns=50)
    ray.get([parent.remote(20) for _ in range(10)])
    ours.send(ray.get_runtime_context().gcs_address)
    assert fork() == 7
    without_events = [NoEvents.remote(), NoEventsAsync.remote()]
    assert sum(ray.get([actor.double.remote(4) for actor in without_events for _ in range(5)])) == 80
    ids_without_events = [actor._actor_id.hex() for actor in without_events]
    assert spill() == sum(range(SPILLED)) * (SPILLED_BYTES // 8 + 1)
    ref = ray.put(1)
    first = ray.get(environment.remote([ref]))
    second = environment.options(runtime_env={"env_vars": {"SECOND": "2"}}).remote([ref])
    results: dict[str, Any] = {"without_events": ids_without_events}
    results["environments"] = [first, ray.get(second)]
    assert ours.recv() == 1
    joining.join()
    model, coroutines = Model.remote(), Async.remote()
    results["forward"] = ray.get(model.forward.remote())
    results["turn"] = ray.get(coroutines.turn.remote())
    results["generated"] = ray.get(list(generate.remote(3)))
    results["burnt"] = [ray.get(burns.remote(0.3)), 300_000_000]
    ray.wait([burns.options(name="burns in vain").remote(0.3, fail=True)])
    ray.get(rests.remote())
    threaded = Threaded.remote()
    results["threads"] = ray.get([threaded.burns.remote(0.2) for _ in range(4)])
    # Last, so that its sums have no time but that of leaving the cluster.
    results["gets"] = ray.get(many_gets.remote([ref]))
    results["model"] = "ff" * 8 + model._actor_id.hex()
    print("RESULTS " + json.dumps(results))


if __name__ == "__main__":
    main()
