"""Debuggers on tasks that wait for one: how often they can attach, and how long each step takes.

    python benchmarks/debugger.py                 # 20 attachments, about 2 minutes
    python benchmarks/debugger.py --attachments 5

In a recorded cluster, tasks, methods, async methods, nested tasks and failing tasks wait one after another. A
debugger attaches through the server and checks the values of variables. The times:

- *listed*: from the start of the wait, by the clock of the task, until the server lists it;
- *stack*: from the connection of the debugger until it has the first stack;
- *left*: from the end of the debugger's connection until the task has continued;
- *released*, *limit*: from the request to release a task, or from its time limit, until the task has continued;
- *server*: from the end of the server's process (SIGKILL) until the task has continued.

The exit status is 1 if an attachment fails or a value is wrong.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from common import HERE, RayscopeServer, header, parse_arguments, table
from whatif import Cluster

sys.path.insert(0, str(HERE.parent))

from tests.dap_client import DapClient

KINDS = ("task", "actor", "async_actor", "nested", "fails")
#: The time limit in the last part, and the number of tasks released in each way, s.
LIMIT_S = 3.0
RELEASES = 5
_WAIT_S = 60.0
_OPERATOR = "X-Rayscope-Operator"


def program(kind: str, value: int) -> None:
    """Run one task that waits for a debugger. Prints when the task continued."""
    import asyncio

    import ray

    ray.init(log_to_driver=False)

    def inner(secret: int) -> float:
        doubled = secret * 2
        breakpoint()
        return time.time() if doubled else 0.0

    def outer(secret: int) -> Any:
        return ray.get(ray.remote(num_cpus=0.1)(inner).remote(secret))

    def fails(secret: int) -> float:
        doubled = secret * 2
        return 1 / (doubled - 2 * secret)

    class Actor:
        """Waits in a method."""

        def method(self, secret: int) -> float:
            """Wait."""
            return inner(secret)

    class Async:
        """Waits in an async method."""

        async def method(self, secret: int) -> float:
            """Wait."""
            await asyncio.sleep(0)
            return inner(secret)

    if kind in ("actor", "async_actor"):
        actor = ray.remote(num_cpus=0.1)(Actor if kind == "actor" else Async).remote()
        made = actor.method.remote(value)
    else:
        function = {"task": inner, "nested": outer, "fails": fails}[kind]
        env_vars = {"RAY_DEBUG_POST_MORTEM": "1"} if kind == "fails" else {}
        remote = ray.remote(num_cpus=0.1, max_retries=0, runtime_env={"env_vars": env_vars})
        made = remote(function).remote(value)
    try:
        print("CONTINUED", ray.get(made), flush=True)
    except ZeroDivisionError:
        print("CONTINUED", time.time(), flush=True)


class Lab:
    """A server that lets debuggers in, and a cluster that it records."""

    def __init__(self, folder: Path, limit_s: float) -> None:
        settings = {"RAYSCOPE_DEBUGGER": "1", "RAYSCOPE_DEBUGGER_LIMIT_S": str(limit_s)}
        self.server = RayscopeServer(folder / "data", **settings)
        try:
            self.cluster = Cluster(2, self.server.ingest_url, folder / "r")
        except BaseException:
            self.server.stop()
            raise
        self.token = (folder / "data" / "operator").read_text().strip()

    def stop(self) -> None:
        """Stop both."""
        self.cluster.stop()
        self.server.stop()

    def start(self, kind: str, value: int) -> subprocess.Popen[str]:
        """Start a program as a driver."""
        command = [sys.executable, __file__, "--program", kind, str(value)]
        return subprocess.Popen(command, env=self.cluster.env, stdout=subprocess.PIPE, text=True)

    def paused(self) -> tuple[dict[str, Any], float]:
        """The paused task, and how long after its start it is listed, s."""
        deadline = time.monotonic() + _WAIT_S
        while time.monotonic() < deadline:
            answer = httpx.get(f"{self.server.url}/api/v1/paused-tasks")
            items = answer.json()["items"] if answer.status_code == 200 else []
            items = [item for item in items if item["pause_id"]]  # the others are in the GCS only
            if items:
                return items[0], time.time() - items[0]["since_ns"] / 1e9
            time.sleep(0.02)
        raise RuntimeError("no task waits")

    def post(self, item: dict[str, Any], what: str) -> None:
        """Send the operator's request."""
        url = f"{self.server.url}/api/v1/paused-tasks/{item['pause_id']}/{what}"
        httpx.post(url, headers={_OPERATOR: self.token}, timeout=60).raise_for_status()


def continued(driver: subprocess.Popen[str]) -> float:
    """Wait until the task of a program continues. Returns the time, s since the epoch."""
    out, _ = driver.communicate(timeout=_WAIT_S)
    return float(out.split("CONTINUED", 1)[1].split()[0])


def attach(lab: Lab, kind: str, value: int) -> dict[str, float]:
    """Attach to a task, and compare its variables. Returns the times. Raises AssertionError."""
    driver = lab.start(kind, value)
    item, delay_s = lab.paused()
    began = time.monotonic()
    client = DapClient(lab.server.url, lab.token, item["pause_id"])
    frames = client.frames(client.attach())
    took = time.monotonic() - began
    values = client.variables(frames[0])
    assert values["secret"] == str(value), values
    assert values["doubled"] == str(2 * value), values
    left = time.time()
    client.leave()
    return {"listed": delay_s, "stack": took, "left": continued(driver) - left}


def release(lab: Lab, how: str, value: int) -> float:
    """Let a task continue without a debugger. Returns how long that took, s."""
    driver = lab.start("task", value)
    item, _ = lab.paused()
    if how == "released":
        since = time.time()
        lab.post(item, "release")
    elif how == "server":
        since = time.time()
        lab.server.popen.kill()
    else:
        since = item["release_ns"] / 1e9
    return continued(driver) - since


def main() -> int:
    """Attach and release, and print the times."""
    if sys.argv[1:2] == ["--program"]:
        program(sys.argv[2], int(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attachments", type=int, default=20)
    args = parse_arguments(parser, attachments=2)
    print(header("Debuggers", ["ray", "debugpy", "rayscope"]))
    times: dict[str, list[float]] = {}
    failures = 0
    with tempfile.TemporaryDirectory(prefix="rsd-", ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder), LIMIT_S if args.smallest else 900)
        try:
            for number in range(args.attachments):
                kind = KINDS[number % len(KINDS)]
                try:
                    for name, took in attach(lab, kind, 100 + number).items():
                        times.setdefault(name, []).append(took)
                except (AssertionError, TimeoutError, KeyError) as error:
                    failures += 1
                    print(f"{kind}: {error!r}")
            for number in range(1 if args.smallest else RELEASES):
                times.setdefault("released", []).append(release(lab, "released", number + 1))
            times["server"] = [release(lab, "server", 1)]
        finally:
            lab.stop()
    with tempfile.TemporaryDirectory(prefix="rsd-", ignore_cleanup_errors=True) as folder:
        lab = Lab(Path(folder), LIMIT_S)
        try:
            times["limit"] = [
                release(lab, "limit", number + 1) for number in range(1 if args.smallest else RELEASES)
            ]
        finally:
            lab.stop()
    rows = [
        [name, len(took), f"{statistics.median(took):.2f}", f"{max(took):.2f}"]
        for name, took in times.items()
    ]
    print("\n" + table(["step", "times", "median, s", "longest, s"], rows))
    print(f"\n{args.attachments - failures} of {args.attachments} attachments with the right variables.")
    return 1 if failures else 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
