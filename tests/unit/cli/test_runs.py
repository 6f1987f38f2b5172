"""``rayscope runs`` and the client's methods about runs, against a server with runs whose numbers are known."""

from __future__ import annotations

import json

import pytest
from tests.running import Running
from tests.unit.runs.test_api import record, runs_of, soon  # noqa: F401 - a fixture
from typer.testing import CliRunner

from rayscope.cli.main import app
from rayscope.client import Client


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["runs", *arguments], env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    return done.stdout


def test_runs_are_listed_with_their_verdicts(fresh: Running) -> None:
    record(fresh, [100, 101, 99, 100, 102, 150])
    runs_of(fresh, 6)
    lines = run("--server", fresh.server.url).splitlines()
    assert "49% slower" in lines[1]
    assert "unknown: too few earlier runs" in lines[-1]
    (slower,) = json.loads(run("--server", fresh.server.url, "--verdict", "slower", "--format", "json"))
    assert slower["job_id"] == "00000006"
    assert (
        "nothing matches"
        in CliRunner().invoke(app, ["runs", "--server", fresh.server.url, "--tag", "team=search"]).output
    )


def test_the_client_marks_runs_and_follows_their_trend(fresh: Running) -> None:
    record(fresh, [100] * 6)
    runs_of(fresh, 6)
    with Client(fresh.server.url, folder=fresh.folder) as client:
        first = min(client.runs(), key=lambda one: one["begin_ns"] or 0)
        assert client.mark_run(first["session"], first["job_id"], baseline=True)["baseline"]
        trend = client.trend("train.py")
        assert trend["baseline_ns"] == first["duration_ns"]
        assert trend["usual"] is not None
        assert trend["usual"]["runs"] == 6
        answer = client.run(first["session"], first["job_id"])
        assert [one["name"] for one in answer["functions"]] == ["step"]
        tagged = client.mark_run(first["session"], first["job_id"], tags=["team=search"])
        assert [one["variant"] for one in client.runs(tag="team=search")] == [tagged["variant"]]
        with pytest.raises(TypeError):
            client.runs(unknown="x")  # type: ignore[call-arg]
