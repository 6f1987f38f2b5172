"""The fast lane in real agents: where it is not to be had, and when it fails, Ray's JSON exporter does the work.

Faults are put into the agent's process from outside, by a ``sitecustomize`` that Python imports at its start.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import env_without_ray, turn_to_start
from tests.waiting import TIMEOUT_S

from rayscope.cli.recording import node_env
from rayscope.server.runner import Server

pytestmark = [pytest.mark.ray]

TASKS = 400
WORKLOAD = f"""
import sys, time
import psutil, ray

@ray.remote
def noop():
    pass

def agents():
    family = psutil.Process().children(recursive=True)
    return [p.pid for p in family if any("DashboardAgent" in a or "dashboard/agent.py" in a for a in p.cmdline())]

ray.init(num_cpus=2, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
before = []
for _ in range(4):
    ray.get([noop.remote() for _ in range({TASKS} // 4)])
    time.sleep(0.5)
    before = before or agents()
time.sleep(2)
# None of them ended. (One that begins is there twice for a moment, until it is forked off.)
assert before and set(agents()) & set(before), (before, agents())
print("ready", flush=True)
sys.stdin.read()
"""
#: Each is a piece of Python that runs in every process of the node.
FAULTS = {
    # A later Ray that works in another way.
    "unknown publisher": (
        """
from rayscope.agent import entry
enter = entry.enter
def changed(module):
    theirs = module.AggregatorAgent.AddEvents
    async def AddEvents(self, request, context):
        return await theirs(self, request, context)
    module.AggregatorAgent.AddEvents = AddEvents
    enter(module)
entry.enter = changed
""",
        "works in another way",
    ),
    "the lane cannot be loaded": (
        "import sys\nsys.modules['rayscope.agent.lane'] = None\n",
        "ModuleNotFoundError",
    ),
    "taking in fails after a while": (
        """
from rayscope.agent import lane
class Piece(lane.Piece):
    left = 2
    def __init__(self, *arguments):
        Piece.left -= 1
        if Piece.left < 0:
            raise MemoryError("injected")
        super().__init__(*arguments)
lane.Piece = Piece
""",
        "injected",
    ),
    "sending fails": (
        """
from rayscope.agent import lane
def fails(*arguments, **more):
    raise RuntimeError("injected")
lane.Lane._send = fails
""",
        "injected",
    ),
}


@pytest.fixture
def driver() -> Iterator[Callable[..., None]]:
    """Runs the workload in a cluster of its own, until the test's end: ``driver(python, ingest_url, **environment)``."""
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        running: list[subprocess.Popen[str]] = []

        def run(python: str | Path, ingest_url: str, fault: str = "", **more: str) -> None:
            (Path(home) / "sitecustomize.py").write_text(
                "import sys\n"
                'if "dashboard/agent.py" in " ".join(sys.orig_argv):\n'
                + "".join(f"    {line}\n" for line in fault.splitlines())
                + "    pass\n"
            )
            env = env_without_ray() | {"HOME": home, "PYTHONPATH": home, **node_env(ingest_url), **more}
            with turn_to_start():
                process = subprocess.Popen(
                    [python, "-c", WORKLOAD, f"{home}/r"],
                    env=env,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
                running.append(process)
                assert process.stdout is not None
                assert process.stdout.readline() == "ready\n"  # its agent is the one that it began with

        yield run
        for process in running:
            process.communicate(timeout=TIMEOUT_S)


def complete_summary(server: Server) -> dict[str, Any] | None:
    """The summary once every task is on record."""
    summary: dict[str, Any] = httpx.get(f"{server.url}/api/v1/summary").json()
    return summary if summary.get("states", {}).get("FINISHED") == TASKS else None


@pytest.fixture
def cluster(
    serve: Callable[..., Server], driver: Callable[..., None], wait_for: Callable[..., Any]
) -> Callable[..., dict[str, Any]]:
    """Runs the workload against a server; the summary once every task is on record."""

    def run(python: str | Path, fault: str = "") -> dict[str, Any]:
        server = serve()
        driver(python, server.ingest_url, fault)
        found: dict[str, Any] = wait_for(lambda: complete_summary(server), "every task on record")
        return found

    return run


@pytest.mark.parametrize(
    "fault", [next(iter(FAULTS)), *(pytest.param(f, marks=pytest.mark.long) for f in list(FAULTS)[1:])]
)
def test_whatever_fails_ray_takes_over_and_the_reason_is_reported(cluster: Any, fault: str) -> None:
    code, reason = FAULTS[fault]
    summary = cluster(sys.executable, code)
    assert (summary["lanes"]["fast"], summary["lanes"]["json"]) == (0, 1)
    (entry,) = summary["lanes"]["reasons"]
    assert entry["code"] == "agent_said"
    assert reason in entry["reason"]
    assert summary["dropped"]["total"] == 0
    assert summary["ingest"]["rejected_batches"] == 0


@pytest.mark.long
def test_a_node_whose_python_has_no_rayscope_sends_json(cluster: Any, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare")
    (site,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    # Everything that is installed here but what .pth files bring: of a path in one, none is read.
    (site / "installed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    python = tmp_path / "bare" / "bin" / "python"
    missing = subprocess.run([python, "-c", "import ray, rayscope"], capture_output=True, text=True)
    assert "No module named 'rayscope'" in missing.stderr
    summary = cluster(python)
    assert (summary["lanes"]["fast"], summary["lanes"]["json"]) == (0, 1)
    assert [entry["code"] for entry in summary["lanes"]["reasons"]] == ["not_installed"]


@pytest.mark.long
def test_events_beyond_an_agents_buffer_are_reported_and_read_again_from_the_gcs(
    serve: Callable[..., Server], driver: Callable[..., None], wait_for: Callable[..., Any]
) -> None:
    first = serve()
    url, port = first.ingest_url, int(first.url.rpartition(":")[2])
    first.stop()
    began_ns = time.time_ns()
    # 400 tasks make some 600 kB of events, all of them while there is no server.
    driver(sys.executable, url, RAYSCOPE_AGENT_BUFFER_BYTES="100000", RAY_AUTH_MODE="disabled")
    server = serve(port=port)

    def repaired() -> dict[str, Any] | None:
        summary = complete_summary(server)
        return (
            summary
            if summary and 0 < summary["dropped"]["total"] <= summary["dropped"]["repaired_total"]
            else None
        )

    final = wait_for(repaired, "every task on record and the losses mended")
    assert final["recording"] == "events"
    assert final["lanes"]["fast"] == 1
    dropped = final["dropped"]
    assert {by["reason"] for by in dropped["by"]} == {"agent_buffer_full"}
    assert {"TASK_DEFINITION_EVENT", "TASK_LIFECYCLE_EVENT"} <= {by["event_type"] for by in dropped["by"]}
    assert sum(by["count"] for by in dropped["by"]) == dropped["total"] > TASKS
    for by in dropped["by"]:
        assert began_ns < by["first_ns"] <= by["last_ns"] < time.time_ns()
    assert began_ns < dropped["repaired_ns"] < time.time_ns()
    assert not dropped["repaired_partly"]
    assert dropped["unresolved_attempts"] == 0
