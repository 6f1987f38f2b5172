"""A session leaves in one file, and opens elsewhere with everything."""

from __future__ import annotations

import errno
import time
from pathlib import Path

import duckdb
import pytest
from tests import session_files

from rayscope.archive.session_files import SessionFiles
from rayscope.archive.unpack import cannot_unpack
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.errors import StoreError
from rayscope.storage.log_archive import LogStore

Rows = dict[str, list[str]]


def rows_of(folder: Path) -> Rows:
    """All rows of all tables of a session, and its logs."""
    found: Rows = {}
    for name in ("record.duckdb", "metrics.duckdb"):
        if (folder / name).exists():
            with duckdb.connect(str(folder / name), read_only=True) as db:
                for (table,) in db.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall():
                    found[f"{name} {table}"] = sorted(map(repr, db.execute(f"FROM {table}").fetchall()))
    store = LogStore(folder / "logs.sqlite")
    found["log files"] = list(map(repr, store.files()))
    found["log rows"] = list(map(repr, store.stretches()))
    store.close()
    return found


def files_of(data_dir: Path) -> SessionFiles:
    return SessionFiles(Catalog(data_dir), data_dir / "session-files")


def export(folder: Path, path: Path) -> Path:
    """Write the file of a recorded session."""
    files = files_of(folder.parent.parent)
    about = files._catalog.about(folder.name)
    about.ended_ns = about.last_ns
    files._catalog.save_about(folder.name)
    with path.open("wb") as file:
        for chunk in files.export(folder.name):
            file.write(chunk)
    return path


@pytest.fixture
def exported(whole: Path, tmp_path: Path) -> Path:
    return export(whole, tmp_path / "a.rayscope")


def test_every_row_comes_back(whole: Path, exported: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    catalog = Catalog(there)
    files = SessionFiles(catalog, there / "session-files")
    assert files.open(exported) == whole.name
    assert rows_of(there / "sessions" / whole.name) == rows_of(whole)
    before = Catalog(whole.parent.parent, read_only=True).about(whole.name)
    after = catalog.about(whole.name)
    assert (after.tasks, after.name, after.first_ns) == (before.tasks, before.name, before.first_ns)
    assert list((there / "session-files").iterdir()) == []


#: A value of each type of column, the largest where there is one.
VALUES = {
    "VARCHAR": "'名 \n\"'",
    "BIGINT": str(2**63 - 1),
    "INTEGER": str(2**31 - 1),
    "UBIGINT": str(2**64 - 1),
    "UINTEGER": str(2**32 - 1),
    "BOOLEAN": "true",
    "DOUBLE": "0.1",
    "BLOB": "'\\x00\\xFF'::BLOB",
}


def test_every_column_of_every_table_comes_back(whole: Path, tmp_path: Path) -> None:
    with duckdb.connect(str(whole / "record.duckdb")) as db:
        tables = [name for (name,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
        for table in tables:
            columns = {name: kind for name, kind, *_ in db.execute(f"DESCRIBE {table}").fetchall()}
            full = {name: VALUES[kind] for name, kind in columns.items()}
            empty = dict.fromkeys(columns, "NULL")
            if "doc" in columns:
                full["doc"] = empty["doc"] = "'[{}, [], 0, {}]'"
            if table not in ("meta", "drops"):
                db.execute(f"INSERT INTO {table} VALUES ({', '.join(empty.values())})")
            if table != "meta":
                db.execute(f"INSERT INTO {table} VALUES ({', '.join(full.values())})")
    path = export(whole, tmp_path / "a.rayscope")
    files_of(tmp_path / "there").open(path)
    found = rows_of(tmp_path / "there" / "sessions" / whole.name)
    assert found == rows_of(whole)
    assert all(rows for name, rows in found.items() if name.startswith("record.duckdb"))


def test_the_same_file_opens_twice_and_another_state_is_refused(
    whole: Path, exported: Path, tmp_path: Path
) -> None:
    files = files_of(tmp_path / "there")
    files.open(exported)
    files.open(exported)
    files._catalog.about(whole.name).last_ns += 1
    with pytest.raises(StoreError) as caught:
        files.open(exported)
    assert (caught.value.code, caught.value.status) == ("session_exists", 409)
    assert list((tmp_path / "there" / "session-files").iterdir()) == []


def test_an_opened_session_has_ended_and_no_address(whole: Path, tmp_path: Path) -> None:
    here = files_of(whole.parent.parent)
    about = here._catalog.about(whole.name)
    about.ended_ns, about.last_ns, about.gcs_address = None, time.time_ns() - 60 * 10**9, "10.0.0.1:6379"
    about.heard_ns, about.followed_ns, about.has_unpublished = 1, 1, True
    path = tmp_path / "a.rayscope"
    path.write_bytes(b"".join(here.export(whole.name)))
    files = files_of(tmp_path / "there")
    for _ in range(2):  # the same file again changes nothing
        assert files.open(path) == whole.name
    for catalog in (files._catalog, Catalog(tmp_path / "there")):
        opened = catalog.about(whole.name)
        assert (opened.gcs_address, opened.ended_ns) == (None, about.last_ns)
        assert (opened.heard_ns, opened.followed_ns, opened.has_unpublished) == (0, 0, False)
    assert here.open(path) == whole.name  # where it was recorded, too


def test_a_session_that_ends_in_the_future_is_refused(whole: Path, exported: Path, tmp_path: Path) -> None:
    entries = session_files.edit_manifest(
        session_files.read(exported), lambda manifest: manifest["about"].update(last_ns=2**62)
    )
    with pytest.raises(StoreError, match="in the future"):
        files_of(tmp_path / "there").open(session_files.write(tmp_path / "bad", entries))


def test_only_a_full_disk_is_called_full(whole: Path, exported: Path, tmp_path: Path) -> None:
    files = files_of(tmp_path / "there")
    stray = tmp_path / "there" / "sessions" / whole.name / "stray"
    stray.mkdir(parents=True)  # a folder that the list of sessions lacks
    with pytest.raises(StoreError, match="not empty") as caught:
        files.open(exported)
    assert caught.value.code == "store_error"
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        assert cannot_unpack(OSError(number, "")).code == "full"


def test_an_export_leaves_room_on_the_disk(whole: Path, exported: Path) -> None:
    files = files_of(whole.parent.parent)
    files.min_free_bytes = 1 << 60
    for export_it in (
        lambda: files.export(whole.name),
        lambda: files.export_anonymous(whole.name, "").__enter__(),
    ):
        with pytest.raises(StoreError, match="Not enough disk space"):
            export_it()


def test_retention_keeps_an_old_session_that_was_just_opened(
    whole: Path, exported: Path, tmp_path: Path
) -> None:
    files = files_of(tmp_path / "there")
    files.open(exported)
    catalog = Catalog(tmp_path / "there")  # as after a restart
    later = time.time_ns() + 3600 * 10**9
    assert later - catalog.about(whole.name).last_ns > 3600 * 10**9
    assert catalog.apply_retention(Retention(max_age_s=2 * 3600), later) == []
    assert catalog.apply_retention(Retention(max_age_s=60), later) == [whole.name]


def test_a_session_that_has_not_ended_is_not_exported(whole: Path) -> None:
    files = files_of(whole.parent.parent)
    about = files._catalog.about(whole.name)
    about.ended_ns, about.last_ns = None, time.time_ns()
    with pytest.raises(StoreError, match="still being recorded"):
        next(files.export(whole.name))
    about.ended_ns = time.time_ns()
    assert next(files.export(whole.name))
