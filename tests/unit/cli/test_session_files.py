"""``rayscope export --format session``, and the commands that open its files without a server."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import session_files
from tests.running import Running
from tests.story import SESSION, Story
from tests.unit.cli.test_compare import FAST, SLOW
from tests.unit.compare.test_api import job
from tests.waiting import TIMEOUT_S
from typer.testing import CliRunner, Result

from rayscope.cli.main import app

#: A session of another cluster.
OTHER = "session_2026-01-02_00-00-00_000000_1"


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(one) for one in args], env={"COLUMNS": "300"})


def end(running: Running) -> None:
    """End the session."""
    assert running.server.services is not None
    running.server.services.writer.end_session(SESSION, time.time_ns())
    assert running.server.services.writer.flush()


@pytest.fixture
def here(fresh: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Running:
    """Eight jobs on record, four of which load slowly; the commands' files are in a folder of their own."""
    story = Story()
    for number, load_ms in enumerate((*FAST, *SLOW)):
        job(story, f"{number + 1:02}000000", load_ms)
    fresh.record(story)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    monkeypatch.setenv("RAYSCOPE_PORT", "0")
    return fresh


@pytest.fixture
def path(here: Running, tmp_path: Path) -> Path:
    end(here)
    path = tmp_path / "a.rayscope"
    assert run("export", "--format", "session", "-o", path).exit_code == 0
    return path


def test_a_server_and_a_data_directory_export_the_same(here: Running, path: Path, tmp_path: Path) -> None:
    here.server.stop()
    done = run("export", "--format", "session", "-o", tmp_path / "b.rayscope")
    assert done.exit_code == 0, done.output
    assert "rayscope open" in done.output
    first, second = session_files.read(path), session_files.read(tmp_path / "b.rayscope")
    (attempts,) = (name for name in first if name.startswith("attempts/"))
    assert first[attempts] == second[attempts]


def test_what_cannot_be_exported(here: Running, tmp_path: Path) -> None:
    path = tmp_path / "a.rayscope"
    done = run("export", "--format", "session", "-o", path)
    assert (done.exit_code, "still being recorded" in done.output) == (1, True)
    done = run("export", "--format", "session", "--job", "01000000", "-o", path)
    assert (done.exit_code, "--job" in done.output) == (2, True)
    done = run("export", "--format", "session", "-o", tmp_path / "a.gz")
    assert (done.exit_code, "already compressed" in done.output) == (1, True)
    assert not path.exists()


def test_open_serves_the_file_alone_and_leaves_nothing(path: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rayscope.cli", "open", str(path)]
    environment: dict[str, Any] = {**os.environ, "BROWSER": "true", "RAYSCOPE_PORT": "0"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        base = url.partition("/s/")[0]
        try:
            (item,) = httpx.get(f"{base}/api/v1/sessions").json()["items"]
            assert item["session"] == SESSION
            assert SESSION in url
            assert len(httpx.get(f"{base}/api/v1/jobs").json()["items"]) == 8
            answer = httpx.post(
                f"{base}/api/v1/sql", json={"sql": "SELECT count(*) FROM tasks"}, timeout=TIMEOUT_S
            )
            assert answer.json()["rows"][0][0] > 8
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(TIMEOUT_S) == 0
    assert list((tmp_path / "scratch").iterdir()) == []


def test_a_damaged_file_is_refused_with_status_2(path: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.rayscope"
    bad.write_bytes(path.read_bytes()[:-100])
    for command in (("open", bad), ("compare", bad, path), ("open", tmp_path / "none.rayscope")):
        done = run(*command)
        assert done.exit_code == 2, done.output
        assert done.output.startswith("Error: ")
        assert "Export" in done.output
        assert "Traceback" not in done.output
    assert run("open", path, "--session", "x").exit_code == 2
    assert list((tmp_path / "scratch").iterdir()) == []


def test_files_are_compared_without_a_server(here: Running, path: Path, tmp_path: Path) -> None:
    """Another session's file is made from this one, because all stories are of one session."""
    entries = session_files.read(path)
    manifest = session_files.manifest_name(entries)
    renamed = {name.replace(SESSION, OTHER): content for name, content in entries.items()}
    renamed[manifest.replace(SESSION, OTHER)] = entries[manifest].replace(SESSION.encode(), OTHER.encode())
    other = session_files.write(tmp_path / "b.rayscope", renamed)
    done = run("compare", path, other)
    assert done.exit_code == 0, done.output
    assert "(1 against 1 run)" in done.output
    with_session = run("compare", other, f"{SESSION}/05000000")  # a server exports it
    assert with_session.exit_code == 0, with_session.output
    here.server.stop()
    assert run("compare", other, f"{SESSION}/05000000").output == with_session.output
    assert run("compare", other, "session_none").exit_code == 2
    assert list((tmp_path / "scratch").iterdir()) == []


def test_random_content_is_no_file(path: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.rayscope"
    bad.write_bytes(random.Random(1).randbytes(10_000))
    assert run("open", bad).exit_code == 2


def replaced_in(done: Result) -> list[str]:
    """The lines about the record; a server that runs adds metrics."""
    return [
        line for line in done.output.splitlines() if line.startswith("Rayscope:   ") and "metric_" not in line
    ]


def test_an_anonymised_file_lists_what_is_replaced(here: Running, path: Path, tmp_path: Path) -> None:
    anonymous = tmp_path / "anonymous.rayscope"
    command = ("export", "--format", "session", "--anonymise", "-o", anonymous)
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert "attempts.func_name: " in done.output
    here.server.stop()
    again = run(*command, "--force", "--yes")
    assert replaced_in(again) == replaced_in(done)
    changed = session_files.edit_manifest(
        session_files.read(path), lambda manifest: manifest["about"].update(is_anonymous=True)
    )
    done = run("compare", path, session_files.write(tmp_path / "changed.rayscope", changed))
    assert (done.exit_code, "Two of the files have the session" in done.output) == (2, True)
    assert run("compare", path, path).exit_code == 2  # a session cannot be on both sides under one name
    assert run("export", "--anonymise", "-o", tmp_path / "x").exit_code == 2
    attempts = [one for one in session_files.read(anonymous) if one.startswith("attempts/")]
    assert "cluster=host-" in attempts[0] or "cluster=unknown" in attempts[0]
