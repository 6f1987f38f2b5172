"""Ray versions installed in turn: which lane each takes, and that the record equals what that Ray says.

Not part of the usual run, since it installs a Ray for each version: ``make test-versions``.
"""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.agent.settings import EXPOSABLE_TYPES
from rayscope.cli.recording import Parts, child_env, node_env
from rayscope.server.runner import Server
from tests import dataflow
from tests.cluster import ONLY_TO_DASHBOARD, WITH_RECORDER, env_without_ray
from tests.conftest import sql_rows
from tests.dap_client import DapClient
from tests.versions.environments import (
    ENVIRONMENTS,
    ROOT,
    freeze,
    install_wheel,
    ray_versions,
    uninstall_agent,
    uv,
)
from tests.waiting import TIMEOUT_S, wait_until

VERSIONS = ray_versions(os.environ.get("RAYSCOPE_TEST_RAYS", ""))
WORKLOAD = Path(__file__).parent / "workload.py"
DEATHS = Path(__file__).parent / "deaths.py"
LINUX = tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])
Row = dict[str, Any]

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(not VERSIONS, reason="RAYSCOPE_TEST_RAYS names no versions"),
]


@pytest.fixture(scope="module", params=VERSIONS or [None])
def python(request: pytest.FixtureRequest, wheel: Path) -> Path:
    """The Python of an environment with that Ray and rayscope-agent."""
    folder = ENVIRONMENTS / str(request.param)
    found = folder / "bin" / "python"
    if not found.exists():
        uv("venv", "-q", "--python", sys.executable, str(folder))
        uv("pip", "install", "-q", "--python", str(found), f"ray[default]=={request.param}")
    install_wheel(found, wheel)
    return found


def ran(python: Path, server: Server, fast_lane: bool) -> Iterator[Row]:
    """That Ray's own data about the workload, while its cluster still runs."""
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        out = Path(home) / "tasks.json"
        env = env_without_ray() | {"HOME": home, **node_env(server.ingest_url, Parts(fast_lane=fast_lane))}
        if not fast_lane and python.parts[-3] >= "2.54":
            # Also event types that Rayscope does not know. Earlier versions do not know "ALL".
            env[EXPOSABLE_TYPES] = "ALL"
        if python.parts[-3] >= "2.58":
            # Off in the other tests. The JSON comes from Ray's new recorder, the fast lane's events do not.
            env |= ONLY_TO_DASHBOARD if fast_lane else WITH_RECORDER
        process = subprocess.Popen(
            [python, str(WORKLOAD), f"{home}/r", str(out)],
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if line == "ready\n":
                    break
            else:
                raise AssertionError(f"the workload ended with {process.wait()}")
            yield json.loads(out.read_text())
        finally:
            process.communicate(timeout=TIMEOUT_S)


def test_the_list_of_what_rayscope_does_not_know(python: Path) -> None:
    """A list to read, which does not fail. See "When a new Ray comes out" in CONTRIBUTING.md."""
    (ray,) = python.parents[1].glob("lib/python*/site-packages/ray")
    command = [sys.executable, str(ROOT / "tools" / "unknown_ray.py"), str(ray)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    print(f"\n{done.stdout}")


def known(value: Any) -> Any:
    return None if value in ("", {}, None) or (isinstance(value, str) and set(value) == {"f"}) else value


def ours(row: Row) -> Row:
    same = "name type parent_task_id job_id actor_id node_id worker_id state worker_pid func_name language"
    failed = row["state"] == "FAILED"
    times = ("pending_args_avail_ns", "start_ns", "end_ns")
    return {
        **{name: row[name] for name in same.split()},
        "required_resources": json.loads(row["required_resources"] or "{}"),
        "error_type": row["error_type"] if failed else None,
        **{name: None if row[name] is None else row[name] // 10**6 for name in times},
    }


def theirs(row: Row) -> Row:
    same = "name type parent_task_id job_id actor_id node_id worker_id state worker_pid language"
    times = {"pending_args_avail_ns": "creation", "start_ns": "start", "end_ns": "end"}
    return {
        **{name: known(row[name]) for name in same.split()},
        "func_name": row["func_or_class_name"],
        "required_resources": row["required_resources"],
        "error_type": known(row.get("error_type")),
        **{ours: known(row[f"{theirs}_time_ms"]) for ours, theirs in times.items()},
    }


def differences(recorded: dict[tuple[str, int], Row], reported: list[Row]) -> list[str]:
    found = []
    for row in reported:
        key = (row["task_id"], row["attempt_number"])
        if key not in recorded:
            found.append(f"{key} {row['name']}: missing")
            continue
        mine = ours(recorded[key])
        found += [
            f"{row['name']}.{name}: {mine[name]!r}, Ray: {value!r}"
            for name, value in theirs(row).items()
            # A float holds such a time to 256 ns, so one in 4,000 is rounded up.
            if value is not None
            and mine[name] != value
            and not (name.endswith("_ns") and mine[name] is not None and abs(mine[name] - value) <= 1)
        ]
    return found


@pytest.mark.parametrize("fast_lane", [True, False], ids=["fast", "json"])
def test_the_record_equals_what_that_ray_says(python: Path, server: Server, fast_lane: bool) -> None:
    for said in ran(python, server, fast_lane):
        reported = [row for row in said["tasks"] if row["type"] != "DRIVER_TASK"]
        assert Counter(row["name"] for row in reported)["inner"] == 560

        def read() -> dict[tuple[str, int], Row]:
            assert server.services is not None
            server.services.writer.flush()
            rows = sql_rows(server.url, "FROM tasks", said["session"])
            return {(row["task_id"], row["attempt"]): row for row in rows if row["type"] != "DRIVER_TASK"}

        deadline = time.monotonic() + 30
        while (wrong := differences(read(), reported)) and time.monotonic() < deadline:
            time.sleep(1)
        summary = httpx.get(f"{server.url}/api/v1/summary").json()
        lanes = {name: summary["lanes"][name] for name in ("fast", "json", "none")}
        print(f"\nRay {said['version']}: {len(reported)} attempts, {len(wrong)} differ, lanes {lanes}")
        print(f"  {summary['lanes']['reasons']} unknown {summary['ingest']['unknown']}")
        assert wrong == []
        assert len(read()) == len(reported)
        assert lanes["fast"] == fast_lane
        assert summary["dropped"]["total"] == 0


def run(python: Path, server: Server, parts: Parts, program: Path, *arguments: str) -> tuple[str, str]:
    """Run a program to its end under that Ray. Returns its session and output."""
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        env = env_without_ray()
        env |= {"HOME": home, **child_env(server.ingest_url, parts, environ=env)}
        init = json.dumps({"num_cpus": 4, "_temp_dir": f"{home}/r", "include_dashboard": False})
        command = [python, str(program), init, *arguments]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    assert server.services is not None
    server.services.writer.flush()
    (session,) = server.services.catalog.names()
    return session, done.stdout


def test_the_causes_of_deaths(python: Path, server: Server) -> None:
    session, output = run(python, server, Parts(fast_lane=True), DEATHS)
    ends = dataflow.printed_json(output, "ENDS")
    asked = {"kind": "actor", "session": session}
    deaths = {
        how: httpx.get(f"{server.url}/api/v1/deaths", params={**asked, "id": actor}).json()["items"]
        for how, actor in ends.items()
    }
    found = {how: [death["cause"] for death in items] for how, items in deaths.items()}
    print(f"\n{found}")
    # Before Linux 6.15, nobody but Ray can read the exit status of a process that is no child.
    by_status = {"exited", "crashed", "killed"} if LINUX < (6, 15) else set()
    assert {how: causes for how, causes in found.items() if how not in by_status} == {
        how: [how] for how in ends if how not in by_status
    }


PAUSED = """
import ray

def inner(secret):
    doubled = secret * 2
    breakpoint()
    return doubled + 1

@ray.remote
def stops(value):
    return inner(value)

@ray.remote
class Actor:
    async def stops(self, value):
        return inner(value)

@ray.remote(max_retries=0, runtime_env={"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}})
def fails(secret):
    doubled = secret * 2
    raise ValueError(secret)

ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
stop = [stops.options(num_cpus=0).remote(20) for _ in range(2)] + [Actor.remote().stops.remote(20)]
failure = fails.options(num_cpus=0).remote(20)
print("RESULT", ray.get(stop), flush=True)
try:
    ray.get(failure)
except ValueError as error:
    print("ERROR", error, flush=True)
"""


def test_debuggers(python: Path, server: Server) -> None:
    uv("pip", "install", "-q", "--python", str(python), "debugpy>=1.8")
    services: Any = server.services
    services.debuggees.limit_s = 900.0

    def paused(number: int) -> list[Row] | None:
        answer = httpx.get(f"{server.url}/api/v1/paused-tasks")
        items: list[Row] = answer.json().get("items", [])
        return items if len(items) == number else None

    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        env = env_without_ray() | {"HOME": home, "RAY_TMPDIR": home}
        env |= child_env(server.ingest_url, Parts(), environ=env)
        program = Path(home, "paused.py")
        program.write_text(PAUSED)
        process = subprocess.Popen([python, str(program)], env=env, stdout=subprocess.PIPE, text=True)
        try:
            for left in (4, 3, 2):
                item = wait_until(lambda left=left: paused(left), f"{left} paused tasks")[0]
                client = DapClient(server.url, services.secrets.operator_token, item["pause_id"])
                variables = client.variables(client.frames(client.attach())[0])
                assert (variables["secret"], variables["doubled"]) == ("20", "40")
                client.leave()
            url = (
                f"{server.url}/api/v1/paused-tasks/{wait_until(lambda: paused(1), 'the last')[0]['pause_id']}"
            )
            headers = {"X-Rayscope-Operator": services.secrets.operator_token}
            assert httpx.post(f"{url}/release", headers=headers).status_code == 204
            output, _ = process.communicate(timeout=TIMEOUT_S)
        finally:
            process.kill()
    assert "RESULT [41, 41, 41]" in output
    assert "ERROR" in output


@pytest.mark.parametrize("fast_lane", [True, False], ids=["fast", "json"])
def test_every_edge_of_a_known_data_flow_is_found(python: Path, server: Server, fast_lane: bool) -> None:
    # If a driver leaves at once, Ray 2.50 may lose the last second of its workers.
    session, output = run(python, server, Parts(fast_lane=fast_lane), dataflow.WORKLOAD, "3")
    rows = [list(row.values()) for row in sql_rows(server.url, dataflow.QUERY, session)]
    tracers = [
        list(row.values())
        for row in sql_rows(
            server.url, "SELECT DISTINCT tracer FROM workers WHERE tracer IS NOT NULL", session
        )
    ]
    wrong = dataflow.differences(dataflow.printed_json(output), rows)
    if python.parts[-3] < "2.54":
        # For coroutines and threads that run at the same time in one process, it keeps only one of several
        # profile events.
        beside = dataflow.printed_json(output, "BESIDE")
        wrong = [edge for edge in wrong if not any(task in edge for task in beside)]
    print(f"\n{len(rows)} edges, {len(wrong)} wrong, tracers {tracers}", *wrong, sep="\n  ")
    assert wrong == []
    assert tracers == [["on"]]


ANNOTATED = """
import rayscope, ray, select, sys
@ray.remote
def task():
    rayscope.annotate(model="resnet")
    rayscope.counter("loss", 0.25)
    with rayscope.span("load"):
        return 1
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
# Ray 2.50 loses what its workers tell before its agent listens, and in a driver's last second.
while not select.select([sys.stdin], [], [], 1)[0]:
    assert ray.get(task.remote()) == 1
"""
PLAIN = ANNOTATED.replace("import rayscope, ", "import ").replace("    rayscope.", "    # ")
PLAIN = PLAIN.replace('    with rayscope.span("load"):\n        return', "    return")


@contextmanager
def recorded(python: Path, server: Server, program: str, hook: bool) -> Iterator[Row]:
    """The summary of a new session once the server has a task; its program runs until the caller is done."""
    assert server.services is not None
    before = set(server.services.catalog.names())
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as home:
        env = env_without_ray() | {"HOME": home, "RAY_TMPDIR": home}
        env |= child_env(server.ingest_url, Parts(), hook=hook, environ=env)
        errors = Path(home) / "errors"
        with errors.open("w") as stream:
            process = subprocess.Popen(
                [python, "-c", program], env=env, stdin=subprocess.PIPE, stderr=stream, text=True
            )

        def find() -> Row | None:
            assert server.services is not None
            assert process.poll() is None, errors.read_text()[-2000:]
            server.services.writer.flush()
            for session in set(server.services.catalog.names()) - before:
                summary: Row = httpx.get(f"{server.url}/api/v1/summary", params={"session": session}).json()
                lanes = summary["lanes"]
                if summary["states"].get("FINISHED") and lanes["fast"] + lanes["json"] == 1:
                    return summary
            return None

        try:
            yield wait_until(find, "a task")
        finally:
            process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 0, errors.read_text()[-2000:]


def test_the_agent_changes_nothing_else_and_can_be_removed(python: Path, wheel: Path, server: Server) -> None:
    uninstall_agent(python)
    before = freeze(python)
    install_wheel(python, wheel)
    (added,) = freeze(python) - before
    assert added.startswith("rayscope-agent @ ")
    assert before <= freeze(python)

    with recorded(python, server, ANNOTATED, hook=True) as summary:
        assert summary["lanes"]["fast"] == 1
        params = {"session": summary["session"]}
        # The tracer reports after its task.
        wait_until(
            lambda: (
                httpx.get(f"{server.url}/api/v1/summary", params=params).json()["tracing"]["untraced"] == 0
            ),
            "the tracer in all workers",
        )
    rows = sql_rows(server.url, "SELECT kind, name, value, number FROM annotations", summary["session"])
    said = {(row["kind"], row["name"]): (row["value"], row["number"]) for row in rows}
    assert said[("annotation", "model")] == ("resnet", None)
    assert said[("counter", "loss")] == ("0.25", 0.25)
    spans = sql_rows(server.url, "SELECT name FROM spans WHERE name = 'load'", summary["session"])
    assert spans

    # Without it Ray runs as before, and the server, in another environment, records what Ray itself sends.
    uninstall_agent(python)
    assert freeze(python) == before
    with recorded(python, server, PLAIN, hook=False) as summary:
        assert (summary["lanes"]["fast"], summary["lanes"]["json"]) == (0, 1)
    install_wheel(python, wheel)
