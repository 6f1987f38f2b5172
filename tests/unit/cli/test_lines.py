"""``rayscope lines``: what it prints, and the files that it writes."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.pprof import read_pprof
from tests.running import Running
from tests.stacks import INNER, OUTER, Stacks, add
from tests.story import Story
from typer.testing import CliRunner

from rayscope.cli.main import app


def run(*args: str, code: int = 0) -> str:
    result = CliRunner().invoke(app, ["lines", *args])
    assert result.exit_code == code, result.output
    return " ".join(result.output.split())


@pytest.fixture
def folder(fresh: Running, tmp_path: Path, monkeypatch: Any) -> Path:
    """A directory to write to. `fit` has 30 samples."""
    story, stacks = Story(), Stacks()
    add(story, story.task("fit", 0, 10, 95), 10, ("executing", False, 30, stacks.number(OUTER, INNER)))
    stacks.add_to(story)
    fresh.record(story)
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", str(fresh.folder))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_lines_are_printed(folder: Path) -> None:
    assert "train.py:20 step" in run("fit")
    assert json.loads(run("fit", "--format", "json"))["samples"] == 30
    assert run("fit", "--format", "csv").startswith("file,line,function,")


def test_stacks_are_written_to_a_file(folder: Path) -> None:
    run("fit", "--format", "collapsed", "-o", "fit.txt")
    text = (folder / "fit.txt").read_text()
    assert text == "[executing];main (train.py:10);step (train.py:20) 30\n"
    run("--format", "speedscope", "-o", "fit.json")
    assert json.loads((folder / "fit.json").read_text())["profiles"][0]["endValue"] == 30
    run("fit", "--format", "pprof", "-o", "fit.pb.gz")
    (values,) = read_pprof(gzip.decompress((folder / "fit.pb.gz").read_bytes())).stacks.values()
    assert values == [30, 0]


def test_the_written_file_is_named_and_the_lack_of_samples_explained(folder: Path) -> None:
    printed = run("fit", "--format", "collapsed", "-o", "fit.txt")
    assert printed == "Rayscope: fit.txt (0.1 kB): draw it with `flamegraph.pl FILE`"
    printed = run("nothing", "--format", "collapsed", "-o", "none.txt")
    assert printed.startswith("Rayscope: There are no samples of these attempts.")
    assert "Rayscope: none.txt (0.0 kB)" in printed


def test_nothing_is_overwritten_by_mistake(folder: Path) -> None:
    (folder / "mine").write_text("mine")
    assert "mine exists." in run("--format", "collapsed", "-o", "mine", code=1)
    assert (folder / "mine").read_text() == "mine"
    (folder / "link").symlink_to("mine")
    run("--format", "collapsed", "-o", "link", "--force")
    assert (folder / "link").is_symlink()
    assert (folder / "mine").read_text() != "mine"
    os.mkfifo(folder / "pipe")
    for output, message in (
        ("pipe", "pipe is not a regular file."),
        (".", ". is a directory."),
        ("missing/fit.pb.gz", "Directory not found: missing."),
    ):
        assert message in run("--format", "pprof", "-o", output, "--force", code=1)
    assert "Add --output FILE." in run("--format", "pprof", code=2)
    assert "--output is for exports." in run("-o", "other", code=2)
