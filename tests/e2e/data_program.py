"""A pipeline of Ray Data with a slow operator, an actor pool and a shuffle, in a cluster of its own.

``data_program.py TEMP_DIR``: prints ``stats`` and what Ray Data says of its last two datasets, as JSON; waits for a
line; ends.
"""

import json
import sys
import time
from typing import Any

import ray
import ray.data

ROWS, BLOCKS = 600, 12
Batch = dict[str, Any]


def parse(batch: Batch) -> Batch:
    """The batch."""
    return batch


def wait(batch: Batch) -> Batch:
    """The batch, once other workers have begun as well."""
    time.sleep(0.5)
    return batch


def crunch(batch: Batch) -> Batch:
    """The batch, after a while."""
    time.sleep(0.8)
    return batch


class Embed:
    """Runs in a pool of actors."""

    def __call__(self, batch: Batch) -> Batch:
        """The batch."""
        return batch


def main() -> None:
    """Run all datasets, tell of the last two, wait."""
    ray.init(num_cpus=4, _temp_dir=sys.argv[1], log_to_driver=False, dashboard_port=0)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    # Each worker imports Ray Data with its first task, which takes seconds.
    ray.data.range(ROWS, override_num_blocks=BLOCKS).map_batches(wait).materialize()
    dataset = ray.data.range(ROWS, override_num_blocks=BLOCKS)
    dataset = dataset.map_batches(parse, num_cpus=0.5).map_batches(crunch, num_cpus=2)
    dataset = dataset.map_batches(Embed, concurrency=1, num_cpus=0.5).materialize()
    shuffled = ray.data.range(ROWS, override_num_blocks=4).map_batches(parse).random_shuffle().materialize()
    told = {"rows": [dataset.count(), shuffled.count()], "stats": [dataset.stats(), shuffled.stats()]}
    print("stats", json.dumps(told), flush=True)
    sys.stdin.readline()
    ray.shutdown()


if __name__ == "__main__":
    main()
