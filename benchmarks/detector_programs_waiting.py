"""Pairs of programs, in one of which something waits unnecessarily. Each is a driver of the running Ray.
python benchmarks/detector_programs_waiting.py NAME_bad
"""

from __future__ import annotations

import sys
import time
from typing import Any

import ray
from ray.util.placement_group import placement_group, remove_placement_group


@ray.remote(num_cpus=0.5)
def work(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def warm_up() -> None:
    """Start the workers before the measured part."""
    ray.get([work.remote(0.3) for _ in range(4)])


def memory(share: float) -> int:
    """A share of the cluster's memory, a resource that every cluster has.

    One node must have nearly all of it.
    """
    return int(share * ray.cluster_resources()["memory"])


def wait_for(*refs: Any, seconds: float = 7) -> None:
    """Wait for something that may never happen."""
    try:
        ray.get(list(refs), timeout=seconds)
    except ray.exceptions.GetTimeoutError:
        print("gave up")


def unschedulable_group_bad() -> None:
    warm_up()
    group = placement_group([{"CPU": 1000}])
    group.wait(timeout_seconds=4)
    remove_placement_group(group)


def unschedulable_group_got() -> None:
    """The group is awaited by its reference."""
    warm_up()
    group = placement_group([{"CPU": 1000}])
    try:
        ray.get(group.ready(), timeout=4)
    except ray.exceptions.GetTimeoutError:
        remove_placement_group(group)


def unschedulable_group_ignored() -> None:
    """Nothing waits for the group."""
    group = placement_group([{"CPU": 1000}])
    ray.get([work.remote(0.5) for _ in range(8)])
    remove_placement_group(group)


def unschedulable_group_good() -> None:
    warm_up()
    group = placement_group([{"CPU": 0.5}])
    group.wait(timeout_seconds=4)
    ray.get(work.remote(1))
    remove_placement_group(group)


def pending_resources_bad() -> None:
    """An actor holds resources that another function's tasks need, longer than it uses them."""

    @ray.remote(num_cpus=0, memory=memory(0.7))
    class Model:
        def answer(self) -> int:
            return 1

    @ray.remote(num_cpus=0.5, memory=memory(0.5))
    def evaluate(number: int) -> int:
        time.sleep(0.1)
        return number

    started = time.monotonic()
    ray.get([evaluate.options(memory=1).remote(number) for number in range(4)])
    model = Model.remote()
    ray.get(model.answer.remote())
    refs = [evaluate.remote(number) for number in range(4)]
    ray.wait(refs, timeout=6 + 2 * (time.monotonic() - started))
    ray.kill(model)
    ray.get(refs)


def pending_resources_good() -> None:
    """Tasks take turns."""

    @ray.remote(num_cpus=0.5, memory=memory(0.7))
    def evaluate(number: int) -> int:
        time.sleep(0.4)
        return number

    warm_up()
    ray.get([evaluate.remote(number) for number in range(10)])


def deadlock_bad() -> None:
    """Each outer task holds resources that the inner task it waits for needs."""

    @ray.remote(num_cpus=0)
    def inner(number: int) -> int:
        return number

    @ray.remote(num_cpus=0)
    def outer(number: int, needed: int) -> int:
        time.sleep(0.5)
        return ray.get(inner.options(memory=needed).remote(number))

    # Start the workers and load the functions before the measured part.
    started = time.monotonic()
    ray.get([outer.options(memory=1).remote(number, 1) for number in range(3)])
    needed = memory(0.4)
    seconds = 7 + 0.5 * (time.monotonic() - started)
    wait_for(*(outer.options(memory=needed).remote(number, needed) for number in range(2)), seconds=seconds)


def deadlock_good() -> None:
    """An outer task holds nothing that the inner ones need: a blocked task's CPUs are lent to others."""

    @ray.remote(num_cpus=1, memory=memory(0.4))
    def inner(number: int) -> int:
        time.sleep(1)
        return number

    @ray.remote(num_cpus=1)
    def outer(number: int) -> int:
        return sum(ray.get([inner.remote(number) for _ in range(3)]))

    ray.get([outer.remote(number) for number in range(2)])


@ray.remote(num_cpus=0)
class Player:
    """Calls another player, which may call back."""

    def pong(self) -> int:
        return 1

    def ping(self, other: Any, back: bool) -> int:
        time.sleep(0.2)
        return ray.get(other.pong.remote() if not back else other.ping.remote(None, False))


def hang_bad() -> None:
    """Two actors, each in a call that waits for a call of the other."""
    started = time.monotonic()
    one, other = Player.remote(), Player.remote()
    ray.get([one.pong.remote(), other.pong.remote()])
    seconds = 7 + (time.monotonic() - started)
    wait_for(one.ping.remote(other, False), other.ping.remote(one, False), seconds=seconds)


def hang_good() -> None:
    """One long task, while nothing else begins or ends."""
    one, other = Player.remote(), Player.remote()
    ray.get([one.pong.remote(), other.pong.remote()])
    ray.get([one.ping.remote(other, False), work.remote(8)])


@ray.remote
def prepare(number: int) -> int:
    time.sleep(1)
    return number


@ray.remote
def train(number: int) -> int:
    time.sleep(1)
    return number


@ray.remote
def check(number: int) -> int:
    time.sleep(1)
    return number


def start_workers() -> int:
    """Start as many workers as there is room for. Returns their number."""
    slots = int(ray.cluster_resources()["CPU"])
    ray.get([prepare.remote(0) for _ in range(slots)])
    return slots


def idle_gap_bad() -> None:
    """Each stage has one task more than there is room for, and the next stage waits for all of it."""
    slots = start_workers()
    for stage in (prepare, train, check):
        ray.get([stage.remote(number) for number in range(slots + 1)])


def idle_gap_good() -> None:
    """Each task starts as soon as its input is ready."""
    slots = start_workers()
    ray.get([train.remote(prepare.remote(number)) for number in range(2 * slots)])


def _serve_and_work(cpus: float) -> None:
    @ray.remote(num_cpus=cpus)
    class Service:
        def answer(self) -> int:
            return 1

    services = [Service.remote() for _ in range(2)]
    ray.get([service.answer.remote() for service in services])
    ray.get([work.remote(0.5) for _ in range(16)])
    ray.get([service.answer.remote() for service in services])


def idle_actors_bad() -> None:
    """Services that hold three quarters of the CPUs without doing anything."""
    _serve_and_work(0.375 * ray.cluster_resources()["CPU"])


def idle_actors_good() -> None:
    _serve_and_work(0)


@ray.remote(num_cpus=0.5)
class Parser:
    def parse(self, number: int) -> int:
        time.sleep(0.01)
        return number


def short_lived_actors_bad() -> None:
    print(sum(ray.get([Parser.remote().parse.remote(number) for number in range(24)])))


def short_lived_actors_good() -> None:
    """A few actors, each for many calls."""
    parsers = [Parser.remote() for _ in range(3)]
    print(sum(ray.get([parsers[number % 3].parse.remote(number) for number in range(240)])))


@ray.remote(num_cpus=0.5)
def small(number: int) -> int:
    time.sleep(0.01)  # otherwise workers keep up with a driver on a busy machine
    return number


def unbounded_pending_bad() -> None:
    warm_up()
    print(sum(ray.get([small.remote(number) for number in range(16_000)])))


@ray.remote(num_cpus=0.5)
def compute(seconds: float) -> float:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
    return seconds


def unbounded_pending_good() -> None:
    """At most 100 calls are pending."""
    warm_up()
    refs: list[Any] = []
    total = 0.0
    for _ in range(600):
        refs.append(compute.remote(0.02))
        if len(refs) == 100:
            done, refs = ray.wait(refs, num_returns=50)
            total += sum(ray.get(done))
    print(total + sum(ray.get(refs)))


if __name__ == "__main__":
    ray.init(log_to_driver=False)
    print("JOB", ray.get_runtime_context().get_job_id())
    globals()[sys.argv[1]]()
