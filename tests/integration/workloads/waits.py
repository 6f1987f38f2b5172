"""A task that waits for another, which does not end, and a driver that waits for it and gives up.

Run as ``waits.py INIT``: the arguments of ``ray.init()`` as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import ray


@ray.remote
def never(given: Any) -> None:
    time.sleep(100)


@ray.remote
def waits() -> None:
    ray.get(never.remote(ray.put(bytes(5000))))


ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
ref = waits.remote()
try:
    ray.get(ref, timeout=6)
except ray.exceptions.GetTimeoutError:
    print("timeout")
