"""Actors that end in different ways, on whatever Ray runs this. Prints the ID and the way of each as JSON."""

import contextlib
import json
import os
import signal
import sys
import time

import ray


@ray.remote(num_cpus=0.1)
class Mortal:
    """An actor that can end in several ways."""

    def pid(self) -> int:
        """Its process."""
        return os.getpid()

    def end(self, how: str) -> None:
        """End."""
        if how == "exited":
            os._exit(3)
        if how == "crashed":
            os.kill(os.getpid(), signal.SIGSEGV)
        if how == "actor_exited":
            ray.actor.exit_actor()
        time.sleep(600)


@ray.remote(num_cpus=0.1)
class Broken:
    """An actor that cannot be created."""

    def __init__(self) -> None:
        raise ValueError("as intended")


def main() -> None:
    """End one actor in each way."""
    ray.init(**json.loads(sys.argv[1]))
    ways = ("exited", "crashed", "actor_exited", "killed", "ray_kill", "out_of_scope")
    actors = {how: Mortal.remote() for how in ways}
    pids = {how: ray.get(actor.pid.remote()) for how, actor in actors.items()}
    time.sleep(3)  # until the node's agent watches their processes
    ends = {how: actor._actor_id.hex() for how, actor in actors.items()}
    for how in ("exited", "crashed", "actor_exited"):
        with contextlib.suppress(ray.exceptions.RayActorError):
            ray.get(actors[how].end.remote(how))
    os.kill(pids["killed"], signal.SIGKILL)
    with contextlib.suppress(ray.exceptions.RayActorError):
        while True:
            ray.get(actors["killed"].pid.remote())
    ray.kill(actors["ray_kill"])
    del actors
    broken = Broken.remote()
    with contextlib.suppress(ray.exceptions.RayActorError):
        ray.get(broken.__ray_ready__.remote())
    ends["creation_failed"] = broken._actor_id.hex()
    time.sleep(10)  # until all is reported
    print("ENDS", json.dumps(ends), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
