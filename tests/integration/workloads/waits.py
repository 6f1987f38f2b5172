"""A task that waits for another, which does not end, and a driver that waits for it and gives up.

Run as ``waits.py INIT``: the arguments of ``ray.init()`` as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ray


@ray.remote
def never(value: Any, sign: Path) -> None:
    sign.touch()
    time.sleep(600)


@ray.remote
def waits(sign: Path) -> None:
    ray.get(never.remote(ray.put(bytes(5000)), sign))


ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
with tempfile.TemporaryDirectory() as folder:
    sign = Path(folder) / "begun"
    ref = waits.remote(sign)
    while not sign.exists():  # a busy machine takes its time to start two workers
        time.sleep(0.1)
try:
    ray.get(ref, timeout=6)
except ray.exceptions.GetTimeoutError:
    print("timeout")
