"""Session files are exported and opened by servers."""

from __future__ import annotations

import json
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


def operator(running: Running) -> str:
    assert running.server.services is not None
    return running.server.services.secrets.operator_token


@pytest.fixture
def post(fresh: Running) -> Callable[[bytes | Iterator[bytes]], httpx.Response]:
    """Send a session file, as the operator."""
    token = operator(fresh)

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


PAGES = (
    "/api/v1/summary",
    "/api/v1/tasks",
    "/api/v1/functions",
    "/api/v1/failures",
    "/api/v1/actors",
    "/api/v1/nodes",
    "/api/v1/workers",
    "/api/v1/jobs",
    "/api/v1/placement-groups",
    "/api/v1/events",
    "/api/v1/flow/logical",
    "/api/v1/flow/gantt?by=worker",
    "/api/v1/flow/flame",
    "/api/v1/flow/physical",
    "/api/v1/flow/critical-path",
    "/api/v1/insights",
    "/api/v1/metrics/names",
)


def test_an_anonymised_session_has_the_same_pages(
    whole: Path, path: Path, fresh: Running, post: Callable[[bytes], httpx.Response]
) -> None:
    assert post(path.read_bytes()).status_code == 200
    before = {page: fresh.get(page, session=whole.name) for page in PAGES}
    answer = fresh.client.get(PATH, params={"session": whole.name, "anonymise": True})
    assert answer.headers["content-disposition"] == f'attachment; filename="{whole.name}.rayscope"'
    assert json.loads(answer.headers["x-rayscope-replaced"])["attempts.func_name"] > 1
    assert fresh.error(post(answer.content), 409)["code"] == "session_exists"  # not the same content
    headers = {"X-Rayscope-Operator": operator(fresh)}
    assert fresh.client.delete(f"/api/v1/sessions/{whole.name}", headers=headers).status_code == 200
    assert post(answer.content).status_code == 200
    for page in PAGES:
        after = fresh.get(page, session=whole.name)
        assert shape(after) == shape(before[page]), page


def shape(value: object) -> object:
    """An answer without its texts."""
    if isinstance(value, dict):
        return {key if key.islower() else "name": shape(inner) for key, inner in sorted(value.items())}
    if isinstance(value, list):
        return len(value)
    return None if isinstance(value, str) else type(value).__name__
