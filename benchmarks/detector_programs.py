"""Pairs of programs, one of them with a performance problem. Each is a driver of the running Ray.

python benchmarks/detector_programs.py NAME_bad
"""

from __future__ import annotations

import sys
import time

import ray


def spin(seconds: float) -> None:
    """Compute for ``seconds``."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


@ray.remote(num_cpus=0.5)
def work(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def warm_up() -> None:
    """Start the workers before the measured part."""
    ray.get([work.remote(0.3) for _ in range(4)])


def get_in_loop_bad() -> None:
    warm_up()
    print(sum(ray.get(work.remote(0.2)) for _ in range(16)))


def get_in_loop_good() -> None:
    warm_up()
    print(sum(ray.get([work.remote(0.2) for _ in range(16)])))


def chain_good() -> None:
    """Each call needs the previous one, by reference."""
    ref = work.remote(0.1)

    @ray.remote(num_cpus=0.5)
    def step(value: float) -> float:
        time.sleep(0.1)
        return value

    for _ in range(12):
        ref = step.remote(ref)
        ray.get(ref)
    print(ray.get(ref))


def tiny_tasks_bad() -> None:
    @ray.remote(num_cpus=0.5)
    def double(number: int) -> int:
        return 2 * number

    warm_up()
    print(sum(ray.get([double.remote(number) for number in range(6000)])))


def tiny_tasks_good() -> None:
    @ray.remote(num_cpus=0.5)
    def double_all(numbers: list[int]) -> list[int]:
        spin(0.05)
        return [2 * number for number in numbers]

    warm_up()
    parts = ray.get([double_all.remote(list(range(at, at + 100))) for at in range(0, 6000, 100)])
    print(sum(map(sum, parts)))


def straggler_bad() -> None:
    @ray.remote(num_cpus=0.5)
    def load(number: int) -> int:
        time.sleep(4 if number == 15 else 0.2)
        return number

    warm_up()
    print(sum(ray.get([load.remote(number) for number in range(16)])))


def straggler_good() -> None:
    @ray.remote(num_cpus=0.5)
    def load(number: int) -> int:
        time.sleep(0.2 + 0.02 * (number % 5))
        return number

    warm_up()
    print(sum(ray.get([load.remote(number) for number in range(32)])))


def _board(members: int) -> None:
    @ray.remote(num_cpus=0)
    class Board:
        def offer(self, number: int) -> int:
            time.sleep(0.05)
            return number

    boards = [Board.remote() for _ in range(members)]
    ray.get([board.offer.remote(0) for board in boards])
    print(sum(ray.get([boards[number % members].offer.remote(number) for number in range(100)])))


def actor_bottleneck_bad() -> None:
    _board(1)


def actor_bottleneck_good() -> None:
    """An actor that is called occasionally."""

    @ray.remote(num_cpus=0)
    class Counter:
        def add(self, number: int) -> int:
            return number

    counter = Counter.remote()
    refs, counts = [work.remote(0.1) for _ in range(4)], []
    for number in range(4, 84):
        _, refs = ray.wait(refs)
        refs += [work.remote(0.1)] if number < 80 else []
        counts += [counter.add.remote(1)] if number % 4 == 0 else []
    print(sum(ray.get(counts)))


def driver_bound_bad() -> None:
    warm_up()
    refs = []
    for _ in range(30):
        spin(0.1)
        refs.append(work.remote(0.05))
    print(sum(ray.get(refs)))


def driver_bound_good() -> None:
    @ray.remote(num_cpus=0.5)
    def prepare_and_work(seconds: float) -> float:
        time.sleep(0.1)
        return seconds

    warm_up()
    print(sum(ray.get([prepare_and_work.remote(0.1) for _ in range(30)])))


def retries_bad() -> None:
    @ray.remote(num_cpus=0.5, max_retries=5, retry_exceptions=True)
    def read(number: int, folder: str) -> int:
        time.sleep(0.4)
        with open(f"{folder}/{number}", "a+") as file:
            file.write("x")
            file.seek(0)
            if len(file.read()) < 3:
                raise OSError("not yet")
        return number

    import tempfile

    warm_up()
    with tempfile.TemporaryDirectory() as folder:
        print(sum(ray.get([read.remote(number, folder) for number in range(8)])))


def retries_good() -> None:
    @ray.remote(num_cpus=0.5, max_retries=5, retry_exceptions=True)
    def read(number: int) -> int:
        time.sleep(0.4)
        return number

    warm_up()
    print(sum(ray.get([read.remote(number) for number in range(8)])))


def unschedulable_bad() -> None:
    @ray.remote(resources={"TPU": 4})
    def never() -> None:
        pass

    ref = never.remote()
    ray.wait([ref], timeout=4)


def unschedulable_good() -> None:
    ray.wait([work.remote(0.5)], timeout=4)


def submission_order_bad() -> None:
    @ray.remote(num_cpus=0.25)
    def fetch(number: int) -> int:
        time.sleep(2.0 if number % 8 == 0 else 0.1)
        return number

    warm_up()
    refs = [fetch.remote(number) for number in range(16)]
    for ref in refs:
        ray.get(ref)
        spin(0.15)


def submission_order_good() -> None:
    @ray.remote(num_cpus=0.25)
    def fetch(number: int) -> int:
        time.sleep(0.3 if number % 8 == 0 else 0.1)
        return number

    warm_up()
    refs = [fetch.remote(number) for number in range(16)]
    while refs:
        [done], refs = ray.wait(refs)
        ray.get(done)
        spin(0.15)


if __name__ == "__main__":
    ray.init(log_to_driver=False)
    print("JOB", ray.get_runtime_context().get_job_id())
    globals()[sys.argv[1]]()
