"""A driver that leaves while a generator still yields. Run as ``abandons.py INIT``: JSON for ``ray.init()``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

import ray


@ray.remote
def numbers() -> Iterator[int]:
    for number in range(10_000):
        yield number
        time.sleep(0.1)


ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
stream = numbers.remote()
assert [ray.get(next(stream)) for _ in range(3)] == [0, 1, 2]
