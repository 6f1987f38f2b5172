"""A real session sealed into an archive: another server gives the same answers, and damage is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pytest
from tests.cluster import env_without_ray, turn_to_start, wait_until

from rayscope.server.runner import Server
from rayscope.server.settings import Settings

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

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
    counter = Counter.remote()
    print("count", ray.get([counter.add.remote(number) for number in range(5)])[-1])
    print("rows", ray.data.range(100, override_num_blocks=4).map_batches(lambda batch: batch).count())
    time.sleep(12)  # metrics of two steps, and Ray's own export of its metrics
    """
)
#: What is asked of both servers; ids of the record stand in braces.
QUESTIONS = (
    "/api/summary",
    "/api/recording",
    "/api/functions",
    "/api/tasks?sort=created_ns&limit=1000",
    "/api/tasks?state=FAILED",
    "/api/tasks/{task}",
    "/api/failures",
    "/api/actors?limit=1000",
    "/api/actors/{actor}",
    "/api/actors/{actor}/progress",
    "/api/workers?limit=1000&sort=worker_id",
    "/api/workers/{worker}",
    "/api/nodes",
    "/api/nodes/{node}",
    "/api/jobs",
    "/api/jobs/{job}",
    "/api/jobs/{job}/progress",
    "/api/placement_groups",
    "/api/find?q=load",
    "/api/events?limit=1000",
    "/api/flow/logical",
    "/api/flow/physical",
    "/api/flow/gantt?by=worker",
    "/api/flow/critical_path",
    "/api/flow/flame",
    "/api/flow/activity",
    "/api/flow/stack",
    "/api/insights",
    "/api/memory",
    "/api/data",
    "/api/logs",
    "/api/logs/search?q=loading",
    "/api/logs/of?task_id={task}",
    "/api/metrics",
    "/api/alerts/history",
)
#: What belongs to the server that answers, or to the moment.
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
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def get(server: Server, path: str, session: str | None = None) -> httpx.Response:
    params = {"session": session} if session else {}
    url = httpx.URL(f"{server.url}{path}").copy_merge_params(params)
    return httpx.get(url, timeout=60)


def location(server: Server, session: str) -> str | None:
    items = get(server, "/api/sessions").json()["items"]
    return next((item["location"] for item in items if item["session"] == session), None)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sealed]:
    sealed = Sealed(tmp_path_factory.mktemp("archive"))
    script = sealed.data.with_name("program.py")
    script.write_text(PROGRAM)
    import tempfile

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
    yield sealed


def test_another_server_gives_the_same_answers(sealed: Sealed, tmp_path: Path) -> None:
    first, second = sealed.server(sealed.data), sealed.server(tmp_path / "other")
    try:
        wait_until(lambda: location(second, sealed.session) == "archive", "the archive is listed")
        here, there = (get(server, "/api/sessions").json()["items"][0] for server in (first, second))
        assert plain(here) == plain(there)
        assert not list((tmp_path / "other").glob("sessions/*/record.duckdb"))
        questions = QUESTIONS
        for name, path in (("task", "tasks"), ("actor", "actors"), ("worker", "workers"), ("node", "nodes")):
            item = get(first, f"/api/{path}?limit=1", sealed.session).json()["items"][0]
            questions = tuple(one.replace(f"{{{name}}}", item[f"{name}_id"]) for one in questions)
        questions = tuple(one.replace("{job}", "01000000") for one in questions)
        for question in questions:
            ours, theirs = (get(server, question, sealed.session) for server in (first, second))
            assert ours.status_code == theirs.status_code == 200, (question, ours.text, theirs.text)
            assert plain(ours.json()) == plain(theirs.json()), question
        for body in ({"session": sealed.session, "sql": SQL},):
            ours, theirs = (httpx.post(f"{s.url}/api/sql", json=body, timeout=60) for s in (first, second))
            assert ours.json()["rows"] == theirs.json()["rows"] != []
        assert location(second, sealed.session) == "both"
        assert series(first, sealed.session) == series(second, sealed.session) != []
        assert texts(first, sealed.session) == texts(second, sealed.session) != []
    finally:
        first.stop()
        second.stop()


def plain(value: Any) -> Any:
    """An answer without what belongs to the server that gives it."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items() if key not in _OTHERWISE}
    return [plain(item) for item in value] if isinstance(value, list) else value


def series(server: Server, session: str) -> Any:
    """A series of metrics as it was measured."""
    item = get(server, "/api/sessions").json()["items"][0]
    span = {"start": item["first_ns"] / 1e9, "end": item["last_ns"] / 1e9, "step": 5}
    answer = httpx.get(
        f"{server.url}/api/metrics/prometheus/api/v1/query_range",
        params={"session": session, "query": "rayscope_node_cpu_percent", **span},
    )
    return answer.json()


def texts(server: Server, session: str) -> list[str]:
    """The driver's log."""
    found = get(server, "/api/logs/search?q=total", session).json()["items"]
    return [hit["text"] for hit in found]


def test_an_archive_can_be_read_without_rayscope(sealed: Sealed) -> None:
    rows = duckdb.sql(
        f"SELECT session, cluster, day::VARCHAR, func_name, count(*) AS n FROM "
        f"read_parquet('{sealed.folder}/attempts/**/*.parquet', hive_partitioning = true) "
        "WHERE func_name LIKE '%load' GROUP BY ALL"
    ).fetchall()
    assert [(row[0], row[4]) for row in rows] == [(sealed.session, 6)]


def test_the_command_line_lists_verifies_and_brings_back(sealed: Sealed, tmp_path: Path) -> None:
    listed = json.loads(sealed.command("list", "--format", "json").stdout)
    assert [row["session"] for row in listed] == [sealed.session]
    assert listed[0]["failed"] == 1
    assert "intact" in sealed.command("verify").stderr
    assert "already archived" in sealed.command("push", "--data-dir", str(sealed.data)).stderr
    pulled = sealed.command("pull", sealed.session, "--data-dir", str(tmp_path / "pulled"))
    assert pulled.returncode == 0, pulled.stderr
    alone = Server(Settings(data_dir=tmp_path / "pulled", port=0))
    alone.start()
    try:
        assert get(alone, "/api/summary", sealed.session).json()["session"] == sealed.session
        assert location(alone, sealed.session) == "local"
    finally:
        alone.stop()


def test_what_was_damaged_is_told_and_sealed_again(sealed: Sealed, tmp_path: Path) -> None:
    (path,) = sealed.folder.glob("attempts/*/*/*/attempts.parquet")
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
    told = sealed.command("verify")
    assert told.returncode == 1
    assert "has changed" in told.stderr
    other = sealed.server(tmp_path / "other")
    try:
        wait_until(lambda: location(other, sealed.session) == "archive", "the archive is listed")
        answer = get(other, "/api/tasks", sealed.session)
        assert answer.status_code == 503
        assert "is not what its manifest says" in answer.json()["message"]
        assert get(other, "/api/health").status_code == 200
        path.write_bytes(whole)
        assert get(other, "/api/tasks", sealed.session).status_code == 200
    finally:
        other.stop()
