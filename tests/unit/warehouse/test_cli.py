"""The commands of a warehouse, each in a process of its own, as people call them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.warehouse.records import make_record
from typer.testing import CliRunner

from rayscope.cli.main import app


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rayscope.cli", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_there_and_back(tmp_path: Path) -> None:
    make_record(tmp_path / "data", "session_2025-11-20_10-00-00_000000_1")
    damaged = tmp_path / "data" / "sessions" / "session_2025-11-21_10-00-00_000000_2"
    damaged.mkdir()
    (damaged / "record.duckdb").write_bytes(b"no record")
    where = {
        "RAYSCOPE_WAREHOUSE": f"chdb://{tmp_path / 'a folder'}".replace(" ", "%20"),
        "RAYSCOPE_DATA_DIR": str(tmp_path / "data"),
    }
    before = {path: path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()}
    made = run("warehouse", "init", **where)
    assert (made.returncode, "made the warehouse" in made.stderr + made.stdout) == (0, True), made
    loaded = run("warehouse", "load", **where)
    assert loaded.returncode == 1
    said = loaded.stdout + loaded.stderr
    assert "loaded 60 attempts" in said
    assert "not loaded. Could not read" in said
    query = "SELECT session, cluster, count() AS n FROM tasks GROUP BY ALL"
    answer = run("sql", "--all", query, "--format", "json", **where)
    assert answer.returncode == 0, answer
    (row,) = json.loads(answer.stdout)
    assert (row["session"], row["cluster"]) == ("session_2025-11-20_10-00-00_000000_1", "host-0")
    assert {path: path.read_bytes() for path in before} == before


@pytest.fixture
def runner(engine: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CliRunner:
    url = f"{engine}?database=cli"
    monkeypatch.setenv("RAYSCOPE_WAREHOUSE", url)
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(tmp_path / "data"))
    return CliRunner()


def test_output_of_the_commands(runner: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def output_of(*arguments: str, status: int = 0) -> str:
        result = runner.invoke(app, arguments)
        assert result.exit_code == status, result.output
        return " ".join(result.output.split())

    assert "There is no warehouse" in output_of("warehouse", "list", status=1)
    assert "made the warehouse" in output_of("warehouse", "init")
    assert "nothing is loaded" in output_of("warehouse", "list")
    assert "Data directory not found" in output_of("warehouse", "load", status=1)
    make_record(tmp_path / "data", "session_2025-11-20_10-00-00_000000_1")
    assert "loaded 60 attempts" in output_of("warehouse", "load")
    assert "already loaded" in output_of("warehouse", "load")
    assert "loaded 60 attempts" in output_of("warehouse", "load", "--again")
    assert "not found" in output_of("warehouse", "load", "session_other", status=1)
    (row,) = json.loads(output_of("warehouse", "list", "--format", "json"))
    assert (row["name"], row["attempts"], row["tags"]) == ("it's mine", 60, ["a", "b'"])
    more = output_of("sql", "--all", "SELECT number FROM numbers(9)", "--limit", "2", "--format", "csv")
    assert "number 0 1" in more
    assert "more than 2 rows" in more
    assert "read-only" in output_of("sql", "--all", "DROP TABLE raw_attempts", status=1)
    assert "Unknown" in output_of("sql", "--all", "SELECT x FROM tasks", status=1)
    assert "instead" in output_of("sql", "--all", "SELECT 1", "--session", "x", status=2)
    assert "Add --all" in output_of("sql", "--warehouse", "chdb:///x", "SELECT 1", status=2)
    monkeypatch.setenv("RAYSCOPE_WAREHOUSE_MAX_AGE_DAYS", "30")
    assert "older than" in output_of("warehouse", "load", "--again")
    assert "TTL day + toIntervalDay(30)" in output_of("warehouse", "ddl", "--cluster", "prod")
    monkeypatch.delenv("RAYSCOPE_WAREHOUSE")
    assert "No warehouse given" in output_of("warehouse", "list", status=2)
