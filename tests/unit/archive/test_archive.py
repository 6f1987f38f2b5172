"""Sessions in an archive: a folder and an S3 server return what was stored, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import duckdb
import httpx
import pytest
from moto.server import ThreadedMotoServer
from tests.waiting import wait_until

from rayscope.archive import manifest as manifests
from rayscope.archive import seal
from rayscope.archive import service as service_module
from rayscope.archive.location import Location
from rayscope.archive.manifest import Manifest
from rayscope.archive.service import ArchiveService
from rayscope.archive.tables import PARTS
from rayscope.server.runner import Server
from rayscope.storage.catalog import Catalog, Retention
from rayscope.storage.errors import NotFound, StoreError
from rayscope.storage.log_archive import LogStore


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The URL of a bucket of a real S3 server."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("AWS_ACCESS_KEY_ID", "key"), ("AWS_SECRET_ACCESS_KEY", "secret")):
            patch.setenv(name, value)
        boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1").create_bucket(
            Bucket="fleet"
        )
        yield f"s3://fleet/rays?endpoint_override=127.0.0.1:{port}&scheme=http&region=us-east-1"
    server.stop()


@pytest.fixture(autouse=True)
def look_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rayscope.archive.service._LOOK_S", 0.2)


def push(location: Location, folder: Path) -> Manifest:
    about = Catalog(folder.parent.parent, read_only=True).about(folder.name)
    return seal.push(location, folder, about, folder.parent.parent / "work")


def log_of(path: Path) -> tuple[Any, ...]:
    store = LogStore(path)
    try:
        files = store.files()
        return (
            files,
            store.read("node", "worker.out", 0, 1 << 30),
            store.offset_at("node", "worker.out", 15),
            store.disk_bytes,
        )
    finally:
        store.close()


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_a_session_comes_back_as_it_was(
    kind: str, folder: Path, dump: Any, tmp_path: Path, request: Any
) -> None:
    url = f"file://{tmp_path / 'archive'}" if kind == "folder" else request.getfixturevalue("bucket")
    location = Location(url)
    made = push(location, folder)
    assert seal.check(location, seal.read_manifest(location, folder.name)) == []
    back = tmp_path / "back"
    back.mkdir()
    assert [seal.pull_part(location, made, part, back, tmp_path / "work") for part in PARTS] == [
        True,
        False,
        True,
    ]
    assert dump(back / "record.duckdb") == dump(folder / "record.duckdb")
    assert log_of(back / "logs.sqlite") == log_of(folder / "logs.sqlite")
    assert [found.name for found in location.list(manifests.MANIFESTS)] == [f"{folder.name}.json"]
    seal.remove(location, made)
    assert location.list(manifests.MANIFESTS) == []
    assert all(location.size(made.path(one)) is None for one in made.objects)


def test_an_interrupted_push_continues_where_it_stopped(folder: Path, tmp_path: Path) -> None:
    location = Location(f"file://{tmp_path / 'archive'}")
    made = push(location, folder)
    paths = [tmp_path / "archive" / made.path(one) for one in made.objects]
    for path in paths:
        os.utime(path, (1, 1))
    paths[-1].unlink()
    (tmp_path / "archive" / manifests.manifest_path(folder.name)).unlink()
    assert push(location, folder).objects == made.objects
    assert [path.stat().st_mtime == 1 for path in paths] == [True] * (len(paths) - 1) + [False]


def sessions(server: Server) -> dict[str, str]:
    items = httpx.get(f"{server.url}/api/v1/sessions").raise_for_status().json()["items"]
    return {item["session"]: item["location"] for item in items}


def tasks(server: Server, session: str) -> int:
    answer = httpx.get(f"{server.url}/api/v1/tasks", params={"session": session, "limit": 1})
    return int(answer.raise_for_status().json()["total"])


def test_archived_sessions_are_read_and_continued(
    bodies: list[bytes],
    serve: Callable[..., Server],
    record: Callable[..., Path],
    dump: Callable[[Path], Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is dropped before it is archived; then readers, and late events, restore it."""
    monkeypatch.setattr("rayscope.storage.catalog.LIVE_NS", 0)
    server = serve(archive=f"file://{tmp_path / 'archive'}", archive_after_min=0)
    catalog, writer = server.services.catalog, server.services.writer
    monkeypatch.setattr(server.services.archive, "_is_live", lambda _: False)
    writer.submit(bodies[0])
    assert writer.flush()
    (session,) = catalog.names()
    writer.end_session(session, time.time_ns())
    assert writer.flush()
    before = tasks(server, session)

    def dropped() -> bool:
        catalog.release(session)
        return catalog.apply_retention(Retention(max_bytes=1), time.time_ns()) == [session]

    monkeypatch.setattr(server.services.archive, "is_sealed", lambda _: False)
    assert not dropped()
    monkeypatch.undo()
    monkeypatch.setattr("rayscope.storage.catalog.LIVE_NS", 0)
    wait_until(lambda: server.services.archive.manifest(session) is not None, "the archive")
    writer.flush()
    wait_until(dropped, "the record leaves the disk")
    assert not catalog.path(session).exists()
    assert sessions(server) == {session: "archive"}
    assert tasks(server, session) == before
    assert sessions(server) == {session: "both"}
    wait_until(dropped, "the record leaves the disk again")
    for body in bodies:
        writer.submit(body)
    assert writer.flush()
    with duckdb.connect(str(record(bodies)), read_only=True) as plain:
        ((expected,),) = plain.execute("SELECT count(*) FROM tasks").fetchall()
    assert tasks(server, session) == expected > before


def test_hostile_manifests_cost_themselves_alone(
    folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "_LOOK_S", 0.2)
    location = Location(f"file://{tmp_path / 'archive'}")
    push(location, folder)
    whole = json.loads(location.read(manifests.manifest_path(folder.name), 1 << 20))
    outside = tmp_path / "outside"
    bad = {
        "session_a": b"{",
        "session_b": json.dumps(whole).encode(),
        "session_c": json.dumps({**whole, "session": "session_c", "day": "../../x"}).encode(),
        "session_d": json.dumps(
            {
                **whole,
                "session": "session_d",
                "objects": [{**whole["objects"][0], "name": "../../../outside"}],
            }
        ).encode(),
        "session_e": json.dumps({**whole, "session": "session_e", "format": 99}).encode(),
    }
    for name, content in bad.items():
        location.write(f"manifests/{name}.json", content)
    catalog = Catalog(tmp_path / "other")
    service = ArchiveService(location, catalog, lambda _: False, tmp_path / "w", after_s=1e9)
    catalog.remotes = [service]
    service.start()
    try:
        wait_until(lambda: catalog.names() == [folder.name], "the sound one")
        with catalog.reading(folder.name) as file:
            assert file.count_attempts() > 0
        assert service.problem is None
        assert not outside.exists()
        # Each turn reads them again, but says so once.
        list_manifests, turns = seal.list_manifests, []
        monkeypatch.setattr(seal, "list_manifests", lambda one: turns.append(1) or list_manifests(one))
        wait_until(lambda: len(turns) > 2, "more turns")
        warned = [one.getMessage() for one in caplog.records if "cannot be listed" in one.getMessage()]
        assert len(warned) == len(set(warned)) == len(bad)
    finally:
        service.stop()
        catalog.close()
    for name in ("../x", "a/b", ""):
        with pytest.raises(NotFound):
            manifests.manifest_path(name)


def test_an_archive_that_is_away_stops_nothing(
    folder: Path, serve: Callable[..., Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "archive").write_text("no folder")
    server = serve(folder.parent.parent, archive=f"file://{tmp_path / 'archive'}", archive_after_min=0)
    monkeypatch.setattr(server.services.archive, "_is_live", lambda _: False)
    found = wait_until(
        lambda: httpx.get(f"{server.url}/api/health").json()["archive"]["error"], "the problem is told"
    )
    assert found["remedy"]
    assert tasks(server, folder.name) > 0
    assert server.services.catalog.apply_retention(Retention(max_age_s=0.001), time.time_ns() + 10**11) == []


def test_an_archive_url_is_shown_without_its_secrets() -> None:
    assert Location("s3://key:secret@bucket/x?endpoint_override=h").url == "s3://bucket/x"
    with pytest.raises(StoreError) as caught:
        Location("ftp://user:secret@host/x")
    assert "secret" not in str(caught.value)


def test_a_deleted_session_is_deleted_from_the_archive(
    folder: Path, serve: Callable[..., Server], tmp_path: Path
) -> None:
    location = Location(f"file://{tmp_path / 'archive'}")
    push(location, folder)
    shutil.rmtree(folder)
    server = serve(folder.parent.parent, archive=f"file://{tmp_path / 'archive'}")
    wait_until(lambda: sessions(server) == {folder.name: "archive"}, "the archive is listed")
    headers = {"X-Rayscope-Operator": server.services.secrets.operator_token}
    url = f"{server.url}/api/v1/sessions/{folder.name}?force=true"  # it was recorded just now
    httpx.delete(url, headers=headers).raise_for_status()
    assert sessions(server) == {}
    assert location.list(manifests.MANIFESTS) == []
