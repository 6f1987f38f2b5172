"""Actors that exit while the tracer of their process reports a call: ``leaving.py TEMP_DIR``."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import ray

ACTORS, ENCODING_S = 3, 1.5
ray.init(num_cpus=4, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)


@ray.remote(num_cpus=0)
class Leaving:
    def __init__(self) -> None:
        from rayscope.tracer import emit

        encode, self.started = emit._encode, threading.Event()

        def slowly(values: dict[str, Any]) -> str:
            if values.get("name") == "blocking":
                self.started.set()
                time.sleep(ENCODING_S)
            return encode(values)

        emit._encode = slowly
        emit.watch_call(emit.Call("blocking", bytes(28), 1))  # reported by the watcher after a second

    def leave(self) -> None:
        print("LEAVES", self.started.wait(20), flush=True)
        ray.actor.exit_actor()


leaving = [actor.leave.remote() for actor in [Leaving.remote() for _ in range(ACTORS)]]
while leaving:
    done, leaving = ray.wait(leaving)
time.sleep(ENCODING_S + 2)  # the processes end
