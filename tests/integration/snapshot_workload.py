"""A two-node cluster with a bit of everything, for test_snapshot.py to read from outside.

Run as ``snapshot_workload.py TEMP_DIR DASHBOARD_PORT``. Writes one line of JSON once the workload has
come to rest, then answers each line on stdin: ``list PATH`` writes what Ray's own state API says to PATH,
``kill-node`` ends the second node, anything else ends the cluster.
"""

import asyncio
import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import ray
from ray._private.parameter import RayParams
from ray.job_submission import JobStatus, JobSubmissionClient
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

# Any port: other running tests use the default one.
RayParams.__init__ = functools.partialmethod(RayParams.__init__, dashboard_agent_listen_port=0)


@ray.remote
def leaf(x: int) -> int:
    return x + 1


@ray.remote(num_cpus=0.5)
def branch(n: int) -> int:
    return sum(ray.get([leaf.remote(i) for i in range(n)]))


@ray.remote(max_retries=2, retry_exceptions=True)
def failing() -> None:
    raise ValueError("no \x1b[31mluck\x1b[0m today")


@ray.remote(max_retries=1)
def dying() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@ray.remote
def stream(n: int) -> Any:
    for i in range(n):  # noqa: UP028 Ray sends into it, a range cannot
        yield i


@ray.remote(max_restarts=1, max_task_retries=1)
class Phoenix:
    def __repr__(self) -> str:
        return "Phoenix(1)"

    def ping(self) -> str:
        return "pong"

    def die(self) -> None:
        os._exit(1)


@ray.remote
class Async:
    async def nap(self, seconds: float) -> float:
        await asyncio.sleep(seconds)
        return seconds


@ray.remote
class Broken:
    def __init__(self) -> None:
        raise RuntimeError("cannot start")

    def ping(self) -> None: ...


@ray.remote
def waiting() -> None:
    time.sleep(3600)


def quietly(reference: Any) -> None:
    with contextlib.suppress(Exception):
        ray.get(reference, timeout=60)


def run_workload() -> list[Any]:
    """Run everything; returns what must stay alive."""
    ray.get([branch.options(name=f"branch-{i}").remote(5) for i in range(4)])
    quietly(failing.remote())
    quietly(dying.remote())
    ray.get(list(stream.remote(3)))
    environment = {"env_vars": {"API_KEY": "very-secret"}}
    ray.get(leaf.options(runtime_env=environment, label_selector={"ray.io/node-id": "!in(x)"}).remote(1))

    phoenix = Phoenix.options(name="phoenix", namespace="tests").remote()
    ray.get([phoenix.ping.remote() for _ in range(3)])
    quietly(phoenix.die.remote())
    quietly(phoenix.ping.remote())
    detached = Async.options(name="detached", lifetime="detached", runtime_env=environment).remote()
    ray.get([detached.nap.remote(0.01) for _ in range(3)])
    named = Async.options(max_concurrency=4).remote()
    ray.get([named.nap.options(name="nap").remote(0.01) for _ in range(3)])
    broken = Broken.remote()
    quietly(broken.ping.remote())
    killed = Async.remote()
    ray.get(killed.nap.remote(0))
    ray.kill(killed)
    impossible = leaf.options(resources={"unobtainium": 1}).remote(1)

    group = placement_group([{"CPU": 0.1}, {"CPU": 0.1}], strategy="SPREAD", name="group")
    ray.get(group.ready(), timeout=60)
    strategy = PlacementGroupSchedulingStrategy(group)
    ray.get(leaf.options(num_cpus=0.1, scheduling_strategy=strategy).remote(1))
    removed = placement_group([{"CPU": 0.1}])
    ray.get(removed.ready(), timeout=60)
    remove_placement_group(removed)
    stuck = placement_group([{"unobtainium": 1}], strategy="STRICT_PACK", name="stuck")
    return [phoenix, detached, named, impossible, group, stuck, waiting.options(num_cpus=0.1).remote()]


def submit_jobs(address: str, headers: dict[str, str]) -> None:
    client = JobSubmissionClient(address, headers=headers)
    script = "import ray; ray.init(); f = ray.remote(lambda: 1).options(name='job-task'); ray.get(f.remote())"
    for name, entrypoint in [
        ("good-job", f'{sys.executable} -c "{script}"'),
        ("bad-job", f'{sys.executable} -c "{script}; raise SystemExit(3)"'),
        ("shell-job", "echo https://user:pass@example.org/"),
    ]:
        deadline = time.monotonic() + 120
        while True:
            try:
                client.submit_job(
                    entrypoint=entrypoint,
                    submission_id=name,
                    runtime_env={"env_vars": {"TOKEN": "very-secret"}},
                    metadata={"team": "tests"},
                )
                break
            except RuntimeError as error:  # the node's agent may not have come up yet
                if "No available agent" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(1)
        while client.get_job_status(name) in (JobStatus.PENDING, JobStatus.RUNNING):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{name} did not end")
            time.sleep(0.3)


def write_lists(path: Path, address: str) -> None:
    from ray.util.state import (
        StateApiClient,
        list_actors,
        list_jobs,
        list_nodes,
        list_placement_groups,
        list_workers,
    )
    from ray.util.state.common import ListApiOptions, StateResource

    def rows(function: Any) -> list[Any]:
        return [
            row if isinstance(row, dict) else (row.asdict() if hasattr(row, "asdict") else vars(row))
            for row in function(address=address, detail=True, limit=10000, raise_on_missing_output=False)
        ]

    # list_tasks() leaves drivers out.
    options = ListApiOptions(limit=10000, detail=True, exclude_driver=False)
    tasks = StateApiClient(address).list(StateResource.TASKS, options, raise_on_missing_output=False)
    lists = {
        "task": [row if isinstance(row, dict) else row.asdict() for row in tasks],
        "actor": rows(list_actors),
        "node": rows(list_nodes),
        "worker": rows(list_workers),
        "job": rows(list_jobs),
        "placement_group": rows(list_placement_groups),
    }
    path.write_text(json.dumps(lists, default=str))


def end_raylet(starter: subprocess.Popen[bytes]) -> None:
    """Request the node's raylet to end, as a drained machine would; `ray start --block` then ends too."""
    for child in psutil.Process(starter.pid).children(recursive=True):
        if child.name() == "raylet":
            child.terminate()


def main() -> None:
    temp_dir, dashboard_port = sys.argv[1], int(sys.argv[2])
    context = ray.init(
        "local",
        _temp_dir=temp_dir,
        num_cpus=4,
        object_store_memory=100 * 2**20,
        include_dashboard=True,
        dashboard_port=dashboard_port,
        namespace="tests",
        log_to_driver=False,
        runtime_env={"env_vars": {"PASSWORD": "very-secret"}},
    )
    gcs_address = context.address_info["gcs_address"]
    start = [sys.executable, "-m", "ray.scripts.scripts", "start", f"--address={gcs_address}", "--block"]
    options = [
        "--num-cpus=2",
        "--object-store-memory=80000000",
        '--labels={"zone": "b"}',
        "--node-name=second",
        "--dashboard-agent-listen-port=0",
    ]
    second = subprocess.Popen(start + options, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while sum(node["Alive"] for node in ray.nodes()) < 2:
            if time.monotonic() > deadline:
                raise TimeoutError("the second node did not come up")
            time.sleep(0.2)
        kept = run_workload()
        dashboard = f"http://{context.dashboard_url}"
        token_file = Path.home() / ".ray" / "auth_token"
        token = token_file.read_text().strip() if token_file.exists() else ""
        submit_jobs(dashboard, {"Authorization": f"Bearer {token}"} if token else {})
        time.sleep(3)  # workers report to the GCS once a second
        ready = {
            "gcs_address": gcs_address,
            "session": Path(context.address_info["session_dir"]).name,
            "dashboard": dashboard,
            "token": token,
        }
        print(json.dumps(ready), flush=True)
        for line in sys.stdin:
            command, _, argument = line.strip().partition(" ")
            if command == "list":
                write_lists(Path(argument), dashboard)
            elif command == "kill-node":
                end_raylet(second)
            else:
                break
            print("done", flush=True)
        del kept
    finally:
        second.terminate()
        ray.shutdown()
        try:
            second.wait(30)
        except subprocess.TimeoutExpired:
            second.kill()


if __name__ == "__main__":
    main()
