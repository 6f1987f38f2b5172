"""Where Ray's token is looked for, and in which order."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rayscope.ray.auth import RayToken, bearer, ray_token
from rayscope.ray.dashboard import Dashboard, DashboardError


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


def test_a_token_is_read_again_only_after_a_refusal(tmp_path: Path) -> None:
    file = tmp_path / "token"
    environ = {"RAY_AUTH_TOKEN_PATH": str(file)}
    file.write_text("first")
    token = RayToken(lambda: ray_token(environ))
    assert not token.renew("first")  # nothing else is there
    file.write_text("second")
    assert token.value == "first"
    assert token.renew("first")
    assert token.value == "second"
    # Another connection was refused with the first one, too.
    file.write_text("third")
    assert token.renew("first")
    assert token.value == "second"


def test_a_refused_request_is_sent_again_with_a_new_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first")

    class Head(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent.append(self.headers["Authorization"])
            self.send_response(200 if sent[-1] == "Bearer second" else 401)
            self.end_headers()
            self.wfile.write(b"[]")

        def log_message(self, *_: object) -> None:
            pass

    sent: list[str | None] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Head) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        token = RayToken(lambda: ray_token({"RAY_AUTH_TOKEN_PATH": str(file)}))
        dashboard = Dashboard(f"http://127.0.0.1:{server.server_port}", token)
        with pytest.raises(DashboardError, match="rejected the token"):
            dashboard.get("/api/jobs/")
        file.write_text("second")
        assert dashboard.get("/api/jobs/") == []
        dashboard.close()
        server.shutdown()
    assert sent == ["Bearer first", "Bearer first", "Bearer second"]
