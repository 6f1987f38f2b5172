"""A damaged, locked, too new or too old record, or a full disk: reported with a remedy, nothing lost."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rayscope.ingest.writer import Writer
from rayscope.model import Drop, RecordBatch
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.errors import StoreError
from rayscope.storage.session_file import SessionFile, explain
from rayscope.storage.spool import Spool

Tables = dict[str, list[tuple[Any, ...]]]
Dump = Callable[[Path], Tables]

HOLD = """
import sys, duckdb
held = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.read()
"""


def only_record(folder: Path) -> Path:
    (path,) = folder.glob("sessions/*/record.duckdb")
    return path


def test_a_locked_record_is_written_once_it_is_free(
    bodies: list[bytes], record: Any, start_writer: Any, dump: Dump, tmp_path: Path, wait_for: Any
) -> None:
    expected = dump(record(bodies))
    folder = tmp_path / "locked"
    first = start_writer(folder)
    first.submit(bodies[0])
    first.stop()
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(only_record(folder))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    second = start_writer(folder)
    for body in bodies[1:]:
        second.submit(body)
    wait_for(lambda: second.error, "the writer to find the record locked")
    assert second.error.code == "locked"
    assert "--data-dir" in second.error.remedy
    assert len(second.spool.waiting()) == len(bodies) - 1  # durable nevertheless
    holder.communicate()
    wait_for(lambda: second.error is None and not second.spool.waiting(), "the writer to go on")
    second.stop()
    assert dump(only_record(folder)) == expected


def overwrite(path: Path, offset: int, count: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xa5" * count)


@pytest.mark.parametrize(("offset", "count"), [(0, 20_000), (4096, 8192), (12_288, 1 << 20)])
def test_a_damaged_record_is_set_aside_and_recording_continues(
    offset: int, count: int, bodies: list[bytes], start_writer: Any, dump: Dump, tmp_path: Path
) -> None:
    first = start_writer(tmp_path)
    first.submit(bodies[0])
    first.stop()
    path = only_record(tmp_path)
    overwrite(path, offset, count)
    second = start_writer(tmp_path)
    for body in bodies:
        second.submit(body)
    second.flush()
    second.flush()  # damage beyond the header shows at the first look-up
    second.stop()
    assert second.spool.waiting() == []
    (aside,) = path.parent.glob("record.damaged-*.duckdb")
    assert aside.stat().st_size >= offset + count
    assert aside.name in (second.catalog.about(path.parent.name).note or "")
    assert len(dump(path)["attempts"]) > 30


def test_a_full_disk_loses_nothing(
    make_batches: Any, record: Any, start_writer: Any, dump: Dump, tmp_path: Path, wait_for: Any
) -> None:
    """No file may grow beyond 200 kB for a while: batches still fit, the record does not."""
    bodies = make_batches(3000, size=100)
    assert max(map(len, bodies)) < 200_000
    expected = dump(record(bodies))
    folder = tmp_path / "full"
    made = start_writer(folder)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
    try:
        for body in bodies:
            made.submit(body)
        wait_for(lambda: made.error, "the writer to find the disk full")
        error, waiting = made.error, len(made.spool.waiting())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert error.code == "full"
    assert "Free some space" in error.remedy
    assert waiting == len(bodies)
    wait_for(lambda: made.error is None and not made.spool.waiting(), "the writer to go on")
    made.stop()
    assert dump(only_record(folder)) == expected


def test_a_record_of_a_later_version_is_left_alone(
    bodies: list[bytes], record: Any, start_writer: Any, wait_for: Any
) -> None:
    path = record(bodies[:1])
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'format'")
    before = path.read_bytes()
    made = start_writer(path.parents[2])
    made.submit(bodies[1])
    wait_for(lambda: made.error, "the writer to find the record too new")
    assert (made.error.code, made.error.remedy) == ("newer", "Upgrade: pip install -U rayscope")
    (session,) = made.catalog.names()
    assert 0 < made.behind_ns(session) <= made.behind_ns()
    assert made.behind_ns("session_of_another_cluster") == 0
    made.stop()
    assert path.read_bytes() == before
    assert len(made.spool.waiting()) == 1


def test_a_record_of_a_later_duckdb_is_no_damage() -> None:
    """What DuckDB 1.5 says of a file of DuckDB 2.0: the same data directory with Python 3.10 and 3.11."""
    error = duckdb.IOException(
        "IO Error: Trying to read a database file with version number 69, but we can only read versions between 64 and 68.\n"
        "The database file was created with a newer version of DuckDB."
    )
    found = explain(Path("record.duckdb"), error)
    assert found.code == "newer"
    assert "Upgrade" in found.remedy


def test_an_older_record_is_refused_with_the_way_out(
    bodies: list[bytes], record: Any, start_writer: Any, wait_for: Any
) -> None:
    path = record(bodies[:1])
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET key = 'schema_version', value = '6' WHERE key = 'format'")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="older Rayscope") as refused:
        SessionFile(path)
    assert (refused.value.code, "remove its folder" in refused.value.remedy) == ("older", True)
    made = start_writer(path.parents[2])
    made.submit(bodies[1])
    wait_for(lambda: made.error, "the writer to find the record too old")
    made.stop()
    assert path.read_bytes() == before
    assert len(made.spool.waiting()) == 1


DAY_S = 86_400


#: Names of sessions by their age in days. Neither order of the names is the order of their ages.
BY_AGE = ["session_c", "session_a", "session_e", "session_b", "session_d"]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    """Five sessions, each some 1 MB, last heard of now and 1, 2, 3, 4 days ago."""
    made = Catalog(tmp_path)
    for age, name in enumerate(BY_AGE):
        about = made.add(name)
        about.last_ns = time.time_ns() - age * DAY_S * 10**9
        (made.folder / about.session / "record.duckdb").write_bytes(b"\0" * 1_000_000)
        made.save_about(about.session)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, 5),
        ({"max_age_s": 2.5 * DAY_S}, 3),
        ({"max_sessions": 2}, 2),
        ({"max_bytes": 3_500_000}, 3),
        ({"max_bytes": 1}, 1),  # one that lives is never dropped
    ],
)
def test_the_oldest_sessions_go_first(catalog: Catalog, limits: dict[str, Any], left: int) -> None:
    dropped = catalog.apply_retention(Retention(**limits), time.time_ns())
    assert dropped == BY_AGE[left:]
    assert {path.name for path in catalog.folder.iterdir()} == set(BY_AGE[:left])
    assert Catalog(catalog.folder.parent, read_only=True).names() == catalog.names()


def test_a_session_being_read_is_not_dropped(catalog: Catalog) -> None:
    oldest = BY_AGE[-1]
    (catalog.folder / oldest / "record.duckdb").unlink()
    with catalog.reading(oldest):
        assert oldest not in catalog.apply_retention(Retention(max_sessions=1), time.time_ns())
    assert catalog.apply_retention(Retention(max_sessions=1), time.time_ns()) == [oldest]


def test_a_removed_folder_does_not_end_recording(
    bodies: list[bytes],
    record: Any,
    start_writer: Any,
    dump: Dump,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Follow the remedy for a damaged record while the server runs; then retention runs."""
    made = start_writer(tmp_path)
    made.submit(bodies[0])
    assert made.flush()
    shutil.rmtree(only_record(tmp_path).parent)
    made._next_retention = 0.0
    made.submit(bodies[1])
    assert made.flush()
    monkeypatch.setattr(made.catalog, "apply_retention", lambda *_, **__: 1 / 0)
    made._next_retention = 0.0
    made.submit(bodies[2])
    assert made.flush()
    made.stop()
    found, expected = dump(only_record(tmp_path)), dump(record(bodies[1:3]))
    assert found.pop("node")  # the writer still knows the node of the first batch
    assert not expected.pop("node")
    assert found == expected


def test_losses_that_come_alone_are_on_record(
    bodies: list[bytes], start_writer: Any, dump: Dump, tmp_path: Path
) -> None:
    made = start_writer(tmp_path)
    made.submit(bodies[0])
    assert made.flush()
    (session,) = made.catalog.names()
    lost = Drop("agent of node-1", "queue_dropped_events", 7, 1)
    made.submit_records(RecordBatch(session, drops=[lost]), "gcs")
    assert made.flush()
    assert made.catalog.about(session).dropped_total == 7
    made.stop()
    assert dump(made.catalog.path(session))["drops"] == [astuple(lost)]


def test_one_session_that_cannot_be_written_does_not_hold_up_the_others(
    bodies: list[bytes], record: Any, start_writer: Any, wait_for: Any
) -> None:
    path = record(bodies[:1])
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE meta SET value = '999' WHERE key = 'format'")
    made = start_writer(path.parents[2])
    other = path.parent.name + "_other"
    for body in bodies:
        made.submit(body.replace(path.parent.name.encode(), other.encode()))
    made.submit(bodies[1])
    wait_for(lambda: made.error, "the writer to find one record too new")
    wait_for(lambda: len(made.spool.waiting()) == 1, "the other session to be written")
    assert made.error.code == "newer"
    tries = made._queue.taken
    assert not made.flush(0.5)  # and a waiting caller does not make the writer spin
    assert made._queue.taken == tries
    made.stop()


def test_a_batch_that_cannot_be_read_again_keeps_its_place(
    bodies: list[bytes], record: Any, dump: Dump, tmp_path: Path, wait_for: Any
) -> None:
    expected = dump(record(bodies))
    folder = tmp_path / "spooled"
    catalog = Catalog(folder)
    spool = Spool(folder / "spool")
    for body in bodies:
        spool.put(body)
    made = Writer(catalog, spool, Retention())
    unreadable = folder / "spool" / spool.waiting()[3]
    unreadable.rename(unreadable.with_suffix(".away"))
    unreadable.mkdir()  # reading it is an error that may pass
    made.start()
    wait_for(lambda: made.error, "the writer to notice")
    wait_for(lambda: not made.spool.waiting(), "the writer to go on with the others")
    unreadable.rmdir()
    unreadable.with_suffix(".away").rename(unreadable)
    wait_for(lambda: made.error is None and not made.spool.waiting(), "that batch to be merged")
    made.stop()
    assert dump(only_record(folder)) == expected


def test_a_batch_that_the_disk_changed_is_set_aside(
    bodies: list[bytes], record: Any, dump: Dump, tmp_path: Path, wait_for: Any
) -> None:
    """A letter of a name that became another one is still JSON, and would be recorded as it is."""
    expected = dump(record(bodies[1:]))
    folder = tmp_path / "spooled"
    catalog, spool = Catalog(folder), Spool(folder / "spool")
    for body in bodies:
        spool.put(body)
    changed = folder / "spool" / spool.waiting()[0]
    changed.write_bytes(bodies[0].replace(b"e", b"E", 1))
    made = Writer(catalog, spool, Retention())
    made.start()
    wait_for(lambda: not made.spool.waiting(), "the others to be merged")
    made.stop()
    assert dump(only_record(folder)) == expected
    (reason,) = spool.rejected.glob("*.reason")
    assert "checksum" in reason.read_text()


def test_reading_a_record_does_not_change_it(bodies: list[bytes], record: Any) -> None:
    path = record(bodies)
    before = path.read_bytes()
    SessionFile(path).close()
    assert path.read_bytes() == before


def test_only_the_owner_can_open_what_ray_sent(tmp_path: Path) -> None:
    Spool(tmp_path / "spool")
    assert {(tmp_path / name).stat().st_mode & 0o777 for name in ("spool", "rejected")} == {0o700}
