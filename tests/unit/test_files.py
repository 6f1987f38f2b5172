"""A file is replaced as a whole or stays as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rayscope.files import replace_file, replacing, set_aside


def test_a_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    replace_file(path, b"new", mode=0o600)
    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["file"]


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half of the n", None])  # type: ignore[list-item]
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_partial_files_are_never_visible(tmp_path: Path) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")
    with replacing(path) as file:
        file.write(b"x" * 100_000)
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"x" * 100_000


def test_a_damaged_file_is_set_aside_with_what_belongs_to_it(tmp_path: Path) -> None:
    for name in ("a.duckdb", "a.duckdb.wal", "b"):
        (tmp_path / name).write_text(name)
    aside = set_aside(tmp_path / "a.duckdb", ".wal", ".wal.checkpoint")
    assert aside.name.startswith("a.damaged-")
    assert aside.suffix == ".duckdb"
    assert aside.read_text() == "a.duckdb"
    assert aside.with_name(aside.name + ".wal").read_text() == "a.duckdb.wal"
    assert (tmp_path / "b").exists()
    assert not (tmp_path / "a.duckdb").exists()
