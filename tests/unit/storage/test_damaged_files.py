"""The server starts whatever a file of its data directory contains, and names the damage."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from rayscope.server.runner import Server, StartError
from rayscope.settings import Settings
from rayscope.storage.catalog import Catalog, Retention

DEEP = b"[" * 100_000


def empty(path: Path) -> None:
    path.write_bytes(b"")


def no_utf8(path: Path) -> None:
    path.write_bytes(b'{"session": "\xff\xfe", "first_ns": 1}')


def deep(path: Path) -> None:
    path.write_bytes(b'{"session":' + DEEP)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if path.exists() else b"\0")


def folder(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def dangling_link(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to("nowhere")


DAMAGES = (empty, no_utf8, deep, cut, folder, dangling_link)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory, bodies: list[bytes]) -> Path:
    """A data directory with two sessions."""
    home = tmp_path_factory.mktemp("recorded") / "data"
    server = Server(Settings(data_dir=home, port=0))
    server.start()
    assert server.services is not None
    for body in bodies:
        for session in (b"session_one", b"session_two"):
            answer = httpx.post(server.ingest_url, content=_renamed(body, session))
            assert answer.status_code == 204
    assert server.services.writer.flush()
    server.services.catalog.save_agents("session_one")
    server.stop()
    return home


def _renamed(body: bytes, session: bytes) -> bytes:
    events = json.loads(body)
    return json.dumps([event | {"sessionName": session.decode()} for event in events]).encode()


@pytest.mark.parametrize("damage", DAMAGES)
def test_it_starts_and_the_other_session_is_whole(
    damage: Callable[[Path], None], recorded: Path, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    for name in ("about.json", "agents.json", "metrics.duckdb", "alerts.json"):
        damage(home / "sessions" / "session_one" / name)
    for name in ("key", "operator", "server.json"):
        damage(home / name)
    stray = home / "spool"
    for name in ("zzz.json", "é.json", "00000000000000000001.json"):
        damage(stray / name)
    (stray / "00000000000000000002.json").mkdir()
    (stray / "00000000000000000003.part").mkdir()
    server = serve(home)
    assert server.services is not None
    rows = {row["session"]: row for row in httpx.get(f"{server.url}/api/v1/sessions").json()["items"]}
    assert set(rows) == {"session_one", "session_two"}
    assert rows["session_two"]["error"] is None
    assert "about.json was damaged" in rows["session_one"]["error"]
    for session in rows:
        page = httpx.get(f"{server.url}/api/v1/tasks", params={"session": session}).json()
        assert page["total"] == rows["session_two"]["attempts"] > 30
    if damage is not empty:
        damaged = httpx.get(f"{server.url}/api/health").json()["damaged"]
        assert len([name for name in damaged if name.startswith(("key.", "operator."))]) >= (
            damage is not cut
        )


def test_counts_of_a_session_without_its_about_are_made_again(
    recorded: Path, tmp_path: Path, serve: Callable[..., Server], wait_for: Any
) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    no_utf8(home / "sessions" / "session_one" / "about.json")
    server = serve(home)
    assert server.services is not None
    catalog = server.services.catalog
    wait_for(lambda: catalog.about("session_one").attempts, "the counts")
    assert catalog.about("session_one").states == catalog.about("session_two").states


def test_a_missing_record_is_replaced_with_a_note(
    recorded: Path, tmp_path: Path, serve: Callable[..., Server], bodies: list[bytes]
) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    (home / "sessions" / "session_one" / "record.duckdb").unlink()
    server = serve(home)
    assert server.services is not None
    assert httpx.post(server.ingest_url, content=_renamed(bodies[0], b"session_one")).status_code == 204
    assert server.services.writer.flush()
    rows = {row["session"]: row for row in httpx.get(f"{server.url}/api/v1/sessions").json()["items"]}
    assert "missing" in rows["session_one"]["error"]
    assert rows["session_two"]["error"] is None


def test_damaged_metrics_are_reported(recorded: Path, tmp_path: Path, serve: Callable[..., Server]) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    (home / "sessions" / "session_one" / "metrics.duckdb").write_bytes(b"\xa5" * 20_000)
    server = serve(home)
    rows = {row["session"]: row for row in httpx.get(f"{server.url}/api/v1/sessions").json()["items"]}
    assert "metrics" in rows["session_one"]["error"]


@pytest.mark.parametrize("name", ["sessions", "spool", "rejected"])
def test_a_file_in_place_of_a_folder_is_reported(
    name: str, tmp_path: Path, serve: Callable[..., Server]
) -> None:
    (tmp_path / name).write_text("")
    with pytest.raises(StartError) as refused:
        serve(tmp_path)
    assert "--data-dir" in refused.value.remedy


def test_health_reports_a_full_disk(serve: Callable[..., Server], bodies: list[bytes]) -> None:
    server = serve(min_free_bytes=1 << 60)
    answer = httpx.get(f"{server.url}/api/health").json()
    assert answer["status"] == "degraded"
    assert "free" in answer["error"]["message"]
    refused = httpx.post(server.ingest_url, content=bodies[0])
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")


@pytest.mark.parametrize("damage", [cut, empty, folder, dangling_link])
def test_an_invalid_record_is_named_and_later_events_get_a_new_record(
    damage: Callable[[Path], None],
    recorded: Path,
    tmp_path: Path,
    serve: Callable[..., Server],
    bodies: list[bytes],
) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    damage(home / "sessions" / "session_one" / "record.duckdb")
    server = serve(home)
    assert server.services is not None
    client = httpx.Client(base_url=server.url)

    def rows() -> dict[str, Any]:
        return {row["session"]: row for row in client.get("/api/v1/sessions").json()["items"]}

    assert rows()["session_one"]["state"] == "unreadable"
    for session in (b"session_one", b"session_two"):
        for body in bodies:
            assert client.post(server.ingest_url, content=_renamed(body, session)).status_code == 204
    assert server.services.writer.flush()
    found = rows()
    assert "record.damaged-" in found["session_one"]["error"]
    assert found["session_two"]["error"] is None
    for session in found:
        page = client.get("/api/v1/tasks", params={"session": session}).json()
        assert page["total"] == found["session_two"]["attempts"] > 30
    assert client.get("/api/health").json()["error"] is None
    client.close()


def test_a_record_without_its_log_says_how_much_is_left(recorded: Path, tmp_path: Path) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    catalog = Catalog(home)
    before = catalog.about("session_one").attempts
    catalog.about("session_one").attempts = before + 1000  # as if the last flush was only in the log
    catalog.save_about("session_one")
    again = Catalog(home)
    with again.reading("session_one"):
        pass
    assert f"of {before + 1000} attempts" in (again.about("session_one").note or "")
    with again.reading("session_two"):
        pass
    assert again.about("session_two").note is None
    assert again.uncounted == {"session_one"}
    again.close()


def test_a_time_that_a_flipped_bit_changed_costs_no_record(recorded: Path, tmp_path: Path) -> None:
    home = tmp_path / "data"
    shutil.copytree(recorded, home)
    path = home / "sessions" / "session_one" / "about.json"
    content = path.read_bytes()
    at = content.index(b'"last_ns":') + len(b'"last_ns":') + 1
    path.write_bytes(content[:at] + bytes([content[at] ^ 4]) + content[at + 1 :])
    catalog = Catalog(home)
    assert "about.json was damaged" in (catalog.about("session_one").note or "")
    assert catalog.apply_retention(Retention(), time.time_ns() + 60 * 10**9) == []
