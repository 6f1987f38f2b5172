"""A damaged or hostile session file is refused with one sentence, and nothing is left of it."""

from __future__ import annotations

import io
import os
import random
import re
import shutil
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests import session_files
from tests.unit.archive.test_session_files import export, rows_of

from rayscope.archive.session_files import SessionFiles
from rayscope.archive.unpack import restore, unpack
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import StoreError

#: Number of mutations of the whole file; and of one table, with a checksum that fits.
MUTATIONS = 40
TABLE_MUTATIONS = 10
Entries = Mapping[str, bytes]


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return export(whole, tmp_path / "a.rayscope")


def refused(path: Path, tmp_path: Path) -> StoreError:
    """Open a file, check that nothing is left of it, and return the refusal."""
    there = tmp_path / "there"
    before = listing(tmp_path)
    with pytest.raises(StoreError) as caught:
        SessionFiles(Catalog(there), there / "work").open(path)
    error = caught.value
    assert (error.code, error.status) == ("bad_session_file", 400), error
    assert error.remedy
    assert "\n" not in error.message
    assert listing(tmp_path) - before <= {there, there / "sessions", there / "work"}
    return error


def listing(folder: Path) -> set[Path]:
    return set(folder.rglob("*"))


def parquet(table: pa.Table) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(table, buffer)
    return buffer.getvalue()


def test_entries_that_no_session_file_has(path: Path, tmp_path: Path) -> None:
    entries = session_files.read(path)
    bad = tmp_path / "bad"
    for name in ("../evil", "/tmp/evil", "a/../../evil", "C:\\evil", "folder/", "manifests/../x.json"):
        refused(session_files.write(bad, {**entries, name: b"x"}), tmp_path)
    manifest = session_files.manifest_name(entries)
    for name in ("manifests/../../evil.json", "manifests/.json", f"{manifest}/x.json"):
        others = {**entries}
        others[name] = others.pop(manifest)
        refused(session_files.write(bad, others), tmp_path)
    assert "no manifest" in refused(session_files.write(bad, {}), tmp_path).message


def test_links_duplicates_and_compression(path: Path, tmp_path: Path) -> None:
    entries = session_files.read(path)
    bad = tmp_path / "bad"
    name = next(iter(entries))
    session_files.write(bad, {key: value for key, value in entries.items() if key != name})
    link = zipfile.ZipInfo(name)
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(bad, "a") as file:
        file.writestr(link, "/etc/passwd")
    refused(bad, tmp_path)
    session_files.write(bad, entries)
    with zipfile.ZipFile(bad, "a") as file, pytest.warns(UserWarning, match="Duplicate"):
        file.writestr(name, entries[name])
    assert "twice" in refused(bad, tmp_path).message
    bomb = {**entries, name: b"\0" * (50 << 20)}
    session_files.write(bad, bomb, zipfile.ZIP_DEFLATED)
    assert bad.stat().st_size < 1 << 20
    refused(bad, tmp_path)


def test_sizes_that_are_not_true(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    bad = tmp_path / "bad"
    at = content.rfind(b"PK\x01\x02")  # the last entry of the directory
    for declared in (2**31, 2**32 - 1, 0):
        sizes = declared.to_bytes(4, "little") * 2
        bad.write_bytes(content[: at + 20] + sizes + content[at + 28 :])
        refused(bad, tmp_path)
    end = len(content) - 22
    for field in (12, 16):  # the size of the directory, and its offset
        bad.write_bytes(content[: end + field] + b"\xff\xff" + content[end + field + 2 :])
        refused(bad, tmp_path)


def test_files_of_another_kind(path: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad"
    for content in (b"", b"PK", b"x" * 100_000, path.read_bytes()[:-1], path.read_bytes() + b"\0"):
        bad.write_bytes(content)
        refused(bad, tmp_path)
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for other in (fifo, tmp_path, tmp_path / "none"):
        refused(other, tmp_path)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda m: m.update(format=99), "newer Rayscope"),
        (lambda m: m["objects"].append({"part": "record", "name": "t", "bytes": 1, "sha256": ""}), "entries"),
        (lambda m: m["objects"][-1].update(rows=7), "rows"),
        (lambda m: m["objects"][-1].update(sha256="0" * 64), "has changed"),
        (lambda m: m["objects"][-1].update(bytes=10**15), "entries"),
        (lambda m: m["objects"][-1].update(name="../../x"), "names an object"),
        (lambda m: m.update(session="session_2"), "another session"),
        (lambda m: m.update(cluster="../../x"), "no valid place"),
        (lambda m: m.update(about=None), "damaged|Expected"),
        (lambda m: m.update(objects=[]), "entries"),
        (lambda m: m["about"].update(first_ns=10**30), "too large"),
        (lambda m: m["about"].update(tasks=-1), "too large"),
        (lambda m: m["about"].update(script="x" * 20_000), "too large"),
        (lambda m: m["about"].update(states={str(number): 1 for number in range(5000)}), "too large"),
    ],
)
def test_manifests_that_lie(
    edit: Callable[[dict[str, Any]], object], said: str, path: Path, tmp_path: Path
) -> None:
    entries = session_files.edit_manifest(session_files.read(path), edit)
    error = refused(session_files.write(tmp_path / "bad", entries), tmp_path)
    assert re.search(said, error.message), error.message


def test_tables_with_other_columns(path: Path, tmp_path: Path) -> None:
    entries = session_files.read(path)

    def changed(table: str, change: Callable[[pa.Table], pa.Table]) -> StoreError:
        name = next(name for name in entries if name.startswith(f"{table}/"))
        rows = change(pq.read_table(io.BytesIO(entries[name])))
        others = session_files.replace_table(entries, table, parquet(rows), rows.num_rows)
        return refused(session_files.write(tmp_path / "bad", others), tmp_path)

    added = changed("attempts", lambda rows: rows.append_column("evil", pa.array([1] * len(rows))))
    assert "'evil'" in added.message
    assert "'attempt'" in changed("attempts", lambda rows: rows.drop_columns(["attempt"])).message
    for table, column in (
        ("attempts", "state"),
        ("metric_samples", "value"),
        ("log_stretches", "data"),
    ):

        def replaced(rows: pa.Table, column: str = column) -> pa.Table:
            return rows.set_column(rows.schema.get_field_index(column), column, pa.array([1] * len(rows)))

        changed(table, replaced)
    changed("log_files", lambda rows: rows.drop_columns(["seen"]))

    def nonsense(rows: pa.Table, column: str, value: str) -> pa.Table:
        return rows.set_column(rows.schema.get_field_index(column), column, pa.array([value] * len(rows)))

    changed("node_rows", lambda rows: nonsense(rows, "doc", "{"))
    changed("meta", lambda rows: nonsense(rows, "value", "evil"))


def test_a_bomb_of_rows_fills_no_disk(path: Path, tmp_path: Path) -> None:
    """A small file can declare any number of equal rows."""
    entries = session_files.read(path)
    rows = pa.table(
        {"key": pa.array(["x"]).take(pa.array([0] * (5 << 20))), "value": pa.nulls(5 << 20, pa.string())}
    )
    buffer = io.BytesIO()
    pq.write_table(rows, buffer, row_group_size=5 << 20)
    assert len(buffer.getvalue()) < 100_000
    others = session_files.replace_table(entries, "meta", buffer.getvalue(), len(rows))
    assert "more than" in refused(session_files.write(tmp_path / "bad", others), tmp_path).message


def test_a_full_disk_is_no_damage(path: Path, tmp_path: Path) -> None:
    there = tmp_path / "there"
    with pytest.raises(StoreError) as caught:
        SessionFiles(Catalog(there), there / "work", min_free_bytes=1 << 60).open(path)
    assert caught.value.code == "full"
    assert list((there / "work").iterdir()) == []


def test_mutations_of_a_file(path: Path, whole: Path, tmp_path: Path) -> None:
    count_mutations(path, whole, tmp_path, MUTATIONS, seed=1)


@pytest.mark.long
def test_ten_thousand_mutations(path: Path, whole: Path, tmp_path: Path) -> None:
    print(count_mutations(path, whole, tmp_path, 9_500, seed=2))
    print(count_table_mutations(path, tmp_path, 500, seed=2))


def count_mutations(path: Path, folder: Path, tmp_path: Path, number: int, seed: int) -> dict[str, int]:
    """Each mutation is refused, or opens with the same rows. Returns how many of each."""
    expected, content = rows_of(folder), path.read_bytes()
    counts = {"refused": 0, "equal": 0}
    chance, bad, target = random.Random(seed), tmp_path / "bad", tmp_path / "target"
    before = listing(tmp_path)
    for _ in range(number):
        bad.write_bytes(session_files.mutate(content, chance))
        target.mkdir()
        refusal = refusal_of(lambda: restore(bad, target))
        if refusal is None:
            assert rows_of(target) == expected
        assert refusal in (None, "bad_session_file")
        counts["equal" if refusal is None else "refused"] += 1
        for one in sorted(listing(target), reverse=True):
            one.rmdir() if one.is_dir() else one.unlink()
        target.rmdir()
        assert listing(tmp_path) - before <= {bad}
    return counts


def test_mutations_of_tables(path: Path, tmp_path: Path) -> None:
    count_table_mutations(path, tmp_path, TABLE_MUTATIONS, seed=1)


def count_table_mutations(path: Path, tmp_path: Path, number: int, seed: int) -> dict[str, int]:
    """Each mutation with a checksum that fits is refused, or can be read. Returns how many of each."""
    entries, chance = session_files.read(path), random.Random(seed)
    counts = {"refused": 0, "read": 0}
    for at in range(number):
        bad = session_files.write(tmp_path / "bad", session_files.mutate_table(entries, chance))
        target = tmp_path / f"target{at}"
        before = listing(tmp_path)
        refusal = refusal_of(lambda target=target: unpack(bad, target))
        if refusal is None:
            rows_of(target)
            shutil.rmtree(target)
        assert refusal in (None, "bad_session_file", "memory")
        assert listing(tmp_path) == before
        counts["read" if refusal is None else "refused"] += 1
    return counts


def refusal_of(work: Callable[[], object]) -> str | None:
    """The code of the error with which a file is refused, or None."""
    try:
        work()
    except StoreError as error:
        return error.code
    return None
