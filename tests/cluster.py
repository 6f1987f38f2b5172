"""A real Ray cluster of this test run's own: raylets, drivers and nothing that outlives it."""

from __future__ import annotations

import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from rayscope.cli import serving
from rayscope.cli.recording import Parts, node_env, system_config, with_py_spy
from rayscope.ray.gcs.client import GcsClient
from tests.waiting import TIMEOUT_S, wait_until


def free_port() -> int:
    """A port for a server that starts soon: one that nobody listens on and that neither a connection nor a
    worker of Ray (10002 to 19999) is given in the meantime."""
    return serving.free_port("127.0.0.1", random.randrange(20_000, 32_000))


#: Environment of every Ray in a test. Its workers run at normal priority: at Ray's nice 15, other running
#: tests would leave them no CPU. At its end Ray does not wait for actors; its default is up to 30 s.
RAY_ENV = {"RAY_worker_niceness": "0", "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}


#: Ray's flags that make agents send task events to the dashboard too (Ray 2.58 and later).
TO_DASHBOARD = {"RAY_enable_task_events_to_dashboard_head": "1"}
#: Only there: the GCS has no tasks.
ONLY_TO_DASHBOARD = {**TO_DASHBOARD, "RAY_enable_core_worker_task_event_to_gcs": "0"}
#: Only there, by the recorder that is to replace the workers' buffer.
WITH_RECORDER = {**ONLY_TO_DASHBOARD, "RAY_enable_ray_task_event_recorder": "1"}


def env_without_ray() -> dict[str, str]:
    """This environment without settings for Ray, Rayscope or Python."""
    said = ("RAY", "PYTHON", "VIRTUAL", "CONDA")
    return {key: value for key, value in os.environ.items() if not key.startswith(said)} | RAY_ENV


@contextmanager
def turn_to_start() -> Iterator[None]:
    """Start one Ray at a time: a node gives up on agents that take more than 15 s to come up."""
    with Path(tempfile.gettempdir(), "rayscope-tests-start").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def start_in_turn(command: Sequence[str], ray_dir: Path, **how: Any) -> subprocess.Popen[str]:
    """Start ``command``, which starts a Ray below ``ray_dir``; another may start once its agent listens."""
    with turn_to_start():
        process: subprocess.Popen[str] = subprocess.Popen(command, text=True, **how)
        ports = "dashboard_agent_listen_port_*"
        wait_until(lambda: process.poll() is not None or any(ray_dir.rglob(ports)), "an agent or the end")
    return process


def ray_logs(ray_dir: Path) -> str:
    """The last lines of the GCS and the raylets of a Ray below ``ray_dir``: why it did not start."""
    paths = sorted(path for name in ("gcs_server*", "raylet*") for path in ray_dir.rglob(f"logs/{name}"))
    return "\n".join(f"{path.name}: {path.read_text(errors='replace')[-3000:]}" for path in paths)


def run_in_turn(command: Sequence[str], ray_dir: Path, **how: Any) -> subprocess.CompletedProcess[str]:
    """Run ``command``, which starts a Ray below ``ray_dir``, to its end."""
    process = start_in_turn(command, ray_dir, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)
    try:
        out, err = process.communicate(timeout=TIMEOUT_S)
    finally:
        process.kill()
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@dataclass
class Node:
    """A raylet and what belongs to it."""

    node_id: str
    process: subprocess.Popen[str]

    def kill(self) -> None:
        """Kill the raylet as an out-of-memory killer would, and then the processes that it leaves behind."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        for child in children:
            if Path(child.name()).name.startswith("raylet"):
                child.send_signal(signal.SIGKILL)
        _, left = psutil.wait_procs(children, timeout=3)
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for child in left:  # an agent may outlive its raylet
            with suppress(psutil.NoSuchProcess):
                child.kill()


@dataclass
class RayCluster:
    """Raylets of one Ray session and drivers, all of them children of this process.

    ``home``: a short path, since Ray's sockets live below it. ``token``: Ray's, None for a cluster without.
    ``flags``: environment variables of all processes, on top of those that Rayscope sets.
    """

    home: Path
    ingest_url: str
    lane: str = "fast"
    token: str | None = None
    flags: dict[str, str] = field(default_factory=dict)
    processes: list[subprocess.Popen[str]] = field(default_factory=list)
    gcs: str = ""
    dashboard: str = ""

    def start(self, *head: str) -> None:
        """Start the head node, again at the same addresses; ``head``: more arguments of ``ray start``."""
        self.gcs = self.gcs or f"127.0.0.1:{free_port()}"
        self.dashboard = self.dashboard or f"127.0.0.1:{free_port()}"
        self.env = with_py_spy(env_without_ray() | {"HOME": str(self.home), "TMPDIR": str(self.home)})
        if self.lane != "fast":
            # Next to busy workers Ray's agent, which writes JSON, would have no time and lose events.
            del self.env["RAY_worker_niceness"]
        self.env |= {"RAY_AUTH_MODE": "token" if self.token else "disabled"}
        if self.token:
            self.env["RAY_AUTH_TOKEN"] = self.token
        self.env |= node_env(self.ingest_url, Parts(fast_lane=self.lane == "fast")) | self.flags
        with turn_to_start():
            self._run(
                *["head", "--head", f"--port={self.gcs.rpartition(':')[2]}"],
                *[f"--temp-dir={self.home / 'r'}", f"--ray-client-server-port={free_port()}"],
                *["--include-dashboard=true", f"--dashboard-port={self.dashboard.rpartition(':')[2]}"],
                *["--disable-usage-stats", f"--system-config={json.dumps(system_config())}", *head],
            )
            self.client = GcsClient(self.gcs, self.token)
            wait_until(self.alive, "the head node")
        self.session = self.client.session_name()

    def add_node(self, name: str, *arguments: str) -> Node:
        """Start another raylet, and wait until the GCS knows it."""
        before = self.alive()
        with turn_to_start():
            process = self._run(name, f"--address={self.gcs}", *arguments)
            found: set[str] = wait_until(lambda: self.alive() - before, f"the node {name}")
        return Node(found.pop(), process)

    def _run(self, name: str, *arguments: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *arguments]
        command += ["--node-ip-address=127.0.0.1", "--min-worker-port=0", "--max-worker-port=0"]
        command += [f"--dashboard-agent-listen-port={free_port()}", "--object-store-memory=100000000"]
        with (self.home / f"{name}.log").open("w") as log:
            process = subprocess.Popen(command, env=self.env, stdout=log, stderr=subprocess.STDOUT, text=True)
        self.processes.append(process)
        return process

    def alive(self) -> set[str]:
        """The ids of the nodes that are alive."""
        try:
            return {node.node_id.hex() for node in self.client.nodes() if node.state == 0}
        except Exception:
            for process in self.processes:
                logs = "".join(path.read_text()[-2000:] for path in self.home.glob("*.log"))
                assert process.poll() is None, logs
            return set()

    def start_driver(self, script: str, *arguments: str) -> subprocess.Popen[str]:
        """A driver with pipes for its input and output."""
        path = self.home / f"driver-{len(self.processes)}.py"
        path.write_text(f"import ray\nray.init({self.gcs!r}, log_to_driver=False)\n{script}")
        process = subprocess.Popen(
            [sys.executable, str(path), *arguments],
            env={**self.env, "RAY_ADDRESS": self.gcs},  # else it looks for clusters on all of the machine
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.processes.append(process)
        return process

    def run(self, script: str) -> str:
        """Run a driver to its end (``ray.init`` is done for it); returns its output."""
        process = self.start_driver(script)
        try:
            printed, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
            self.processes.remove(process)
        assert process.returncode == 0, printed
        return printed

    def stop(self) -> None:
        """Stop all of it, by its own processes. It may be started again."""
        for process in reversed(self.processes):
            process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()
