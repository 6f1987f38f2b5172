"""Session files are exported and opened by servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from tests import session_files
from tests.running import Running
from tests.unit.archive.test_session_files import export
from tests.waiting import wait_until

from rayscope.api import security
from rayscope.archive import api
from rayscope.client import Client
from rayscope.server.runner import Server
from rayscope.settings import Settings
from rayscope.storage.errors import Busy

PATH = "/api/v1/sessions/file"


@pytest.fixture
def path(whole: Path, tmp_path: Path) -> Path:
    return export(whole, tmp_path / "a.rayscope")


@pytest.fixture
def post(fresh: Running) -> Callable[[bytes | Iterator[bytes]], httpx.Response]:
    """Send a session file, as the operator."""
    assert fresh.server.services is not None
    token = fresh.server.services.secrets.operator_token

    def send(content: bytes | Iterator[bytes]) -> httpx.Response:
        headers = {"X-Rayscope-Operator": token}
        return fresh.client.post(PATH, content=content, headers=headers, timeout=120)

    return send


def test_a_file_is_opened_by_a_server_and_exported_again(
    fresh: Running, whole: Path, path: Path, post: Callable[[bytes], httpx.Response], tmp_path: Path
) -> None:
    fresh.error(fresh.client.post(PATH, content=path.read_bytes()), 403)
    answer = post(path.read_bytes())
    assert (answer.status_code, answer.json()) == (200, {"session": whole.name})
    assert post(path.read_bytes()).json() == {"session": whole.name}
    (item,) = fresh.get("/api/v1/sessions")["items"]
    assert (item["session"], item["state"]) == (whole.name, "ended")
    assert fresh.get("/api/v1/tasks", session=whole.name)["items"]
    answer = fresh.client.get(PATH, params={"session": whole.name})
    assert answer.headers["content-disposition"].endswith('.rayscope"')
    (tmp_path / "again").write_bytes(answer.content)
    again, first = session_files.read(tmp_path / "again"), session_files.read(path)
    manifest = session_files.manifest_name(first)
    assert again.keys() == first.keys()
    assert {name for name in first if again[name] != first[name]} == {manifest}  # so all rows are equal
    with Client(fresh.server.url, folder=fresh.folder) as client:
        assert client.open_session_file(path) == whole.name
        assert session_files.read(client.export_session(tmp_path / "third")).keys() == first.keys()


def test_a_bad_file_is_refused_and_leaves_nothing(
    fresh: Running, path: Path, post: Callable[[bytes], httpx.Response]
) -> None:
    error = fresh.error(post(path.read_bytes()[:-1]), 400)
    assert error["code"] == "bad_session_file"
    assert fresh.get("/api/v1/sessions")["items"] == []
    assert list((fresh.folder / "session-files").iterdir()) == []
    assert list((fresh.folder / "sessions").iterdir()) == []


def test_one_file_is_opened_at_a_time(
    fresh: Running, path: Path, post: Callable[[bytes], httpx.Response]
) -> None:
    with api._UPLOADS.take():
        assert fresh.error(post(path.read_bytes()), 503)["code"] == "busy"
    assert post(path.read_bytes()).status_code == 200
    with pytest.raises(Busy), api._UPLOADS.take(), api._UPLOADS.take():
        pass


def test_bodies_are_limited_and_a_cut_off_one_leaves_nothing(
    fresh: Running,
    post: Callable[[bytes | Iterator[bytes]], httpx.Response],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fresh.error(post(b"x" * (2 << 20)), 400)["code"] == "bad_session_file"  # above the limit of others
    monkeypatch.setattr(security, "_MAX_SESSION_FILE_BYTES", 1000)
    assert fresh.error(post(b"x" * 1001), 413)["code"] == "too_large"
    assert fresh.error(post(iter([b"x" * 1001])), 413)["code"] == "too_large"
    monkeypatch.undo()

    def broken() -> Iterator[bytes]:
        yield b"x" * 1000
        raise RuntimeError

    with pytest.raises(RuntimeError):
        post(broken())
    work = fresh.folder / "session-files"
    wait_until(lambda: list(work.iterdir()) == [], "the part of the file is deleted")


def test_a_full_disk_is_noticed_before_the_file_arrives(path: Path, tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path / "full", port=0, min_free_bytes=1 << 60))
    server.start()
    try:
        assert server.services is not None
        headers = {"X-Rayscope-Operator": server.services.secrets.operator_token}
        answer = httpx.post(server.url + PATH, content=path.read_bytes(), headers=headers)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "full")
    finally:
        server.stop()
