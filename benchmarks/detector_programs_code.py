"""Pairs of programs, one of them with one of Ray's anti-patterns. Each is a driver of the running Ray.

python benchmarks/detector_programs_code.py NAME_bad
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import ray

#: Size of an array in a program's code, bytes. Ray rejects a function with five of them.
LARGE = 20_000_000


@ray.remote(num_cpus=0.5)
def work(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def warm_up() -> None:
    """Start the workers before the measured part."""
    ray.get([work.remote(0.3) for _ in range(4)])


def make_table(number: int, items: int = 100_000) -> dict[str, int]:
    """A few MB when pickled, which takes a while."""
    return {f"{number}-{item}": item for item in range(items)}


def make_array(number: int) -> Any:
    """A few MB that are quick to pickle but have to be copied."""
    return np.full(LARGE // 2, number, dtype=np.uint8)


@ray.remote(num_cpus=0.5)
def count(array: Any, number: int) -> int:
    return len(array) + number


def _count_often(array: Any) -> None:
    for begin in range(0, 100, 10):
        print(sum(ray.get([count.remote(array, begin + number) for number in range(10)])))


def large_argument_bad() -> None:
    """The same array is stored again for each call."""
    warm_up()
    _count_often(make_array(0))


def large_argument_good() -> None:
    warm_up()
    _count_often(ray.put(make_array(0)))


def other_arguments_good() -> None:
    """Each call gets its own array. All have the same size."""
    warm_up()
    arrays = [make_array(10 + number) for number in range(10)]
    for _ in range(2):
        print(sum(ray.get([count.remote(array, number) for number, array in enumerate(arrays)])))


@ray.remote(num_cpus=0.5)
def make(number: int) -> Any:
    return make_array(number)


def unnecessary_get_bad() -> None:
    """Each array goes through the driver to the next task."""
    warm_up()
    print(sum(ray.get([count.remote(ray.get(make.remote(number)), number) for number in range(60)])))


def unnecessary_get_good() -> None:
    warm_up()
    print(sum(ray.get([count.remote(make.remote(number), number) for number in range(60)])))


def redefined_function_bad() -> None:
    warm_up()
    refs = []
    for number in range(150):

        @ray.remote(num_cpus=0.5)
        def double(value: int) -> int:
            return 2 * value

        refs.append(double.remote(number))
    print(sum(ray.get(refs)))


def redefined_function_good() -> None:
    @ray.remote(num_cpus=0.5)
    def double(value: int) -> int:
        return 2 * value

    warm_up()
    print(sum(ray.get([double.remote(number) for number in range(150)])))


def return_put_bad() -> None:
    @ray.remote(num_cpus=0.5)
    def load(number: int) -> list[Any]:
        return [ray.put(number + part) for part in range(40)]

    warm_up()
    print(sum(ray.get(ref) for number in range(100) for ref in ray.get(load.remote(number))))


def return_put_good() -> None:
    @ray.remote(num_cpus=0.5)
    def load(number: int) -> list[int]:
        return [number + part for part in range(40)]

    warm_up()
    print(sum(map(sum, ray.get([load.remote(number) for number in range(100)]))))


def shared_put_good() -> None:
    """An actor puts an object that many read, and another of its methods returns the reference."""

    @ray.remote(num_cpus=0)
    class Weights:
        def update(self, number: int) -> None:
            self.ref = ray.put(np.full(LARGE // 20, number % 250, dtype=np.uint8))

        def read(self) -> Any:
            return [self.ref]

    warm_up()
    weights = Weights.remote()
    for number in range(100):
        ray.get(weights.update.remote(number))
        [ref] = ray.get(weights.read.remote())
        ray.get(ref)


@ray.remote(num_cpus=0.5)
def part(number: int) -> int:
    time.sleep(0.3)
    return number


def nested_get_bad() -> None:
    """Sums that run before their parts occupy one worker each."""

    @ray.remote(num_cpus=0.5)
    def add(parts: list[Any]) -> int:
        return sum(ray.get(parts))

    warm_up()
    sums = [add.remote([part.remote(number) for number in range(6)]) for _ in range(6)]
    print(sum(ray.get(sums)))


def nested_get_good() -> None:
    @ray.remote(num_cpus=0.5)
    def add(*parts: int) -> int:
        return sum(parts)

    warm_up()
    sums = [add.remote(*[part.remote(number) for number in range(6)]) for _ in range(6)]
    print(sum(ray.get(sums)))


def large_closure_bad() -> None:
    table = np.zeros(3 * LARGE, dtype=np.uint8)

    @ray.remote(num_cpus=0.5)
    def look_up(number: int) -> int:
        return int(table[number])

    warm_up()
    print(sum(ray.get([look_up.remote(number) for number in range(50)])))


def large_closure_good() -> None:
    table = ray.put(np.zeros(3 * LARGE, dtype=np.uint8))

    @ray.remote(num_cpus=0.5)
    def look_up(table: Any, number: int) -> int:
        return int(table[number])

    warm_up()
    print(sum(ray.get([look_up.remote(table, number) for number in range(50)])))


def growing_good() -> None:
    """A loop that is necessary: each call needs the previous value, although not through the driver."""

    @ray.remote(num_cpus=0.5)
    def grow(table: dict[str, int]) -> dict[str, int]:
        return {**table, **make_table(len(table), 1000)}

    warm_up()
    table = make_table(0, 20_000)
    for _ in range(12):
        table = ray.get(grow.remote(table))
    print(len(table))


if __name__ == "__main__":
    ray.init(log_to_driver=False)
    print("JOB", ray.get_runtime_context().get_job_id())
    globals()[sys.argv[1]]()
