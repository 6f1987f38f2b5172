"""Hostile content of an archive, and storage that hangs, cost one session and some time."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.process import serving
from tests.waiting import wait_until
from typer.testing import CliRunner

from rayscope.archive import location as location_module
from rayscope.archive import manifest as manifests
from rayscope.archive import seal, tables
from rayscope.archive.location import Location
from rayscope.archive.manifest import Manifest
from rayscope.cli.main import app
from rayscope.storage.about import About
from rayscope.storage.catalog import Catalog
from rayscope.storage.errors import StoreError


@pytest.fixture
def archive(tmp_path: Path) -> Location:
    return Location(f"file://{tmp_path / 'archive'}")


@pytest.fixture
def pushed(folder: Path, archive: Location, tmp_path: Path) -> Manifest:
    about = Catalog(folder.parent.parent, read_only=True).about(folder.name)
    return seal.push(archive, folder, about, tmp_path / "work")


def test_rows_are_those_of_the_manifest(pushed: Manifest, archive: Location, tmp_path: Path) -> None:
    objects = [
        one if one.name != "attempts" else manifests.Sealed("record", one.name, one.bytes, one.sha256, 10**18)
        for one in pushed.objects
    ]
    lying = manifests.Manifest(**{**_fields(pushed), "objects": tuple(objects)})
    with pytest.raises(StoreError, match=f"its manifest says {10**18}"):
        seal.pull_part(archive, lying, "record", tmp_path, tmp_path / "work")
    assert not (tmp_path / "record.duckdb").exists()


def _fields(manifest: Manifest) -> dict[str, Any]:
    return {name: getattr(manifest, name) for name in manifest.__struct_fields__}


@pytest.mark.parametrize(
    "objects",
    [
        [{"part": "record", "name": "attempts", "bytes": -1, "sha256": ""}],
        [{"part": "record", "name": "attempts", "bytes": 1, "sha256": "", "rows": -1}],
        [{"part": "record", "name": "attempts", "bytes": 1, "sha256": ""}] * 2,
        [{"part": "record", "name": f"t{number}", "bytes": 1, "sha256": ""} for number in range(1000)],
    ],
)
def test_a_manifest_that_cannot_be_ours(objects: list[Any]) -> None:
    made = Manifest("session_1", "cluster", "day", "stamp", 1, "version", About("session_1"), ())
    whole = json.loads(manifests.encode(made))
    assert manifests.decode("session_1", json.dumps({**whole, "objects": []}).encode()) == made
    with pytest.raises(StoreError, match="damaged"):
        manifests.decode("session_1", json.dumps({**whole, "objects": objects}).encode())


def test_a_table_that_unpacks_to_more_than_the_limit_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sizes come from the footer: nothing is unpacked."""
    monkeypatch.setattr(tables, "_MAX_ROW_GROUP_BYTES", 16 << 20)  # to write 1 GiB would take 4 GB of memory
    path = tmp_path / "log_files.parquet"
    rows = pa.table({"name": pa.array(["x" * (1 << 20)] * 20)})
    pq.write_table(rows, path, compression="zstd", use_dictionary=False)
    assert path.stat().st_size < 1 << 18
    before = pa.total_allocated_bytes()
    with pytest.raises(StoreError, match="a row group takes 20 MiB"):
        tables.check_table(path, 20)
    assert pa.total_allocated_bytes() <= before


def test_a_restore_leaves_room_on_the_disk(
    pushed: Manifest, archive: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")
    needed = sum(one.bytes for one in pushed.of_part("record"))
    monkeypatch.setattr(seal, "check_table", lambda path, rows: 1000 * tables.check_table(path, rows))
    for free in (needed + 99, needed + 100):  # too little to fetch the tables; too little to unpack them
        monkeypatch.setattr(seal.shutil, "disk_usage", lambda _, free=free: usage(free))
        with pytest.raises(StoreError, match="Not enough disk space") as caught:
            seal.pull_part(archive, pushed, "record", tmp_path, tmp_path / "work", 100)
        assert caught.value.code == "full"
        assert not (tmp_path / "record.duckdb").exists()
        assert not list((tmp_path / "work").iterdir())


def test_a_stray_name_costs_no_other_session(pushed: Manifest, archive: Location, tmp_path: Path) -> None:
    whole = json.loads(manifests.encode(pushed))
    newer = "session_2026-01-01_00-00-00_000000_9"
    for name, content in (
        ("..%2fx", b"{}"),
        (newer, json.dumps({**whole, "session": newer, "format": 99}).encode()),
    ):
        archive.write(f"manifests/{name}.json", content)
    run = CliRunner(env={"RAYSCOPE_ARCHIVE": archive.url}).invoke
    listing = run(app, ["archive", "list", "--format", "json"])
    assert listing.exit_code == 0, listing.output
    assert [row["session"] for row in json.loads(listing.stdout)] == [pushed.session]
    assert listing.stderr.count("is unreadable") == 2
    verified = run(app, ["archive", "verify"])
    assert "intact" in verified.output
    assert verified.exit_code == 1
    pruned = run(app, ["archive", "prune", "--older-than", "0", "--yes"])
    assert pruned.exit_code == 0, pruned.output
    assert not (tmp_path / "archive" / manifests.manifest_path(pushed.session)).exists()
    assert run(app, ["archive", "verify", "..%2fx"]).exit_code == 1


def test_a_fifo_is_no_object(pushed: Manifest, archive: Location, tmp_path: Path) -> None:
    """Opening it would block for ever: the question is answered, and the server ends."""
    attempts = next(one for one in pushed.objects if one.name == "attempts")
    path = tmp_path / "archive" / pushed.path(attempts)
    path.unlink()
    os.mkfifo(path)
    with (
        serving("other", tmp_path, archive=archive.url) as server,
        httpx.Client(base_url=server.url, timeout=120) as client,
    ):
        wait_until(lambda: client.get("/api/v1/sessions").json()["items"], "the archive is listed")
        answer = client.get("/api/v1/tasks", params={"session": pushed.session})
        assert answer.status_code == 503
        assert "attempts" in answer.json()["error"]["message"]
        server.popen.send_signal(signal.SIGTERM)
        assert server.popen.wait(120) == 0


def test_storage_that_never_answers_blocks_no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(location_module, "_CALL_S", 0.2)
    monkeypatch.setattr(location_module, "_MAX_STALLED", 3)
    monkeypatch.setattr(location_module, "_stalled", set())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "key")
    with socket.create_server(("127.0.0.1", 0)) as stalled:
        port = stalled.getsockname()[1]
        location = Location(f"s3://b/x?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1")
        asks: list[Callable[[], object]] = [
            lambda: location.list("manifests"),
            lambda: location.read("manifests/a.json", 10),
            lambda: location.digest("a"),
            lambda: location.write("a", b"x"),
        ]
        for ask in asks:
            with pytest.raises(StoreError, match="does not answer") as caught:
                ask()
            assert caught.value.code == "archive"
        stalled = [one for one in threading.enumerate() if one.name == "rayscope-storage"]
        assert len(stalled) == 3  # the fourth was not even begun
        assert all(thread.daemon for thread in stalled)


def test_two_servers_seal_the_same_session(folder: Path, archive: Location, tmp_path: Path) -> None:
    """Each has its own rows, so that their tables differ; the archive is of one of them as a whole."""
    data_dir = folder.parent.parent
    copy = tmp_path / "copy" / "sessions" / folder.name
    shutil.copytree(folder, copy)
    with duckdb.connect(str(copy / "record.duckdb")) as db:
        for name in ("attempts", "span_rows"):
            db.execute(f"DELETE FROM {name} WHERE random() < 0.5")
    about = Catalog(data_dir, read_only=True).about(folder.name)
    barrier, problems = threading.Barrier(2), []

    def seal_again(place: Path, work: Path) -> None:
        for _ in range(4):
            barrier.wait()
            try:
                seal.push(archive, place, about, work)
            except StoreError as error:
                problems.append(error)

    threads = [
        threading.Thread(target=seal_again, args=(place, tmp_path / f"work{number}"))
        for number, place in enumerate((folder, copy))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # "archive": the object of the other was there when this one was read back.
    assert {error.code for error in problems} <= {"busy", "archive"}
    assert not list((tmp_path / "archive").rglob("*.part"))
    if not problems:
        assert seal.check(archive, seal.read_manifest(archive, folder.name)) == []
    seal.push(archive, folder, about, tmp_path / "work0")
    assert seal.check(archive, seal.read_manifest(archive, folder.name)) == []


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.2, 0.5])
def test_a_push_that_is_killed_leaves_nothing_half(
    after_s: float, folder: Path, archive: Location, tmp_path: Path
) -> None:
    """Without a manifest the session is invisible; the next push completes it."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from rayscope.archive import seal\n"
        "from rayscope.archive.location import Location\n"
        "from rayscope.storage.catalog import Catalog\n"
        "folder = Path(sys.argv[1])\n"
        "about = Catalog(folder.parent.parent, read_only=True).about(folder.name)\n"
        "print('ready', flush=True)\n"
        "seal.push(Location(sys.argv[2]), folder, about, Path(sys.argv[3]))\n"
    )
    command = [sys.executable, "-c", program, str(folder), archive.url, str(tmp_path / "work")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after_s)
        process.kill()
    manifests = seal.list_manifests(archive)
    if manifests:
        assert seal.check(archive, seal.read_manifest(archive, folder.name)) == []
    about = Catalog(folder.parent.parent, read_only=True).about(folder.name)
    made = seal.push(archive, folder, about, tmp_path / "work")
    assert seal.check(archive, made) == []


def test_the_process_ends_whatever_still_waits() -> None:
    program = (
        "import threading, time\n"
        "from rayscope.cli.serving import end_within\n"
        "threading.Thread(target=time.sleep, args=(3600,)).start()\n"
        "end_within(0.2)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, timeout=250)
    assert done.returncode == 1
    assert b"storage" in done.stderr


def test_the_lock_of_a_session_is_not_waited_for_without_end(
    folder: Path, archive: Location, pushed: Manifest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rayscope.archive import service as service_module

    monkeypatch.setattr(service_module, "_WAIT_S", 0.1)
    catalog = Catalog(tmp_path / "third")
    service = service_module.ArchiveService(archive, catalog, lambda _: False, tmp_path / "w", after_s=1e9)
    service._list()
    with service._busy_with(pushed.session), pytest.raises(StoreError) as caught:
        service.fetch(pushed.session, "record.duckdb")
    assert caught.value.code == "busy"
    service.fetch(pushed.session, "record.duckdb")
    assert (tmp_path / "third" / "sessions" / pushed.session / "record.duckdb").exists()
    catalog.close()
