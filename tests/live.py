"""A live job whose workers are in known functions, and a server that records it."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.cli import recording
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.cluster import ray_logs, turn_to_start
from tests.waiting import TIMEOUT_S, wait_until

JOB = """
import asyncio, collections, functools, sys, time
import ray
from ray._private.parameter import RayParams

# Any port: the usual one is wanted by clusters of tests that run beside.
RayParams.__init__ = functools.partialmethod(RayParams.__init__, dashboard_agent_listen_port=0)
ray.init(num_cpus=9, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)

def inner():
    time.sleep(600)

def outer():
    return inner()

@ray.remote(max_retries=0)
def sleeper():
    return outer()

@ray.remote(max_retries=0)
def victim():
    time.sleep(600)

def spin():
    return sum(number * number for number in range(100_000))

@ray.remote(max_retries=0)
def busy():
    while True:
        spin()
        time.sleep(0.05)

def filled(megabytes):
    return bytearray(megabytes << 20)

@ray.remote(max_retries=0)
def holder():
    kept = collections.deque(maxlen=5)
    while True:
        kept.append(filled(10))
        filled(20)
        time.sleep(0.1)

@ray.remote
def waiter(reference):
    return ray.get(reference[0])

@ray.remote(max_concurrency=3)
class Threaded:
    def work(self):
        return outer()

@ray.remote
class Asynchronous:
    async def work(self):
        await asyncio.sleep(600)

sleepers = [sleeper.remote() for _ in range(2)]
threaded, asynchronous = Threaded.remote(), Asynchronous.remote()
others = [waiter.remote([sleepers[0]]), victim.remote(), asynchronous.work.remote()]
others += [threaded.work.remote() for _ in range(2)]
others += [busy.remote() for _ in range(2)] + [holder.remote()]
print("ready", flush=True)
ray.get(sleepers)
"""
#: Function -> how many attempts of it run.
RUNNING = {
    "sleeper": 2,
    "victim": 1,
    "waiter": 1,
    "Threaded.work": 2,
    "Asynchronous.work": 1,
    "busy": 2,
    "holder": 1,
}


@dataclass
class Live:
    server: Server
    client: httpx.Client
    session: str
    #: Where Ray's agent has py-spy.
    py_spy: Path

    def stack(self) -> list[dict[str, Any]]:
        answer = self.client.get("/api/v1/flow/stack", params={"session": self.session})
        nodes: list[dict[str, Any]] = answer.json()["nodes"]
        return nodes

    def frames(self, **wanted: Any) -> Any:
        answer = self.client.post("/api/v1/flow/stack/frames", json={"session": self.session, **wanted})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def runs(self) -> bool:
        """Whether the record has everything that is running now."""
        found = {
            node["name"]: node["count"]
            for node in self.stack()
            if node["situation"] in ("running", "blocked")
        }
        return all(found.get(name) == count for name, count in RUNNING.items())

    def worker_of(self, name: str) -> dict[str, Any]:
        tasks = self.client.get("/api/v1/tasks", params={"session": self.session, "func_name": name}).json()
        task: dict[str, Any] = tasks["items"][0]
        return task


@pytest.fixture(scope="session")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    folder = tmp_path_factory.mktemp("frames")
    script = folder / "job.py"
    script.write_text(JOB)
    server = Server(Settings(data_dir=folder / "data", port=0))
    server.start()
    ray_dir = tempfile.mkdtemp(prefix="rs-")
    py_spy = folder / "tools" / "py-spy"
    py_spy.parent.mkdir()
    env = recording.with_py_spy(recording.child_env(server.ingest_url))
    for tool in (py_spy, py_spy.with_name("memray")):
        tool.symlink_to(shutil.which(tool.name, path=env["PATH"]) or "")
    # Without the folders of the environment, so that a test can take py-spy away.
    env["PATH"] = f"{py_spy.parent}:/usr/local/bin:/usr/bin:/bin"
    with turn_to_start(), (folder / "out").open("w") as out:
        job = subprocess.Popen(
            [sys.executable, str(script), ray_dir],
            env=env,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        wait_until(lambda: "ready" in (folder / "out").read_text() or job.poll() is not None, "Ray")
        assert job.poll() is None, (folder / "out").read_text() + ray_logs(Path(ray_dir))
    try:
        with httpx.Client(base_url=server.url) as client:
            items = wait_until(lambda: client.get("/api/v1/sessions").json()["items"], "a session")
            made = Live(server, client, items[0]["session"], py_spy)
            wait_until(made.runs, "everything to run")
            assert server.services is not None
            wait_until(lambda: server.services and server.services.clusters.gcs_of(made.session), "the GCS")
            wait_until(
                lambda: not made.frames()["problems"],
                "the node's agent to serve",
            )
            yield made
    finally:
        job.terminate()
        job.wait(TIMEOUT_S)
        server.stop()
        shutil.rmtree(ray_dir, ignore_errors=True)
