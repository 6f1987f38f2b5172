"""A real session sealed into an archive: another server returns the same answers, and damage is noticed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest
from tests.cluster import env_without_ray, turn_to_start
from tests.waiting import TIMEOUT_S, wait_until

from rayscope.server.runner import Server
from rayscope.settings import Settings

pytestmark = [pytest.mark.ray]

PROGRAM = textwrap.dedent(
    """
    import sys, time
    import numpy, ray, ray.data

    ray.init(num_cpus=2, _temp_dir=sys.argv[1])
    ray.data.DataContext.get_current().enable_progress_bars = False

    @ray.remote(max_retries=0)
    def load(number):
        print("loading", number)
        if number == 3:
            raise ValueError("the file is broken")
        return numpy.zeros(200_000) + number

    @ray.remote
    def total(*parts):
        return float(sum(part.sum() for part in parts))

    @ray.remote
    class Counter:
        def __init__(self):
            self.count = 0

        def add(self, number):
            self.count += number
            return self.count

    parts = [load.remote(number) for number in range(6) if number != 3]
    print("total", ray.get(total.remote(*parts)))
    try:
        ray.get(load.remote(3))
    except ValueError:
        pass
    group = ray.util.placement_group([{"CPU": 0.1}])
    ray.get(group.ready())
    counter = Counter.remote()
    print("count", ray.get([counter.add.remote(number) for number in range(5)])[-1])
    print("rows", ray.data.range(100, override_num_blocks=4).map_batches(lambda batch: batch).count())
    time.sleep(12)  # metrics of two steps, and Ray's own export of its metrics
    """
)
#: Requests to both servers, with ids of the record in braces.
QUESTIONS = (
    "/api/v1/summary",
    "/api/v1/recording",
    "/api/v1/functions",
    "/api/v1/tasks?sort=created_ns&limit=1000",
    "/api/v1/tasks?state=FAILED",
    "/api/v1/tasks/{task}",
    "/api/v1/failures",
    "/api/v1/crashes",
    "/api/v1/deaths?kind=worker",
    "/api/v1/deaths?kind=actor",
    "/api/v1/deaths?kind=node",
    "/api/v1/deaths?kind=job",
    "/api/v1/actors?limit=1000",
    "/api/v1/actors/{actor}",
    "/api/v1/actors/{actor}/progress",
    "/api/v1/workers?limit=1000&sort=worker_id",
    "/api/v1/workers/{worker}",
    "/api/v1/nodes",
    "/api/v1/nodes/{node}",
    "/api/v1/jobs",
    "/api/v1/jobs/{job}",
    "/api/v1/jobs/{job}/progress",
    "/api/v1/placement-groups",
    "/api/v1/placement-groups/{placement_group}",
    "/api/v1/cluster",
    "/api/v1/cluster/status",
    "/api/v1/scheduling",
    "/api/v1/nodes/cells",
    "/api/v1/lines",
    "/api/v1/lines/export?format=collapsed",
    "/api/v1/profiles",
    "/api/v1/memory-lines?profile=98e33ef0b23ffe59",
    "/api/v1/flow/range?since_ns={begin}&until_ns={end}",
    "/api/v1/flow/transfers?until_ns={end}",
    "/api/v1/flow/physical/node?on_node={node}",
    "/api/v1/data/{dataset}",
    "/api/v1/serve",
    "/api/v1/train",
    "/api/v1/tune",
    "/api/v1/logs/file?node_id={node}&name={log}",
    "/api/v1/logs/download?node_id={node}&name={log}",
    "/api/v1/metrics/names",
    "/api/v1/metrics/label-values?label=NodeId",
    "/api/v1/metrics/query?expr=rayscope_node_cpu_percent&since_ns={begin}&until_ns={end}",
    "/api/v1/export?format=speedscope",
    "/api/v1/alerts",
    "/api/v1/find?q=load",
    "/api/v1/events?limit=1000",
    "/api/v1/flow/logical",
    "/api/v1/flow/physical",
    "/api/v1/flow/gantt?by=worker",
    "/api/v1/flow/critical-path",
    "/api/v1/flow/flame",
    "/api/v1/flow/activity",
    "/api/v1/flow/stack",
    "/api/v1/insights",
    "/api/v1/memory",
    "/api/v1/data",
    "/api/v1/logs",
    "/api/v1/logs/search?q=loading",
    *(
        f"/ray/{{session}}/api/{path}"
        for path in (
            *("version", "jobs/", "jobs/{job}", "v0/tasks?detail=True&limit=20000", "v0/tasks/summarize"),
            *("v0/actors?detail=True", "v0/workers", "v0/nodes", "v0/jobs", "v0/cluster_events"),
            *("v0/runtime_envs", "v0/logs?node_id={node}", "v0/logs/file?node_id={node}&filename={log}"),
            *("v0/tasks/timeline", "v0/tasks/summarize?summary_by=lineage", "v0/platform_events"),
            *("v0/cluster_metadata", "cluster_status", "cluster_status?format=1"),
            *("serve/applications/", "data/datasets/{job}", "train/v2/runs"),
        )
    ),
    *(
        f"/ray/{{session}}/{path}"
        for path in ("nodes?view=summary", "nodes/{node}", "logical/actors", "events", "events?job_id={job}")
    ),
    "/api/v1/logs/of?task_id={task}",
    "/api/v1/metrics",
    "/api/v1/alerts/history",
)
#: Endpoints about the server itself or several sessions, or about things that the program does not use.
NOT_ASKED = {
    "/metrics",
    "/api/v1/alerts/channels",
    "/api/v1/alerts/export",
    "/api/v1/alerts/rules",
    "/api/v1/alerts/silences",
    "/api/v1/compare",
    "/api/v1/compare/findings",
    "/api/v1/compare/lines",
    "/api/v1/report",
    "/api/v1/dashboards",
    "/api/v1/dashboards/{}",
    "/api/health",
    "/api/v1/insights/progress",
    "/api/v1/metrics/charts",
    "/api/v1/memory/objects/{}",
    "/api/v1/paused-tasks",
    "/api/v1/prometheus/sd",
    "/api/v1/realtime",
    "/api/v1/runs",
    "/api/v1/runs/{}/{}",
    "/api/v1/runs/trend",
    "/api/v1/serve/{}",
    "/api/v1/serve-requests/{}",
    "/api/v1/sessions",
    "/api/v1/sessions/file",
    "/api/v1/train/{}",
    "/api/v1/tune/{}",
}
#: Fields that depend on the server or on the time of the request.
_OTHERWISE = {"disk_bytes", "location", "now_ns", "age_s"}
SQL = "SELECT func_name, state, count(*) AS n FROM tasks GROUP BY ALL ORDER BY ALL"


class Sealed:
    """A data directory with one session, and the archive that it was sealed into."""

    def __init__(self, home: Path) -> None:
        self.data, self.folder = home / "data", home / "archive"
        self.url = f"file://{self.folder}"
        self.session = ""

    def server(self, data: Path, **settings: Any) -> Server:
        server = Server(Settings(data_dir=data, port=0, archive=self.url, archive_after_min=0, **settings))
        server.start()
        return server

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rayscope.cli", "archive", *words, "--archive", self.url]
        return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)


def get(server: Server, path: str, session: str | None = None) -> httpx.Response:
    params = {"session": session} if session else {}
    url = httpx.URL(f"{server.url}{path}").copy_merge_params(params)
    return httpx.get(url)


def location(server: Server, session: str) -> str | None:
    items = get(server, "/api/v1/sessions").json()["items"]
    return next((item["location"] for item in items if item["session"] == session), None)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Sealed:
    sealed = Sealed(tmp_path_factory.mktemp("archive"))
    script = sealed.data.with_name("program.py")
    script.write_text(PROGRAM)
    with tempfile.TemporaryDirectory(prefix="rs-", dir="/tmp", ignore_cleanup_errors=True) as ray_dir:
        command = [sys.executable, "-m", "rayscope.cli", "run", "--exit", "--port", "0"]
        command += ["--data-dir", str(sealed.data), str(script), f"{ray_dir}/r"]
        with turn_to_start():
            done = subprocess.run(
                command, env=env_without_ray() | {"HOME": os.environ["HOME"]}, capture_output=True, text=True
            )
    assert done.returncode == 0, done.stderr
    (sealed.session,) = os.listdir(sealed.data / "sessions")
    server = sealed.server(sealed.data)
    try:
        wait_until(lambda: location(server, sealed.session) == "both", "the session is archived")
    finally:
        server.stop()
    return sealed


def test_another_server_returns_the_same_answers(sealed: Sealed, tmp_path: Path) -> None:
    first, second = sealed.server(sealed.data), sealed.server(tmp_path / "other")
    try:
        wait_until(lambda: location(second, sealed.session) == "archive", "the archive is listed")
        here, there = (get(server, "/api/v1/sessions").json()["items"][0] for server in (first, second))
        # The second one has not summarized the jobs yet.
        unknown: dict[str, Any] = {"outcome": None, "slower": None}
        assert without_server_fields({**here, **unknown}) == without_server_fields({**there, **unknown})
        assert not list((tmp_path / "other").glob("sessions/*/record.duckdb"))
        known = ids(first, here)
        different = {}
        for question in QUESTIONS:
            asked = question.format(**known)
            ours, theirs = (get(server, asked, sealed.session) for server in (first, second))
            if not ours.status_code == theirs.status_code == 200 or content(ours) != content(theirs):
                different[question] = (ours.text[:500], theirs.text[:500])
        assert not different
        body = {"session": sealed.session, "sql": SQL}
        ours, theirs = (httpx.post(f"{one.url}/api/v1/sql", json=body) for one in (first, second))
        assert ours.json()["rows"] == theirs.json()["rows"] != []
        assert location(second, sealed.session) == "both"
        paths = get(first, "/openapi.json").json()["paths"]
        there_are = {re.sub(r"{\w+}", "{}", path) for path, methods in paths.items() if "get" in methods}
        assert there_are - {re.sub(r"{\w+}", "{}", one.split("?")[0]) for one in QUESTIONS} == NOT_ASKED
    finally:
        first.stop()
        second.stop()


def content(answer: httpx.Response) -> Any:
    return (
        without_server_fields(answer.json())
        if answer.headers["content-type"] == "application/json"
        else answer.content
    )


def without_server_fields(value: Any) -> Any:
    """An answer without the fields in ``_OTHERWISE``."""
    if isinstance(value, dict):
        return {key: without_server_fields(item) for key, item in value.items() if key not in _OTHERWISE}
    return [without_server_fields(item) for item in value] if isinstance(value, list) else value


def ids(server: Server, session: dict[str, Any]) -> dict[str, Any]:
    """The values for the names in ``QUESTIONS``."""
    known = {
        "job": "01000000",
        "session": session["session"],
        "begin": session["first_ns"],
        "end": session["last_ns"],
    }
    for kind in ("task", "actor", "worker", "node", "placement_group"):
        items = get(server, f"/api/v1/{kind.replace('_', '-')}s?limit=1", session["session"]).json()["items"]
        known[kind] = items[0][f"{kind}_id"]
    known["dataset"] = get(server, "/api/v1/data", session["session"]).json()["items"][0]["dataset_id"]
    hit = get(server, "/api/v1/logs/search?q=loading", session["session"]).json()["items"][0]
    return {**known, "log": hit["name"]}


def test_an_archive_can_be_read_without_rayscope(sealed: Sealed) -> None:
    rows = duckdb.sql(
        f"SELECT session, cluster, day::VARCHAR, func_name, count(*) AS n FROM "
        f"read_parquet('{sealed.folder}/attempts/**/*.parquet', hive_partitioning = true) "
        "WHERE func_name LIKE '%load' GROUP BY ALL"
    ).fetchall()
    assert [(row[0], row[4]) for row in rows] == [(sealed.session, 6)]


def test_the_command_line_lists_verifies_and_restores(sealed: Sealed, tmp_path: Path) -> None:
    rows = json.loads(sealed.command("list", "--format", "json").stdout)
    assert [row["session"] for row in rows] == [sealed.session]
    assert rows[0]["failed"] == 1
    assert "intact" in sealed.command("verify").stderr
    assert "already archived" in sealed.command("push", "--data-dir", str(sealed.data)).stderr
    pulled = sealed.command("pull", sealed.session, "--data-dir", str(tmp_path / "pulled"))
    assert pulled.returncode == 0, pulled.stderr
    alone = Server(Settings(data_dir=tmp_path / "pulled", port=0))
    alone.start()
    try:
        assert get(alone, "/api/v1/summary", sealed.session).json()["session"] == sealed.session
        assert location(alone, sealed.session) == "local"
    finally:
        alone.stop()


def test_damage_is_reported_and_sealed_again(sealed: Sealed, tmp_path: Path) -> None:
    (path,) = sealed.folder.glob("attempts/*/*/*/attempts.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    result = sealed.command("verify")
    assert result.returncode == 1
    assert "has changed" in result.stderr
    other = sealed.server(tmp_path / "other")
    try:
        wait_until(lambda: location(other, sealed.session) == "archive", "the archive is listed")
        answer = get(other, "/api/v1/tasks", sealed.session)
        assert answer.status_code == 503
        assert "is not what its manifest says" in answer.json()["error"]["message"]
        assert get(other, "/api/health").status_code == 200
        path.write_bytes(whole)
        assert get(other, "/api/v1/tasks", sealed.session).status_code == 200
    finally:
        other.stop()
