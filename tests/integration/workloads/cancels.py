"""Tasks that are canceled while they run, without force.

Run as ``cancels.py INIT``: the arguments of ``ray.init()`` as JSON. Prints what their driver gets.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ray


@ray.remote(num_cpus=0)
def spins(sign: Path) -> None:
    sign.touch()
    while True:
        time.sleep(0.1)


@ray.remote
def yields(sign: Path) -> Iterator[int]:
    sign.touch()
    while True:
        time.sleep(0.1)
        yield 1


@ray.remote
def waits_for_spins(sign: Path) -> None:
    ray.get(spins.remote(sign))


@ray.remote
def goes_on(sign: Path) -> str:
    sign.touch()
    try:
        while True:
            time.sleep(0.1)
    except KeyboardInterrupt:
        return "done"


def outcome(reference: Any) -> Any:
    try:
        if isinstance(reference, ray.ObjectRefGenerator):
            return [ray.get(value) for value in reference]
        return ray.get(reference)
    except ray.exceptions.TaskCancelledError:
        return "TaskCancelledError"


ray.init(**json.loads(sys.argv[1]), log_to_driver=False)
outcomes = {}
with tempfile.TemporaryDirectory() as folder:
    for name, function in (
        ("spins", spins),
        ("yields", yields),
        ("waits_for_spins", waits_for_spins),
        ("goes_on", goes_on),
    ):
        sign = Path(folder) / name
        reference = function.remote(sign)
        while not sign.exists():
            time.sleep(0.1)
        ray.cancel(reference)
        outcomes[name] = outcome(reference)
time.sleep(3)  # workers report once a second, and end with their driver
print("CANCELS", json.dumps(outcomes))
