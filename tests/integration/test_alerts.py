"""Alerts with real counterparts: Debian's Alertmanager and Prometheus, and a mail server."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from aiosmtpd.controller import Controller
from tests.cluster import free_port
from tests.story import SESSION, Story
from tests.waiting import wait_until

from rayscope.model.metric import sample
from rayscope.server.runner import Server
from rayscope.settings import Settings

RULES = """
groups:
- name: mine
  interval: 1s
  rules:
  - {alert: QueueLong, metric: my_queue, op: '>', threshold: 40, labels: {severity: critical},
     annotations: {summary: 'Queue {{ $labels.queue }} has {{ $value }} entries'}}
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Starts a program of Debian's and waits until it answers at ``url``."""
    assert shutil.which("prometheus-alertmanager"), "it is missing: run `make system`"
    with ExitStack() as stack:

        def run(url: str, *command: str) -> None:
            with (tmp_path / f"{command[0]}.log").open("w") as log:
                process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
            stack.callback(process.wait, 20)
            stack.callback(process.terminate)

            def answers() -> bool:
                assert process.poll() is None, (tmp_path / f"{command[0]}.log").read_text()
                with contextlib.suppress(httpx.HTTPError):
                    return httpx.get(url).is_success
                return False

            wait_until(answers, command[0])

        yield run


class _Hook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.server.bodies.append(body)  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


class _Mailbox:
    def __init__(self) -> None:
        self.mails: list[Any] = []

    async def handle_DATA(self, _: Any, __: Any, envelope: Any) -> str:
        self.mails.append((envelope.rcpt_tos, message_from_bytes(envelope.content)))
        return "250 OK"


class Alerting:
    """A server with a session that lives, and the series ``my_queue`` in it."""

    def __init__(self, folder: Path, channels: str) -> None:
        (folder / "alerts").mkdir(parents=True)
        (folder / "alerts" / "mine.yml").write_text(RULES)
        (folder / "alerts" / "channels.yml").write_text(channels)
        self.server = Server(Settings(data_dir=folder, port=0))
        self.server.start()
        self.services: Any = self.server.services
        story = Story()
        story.task("load", 0, 1, 5)
        self.services.writer.submit_records(story.batch, "events")
        assert self.services.writer.flush()

    def queue(self, length: float) -> None:
        store = self.services.metrics.store(SESSION)
        store.append(time.time_ns(), [sample("my_queue", length, queue="q1")])

    def turn(self) -> None:
        """Alerts as they will be when some time has passed: the server turns them by itself too."""
        self.services.alerts.turn(time.time_ns())


@pytest.fixture
def alerting(tmp_path: Path) -> Iterator[Callable[[str], Alerting]]:
    with ExitStack() as stack:

        def make(channels: str) -> Alerting:
            made = Alerting(tmp_path / "data", channels)
            stack.callback(made.server.stop)
            return made

        yield make


def test_alertmanager_takes_an_alert_and_its_end(
    alerting: Callable[[str], Alerting],
    start: Callable[..., None],
    wait_for: Callable[..., Any],
    tmp_path: Path,
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    (tmp_path / "am.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
    start(
        f"{url}/-/ready",
        "prometheus-alertmanager",
        f"--config.file={tmp_path / 'am.yml'}",
        f"--storage.path={tmp_path / 'am'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--cluster.listen-address=",
    )
    made = alerting(f"channels: [{{name: am, type: alertmanager, url: '{url}'}}]\n")

    def known(active: bool) -> Any:
        made.turn()
        return httpx.get(f"{url}/api/v2/alerts", params={"active": str(active).lower()}).json()

    made.queue(90)
    (alert,) = wait_for(lambda: known(True), "Alertmanager has it")
    assert alert["labels"] == {
        "alertname": "QueueLong",
        "queue": "q1",
        "severity": "critical",
        "session": SESSION,
    }
    assert alert["annotations"]["summary"] == "Queue q1 has 90 entries"
    assert alert["generatorURL"].startswith(made.server.url)
    made.queue(3)
    wait_for(lambda: not known(True), "Alertmanager knows that it is over")


def test_prometheus_loads_our_rules_as_they_are_exported(
    alerting: Callable[[str], Alerting], start: Callable[..., None], tmp_path: Path
) -> None:
    made = alerting("channels: []\n")
    (tmp_path / "ours.yml").write_text(httpx.get(f"{made.server.url}/api/v1/alerts/export").text)
    (tmp_path / "prometheus.yml").write_text("rule_files: [ours.yml]\n")
    port = free_port()
    start(
        f"http://127.0.0.1:{port}/-/ready",
        "prometheus",
        f"--config.file={tmp_path / 'prometheus.yml'}",
        f"--storage.tsdb.path={tmp_path / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    groups = httpx.get(f"http://127.0.0.1:{port}/api/v1/rules").json()["data"]["groups"]
    loaded = {rule["name"]: rule for group in groups for rule in group["rules"]}
    ours = httpx.get(f"{made.server.url}/api/v1/alerts/rules").json()["items"]
    assert set(loaded) == {rule["name"] for rule in ours if rule["enabled"]}
    for rule in ours:
        if rule["enabled"]:
            assert loaded[rule["name"]]["duration"] == rule["for_s"]


def test_apprise_delivers_to_a_web_hook_and_a_mail_server(
    alerting: Callable[[str], Alerting], wait_for: Callable[..., Any]
) -> None:
    hook = HTTPServer(("127.0.0.1", 0), _Hook)
    hook.bodies = []  # type: ignore[attr-defined]
    Thread(target=hook.serve_forever, daemon=True).start()
    mailbox = _Mailbox()
    smtp = Controller(mailbox, hostname="127.0.0.1", port=free_port())
    smtp.start()
    try:
        mailto = f"mailto://127.0.0.1:{smtp.port}?from=rayscope@example.org&to=ops@example.org&mode=insecure"
        made = alerting(
            "route: {group_wait: 0s}\n"
            f"channels: [{{name: both, type: apprise, urls: ['json://127.0.0.1:{hook.server_port}', "
            f"'{mailto}']}}]\n"
        )
        made.queue(90)
        made.turn()
        wait_for(lambda: mailbox.mails, "a mail")
        wait_for(lambda: hook.bodies, "a call of the hook")  # type: ignore[attr-defined]
        to, mail = mailbox.mails[0]
        assert to == ["ops@example.org"]
        assert "[FIRING] Queue q1 has 90 entries" in mail["Subject"]
        text = "".join(
            part.get_payload(decode=True).decode() for part in mail.walk() if not part.is_multipart()
        )
        assert "Queue q1 has 90 entries" in text
        assert "Queue q1 has 90 entries" in hook.bodies[0]  # type: ignore[attr-defined]
        wait_for(lambda: made.services.alerts.notifier.status("both").sent == 1, "it is counted")
    finally:
        smtp.stop()
        hook.shutdown()
        hook.server_close()
