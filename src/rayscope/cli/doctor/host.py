"""Gathers the facts about this machine: its processes, its agents' counters, and the result of a probe."""

from __future__ import annotations

import contextlib
import functools
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import psutil

from rayscope.agent.settings import EXPORT_ADDR, NODE_ID
from rayscope.cli.doctor.facts import Driver, is_here, node_env
from rayscope.cli.target import ask_python
from rayscope.ray.agents.drops import PREFIX, parse_drops, read_agent_counters

_METRICS_S = 2.0
_MAX_AGENTS = 4
_PROBE_S = 30.0
PROBE_TASKS = 1000
_COUNTERS = {"events_received": "received", "published_events": "published"}

# The first tasks start the workers, because the start of a worker should not count as a task's cost. The
# driver keeps running until the measurement ends, because its exit should not count either.
_PROBE = f"""
import sys, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="error")
@ray.remote
def rayscope_probe():
    return None
ray.get([rayscope_probe.remote() for _ in range(20)])
print("ready", flush=True)
sys.stdin.readline()
ray.get([rayscope_probe.remote() for _ in range({PROBE_TASKS})])
print("done", flush=True)
sys.stdin.readline()
"""


class Here:
    """The processes of a session on this machine.

    Ray sets a process title that overwrites the agent's environment, so the environment of the agent's raylet
    is used instead.
    """

    def __init__(self, session: str) -> None:
        self.raylets: dict[str, psutil.Process] = {}
        self._gcs: list[psutil.Process] = []
        self._agents: dict[str, psutil.Process] = {}
        self._commands: dict[str, list[str]] = {}
        self._environs: dict[str, dict[str, str]] = {}
        for process in psutil.process_iter(["cmdline"]):
            command = process.info["cmdline"] or []
            name = os.path.basename(command[0]) if command else ""
            if name not in ("raylet", "gcs_server") or _flag(command, "session-name") != session:
                continue
            if name == "gcs_server":
                self._gcs.append(process)
                continue
            node_id = _flag(command, "node-id")
            self.raylets[node_id], self._commands[node_id] = process, command
            with contextlib.suppress(psutil.Error, OSError):
                self._environs[node_id] = process.environ()
            with contextlib.suppress(psutil.Error, OSError):
                for child in process.children():
                    line = " ".join(child.cmdline())
                    if line.startswith("ray::DashboardAgent") or "dashboard/agent.py" in line:
                        self._agents[node_id] = child

    def exports(self) -> list[str]:
        """Return the URLs of Rayscope servers to which the local nodes send their events."""
        targets = {env.get(EXPORT_ADDR, "") for env in self._environs.values()}
        return sorted(target for target in targets if "/api/ingest/" in target)

    def python(self) -> str:
        """Return the Python that runs Ray here, or else our own. A driver needs the same Python version."""
        commands = (_flag(command, "dashboard_agent_command").split() for command in self._commands.values())
        return next((words[0] for words in commands if words), sys.executable)

    def about(self, node_id: str, key: str) -> dict[str, Any]:
        """Return the facts about a local node. The result is empty for a node elsewhere."""
        if node_id not in self.raylets:
            return {}
        agent = _flag(self._commands[node_id], "dashboard_agent_command").split()
        about: dict[str, Any] = {"local": True, "python": agent[0] if agent else ""}
        if node_id in self._agents:
            about["agent_pid"] = self._agents[node_id].pid
        if agent and self._environs.get(node_id, {}).get("RAY_DEBUG", "1") == "1":
            about["debugpy"] = has_debugpy(agent[0])
        if self._environs.get(node_id):
            about["env"] = node_env(self._environs[node_id], key)
        return about

    def cpu(self, server_url: str | None) -> dict[str, float]:
        """Return the CPU seconds used so far, by kind of process."""
        kinds: dict[str, Iterable[psutil.Process]] = {
            "agent": self._agents.values(),
            "raylet": self.raylets.values(),
            "gcs": self._gcs,
            "server": _listener(server_url),
        }
        used: dict[str, float] = {}
        for kind, processes in kinds.items():
            for process in processes:
                with contextlib.suppress(psutil.Error, OSError):
                    times = process.cpu_times()
                    used[kind] = used.get(kind, 0.0) + times.user + times.system
        return used


@functools.cache
def has_debugpy(python: str) -> bool | None:
    """Return whether a Python can import debugpy, or None if that is unknown."""
    done = ask_python(python, "import debugpy")
    return None if done is None else done.returncode == 0


def _flag(command: list[str], name: str) -> str:
    for argument in command[1:]:
        key, _, value = argument.removeprefix("--").partition("=")
        if key.replace("_", "-") == name.replace("_", "-"):
            return value
    return ""


def _listener(url: str | None) -> list[psutil.Process]:
    """Return the local process that listens on the port of ``url``, if there is one."""
    parts = urlsplit(url or "")
    if parts.port is None or not is_here(parts.hostname or ""):
        return []
    with contextlib.suppress(psutil.Error, OSError):
        for one in psutil.net_connections("tcp"):
            if one.status == psutil.CONN_LISTEN and one.laddr.port == parts.port and one.pid:
                return [psutil.Process(one.pid)]
    return []


def drivers(jobs: Iterable[Any]) -> Iterator[Driver]:
    """Yield the local drivers whose environment can be read, without Ray's own drivers."""
    for job in jobs:
        if job.is_dead or job.config.ray_namespace.startswith("_ray_internal"):
            continue
        if not is_here(job.driver_ip_address or job.driver_address.ip_address):
            continue
        with contextlib.suppress(psutil.Error, OSError):
            process = psutil.Process(job.driver_pid)
            environ = process.environ()
            # Skip a later process with the same process ID, and drivers that a node started: they have the
            # node's settings.
            if process.create_time() * 1000 <= job.start_time + 1000 and environ and NODE_ID not in environ:
                env = node_env(environ)
                yield Driver(process.pid, env.worker_events, env.profiling, env.trace)


def counters(ports: Mapping[str, tuple[str, int]]) -> dict[str, dict[str, int]]:
    """Return the event counters of the local agents by node ID: received, published, and lost."""
    found = {}
    for node_id, place in list(ports.items())[:_MAX_AGENTS]:
        lines = read_agent_counters(*place, _METRICS_S)
        if lines is not None:
            found[node_id] = parse_counters(lines)
    return found


def parse_counters(lines: Iterable[str]) -> dict[str, int]:
    """Return how many events were received, published, and lost, from an agent's Prometheus text."""
    ours = [line for line in lines if line.startswith(PREFIX)]
    counts = {"received": 0, "published": 0}
    for line in ours:
        name = line.partition("{")[0].partition(" ")[0][len(PREFIX) :].removesuffix("_total")
        if name in _COUNTERS:
            with contextlib.suppress(ValueError):
                counts[_COUNTERS[name]] += int(float(line.rpartition(" ")[2]))
    lost = parse_drops(ours, "", 0)
    return {**counts, "lost": sum(drop.count for drop in lost)}


class Probe:
    """A driver that runs :data:`PROBE_TASKS` no-op tasks on request. If that fails, ``error`` says why."""

    def __init__(self, address: str, python: str) -> None:
        self.error = ""
        env = {name: value for name, value in os.environ.items() if name != "RAY_RUNTIME_ENV_HOOK"}
        self._process = subprocess.Popen(
            [python, "-c", _PROBE, address],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._errors: list[str] = []
        threading.Thread(target=self._follow, daemon=True).start()
        threading.Thread(target=self._keep_errors, daemon=True).start()

    def __enter__(self) -> Probe:
        self._await("ready")
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._process.stdin.close()  # type: ignore[union-attr]
        try:
            self._process.wait(1 if self.error else 10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(5)

    def run(self) -> None:
        """Run the tasks. Returns when they have ended or ``error`` is set."""
        if self.error:
            return
        with contextlib.suppress(OSError):
            self._process.stdin.write("\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        self._await("done")

    def _follow(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line.strip())
        self._lines.put("")

    def _keep_errors(self) -> None:
        for line in self._process.stderr or ():
            if line.strip():
                self._errors = [*self._errors[-20:], line.strip()]

    def _await(self, word: str) -> None:
        deadline = time.monotonic() + _PROBE_S
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                self.error = (
                    f"its tasks did not end within {_PROBE_S:.0f} s; the cluster may have no free CPU"
                )
                return
            if line == word:
                return
            if not line:
                self.error = self._errors[-1] if self._errors else "its driver ended"
                return
