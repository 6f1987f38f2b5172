"""``rayscope.Client`` and the command line on a live cluster: they say what Ray's own state API says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import TIMEOUT_S, wait_until
from typer.testing import CliRunner

import rayscope
from rayscope.cli.main import app

pytestmark = [pytest.mark.ray]

runner = CliRunner()
SCRIPT = """
import json, time, ray
from ray.util.state import list_actors, list_nodes, list_tasks

@ray.remote
def double(x):
    if x == 3:
        json.loads("{three")
    return 2 * x

@ray.remote
class Counter:
    def add(self):
        return 1

refs = [double.options(max_retries=0, name=f"double {n}").remote(n) for n in range(6)]
counter = Counter.options(name="the counter").remote()
ray.get([counter.add.remote() for _ in range(4)])
ray.wait(refs, num_returns=6)
job = ray.get_runtime_context().get_job_id()

def told():
    return [t for t in list_tasks(filters=[("job_id", "=", job)], limit=100) if t.type != "DRIVER_TASK"]

while True:
    rows = told()
    if len(rows) == 11 and all(t.state in ("FINISHED", "FAILED") for t in rows):
        break
    time.sleep(0.5)
print(json.dumps({
    "job": job,
    "tasks": sorted([t.task_id, t.attempt_number, t.name, t.state, t.node_id, t.worker_id] for t in rows),
    "actors": sorted([a.actor_id, a.class_name, a.name, a.pid] for a in list_actors(filters=[("job_id", "=", job)])),
    "nodes": sorted([n.node_id, n.state, n.node_ip] for n in list_nodes()),
}))
"""


@pytest.fixture
def client(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[rayscope.Client]:
    monkeypatch.setenv("RAYSCOPE_URL", cluster.url)
    monkeypatch.setenv("RAYSCOPE_OPERATOR", cluster.services.secrets.operator_token)
    with rayscope.Client(session=cluster.session) as made:
        yield made


def cli(cluster: Any, *args: str) -> str:
    result = runner.invoke(app, list(args))
    assert result.exit_code == 0, result.output
    return result.stdout


def test_tasks_actors_and_nodes_are_those_of_rays_state_api(cluster: Any, client: rayscope.Client) -> None:
    by_ray = json.loads(cluster.run(SCRIPT).splitlines()[-1])
    assert len(by_ray["tasks"]) == 11
    fields = ("task_id", "attempt", "name", "state", "node_id", "worker_id")

    def tasks() -> list[list[Any]]:
        rows = client.tasks(job_id=by_ray["job"])
        return sorted([row[field] for field in fields] for row in rows)  # type: ignore[literal-required]

    wait_until(lambda: [row[3] for row in tasks()].count("FINISHED") == 10, "all events of the tasks")
    # Ray's API does not say where an actor's creation task ran; its events do.
    pairs = zip(tasks(), by_ray["tasks"], strict=True)
    assert [
        [ours if ray is not None else None for ours, ray in zip(*pair, strict=True)] for pair in pairs
    ] == by_ray["tasks"]
    actors = client.actors(job_id=by_ray["job"]).to_arrow().select(["actor_id", "class_name", "name", "pid"])
    assert sorted([*row.values()] for row in actors.to_pylist()) == by_ray["actors"]
    nodes = [[row["node_id"], row["state"], row["node_ip"]] for row in client.nodes(state="ALIVE")]
    assert sorted(nodes) == [node for node in by_ray["nodes"] if node[1] == "ALIVE"]
    rows = json.loads(
        cli(cluster, "tasks", "--session", cluster.session, "--job", by_ray["job"], "--format", "json")
    )
    assert sorted([row[field] for field in fields] for row in rows) == tasks()
    table = cli(cluster, "nodes", "--session", cluster.session, "--wide")
    assert all(node[0] in table for node in nodes)
    # Four frames of the standard library, which are more than Ray keeps by default, hide no line of the user's.
    (failure,) = cluster.get("/api/v1/failures", job_id=by_ray["job"])["items"]
    assert failure["message"].startswith("json.decoder.JSONDecodeError: Expecting property name")
    assert (
        Path(failure["path"]).read_text().splitlines()[failure["line"] - 1] == '        json.loads("{three")'
    )


@pytest.mark.long
def test_a_job_is_submitted_followed_and_stopped(cluster: Any, client: rayscope.Client) -> None:
    code = "print('hello from the job', flush=True)\nimport time; time.sleep(600)"
    of = ("--session", cluster.session)
    submission_id = cli(
        cluster, "jobs", "submit", *of, "--env", "A=b", "--", sys.executable, "-c", code
    ).strip()
    ray_client = client.job_client()
    assert type(ray_client).__module__.startswith("ray.")
    wait_until(lambda: ray_client.get_job_status(submission_id) == "RUNNING", "the job runs")
    assert ray_client.get_job_info(submission_id).runtime_env["env_vars"] == {"A": "b"}
    wait_until(lambda: submission_id in cli(cluster, "jobs", *of, "--format", "json"), "the job on record")
    command = [sys.executable, "-m", "rayscope.cli", "logs", *of, "--job", submission_id, "--follow"]
    following = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        wait_until(
            lambda: "hello from the job" in cli(cluster, "logs", *of, "--job", submission_id), "its line"
        )
        name = f"job-driver-{submission_id}.log"
        assert name in cli(cluster, "logs", *of, "--wide")
        words = ("--search", "^hello from the j.b$", "--regex", "--format", "json")
        found = [json.loads(line) for line in cli(cluster, "logs", *of, *words).splitlines()]
        assert {line["text"] for line in found} == {"hello from the job"}
        node = next(line["node_id"] for line in found if line["name"] == name)
        assert "hello from the job" in cli(cluster, "logs", *of, "--node", node, "--file", name)
        assert following.stdout is not None
        out = ""
        while "hello from the job\n" not in out:
            out += (line := following.stdout.readline())
            assert line, out
        cli(cluster, "jobs", "stop", *of, submission_id)
        out += following.stdout.read()
        following.wait(TIMEOUT_S)
    finally:
        following.kill()
    assert following.returncode == 0
    assert out.splitlines().count("hello from the job") == 1
    assert ray_client.get_job_status(submission_id) == "STOPPED"
    cli(cluster, "jobs", "delete", *of, submission_id)
    with pytest.raises(RuntimeError, match="does not exist"):
        ray_client.get_job_status(submission_id)


@pytest.mark.parametrize("kind", ["folder", "zip"])
def test_a_folder_or_a_zip_goes_along_by_rays_own_client(
    cluster: Any, client: rayscope.Client, tmp_path: Path, kind: str
) -> None:
    working_dir = tmp_path / "job"
    working_dir.mkdir()
    (working_dir / "marker.txt").write_text("it came along")
    if kind == "zip":
        working_dir = Path(shutil.make_archive(str(working_dir), "zip", working_dir))
    args = ["--session", cluster.session, "--working-dir", str(working_dir), "--", "cat", "marker.txt"]
    submission_id = cli(cluster, "jobs", "submit", *args).strip()
    ray_client = client.job_client()
    wait_until(lambda: ray_client.get_job_status(submission_id) == "SUCCEEDED", "the job's end")
    assert "it came along" in ray_client.get_job_logs(submission_id)


def test_the_dashboard_of_another_cluster_is_refused(client: rayscope.Client) -> None:
    with pytest.raises(rayscope.RayscopeError) as refused:
        client.job_client(address="http://127.0.0.1:1")
    assert refused.value.remedy
    with pytest.raises(rayscope.RayscopeError, match="Session 'x' not found"):
        client.job_client("x")


def test_top_shows_what_the_machine_does(cluster: Any, client: rayscope.Client) -> None:
    wait_until(
        lambda: all(
            (row["usage"] or {}).get("cpu_percent") is not None for row in client.nodes(state="ALIVE")
        ),
        "use",
    )
    text = cli(cluster, "top", "--session", cluster.session)
    assert f"{cluster.session}  live" in text
    for row in client.nodes(state="ALIVE"):
        (line,) = [line for line in text.splitlines() if row["node_id"][:8] in line]
        assert line.count("%") >= 3
