"""``rayscope export``: through a running server and without one, its errors, and the files that it leaves."""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest
from httpx import Response
from tests.running import Running
from tests.story import SESSION, at
from tests.traces import read_perfetto
from tests.unit.views.export.test_api import story
from typer.testing import CliRunner

from rayscope.cli import export
from rayscope.cli.main import app
from rayscope.cli.options import time_ns
from rayscope.views.export.tables_sql import VIEWS

runner = CliRunner()


def run(*args: str, code: int = 0, said: str = "") -> str:
    result = runner.invoke(app, ["export", *args])
    assert result.exit_code == code, result.output
    assert "Traceback" not in result.output
    text = " ".join(result.output.split())
    assert said in text
    return text


@pytest.fixture(params=["server", "files"])
def place(request: pytest.FixtureRequest, fresh: Running, tmp_path: Path, monkeypatch: Any) -> Path:
    """A directory to write to; the story is on record, with a server that runs or without."""
    fresh.record(story()[0])
    if request.param == "files":
        fresh.server.stop()
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    folder = tmp_path / "out"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_each_format_comes_as_a_file(place: Path) -> None:
    assert "ui.perfetto.dev" in run()
    trace = read_perfetto((place / f"{SESSION}.perfetto-trace").read_bytes())
    assert trace.named("leaf").begin == at(30)
    run(
        "--session",
        SESSION,
        "--format",
        "perfetto",
        "-o",
        "t.trace.gz",
        "--job",
        "01000000",
        "--until",
        str(at(5)),
    )
    trace = read_perfetto(gzip.decompress((place / "t.trace.gz").read_bytes()))
    assert [s.name for s in trace.slices if s.category == "task"] == ["root"]
    said = run("--format", "speedscope", "-o", "s.json", said="speedscope")
    assert "not included: 1 attempts that never reached a worker" in said
    assert len(json.loads((place / "s.json").read_text())["profiles"]) == 6
    run("--format", "parquet", "-o", "tables")
    assert {path.stem for path in (place / "tables").glob("*.parquet")} == set(VIEWS)
    assert pq.read_table(place / "tables" / "tasks.parquet").num_rows == 6
    run("--format", "parquet", "-o", "t.zip")
    assert zipfile.ZipFile(place / "t.zip").testzip() is None
    assert sorted(path.name for path in place.iterdir()) == [
        "s.json", f"{SESSION}.perfetto-trace", "t.trace.gz", "t.zip", "tables",
    ]  # fmt: skip


def test_nothing_is_overwritten_unasked(place: Path) -> None:
    kept = place / "mine"
    kept.write_text("mine")
    run("-o", "mine", code=1, said="mine exists. Choose another --output, or overwrite it with --force")
    assert kept.read_text() == "mine"
    run("-o", "mine", "--force")
    assert read_perfetto(kept.read_bytes()).slices
    (place / "tables").mkdir()
    run("--format", "parquet", "-o", "tables")
    run("--format", "parquet", "-o", "tables", code=1, said="exists")
    run("--format", "parquet", "-o", "tables", "--force")
    (place / "tables" / "thesis.txt").write_text("mine")
    run(
        "--format",
        "parquet",
        "-o",
        "tables",
        "--force",
        code=1,
        said="contains other files, such as thesis.txt",
    )
    run("--format", "parquet", "-o", "mine", "--force", code=1, said="is not a directory")
    run("-o", "tables", "--force", code=1, said="is a directory")


def test_files_that_are_not_ours_stay(place: Path) -> None:
    pipe, link, folder = place / "pipe", place / "link", place / "tables"
    os.mkfifo(pipe)
    run("-o", "pipe", "--force", code=1, said="pipe is not a regular file. Choose another --output.")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)
    link.symlink_to("kept")
    for _ in range(2):
        run("-o", "link", "--force")
        assert link.is_symlink()
        assert read_perfetto((place / "kept").read_bytes()).slices
        (place / "kept").write_text("old")
    run("-o", "link", code=1, said="link exists")
    (place / "away").symlink_to("no/such/place")
    run("-o", "away", "--force", code=1, said="Directory not found")
    folder.mkdir()
    (folder / "tasks.parquet").write_text("old")
    (folder / "zz.parquet").mkdir()
    run(
        "--format",
        "parquet",
        "-o",
        "tables",
        "--force",
        code=1,
        said="contains other files, such as zz.parquet",
    )
    assert (folder / "tasks.parquet").read_text() == "old"
    (folder / "zz.parquet").rmdir()
    (place / "to").symlink_to("tables")
    run("--format", "parquet", "-o", "to", "--force")
    assert pq.read_table(folder / "tasks.parquet").num_rows == 6
    assert (place / "to").is_symlink()


def test_a_file_name_from_a_server_cannot_leave_the_folder(
    fresh: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fresh.record(story()[0])

    class ReadOnce(Response):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.headers["Content-Disposition"] = 'attachment; filename="../up.perfetto-trace"'

    monkeypatch.setattr("httpx._client.Response", ReadOnce)
    monkeypatch.setattr("httpx._transports.default.Response", ReadOnce)
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    run("--server", fresh.server.url)
    assert [path.name for path in folder.iterdir()] == ["up.perfetto-trace"]


def test_invalid_options_give_a_reason(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("--session", "nowhere", code=1, said="Session 'nowhere' not found.")
    run("-o", "no/such/place", code=1, said="Directory not found: no/such.")
    run(
        "--since",
        "yesterday",
        code=2,
        said="Invalid --since: 'yesterday'. Use 10m, 2h or 3d for a time ago, 2026-01-31T12:00:00",
    )
    for odd in ("²", "0001-01-01", "0001-01-01T00:00:00+00:00", "9999-12-31", "1" * 30, "1" * 5000):
        run("--since", odd, code=2, said="Invalid --since")
    for name in ("x.gz", "x.zip.gz"):
        run("--format", "parquet", "-o", name, code=1, said="Use a directory or FILE.zip as --output.")
    run("--format", "exe", code=2, said="perfetto")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(export, "_copy", full)
    run("-o", "t", code=1, said="No space left on device. Free some space")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("kind", [duckdb.OutOfMemoryException, OSError])
def test_an_interrupted_export_leaves_nothing(
    place: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    def breaks(*_: Any, **__: Any) -> Iterator[bytes]:
        yield b"x" * 1000
        raise kind("Out of Memory Error: failed to allocate")

    monkeypatch.setattr("rayscope.views.export.export.draw", breaks)
    said = run("-o", "t", code=1)
    assert "closed the connection" in said or "Export a part (a job, a time range)" in said
    assert list(place.iterdir()) == []


def test_times_are_of_this_machine_unless_they_say_otherwise() -> None:
    assert time_ns("--since", "1970-01-01T00:00:01.5+00:00") == 1_500_000_000
    assert time_ns("--since", "1500000000") == 1_500_000_000
    assert time_ns("--since", None) is None
    before_ns = time.time_ns()
    for text, seconds in (("90s", 90), ("10m", 600), ("1.5h", 5400), ("2d", 172800)):
        found_ns = time_ns("--since", text)
        assert found_ns is not None
        assert before_ns <= found_ns + seconds * 10**9 <= time.time_ns()


def test_an_empty_data_directory(tmp_path: Path) -> None:
    run("--data-dir", str(tmp_path / "none"), code=1, said="Data directory not found")
    (tmp_path / "some").mkdir()
    run("--data-dir", str(tmp_path / "some"), code=1, said="Record one: rayscope run SCRIPT")
