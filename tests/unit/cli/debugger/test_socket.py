"""The WebSocket of the command line: refusals have the server's message, and redirects are not followed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.running import Running

from rayscope.cli.api import Api
from rayscope.errors import RayscopeError
from rayscope.server.runner import Server
from rayscope.settings import Settings

PATH = "/ws/debugger/0123456789abcdef"


def refusal(api: Api) -> RayscopeError:
    with api, pytest.raises(RayscopeError) as refused, api.open_socket(PATH):
        raise AssertionError("it was opened")
    return refused.value


def test_the_message_of_the_server_is_shown(running: Running) -> None:
    services: Any = running.server.services
    wrong = refusal(Api(running.server.url, operator_token="wrong", folder=running.folder))
    assert (wrong.code, wrong.message) == ("needs_operator", "This needs the operator token.")
    assert "rayscope token" in wrong.remedy
    disabled = refusal(Api(running.server.url, folder=running.folder))
    assert (disabled.code, "--debugger" in disabled.remedy) == ("debugger_disabled", True)
    services.debuggees.limit_s = 60.0
    gone = refusal(Api(running.server.url, folder=running.folder))
    assert (gone.code, "`rayscope debug`" in gone.remedy) == ("not_paused", True)


def test_a_server_with_a_token(tmp_path: Path) -> None:
    server = Server(Settings(data_dir=tmp_path, port=0, token="secret-token", debugger=True))
    server.start()
    try:
        refused = refusal(Api(server.url, folder=tmp_path))
        assert (refused.code, "--token @FILE" in refused.remedy) == ("unauthorized", True)
        assert refusal(Api(server.url, "secret-token", folder=tmp_path)).code == "not_paused"
    finally:
        server.stop()


class _Redirecting(BaseHTTPRequestHandler):
    """Redirects all requests."""

    seen: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.seen.append(self.path)
        self.send_response(302)
        self.send_header("Location", f"/elsewhere{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def redirecting() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), _Redirecting)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def test_a_redirect_is_not_followed_and_the_root_path_is_kept(redirecting: str) -> None:
    refused = refusal(Api(f"{redirecting}/root", operator_token="secret"))
    assert refused.code == "unreachable"
    assert _Redirecting.seen == [f"/root{PATH}"]


def test_no_server_answers() -> None:
    refused = refusal(Api("http://127.0.0.1:1", operator_token="secret"))
    assert (refused.code, bool(refused.remedy)) == ("unreachable", True)
