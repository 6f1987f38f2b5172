"""A small HTTP server with chDB behind it, that speaks as much of ClickHouse's protocol as a client needs."""

from __future__ import annotations

import re
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import chdb

#: Parameters of a request that are no settings.
_PROTOCOL = {
    *("query", "database", "query_id", "session_id", "client_protocol_version", "compress", "role"),
    *("wait_end_of_query", "send_progress_in_http_headers", "http_headers_progress_interval_ms"),
}


class Handler(BaseHTTPRequestHandler):
    """Runs each request in a session of its own, with its settings."""

    protocol_version = "HTTP/1.1"
    folder = ""
    #: Whether the user may change no settings.
    is_reader = False
    #: The settings of the requests that came, newest last.
    seen: list[dict[str, str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(self._chunks())
        given = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        settings = {k: v for k, v in given.items() if k not in _PROTOCOL and not k.startswith("param_")}
        self.seen.append(settings)
        try:
            answer = self._run(given, settings, body)
        except RuntimeError as error:
            code = re.search(r"Code: (\d+)", str(error))
            self._answer(500, str(error).encode(), {"X-ClickHouse-Exception-Code": code[1] if code else "1"})
        else:
            self._answer(200, answer, {})

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _run(self, url_parameters: dict[str, str], settings: dict[str, str], body: bytes) -> bytes:
        connection = chdb.connect(self.folder)
        try:
            if database := url_parameters.get("database"):
                connection.query(f"USE `{database}`")
            if self.is_reader:
                connection.query("SET readonly = 1")
            for name, value in sorted(settings.items(), key=lambda item: item[0] == "readonly"):
                connection.query(f"SET {name} = '{value}'")
            parameters = {
                k.removeprefix("param_"): v for k, v in url_parameters.items() if k.startswith("param_")
            }
            sql = url_parameters.get("query") or body.decode()
            if "query" in url_parameters and body:
                with tempfile.NamedTemporaryFile() as file:
                    file.write(body)
                    file.flush()
                    sql = re.sub(r"\s*FORMAT (\w+)\s*$", rf" FROM INFILE '{file.name}' FORMAT \1", sql)
                    return bytes(connection.query(sql, "TabSeparated").bytes())
            return bytes(
                connection.query(
                    sql, "TabSeparated", **({"params": parameters} if parameters else {})
                ).bytes()
            )
        finally:
            connection.close()

    def _answer(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def bridge(
    folder: str, *, is_reader: bool = False, port: int = 0
) -> Iterator[tuple[int, list[dict[str, str]]]]:
    """The port of such a server, and the settings that came."""
    seen: list[dict[str, str]] = []
    handler = type("Bridge", (Handler,), {"folder": folder, "seen": seen, "is_reader": is_reader})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port, seen
    finally:
        server.shutdown()
        server.server_close()
