"""Valid URLs of a warehouse, and errors if it cannot be used. No message has a password."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from rayscope.storage.errors import StoreError
from rayscope.warehouse.client import Address, connect, parse_url

PASSWORD = "p@ss/w'rd"
IN_URL = "p%40ss%2Fw%27rd"


def test_the_parts_of_a_url() -> None:
    assert parse_url(f"clickhouse://me:{IN_URL}@host:81/fleet") == Address(
        "clickhouse://host:81/fleet", None, "host", 81, "me", PASSWORD, "fleet", False
    )
    assert parse_url("clickhouses://host")[2:] == ("host", 8443, "default", "", "rayscope", True)
    assert parse_url("clickhouse://[::1]/x")[2:4] == ("::1", 8123)
    assert parse_url("chdb:///a%20b?database=c")[:2] == ("chdb:///a%20b", Path("/a b"))


@pytest.mark.parametrize(
    "url",
    ["", "x", "http://u:secret@h/", "clickhouse://", "clickhouse://u:secret@h:port/", "chdb://", "chdb:///",
     "chdb://memory", "clickhouse://u:secret@[/"],
)  # fmt: skip
def test_invalid_urls_are_refused(url: str) -> None:
    with pytest.raises(StoreError, match="Give a URL such as") as error:
        parse_url(url)
    assert "secret" not in str(error.value)


class Refusing(BaseHTTPRequestHandler):
    """Answers as ClickHouse does, with an error of the code in the path of its class."""

    code, text = 516, "Authentication failed: password is incorrect"

    def do_POST(self) -> None:
        body = f"Code: {self.code}. DB::Exception: {self.text} {PASSWORD}. (NAME) (version 26.9.2.1)".encode()
        self.send_response(500)
        self.send_header("X-ClickHouse-Exception-Code", str(self.code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    made = HTTPServer(("127.0.0.1", 0), type("Handler", (Refusing,), {}))
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize(
    ("code", "text", "expected", "kind"),
    [
        (516, "Authentication failed", "refused the user 'me' with this password", "login"),
        (243, "Cannot reserve 1 MiB, not enough space", "disk of clickhouse://.* is full", "full"),
        (241, "Memory limit exceeded", "needs more memory than allowed", "memory"),
        (497, "Not enough privileges", "Not enough privileges .*reads only", "bad_query"),
    ],
)
def test_server_errors_have_a_remedy(
    code: int, text: str, expected: str, kind: str, server: HTTPServer
) -> None:
    handler = server.RequestHandlerClass
    handler.code, handler.text = code, text  # type: ignore[attr-defined]
    url = f"clickhouse://me:{IN_URL}@127.0.0.1:{server.server_port}/x"
    with pytest.raises(StoreError, match=expected) as error, connect(url):
        pass
    assert error.value.code == kind
    assert PASSWORD not in str(error.value)
    assert IN_URL not in str(error.value)
    assert error.value.__cause__ is None


def test_a_server_that_is_not_clickhouse(server: HTTPServer) -> None:
    def answer(self: BaseHTTPRequestHandler) -> None:
        self.send_error(404, "nothing here")

    server.RequestHandlerClass.do_POST = server.RequestHandlerClass.do_GET = answer  # type: ignore[attr-defined]
    url = f"clickhouse://me:{IN_URL}@127.0.0.1:{server.server_port}/x"
    with pytest.raises(StoreError, match="no answer that ClickHouse would give") as error, connect(url):
        pass
    assert error.value.code == "unreachable"


def test_a_server_that_is_not_there() -> None:
    url = f"clickhouse://me:{IN_URL}@127.0.0.1:9/x"
    with pytest.raises(StoreError, match=r"cannot be reached: Connection refused\.") as error, connect(url):
        pass
    assert error.value.code == "unreachable"
    assert PASSWORD not in str(error.value)


def test_a_database_or_a_folder_that_is_not_there(engine: str, tmp_path: Path) -> None:
    for url in (f"{engine}?database=nowhere", f"chdb://{tmp_path / 'nowhere'}"):
        with pytest.raises(StoreError, match=r"no warehouse at chdb.*rayscope warehouse init"), connect(url):
            pass
    assert list(tmp_path.iterdir()) == []


def test_packages_that_are_not_installed(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clickhouse_connect", None)
    with pytest.raises(StoreError, match=r"pip install 'rayscope\[warehouse\]'"), connect(engine):
        pass
