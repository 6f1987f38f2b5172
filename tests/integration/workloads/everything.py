"""One of everything that Ray can do with tasks, and thousands of short tasks.

Run as a driver, ``everything.py RAY_ADDRESS DASHBOARD_URL SHORT_TASKS``, on a cluster whose second node has
the resource ``second``. Prints ``ready`` once the workload has come to rest, then answers each line on stdin:
``list PATH`` writes what Ray's own state API says of actors, nodes, workers, jobs and placement groups to
PATH; anything else ends the driver.
"""

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

warnings.simplefilter("ignore")  # num_returns="dynamic" is deprecated, and still there

#: What many quick tasks at once need: a tenth of it would start ten times as many workers, 1 s of CPU each.
QUICK = 0.5
SECRET = "s3cret-of-the-workload"
# A driver of its own that ends while one of its tasks still runs.
SHORT_LIVED = """
import ray, sys, time
ray.init(sys.argv[1], log_to_driver=False)
@ray.remote(num_cpus=0.01)
def done(): return 1
@ray.remote(num_cpus=0.01, max_retries=0)
def left_behind(): time.sleep(3600)
left = left_behind.remote()
ray.get(done.remote())
time.sleep(3)
"""


@ray.remote(num_cpus=1)
def short(x: int) -> int:
    return x


@ray.remote(num_cpus=QUICK)
def plain(x: int) -> int:
    return x + 1


@ray.remote(num_cpus=QUICK)
def level_three(x: int) -> int:
    return x


@ray.remote(num_cpus=QUICK)
def level_two(x: int) -> int:
    return sum(ray.get([level_three.remote(i) for i in range(x)]))


@ray.remote(num_cpus=QUICK)
def level_one(x: int) -> int:
    return sum(ray.get([level_two.remote(i) for i in range(x)]))


def make_local() -> Any:
    @ray.remote(num_cpus=0.1)
    def inner() -> int:
        return 1

    class Holder:
        def make(self) -> Any:
            @ray.remote(num_cpus=0.1)
            def in_method() -> int:
                return 2

            return in_method

    @ray.remote(num_cpus=0.1)
    class LocalActor:
        def ping(self) -> int:
            return 3

    return inner, Holder().make(), LocalActor


@ray.remote(num_cpus=0.1, max_retries=0)
def fails() -> None:
    raise ValueError("no \x1b[31mluck\x1b[0m " + "and much to say about it " * 100)


@ray.remote(num_cpus=0.1, max_retries=2, retry_exceptions=True)
def fails_and_retries() -> None:
    raise KeyError("again")


@ray.remote(num_cpus=0.1, max_retries=3, retry_exceptions=True)
def second_time_lucky(folder: str) -> int:
    mark = Path(folder) / "tried"
    if not mark.exists():
        mark.touch()
        raise OSError("not yet")
    return 1


@ray.remote(num_cpus=0.1, max_retries=1)
def exits() -> None:
    os._exit(7)


@ray.remote(num_cpus=0.1)
def needs(value: Any) -> Any:
    return value


@ray.remote(num_cpus=0.1, max_retries=0)
def sleeps(seconds: float) -> None:
    for _ in range(int(seconds * 20)):
        time.sleep(0.05)  # a cancellation is noticed between two of them


@ray.remote(num_cpus=0.1)
def streams(n: int) -> Any:
    for i in range(n):  # noqa: UP028 Ray sends into it, a range cannot
        yield i


@ray.remote(num_cpus=0.1)
def streams_then_fails() -> Any:
    yield 1
    raise RuntimeError("the stream broke")


@ray.remote(num_cpus=0.1, num_returns=3)
def three() -> Any:
    return 1, 2, 3


@ray.remote(num_cpus=0.1, num_returns="dynamic")
def dynamic() -> Any:
    yield from (1, 2)


@ray.remote(num_cpus=0.1)
class Plain:
    def __init__(self, start: int = 0) -> None:
        self.value = start

    def add(self, x: int) -> int:
        self.value += x
        return self.value

    def calls_a_task(self, x: int) -> int:
        return int(ray.get(plain.remote(x)))

    def fails(self) -> None:
        raise ValueError("in a method")


@ray.remote(num_cpus=0.1)
class Async:
    async def nap(self, seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds

    async def stream(self, n: int) -> Any:
        for i in range(n):
            yield i


@ray.remote(num_cpus=0.1)
class Threaded:
    def work(self, x: int) -> int:
        time.sleep(0.01)
        return x + threading.get_ident() * 0


@ray.remote(num_cpus=0.1, max_restarts=2, max_task_retries=1)
class Phoenix:
    def ping(self) -> str:
        return "pong"

    def die(self) -> None:
        os._exit(1)


@ray.remote(num_cpus=0.1)
class Named:
    def __init__(self, label: str) -> None:
        self.label = label

    def __repr__(self) -> str:
        return f"Named({self.label})"

    def ping(self) -> str:
        return self.label


@ray.remote(num_cpus=0.1)
class Broken:
    def __init__(self) -> None:
        raise RuntimeError("cannot start")

    def ping(self) -> None: ...


def quietly(reference: Any, timeout: float = 60) -> None:
    with contextlib.suppress(Exception):
        ray.get(reference, timeout=timeout)


def wait_until(condition: Any, what: str, timeout_s: float = 60) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.1)


def tasks(folder: str) -> None:
    ray.get([plain.remote(i) for i in range(5)])
    ray.get(level_one.remote(4))
    inner, in_method, local_actor = make_local()
    ray.get([inner.remote(), in_method.remote(), local_actor.remote().ping.remote()])
    ray.get(plain.options(name="renamed by its user").remote(1))
    ray.get([plain.options(resources={"second": 1}).remote(i) for i in range(4)])
    ray.get(plain.options(label_selector={"ray.io/node-id": "!in(x)"}).remote(1))
    ray.get(plain.options(runtime_env={"env_vars": {"PASSWORD": SECRET}}).remote(1))
    ray.get(list(streams.remote(5)))
    ray.get(three.remote())
    ray.get(list(ray.get(dynamic.remote())))
    with contextlib.suppress(Exception):
        ray.get(list(streams_then_fails.remote()))
    quietly(fails.remote())
    quietly(fails_and_retries.remote())
    ray.get(second_time_lucky.remote(folder))
    quietly(exits.remote())
    quietly(needs.remote(fails.remote()))  # fails for its argument's sake


def cancellations(dashboard: str) -> None:
    running, killed = sleeps.remote(3600), sleeps.options(name="killed").remote(3600)
    pending = sleeps.options(name="pending", num_cpus=3, resources={"second": 99}).remote(1)
    without_arguments = needs.options(name="waiting for arguments").remote(pending)
    asynchronous = Async.options(name="cancelled").remote()
    napping = asynchronous.nap.remote(3600)
    from ray.util.state import list_tasks

    def started() -> bool:
        running = list_tasks(address=dashboard, filters=[("state", "=", "RUNNING")], limit=10000)
        return {"sleeps", "killed", "Async.nap"} <= {row.name for row in running}

    wait_until(started, "the tasks to cancel do not run")
    for reference, force in ((running, False), (killed, True), (pending, False), (napping, False)):
        ray.cancel(reference, force=force)
    for reference in (running, killed, pending, without_arguments, napping):
        quietly(reference)


def actors() -> list[Any]:
    plain_actor = Plain.options(name="registered", namespace="tests").remote(1)
    ray.get([plain_actor.add.remote(i) for i in range(5)])
    ray.get(plain_actor.calls_a_task.remote(1))
    ray.get(plain_actor.add.options(name="a call with a name").remote(1))
    quietly(plain_actor.fails.remote())
    asynchronous = Async.options(max_concurrency=4).remote()
    ray.get([asynchronous.nap.remote(0.01) for _ in range(8)])
    ray.get(list(asynchronous.stream.options(num_returns="streaming").remote(3)))
    threaded = Threaded.options(max_concurrency=3).remote()
    ray.get([threaded.work.remote(i) for i in range(9)])
    phoenix = Phoenix.remote()
    ray.get(phoenix.ping.remote())
    quietly(phoenix.die.options(max_task_retries=0).remote())
    quietly(phoenix.ping.remote())
    quietly(phoenix.die.remote())  # is tried twice, then no restart is left
    named = [Named.options(name=f"label-{i}").remote(f"label {i}") for i in range(2)]
    ray.get([actor.ping.remote() for actor in named])
    quietly(Broken.remote().ping.remote())
    far = Plain.options(resources={"second": 1}).remote()
    ray.get(far.add.remote(1))
    killed = Plain.options(name="to be killed").remote()
    ray.get(killed.add.remote(1))
    ray.kill(killed)
    return [plain_actor, asynchronous, threaded, *named, far]


def placement_groups() -> list[Any]:
    group = placement_group([{"CPU": 0.1}, {"CPU": 0.1}], strategy="SPREAD", name="kept")
    ray.get(group.ready(), timeout=60)
    strategy = PlacementGroupSchedulingStrategy(group)
    ray.get(plain.options(scheduling_strategy=strategy, num_cpus=0.1).remote(1))
    removed = placement_group([{"CPU": 0.1}], name="removed")
    ray.get(removed.ready(), timeout=60)
    remove_placement_group(removed)
    return [group, placement_group([{"unobtainium": 1}], name="stuck")]


def write_lists(path: Path, dashboard: str) -> None:
    from ray.util.state import list_actors, list_jobs, list_nodes, list_placement_groups, list_workers

    def rows(function: Any) -> list[Any]:
        found = function(address=dashboard, detail=True, limit=10000, raise_on_missing_output=False)
        return [
            row if isinstance(row, dict) else (row.asdict() if hasattr(row, "asdict") else vars(row))
            for row in found
        ]

    lists = {
        "actor": rows(list_actors),
        "node": rows(list_nodes),
        "worker": rows(list_workers),
        "job": rows(list_jobs),
        "placement_group": rows(list_placement_groups),
    }
    path.write_text(json.dumps(lists, default=str))


def main() -> None:
    address, dashboard, short_tasks = sys.argv[1], sys.argv[2], int(sys.argv[3])
    folder = os.environ["TMPDIR"]
    ray.init(address, namespace="tests", log_to_driver=False)
    other = subprocess.Popen([sys.executable, "-c", SHORT_LIVED, address])
    tasks(folder)
    kept = [*actors(), *placement_groups()]
    cancellations(dashboard)
    for begin in range(0, short_tasks, 2000):
        ray.get([short.remote(i) for i in range(begin, min(begin + 2000, short_tasks))])
    kept.append(sleeps.options(name="still running").remote(3600))
    other.wait(60)
    print("ready", flush=True)
    for line in sys.stdin:
        command, _, argument = line.strip().partition(" ")
        if command != "list":
            break
        write_lists(Path(argument), dashboard)
        print("done", flush=True)
    del kept


if __name__ == "__main__":
    main()
