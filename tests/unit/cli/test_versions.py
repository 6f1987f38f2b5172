"""The versions of a program, from real git and real Pythons."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from rayscope.cli.versions import git_versions, python_versions


def git(folder: Path, *arguments: str) -> str:
    author = ("-c", "user.name=me", "-c", "user.email=me@example.com")
    command = ["git", *author, "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A script in a folder of a git repository with one commit."""
    git(tmp_path, "init", "-q")
    made = tmp_path / "app" / "train.py"
    made.parent.mkdir()
    made.write_text("import ray\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    return made


def test_the_commit_is_that_of_the_scripts_folder(script: Path) -> None:
    head = git(script.parent, "rev-parse", "HEAD")
    command = [sys.executable, str(script), "--rows", "3"]
    assert git_versions(command) == {"git_commit": head, "git_modified": "no"}
    (script.parent / "new.py").write_text("")
    assert git_versions(command)["git_modified"] == "no"
    script.write_text("import os\n")
    assert git_versions(command)["git_modified"] == "yes"


def test_without_a_repository_or_git_there_is_no_commit(
    tmp_path: Path, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, str(script)]
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_versions(command) == {}
    monkeypatch.undo()
    (tmp_path / ".git").rename(tmp_path / "gone")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert git_versions(command) == {}


def test_no_program_of_the_repository_is_run(script: Path, tmp_path: Path) -> None:
    trap, ran = tmp_path / "trap.sh", tmp_path / "ran"
    trap.write_text(f"#!/bin/sh\ntouch {ran}\n")
    trap.chmod(0o755)
    git(tmp_path, "config", "core.fsmonitor", str(trap))
    assert git_versions([sys.executable, str(script)])["git_modified"] == "no"
    assert not ran.exists()


def test_packages_are_those_of_the_python_that_runs_the_command(tmp_path: Path) -> None:
    own = python_versions([sys.executable, "x.py"])
    assert own["python"] == platform.python_version()
    assert own["package.ray"] == importlib.metadata.version("ray")
    venv.create(tmp_path / "env")
    other = python_versions([str(tmp_path / "env" / "bin" / "python"), "x.py"])
    assert other == {"python": platform.python_version()}
    assert python_versions(["/bin/sh", "x.sh"]) == {}


def test_odd_arguments_and_broken_packages_do_no_harm(script: Path, tmp_path: Path) -> None:
    long = "--files=" + ",".join(f"{number}.py" for number in range(500))
    assert git_versions([sys.executable, long, str(script)])["git_modified"] == "no"
    venv.create(tmp_path / "env")
    (packages,) = (tmp_path / "env" / "lib").glob("python*/site-packages")
    broken = packages / "broken-1.0.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_bytes(b"Name: broken\nVersion: 1.0\nAuthor: J\xf6rg\n")
    python = str(tmp_path / "env" / "bin" / "python")
    assert python_versions([python, "x.py"])["python"] == platform.python_version()
