"""Where Ray's token is looked for, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from rayscope.ray.auth import bearer, ray_token


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / ".ray").mkdir()
    (tmp_path / ".ray" / "auth_token").write_text("from-home\n")
    (tmp_path / "token").write_text("  from-path \n")
    return tmp_path


def test_order(home: Path) -> None:
    environ = {"HOME": str(home)}
    assert ray_token(environ) == "from-home"
    environ["RAY_AUTH_TOKEN_PATH"] = str(home / "token")
    assert ray_token(environ) == "from-path"
    environ["RAY_AUTH_TOKEN"] = " from-variable "
    assert ray_token(environ) == "from-variable"


@pytest.mark.parametrize("mode", ["disabled", "DISABLED"])
def test_switched_off(home: Path, mode: str) -> None:
    assert ray_token({"HOME": str(home), "RAY_AUTH_TOKEN": "x", "RAY_AUTH_MODE": mode}) is None


def test_nothing_there(tmp_path: Path) -> None:
    assert ray_token({"HOME": str(tmp_path)}) is None
    assert ray_token({"HOME": str(tmp_path), "RAY_AUTH_TOKEN_PATH": str(tmp_path / "none")}) is None
    (tmp_path / "empty").write_text("\n")
    assert ray_token({"HOME": str(tmp_path), "RAY_AUTH_TOKEN_PATH": str(tmp_path / "empty")}) is None
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    assert ray_token({"HOME": str(tmp_path), "RAY_AUTH_TOKEN_PATH": str(tmp_path / "binary")}) is None


def test_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    assert ray_token() == "from-home"


def test_header() -> None:
    assert bearer("x") == {"Authorization": "Bearer x"}
    assert bearer(None) == {}
