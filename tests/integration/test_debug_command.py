"""``rayscope debug`` on real tasks that wait at a breakpoint."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.dap_client import EditorClient
from tests.recorded import Recorded
from tests.waiting import TIMEOUT_S, wait_until

pytestmark = [pytest.mark.ray]

PROGRAM = """
import sys, time
import ray

@ray.remote(num_cpus=0.5)
def in_task(value):
    doubled = value * 2
    breakpoint()
    while doubled < 100:
        time.sleep(0.01)
    return doubled + 1

print("RESULT", ray.get(in_task.remote(int(sys.argv[1]))), flush=True)
sys.stdin.read()
"""


class Job:
    """A driver with a paused task. The driver outlives the task."""

    def __init__(self, cluster: Recorded, value: int) -> None:
        self.cluster = cluster
        self.driver = cluster.start_driver(PROGRAM, str(value))
        (self.item,) = wait_until(lambda: cluster.get("/api/v1/paused-tasks")["items"], "the paused task")

    def result(self) -> str:
        assert self.driver.stdout is not None
        return next(line for line in self.driver.stdout if line.startswith("RESULT")).split()[1]

    def debug(self, *options: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "rayscope.cli", "debug", self.item["task_id"][:8], *options]
        env = {
            "RAYSCOPE_URL": self.cluster.url,
            "RAYSCOPE_OPERATOR": self.cluster.services.secrets.operator_token,
        }
        process = subprocess.Popen(
            [*command, "--session", self.cluster.session],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.cluster.processes.append(process)
        return process

    def await_end(self) -> None:
        wait_until(lambda: not self.cluster.get("/api/v1/paused-tasks")["items"], "an empty list")


@pytest.fixture
def debugged(cluster: Recorded) -> Iterator[Recorded]:
    """The cluster, whose server lets debuggers in."""
    number = len(cluster.processes)
    cluster.services.debuggees.limit_s = 900.0
    yield cluster
    cluster.services.debuggees.limit_s = None
    for process in cluster.processes[number:]:
        process.kill()
        process.wait()
        cluster.processes.remove(process)


def test_a_task_is_debugged_in_the_terminal(debugged: Recorded) -> None:
    job = Job(debugged, 50)
    out, err = job.debug().communicate(
        "w\np doubled\nn\n1/0\nvalue = 3\na\nprint(value)\nc\n", timeout=TIMEOUT_S
    )
    assert re.findall(r"^ *\d+ -> +(.+)$", out, re.MULTILINE)[-1] == "while doubled < 100:", (out, err)
    shown = out.split("(debug) ")
    assert re.search(r"^> /.+\.py:\d+ in_task\(\)$", shown[1], re.MULTILINE)
    assert shown[2].splitlines() == ["p doubled", "100"]
    assert "ZeroDivisionError" in shown[4]
    assert shown[5].splitlines() == ["value = 3"]
    assert shown[6].splitlines()[1:] == ["doubled = 100", "value = 3"]
    assert shown[7].splitlines() == ["print(value)", "3"]
    assert "attached to in_task" in err
    assert "the task has ended" in err
    assert job.result() == "101"
    job.await_end()


def test_ctrl_c_stops_a_task_and_the_end_of_the_input_detaches(debugged: Recorded) -> None:
    job = Job(debugged, 20)
    process = job.debug()
    assert process.stdin is not None
    assert process.stderr is not None
    assert "attached" in process.stderr.readline()

    def state() -> str:
        return str(debugged.get("/api/v1/paused-tasks")["items"][0]["state"])

    wait_until(lambda: state() == "stopped", "the stop")
    process.stdin.write("c\n")
    process.stdin.flush()
    wait_until(lambda: state() == "running", "the task to run")
    process.send_signal(signal.SIGINT)
    assert "stopping the task" in process.stderr.readline()
    out, err = process.communicate("doubled = 100\n", timeout=TIMEOUT_S)
    assert err.endswith("detached; the task continues\n")
    assert job.result() == "101", out
    job.await_end()


def test_an_editor_debugs_a_task(debugged: Recorded) -> None:
    job = Job(debugged, 60)
    process = job.debug("--port", "0", "--remote-root", "/app")
    assert process.stdout is not None
    text = ""
    while not text.endswith("\n}\n"):
        text += process.stdout.readline()
    configuration: dict[str, Any] = json.loads(text)
    assert configuration["pathMappings"][0]["remoteRoot"] == "/app"
    address = configuration["connect"]["host"], configuration["connect"]["port"]
    with socket.create_connection(address) as page:
        page.sendall(b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}")
        with pytest.raises(ConnectionResetError):
            page.recv(1)
    client = EditorClient(address)
    frames = client.frames(client.attach())
    assert client.variables(frames[0]) == {"value": "60", "doubled": "120"}
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(address)
    for options in ((), ("--port", "0")):
        refused = job.debug(*options)
        assert "Another debugger is attached" in refused.communicate(timeout=TIMEOUT_S)[1]
        assert refused.returncode == 2
    client.leave()
    assert "the task continues" in process.communicate(timeout=TIMEOUT_S)[1]
    assert process.returncode == 0
    assert job.result() == "121"
    job.await_end()
