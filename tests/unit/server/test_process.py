"""The server in a process of its own, with its own working directory."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.process import serving
from tests.waiting import wait_until

from rayscope.settings import Settings


def test_a_relative_data_directory(bodies: list[bytes], tmp_path: Path) -> None:
    """SQL runs in processes with other working directories."""
    with serving("data", tmp_path) as server, httpx.Client(base_url=server.url, timeout=120) as client:
        for body in bodies:
            assert client.post(server.ingest_url, content=body).status_code == 204

        def count() -> int:
            answer = client.post("/api/v1/sql", json={"sql": "SELECT count(*) FROM tasks"})
            assert answer.status_code == 200, answer.text
            number: int = answer.json()["rows"][0][0]
            return number

        wait_until(count, "the tasks")
    assert (tmp_path / "data" / "sessions").is_dir()


def test_a_data_directory_is_absolute_wherever_it_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert Settings(data_dir=Path("data")).folder == tmp_path / "data"
    monkeypatch.setenv("RAYSCOPE_DATA_DIR", "there/it/is")
    settings = Settings()
    monkeypatch.chdir("/")
    assert settings.folder == tmp_path / "there/it/is"
    monkeypatch.delenv("RAYSCOPE_DATA_DIR")
    assert Settings().folder == tmp_path / "home" / ".rayscope"
