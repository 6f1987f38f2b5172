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
from pathlib import Path

import pytest
from tests.cluster import ONLY_TO_DASHBOARD
from tests.conftest import sql_rows
from tests.integration.test_jobs import act
from tests.recorded import Recorded
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.agent.settings import EXPORT_ADDR
from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.ray]

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


def counts(cluster: Recorded) -> dict[str, int]:
    rows = sql_rows(
        cluster.url,
        "SELECT func_name || ' ' || state AS name, count(*) AS n FROM tasks "
        "WHERE type IS DISTINCT FROM 'DRIVER_TASK' GROUP BY ALL",
        cluster.session,
    )
    return {row["name"]: row["n"] for row in rows}


@contextmanager
def polled(data_dir: Path, *head: str, token: str | None = None, **flags: str) -> Iterator[Recorded]:
    server = Server(Settings(data_dir=data_dir, port=0))
    server.start()
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        flags[EXPORT_ADDR] = ""
        cluster = Recorded(Path(folder), server.ingest_url, token=token, flags=flags, server=server)
        try:
            cluster.start("--num-cpus=2", *head)
            server.attach(cluster.gcs)
            yield cluster
        finally:
            cluster.stop()
            server.stop()


def test_a_table_in_the_dashboard_is_read_there(tmp_path: Path) -> None:
    with polled(tmp_path, **ONLY_TO_DASHBOARD) as cluster:
        cluster.run(TASKS)
        wait_until(lambda: counts(cluster) == COUNTS, "the tasks, with their ends")
        assert not cluster.client.task_events().events_by_task
        recording = cluster.get("/api/v1/recording")
        assert recording["recording"] == "snapshot"
        assert recording["snapshots"]["tasks_from"] == "dashboard"
        assert "no_task_table" not in recording["cannot_see"]
        command = [sys.executable, "-m", "rayscope.cli", "doctor"]
        doctor = subprocess.run(
            [*command, cluster.gcs, "--server", cluster.url, "--format", "json"],
            env=cluster.env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
        )
        findings = json.loads(doctor.stdout)["findings"]
        assert any("The dashboard keeps the tasks: 1" in finding["says"] for finding in findings), findings


@pytest.mark.long
def test_without_a_dashboard_the_lack_of_tasks_is_stated(tmp_path: Path) -> None:
    with polled(tmp_path, "--include-dashboard=false", **ONLY_TO_DASHBOARD) as cluster:
        driver = cluster.start_driver(f"{TASKS}\nprint('done', flush=True)\ninput()")
        wait_until(
            lambda: "no_task_table" in cluster.get("/api/v1/recording")["cannot_see"], "what cannot be seen"
        )
        assert counts(cluster) == {}
        assert cluster.get("/api/v1/recording")["snapshots"]["tasks_from"] is None
        driver.kill()


@pytest.mark.long
def test_a_changed_token_is_read_after_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("the-first-token-of-this-cluster")
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(file))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    with polled(tmp_path / "data", token=file.read_text(), **ONLY_TO_DASHBOARD) as cluster:
        cluster.run(TASKS)
        wait_until(lambda: counts(cluster) == COUNTS, "the tasks")
        first, clusters = cluster.session, cluster.services.clusters
        # Ray's processes keep the token that they started with, and so do we.
        file.write_text("the-second-token-of-this-cluster")
        before = cluster.get("/api/v1/recording")["snapshots"]["last_ns"]
        wait_until(
            lambda: cluster.get("/api/v1/recording")["snapshots"]["last_ns"] > before, "another snapshot"
        )
        assert cluster.get("/api/v1/recording")["snapshots"]["ok"]

        cluster.stop()
        cluster.token = file.read_text()
        cluster.start("--num-cpus=2")
        assert cluster.session != first
        cluster.run(TASKS)
        wait_until(
            lambda: cluster.session in {row["session"] for row in cluster.get("/api/v1/sessions")["items"]},
            "the new session",
        )
        wait_until(lambda: counts(cluster) == COUNTS, "the tasks of the new session")
        assert "unauthenticated" not in json.dumps(cluster.get("/api/v1/recording"))
        # The other channels: the job API, and the agent by gRPC and by HTTP.
        answer = act(cluster, "POST", "/api/v1/jobs", entrypoint="echo said")
        assert answer.is_success, answer.text
        submitted = answer.json()["submission_id"]
        wait_until(
            lambda: (
                [
                    job["state"]
                    for job in cluster.get("/api/v1/jobs")["items"]
                    if job["submission_id"] == submitted
                ]
                == ["SUCCEEDED"]
            ),
            "the job's end",
        )
        (node,) = cluster.get("/api/v1/nodes")["items"]
        files = cluster.get("/api/v1/logs", node_id=node["node_id"])
        assert "raylet.out" in json.dumps(files)
        assert cluster.get("/api/v1/logs/file", node_id=node["node_id"], name="raylet.out")["lines"]
        wait_until(lambda: clusters.in_use() == {cluster.session}, "the end of the first session")
