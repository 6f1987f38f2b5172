"""`rayscope doctor` on a real cluster that records itself: all is on, what it costs is known, nothing is changed."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster import env_without_ray, free_port, turn_to_start
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.cli.recording import node_env, system_config
from rayscope.ray.gcs.client import GcsClient, GcsError
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.errors import NotFound

pytestmark = [pytest.mark.ray]


@dataclass
class Lab:
    address: str
    env: dict[str, str]
    server: Server

    def doctor(self, *args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "rayscope.cli", "doctor", *args],
            env=self.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    # Short paths: Ray's sockets live in there, and a socket's path has 107 characters at most.
    with tempfile.TemporaryDirectory(prefix="rs", dir="/tmp", ignore_cleanup_errors=True) as home:
        address = f"127.0.0.1:{free_port()}"
        env = env_without_ray() | {"HOME": home, "TMPDIR": home, "RAY_AUTH_MODE": "disabled", "COLUMNS": "80"}
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block", "--num-cpus=1"]
        command += [f"--port={address.rpartition(':')[2]}", "--node-ip-address=127.0.0.1"]
        command += ["--min-worker-port=0", "--max-worker-port=0", "--object-store-memory=100000000"]
        command += ["--include-dashboard=false", "--disable-usage-stats", f"--temp-dir={home}/r"]
        command += [f"--dashboard-agent-listen-port={free_port()}", f"--ray-client-server-port={free_port()}"]
        command += [f"--system-config={json.dumps(system_config())}"]
        head = None
        try:
            with turn_to_start(), (tmp_path / "head.log").open("w") as log:
                head = subprocess.Popen(
                    command, env={**env, **node_env(server.ingest_url)}, stdout=log, stderr=subprocess.STDOUT
                )
                await_lane(address, server, head, tmp_path / "head.log")
            yield Lab(address, {**env, "RAYSCOPE_DATA_DIR": str(tmp_path / "data")}, server)
        finally:
            if head is not None:
                head.terminate()
                try:
                    head.wait(TIMEOUT_S)
                except subprocess.TimeoutExpired:
                    head.kill()
                    head.wait()
            server.stop()


def await_lane(address: str, server: Server, head: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until the agent has reported to the server."""
    with GcsClient(address, timeout_s=2) as client:

        def has_reported() -> bool:
            assert head.poll() is None, log.read_text()[-2000:]
            with contextlib.suppress(GcsError, NotFound):
                assert server.services is not None
                return bool(server.services.catalog.about(client.session_name()).agents)
            return False

        wait_until(has_reported, "the agent's report")


#: The command line of a Rayscope that was tested with older Rays only.
OLDER = """
from rayscope.ray import versions
versions.NEWEST_TESTED = "2.40"
from rayscope.cli.main import app
app()
"""


@pytest.mark.long
def test_a_newer_ray_is_named_once(lab: Lab, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(f"import ray\nray.init({lab.address!r})\nray.get(ray.remote(int).remote())\n")
    own = ["--data-dir", str(tmp_path / "own"), "--port", str(free_port())]
    for command in (
        ["doctor", lab.address],
        ["attach", lab.address],  # with the server that runs
        ["attach", *own, lab.address],
        ["run", "--exit", *own, str(script)],
    ):
        process = subprocess.Popen(
            [sys.executable, "-c", OLDER, *command],
            env=lab.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line)
            if "press Ctrl-C to stop" in line:
                process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_S)
        notes = [line for line in lines if "is newer than the newest tested version (2.40)." in line]
        assert len(notes) == 1, "".join(lines)
        assert "Ray 2.60" in notes[0]


def test_a_whole_recording_and_a_wrong_address(lab: Lab) -> None:
    done = lab.doctor(lab.address, "--probe", "--seconds", "2", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["whole"] is True
    states = {finding["part"]: finding["state"] for finding in report["findings"]}
    assert states == dict.fromkeys(
        ("server", "export of events", "lane", "tracer", "profile spans", "snapshot fallback"), "on"
    )
    (node,) = report["facts"]["nodes"]
    assert (node["lane"], node["local"], node["head"]) == ("fast", True, True)
    assert node["env"]["fast_lane"] is node["env"]["key_fits"] is True
    assert node["us_an_event"] > 0
    assert node["received"] > 3000
    measured = report["facts"]["measured"]
    assert measured["ended"] == measured["ended_here"] == 1000
    # The server of this test lives in the test's own process.
    assert all(measured["cpu"][kind] > 0 for kind in ("agent", "raylet", "gcs", "server"))
    assert measured["spans"] > 0
    assert report["facts"]["reading"]["seconds"] > 0
    assert report["facts"]["reading"]["attempts"] > 1000
    costs = {finding["part"]: finding["cost"] for finding in report["findings"]}
    assert all("µs a task" in costs[part] for part in ("server", "export of events", "snapshot fallback"))
    assert "µs per event" in costs["lane"]
    assert lab.server.ingest_url.split("/api/ingest/")[1].split("/")[0] not in done.stdout

    wrong = lab.doctor(f"127.0.0.1:{free_port()}")
    assert wrong.returncode == 2
    assert wrong.stdout == ""
    assert "Check that the cluster is running" in wrong.stderr
    assert "Traceback" not in wrong.stderr
