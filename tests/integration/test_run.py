"""`rayscope run` and `rayscope start` on real clusters: nothing lost, nothing changed for the script."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import free_port, turn_to_start
from tests.conftest import read_rows
from tests.lab import Lab, new_lab
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.cli.versions import python_versions
from rayscope.ray.discovery import local_gcs_addresses

pytestmark = [pytest.mark.ray]

WORKLOADS = Path(__file__).parent / "workloads"
#: Beginning of every script: a cluster of its own, with its own arguments.
LOCAL = """
import sys, ray
ray.init(num_cpus=2, _temp_dir=sys.argv[1], include_dashboard=False, log_to_driver=False)
@ray.remote
def double(x):
    return 2 * x
"""
#: The same for a cluster that runs already.
JOINING = """
import ray, sys
ray.init(address=sys.argv[1] if len(sys.argv) > 1 else "auto", log_to_driver=False)
@ray.remote
def triple(x):
    return 3 * x
assert ray.get([triple.remote(i) for i in range(50)])[-1] == 147
print("joined")
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    with new_lab(tmp_path) as made:
        yield made


def test_two_thousand_tasks_and_an_immediate_end_with_status_3(lab: Lab) -> None:
    """The hardest end: everything is done in the last second, ray.shutdown() at once, then sys.exit(3)."""
    text = LOCAL + (
        "print('sum', sum(ray.get([double.remote(i) for i in range(2000)])))\nray.shutdown()\nsys.exit(3)\n"
    )
    script = lab.script("job.py", text)
    done = lab.rayscope("run", "--exit", "--tag", "main", "--tag", "two words", script, str(lab.ray_dir))
    assert done.returncode == 3, done.stderr
    assert done.stdout == "sum 3998000\n"
    assert "2,000 tasks: 2,000 FINISHED" in done.stderr
    assert "Nothing dropped." in done.stderr
    # Every task has both accounts: the owner's (FINISHED) and the executor's (which worker ran it).
    rows = lab.sql(
        "SELECT count(*) AS n, count(worker_id) AS on_worker, count(start_ns) AS started FROM tasks "
        "WHERE state = 'FINISHED' AND func_name = 'double'"
    )
    assert rows == [{"n": "2000", "on_worker": "2000", "started": "2000"}]
    compared = lab.rayscope("compare", "tag:main", "tag:two words")
    assert compared.returncode == 2
    assert "is on both sides" in compared.stderr
    # The program lies in no git repository.
    ((versions,),) = read_rows(lab.data, "SELECT versions FROM jobs")
    assert json.loads(versions) == python_versions([sys.executable])


def test_a_script_that_ends_by_an_exception(lab: Lab) -> None:
    text = (
        LOCAL
        + """
import time
@ray.remote(max_retries=0)  # the driver kills its worker, and may retry it before it has ended itself
def endless():
    time.sleep(1000)
@ray.remote(num_gpus=1)
def wants_gpu():
    pass
ray.get([double.remote(i) for i in range(300)])
left = [endless.remote(), wants_gpu.remote()]
time.sleep(3)
raise RuntimeError('the script fails')
"""
    )
    done = lab.rayscope("run", "--exit", lab.script("job.py", text), str(lab.ray_dir))
    assert done.returncode == 1
    assert "RuntimeError: the script fails" in done.stderr
    assert "302 tasks: 300 FINISHED, 2 CUT_OFF" in done.stderr, done.stderr
    assert "Never scheduled: 1 wants_gpu. No node has any GPU." in done.stderr
    # Everything that the script left open has an end, and the record says how it is known.
    jobs = read_rows(lab.data, "SELECT state, exit_code, end_known_by FROM jobs")
    assert jobs == [["FAILED", 1, "exit_code"]]
    # (The node's end may come from its GCS.)
    assert read_rows(lab.data, "SELECT state, end_known_by FROM nodes") in (
        [["DEAD", "session"]],
        [["DEAD", None]],
    )
    left = read_rows(
        lab.data,
        "SELECT func_name, state, end_ns > 0, reported_state FROM tasks WHERE state != 'FINISHED' ORDER BY 1",
    )
    assert [row[:3] for row in left] == [["endless", "CUT_OFF", True], ["wants_gpu", "CUT_OFF", True]]
    # Ray may have time to say that it stopped what ran.
    assert left[0][3] in ("RUNNING", "FAILED")
    assert left[1][3] == "PENDING_NODE_ASSIGNMENT"


def test_a_recorded_cluster_a_joining_script_and_a_submitted_job(lab: Lab) -> None:
    # Ray's token lies where `ray.init()` leaves it: the cluster asks for it.
    (lab.folder / ".ray").mkdir()
    (lab.folder / ".ray" / "auth_token").write_text("a" * 64)
    lab.env["HOME"] = str(lab.folder)
    del lab.env["RAY_AUTH_MODE"]
    server = subprocess.Popen(
        [sys.executable, "-m", "rayscope.cli", "serve"],
        cwd=lab.folder,
        env=lab.env,
        stderr=subprocess.DEVNULL,
    )
    try:
        about = _await_json(lab.data / "server.json")
        gcs, dashboard = str(free_port()), str(free_port())
        started = lab.rayscope(
            *("start", "--", "--head", f"--port={gcs}", f"--dashboard-port={dashboard}", "--num-cpus=2"),
            *("--dashboard-agent-listen-port=0", f"--temp-dir={lab.ray_dir}"),
            *("--system-config", '{"task_events_report_interval_ms": 500}'),
        )
        assert started.returncode == 0, started.stderr
        assert "recording session_" in started.stderr
        assert "by address need RAY_AUTH_MODE=token" in " ".join(started.stderr.split())
        lab.env["RAY_AUTH_MODE"] = "token"

        script = lab.script("join.py", JOINING)
        address = _address(gcs)
        joined = lab.rayscope("run", script, address)  # without --exit: the server is not ours to hold
        assert joined.returncode == 0, joined.stderr
        assert joined.stdout == "joined\n"
        assert f"Rayscope: {about['url']}" in joined.stderr
        assert "50 tasks: 50 FINISHED" in joined.stderr
        assert "recording snapshots" not in joined.stderr

        submitted = lab.rayscope(
            *("run", "ray", "job", "submit", f"--address=http://127.0.0.1:{dashboard}", "--"),
            *(sys.executable, script),
        )
        assert submitted.returncode == 0, submitted.stderr
        assert "joined" in submitted.stdout
        summary = httpx.get(f"{about['url']}/api/v1/summary", trust_env=False).json()
        triple = next(one for one in summary["functions"] if one["func_name"] == "triple")
        assert (triple["attempts"], triple["finished"]) == (100, 100)
        assert "events" in summary["recording"]

        lab.env["RAY_ADDRESS"] = address
        named = lab.rayscope("run", script)  # by the environment, as in many images
        assert named.returncode == 0, named.stderr
        assert "150 FINISHED" in named.stderr
        checked = lab.rayscope("doctor", "--probe", "--format", "json")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        assert json.loads(checked.stdout)["whole"] is True
    finally:
        server.send_signal(signal.SIGINT)
        assert server.wait(TIMEOUT_S) == 0


@pytest.mark.long
def test_a_cluster_that_was_started_without_recording(lab: Lab) -> None:
    gcs = str(free_port())
    with turn_to_start():
        subprocess.run(
            [
                *(
                    sys.executable,
                    "-m",
                    "ray.scripts.scripts",
                    "start",
                    "--head",
                    f"--port={gcs}",
                    "--num-cpus=2",
                ),
                *(
                    "--include-dashboard=false",
                    f"--temp-dir={lab.ray_dir}",
                    "--dashboard-agent-listen-port=0",
                ),
            ],
            env=lab.env,
            check=True,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    done = lab.rayscope("run", "--exit", lab.script("join.py", JOINING), _address(gcs))
    assert done.returncode == 0, done.stderr
    assert "recording snapshots" in done.stderr
    assert "50 tasks: 50 FINISHED" in done.stderr


def _address(port: str) -> str:
    """The whole address of the GCS that listens on ``port`` of this machine."""
    return next(one for one in local_gcs_addresses().values() if one.endswith(f":{port}"))


def _await_json(path: Path) -> dict[str, Any]:
    text = wait_until(lambda: path.is_file() and path.read_text(), str(path))
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.long
def test_rays_own_microbenchmark(lab: Lab) -> None:
    """A script that starts Ray, stops it and starts it again; one of its measurements."""
    lab.env["TESTS_TO_RUN"] = "1:1 actor calls sync"
    done = lab.rayscope("run", "--exit", str(WORKLOADS / "microbenchmark.py"))
    assert done.returncode == 0, done.stdout + done.stderr[-20_000:]
    assert "1:1 actor calls sync per second" in done.stdout
    assert "Nothing dropped." in done.stderr
    sessions = sorted(path.name for path in (lab.data / "sessions").iterdir())
    assert len(sessions) == 2  # one for tasks and actors, one for placement groups
    calls = "SELECT count(*) AS n FROM tasks WHERE func_name = 'Actor.small_value' AND state = 'FINISHED'"
    (row,) = lab.sql(calls, sessions[0])
    assert int(row["n"]) > 100  # however slow the machine
    said = float(done.stdout.split("1:1 actor calls sync per second ")[1].split()[0])
    assert int(row["n"]) > 8 * said  # it is measured for 8 s and more
