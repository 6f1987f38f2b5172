"""The job that UI tests watch: waves of short tasks, nested calls, an actor, and failures."""

import contextlib
import select
import sys
import time

import ray

import rayscope

ray.init(num_cpus=2, _temp_dir=sys.argv[1], include_dashboard=True, log_to_driver=False)


@ray.remote
def leaf(number):
    return number


@ray.remote
def branch(number):
    rayscope.annotate(number=number, note="odd" if number % 2 else "even")
    return sum(ray.get([leaf.remote(number + i) for i in range(3)]))


@ray.remote
def slow_step(seconds):
    print(f"a slow step of {seconds} s")
    time.sleep(seconds)


@ray.remote(max_retries=0)
def broken(page):
    raise ValueError(f'page {page} has no <title> & no "body"')


@ray.remote
class Counter:
    def __init__(self):
        self.total = 0

    def add(self, number):
        self.total += number
        return self.total


counter = Counter.remote()
ray.get([branch.remote(i) for i in range(10)])
for wave in range(6):
    if wave == 3:
        # The test decides when to continue, since nobody knows how soon a browser has loaded.
        select.select([sys.stdin], [], [], 60)
    ray.get([leaf.remote(i) for i in range(60)])
    ray.get(counter.add.remote(wave))
    ray.get(slow_step.remote(0.7))
    with contextlib.suppress(ValueError):
        ray.get(broken.remote(wave))
print("done", flush=True)
