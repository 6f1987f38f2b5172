"""Channels use no file of the server's machine, follow no redirect, and show nothing of an answer but its status."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import apprise
import pytest
from apprise.plugins.lark import NotifyLark

from rayscope.alerts.notification.alertmanager_channel import AlertmanagerChannel
from rayscope.alerts.notification.apprise_channel import AppriseChannel
from rayscope.alerts.notification.channels import ChannelError, Notification
from rayscope.storage.errors import BadQuery

SECRET = "the-inner-service-says-this"
PLUGINS = Path(apprise.__file__).parent / "plugins"
#: Modules of Apprise that read a file which an argument names, with URLs that do so.
READERS = {
    "discord": [
        "discord://111111111111111111/{token}/?template={file}",
        "https://discord.com/api/webhooks/111111111111111111/{token}?template={file}",
        "guilded://111111111111111111/{token}/?template={file}",
        "discord://111111111111111111/{token}/?template=http://127.0.0.1/inner",
    ],
    "slack": ["slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/?template={file}"],
    "telegram": ["tgram://123456789:abcdefg_hijklmnop/12315544/?template={file}"],
    "workflows": [
        "workflow://host:443/{token}/{token}/?template={file}",
        "workflows://host:443/{token}/{token}/?template={file}",
    ],
    "fcm": ["fcm://project/12345?mode=oauth2&keyfile={file}", "fcm://project/12345?KeyFile={file}"],
    "vapid": ["vapid://user@example.com/sub?keyfile={file}", "vapid://user@example.com/sub?subfile={file}"],
    "email": [
        "mailto://user:password@example.com?pgp=encrypt&pgppub={file}",
        "mailto://user:password@example.com?pgp=sign&pgpprv={file}",
    ],
}
NOTIFICATION = Notification("session", {}, [], [], None, time.time_ns())


@pytest.mark.parametrize("url", [url for urls in READERS.values() for url in urls])
def test_arguments_that_name_a_file_are_refused(url: str, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_text('{"type": "message", "content": "x"}')
    with pytest.raises(BadQuery, match="names a file"):
        AppriseChannel({"urls": [url.format(file=file, token="a" * 64)]})


def test_all_plugins_that_read_files_are_known() -> None:
    """A reader that a new version of Apprise adds fails this test until it is listed above."""
    is_reader = re.compile(r"= AppriseAttachment\(asset=|PEMController\(|PGPController\(")
    found = {
        path.relative_to(PLUGINS).parts[0].removesuffix(".py")
        for path in PLUGINS.rglob("*.py")
        if is_reader.search(path.read_text())
    }
    assert found == set(READERS)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("syslog://", "log of the server"),
        ("json://127.0.0.1/?redirect=yes", "redirect"),
        ("file:///etc/passwd", "not supported"),
        ("json://127.0.0.1, syslog://", "not supported"),
    ],
)
def test_other_urls_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(BadQuery, match=why):
        AppriseChannel({"urls": [url]})


@pytest.mark.parametrize("tail", ["?x=", "#x"])
def test_an_alertmanager_has_no_query(tail: str) -> None:
    with pytest.raises(BadQuery, match="query"):
        AlertmanagerChannel({"url": f"http://127.0.0.1:9093/secret{tail}"})


@pytest.fixture
def inner() -> Iterator[Any]:
    """A service that answers with a secret; ``/moved`` leads to another path of it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["Content-Length"]))
            moved = self.path.startswith("/moved")
            self.send_response(302 if moved else 500)
            if moved:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(SECRET.encode())

        do_GET = do_POST

        def log_message(self, *_: object) -> None:
            pass

    asked: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = asked  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("kind", ["alertmanager", "json", "lark"])
def test_only_the_status_of_an_answer_is_shown(
    kind: str, inner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = f"127.0.0.1:{inner.server_port}"
    if kind == "alertmanager":
        channel: Any = AlertmanagerChannel({"url": f"http://{host}"})
    elif kind == "json":
        channel = AppriseChannel({"urls": [f"json://{host}/secret"]})
    else:  # a channel that quotes the body in its log
        monkeypatch.setattr(NotifyLark, "notify_url", f"http://{host}/")
        channel = AppriseChannel({"urls": [f"lark://{'a' * 36}"]})
    with pytest.raises(ChannelError) as caught:
        channel.send(NOTIFICATION)
    assert "500" in str(caught.value)
    assert SECRET not in str(caught.value)
    assert len(inner.asked) == 1


@pytest.mark.parametrize("kind", ["alertmanager", "json"])
def test_redirects_are_not_followed(kind: str, inner: Any) -> None:
    host = f"127.0.0.1:{inner.server_port}"
    channel: Any = (
        AlertmanagerChannel({"url": f"http://{host}/moved"})
        if kind == "alertmanager"
        else AppriseChannel({"urls": [f"json://{host}/moved"]})
    )
    with pytest.raises(ChannelError, match="302"):
        channel.send(NOTIFICATION)
    assert [path.partition("/api")[0] for path in inner.asked] == ["/moved"]
