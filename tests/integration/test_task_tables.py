"""The task table is found wherever Ray keeps it, and Ray's token is read again after a refusal.

The clusters send no events, so whatever is on record was read from the GCS and the dashboard.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.cluster import RayCluster
from tests.conftest import sql_rows
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.agent.settings import EXPORT_ADDR
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.ray]

#: Ray 2.58 and newer: task events go to the dashboard instead of to the GCS.
MOVED = {"RAY_enable_task_events_to_dashboard_head": "1", "RAY_enable_core_worker_task_event_to_gcs": "0"}
TASKS = """
@ray.remote(num_cpus=0.1)
def work(number):
    return number

@ray.remote(num_cpus=0.1, max_retries=0)
def fail():
    raise ValueError("no")

@ray.remote(num_cpus=0.1)
class Actor:
    def method(self):
        return 1

actor = Actor.remote()
ray.get([work.remote(number) for number in range(8)] + [actor.method.remote()])
try:
    ray.get(fail.remote())
except ValueError:
    pass
"""
COUNTS = {"Actor.__init__ FINISHED": 1, "Actor.method FINISHED": 1, "fail FAILED": 1, "work FINISHED": 8}


@dataclass
class Polled(RayCluster):
    """A cluster without events, and the server that reads its tables."""

    server: Server | None = None

    def get(self, path: str, **params: Any) -> Any:
        assert self.server is not None
        answer = httpx.get(f"{self.server.url}/api/v1/{path}", params={"session": self.session, **params})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def act(self, path: str, **body: Any) -> Any:
        assert self.server is not None
        assert self.server.services is not None
        answer = httpx.post(
            f"{self.server.url}/api/v1/{path}",
            params={"session": self.session},
            json=body,
            headers={"X-Rayscope-Operator": self.server.services.secrets.operator_token},
        )
        assert answer.status_code == 200, answer.text
        return answer.json()

    def counts(self) -> dict[str, int]:
        assert self.server is not None
        rows = sql_rows(
            self.server.url,
            "SELECT func_name || ' ' || state AS name, count(*) AS n FROM tasks "
            "WHERE type IS DISTINCT FROM 'DRIVER_TASK' GROUP BY ALL",
            self.session,
        )
        return {row["name"]: row["n"] for row in rows}


@contextmanager
def polled(data_dir: Path, *head: str, token: str | None = None, **flags: str) -> Iterator[Polled]:
    server = Server(Settings(data_dir=data_dir, port=0))
    server.start()
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        flags[EXPORT_ADDR] = ""
        cluster = Polled(Path(folder), server.ingest_url, token=token, flags=flags, server=server)
        try:
            cluster.start("--num-cpus=2", *head)
            server.attach(cluster.gcs)
            yield cluster
        finally:
            cluster.stop()
            server.stop()


def test_a_table_in_the_dashboard_is_read_there(tmp_path: Path) -> None:
    with polled(tmp_path, **MOVED) as cluster:
        cluster.run(TASKS)
        wait_until(lambda: cluster.counts() == COUNTS, "the tasks, with their ends")
        assert not cluster.client.task_events().events_by_task
        recording = cluster.get("recording")
        assert recording["recording"] == "snapshot"
        assert recording["snapshots"]["tasks_from"] == "dashboard"
        assert "no_task_table" not in recording["cannot_see"]
        assert cluster.server is not None
        command = [sys.executable, "-m", "rayscope.cli", "doctor"]
        doctor = subprocess.run(
            [*command, cluster.gcs, "--server", cluster.server.url, "--format", "json"],
            env=cluster.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        findings = json.loads(doctor.stdout)["findings"]
        assert any("The dashboard keeps the tasks: 1" in finding["says"] for finding in findings), findings


def test_without_a_dashboard_the_lack_of_tasks_is_stated(tmp_path: Path) -> None:
    with polled(tmp_path, "--include-dashboard=false", **MOVED) as cluster:
        driver = cluster.start_driver(f"{TASKS}\nprint('done', flush=True)\ninput()")
        wait_until(lambda: "no_task_table" in cluster.get("recording")["cannot_see"], "what cannot be seen")
        assert cluster.counts() == {}
        assert cluster.get("recording")["snapshots"]["tasks_from"] is None
        driver.kill()


def test_a_changed_token_is_read_after_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("the-first-token-of-this-cluster")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    with polled(tmp_path / "data", token=file.read_text(), **MOVED) as cluster:
        cluster.run(TASKS)
        wait_until(lambda: cluster.counts() == COUNTS, "the tasks")
        assert cluster.server is not None
        assert cluster.server.services is not None
        first, clusters = cluster.session, cluster.server.services.clusters
        # Ray's processes keep the token that they started with, and so do we.
        file.write_text("the-second-token-of-this-cluster")
        before = cluster.get("recording")["snapshots"]["last_ns"]
        wait_until(lambda: cluster.get("recording")["snapshots"]["last_ns"] > before, "another snapshot")
        assert cluster.get("recording")["snapshots"]["ok"]

        cluster.stop()
        cluster.token = file.read_text()
        cluster.start("--num-cpus=2")
        assert cluster.session != first
        cluster.run(TASKS)
        wait_until(lambda: cluster.counts() == COUNTS, "the tasks of the new session")
        assert "unauthenticated" not in json.dumps(cluster.get("recording"))
        # The other channels: the job API, and the agent by gRPC and by HTTP.
        submitted = cluster.act("jobs", entrypoint="echo said")["submission_id"]
        wait_until(
            lambda: (
                [job["state"] for job in cluster.get("jobs")["items"] if job["submission_id"] == submitted]
                == ["SUCCEEDED"]
            ),
            "the job's end",
        )
        (node,) = cluster.get("nodes")["items"]
        files = cluster.get("logs", node_id=node["node_id"])
        assert "raylet.out" in json.dumps(files)
        assert cluster.get("logs/file", node_id=node["node_id"], name="raylet.out")["lines"]
        wait_until(lambda: clusters.in_use() == {cluster.session}, "the end of the first session")
