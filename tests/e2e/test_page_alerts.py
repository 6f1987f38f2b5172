"""The page of alerts in Chromium: alerts come and go by themselves, and the operator acts on them."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from rayscope.model.metric import sample
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.story import SESSION, Story
from tests.waiting import TIMEOUT_S, wait_until

pytestmark = [pytest.mark.e2e]

RULES = """
groups:
- name: mine
  interval: 1s
  rules:
  - {alert: QueueLong, metric: my_queue, op: '>', threshold: 40, labels: {severity: critical},
     annotations: {summary: 'Queue {{ $labels.queue }} has {{ $value }} entries'}}
"""


class Alerting:
    """A server with a live session, whose series ``my_queue`` gets a sample every half second."""

    def __init__(self, folder: Path) -> None:
        (folder / "alerts").mkdir(parents=True)
        (folder / "alerts" / "mine.yml").write_text(RULES)
        (folder / "alerts" / "channels.yml").write_text(
            "channels: [{name: hook, type: apprise, urls: ['json://127.0.0.1:9/x']}]\n"
        )
        self.server = Server(Settings(data_dir=folder, port=0, push_interval_s=0.5))
        self.server.start()
        self.services: Any = self.server.services
        self.length = 90.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._keep_session_live, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _keep_session_live(self) -> None:
        number = 0
        while not self._done.wait(0.5):
            if number % 10 == 0:  # so that the session lives
                story = Story(_made=number)
                story.task("load", number, number + 1, number + 5)
                self.services.writer.submit_records(story.batch, "events")
                self.services.writer.flush()
            number += 1
            store = self.services.metrics.store(SESSION)
            store.append(time.time_ns(), [sample("my_queue", self.length, queue="q1")])

    def stop(self) -> None:
        self._done.set()
        self._thread.join(TIMEOUT_S)
        self.server.stop()


@pytest.fixture
def alerting(tmp_path: Path) -> Iterator[Alerting]:
    made = Alerting(tmp_path / "data")
    made.start()
    yield made
    made.stop()


def test_an_alert_from_firing_to_resolved(alerting: Alerting, page: Page) -> None:
    page.goto(f"{alerting.server.url}/s/{SESSION}/alerts")
    alert = page.locator("[data-testid=alert][data-rule=QueueLong][data-state=firing]")
    expect(alert).to_contain_text("Queue q1 has 90 entries")
    expect(page.get_by_test_id("alert-badge")).to_have_text("1")
    expect(page.get_by_test_id("nav-alerts")).to_contain_text("1")
    expect(page.get_by_test_id("connection-state")).to_have_attribute("data-state", "connected")

    # Two clicks to a silence; the first time the operator's token is asked for.
    alert.get_by_test_id("alert-silence").click()
    page.get_by_test_id("silence-hours").get_by_text("4 h").click()
    page.get_by_test_id("draft-by").fill("Ada")
    page.get_by_test_id("act-token").locator("input").or_(page.locator("input[type=password]")).first.fill(
        alerting.services.secrets.operator_token
    )
    page.get_by_test_id("act-confirm").click()
    expect(alert.get_by_test_id("alert-silenced")).to_be_visible()
    page.get_by_test_id("alerts-tab-silences").click()
    silence = page.locator("[data-testid=silence][data-state=active]")
    expect(silence).to_contain_text("Ada")
    (kept,) = alerting.services.alerts.silences.list_visible(time.time_ns())
    assert kept.ends_ns - kept.starts_ns == 4 * 3600 * 10**9
    silence.get_by_test_id("unsilence").click()
    page.get_by_test_id("act-confirm").click()
    expect(silence).to_have_count(0)

    alert.get_by_test_id("alert-ack").click()
    page.get_by_test_id("act-confirm").click()
    expect(alert).to_contain_text("Acknowledged by Ada")

    page.get_by_test_id("alerts-tab-channels").click()
    page.get_by_test_id("channel-test").click()
    page.get_by_test_id("act-confirm").click()
    expect(page.locator("[data-testid=channel][data-ok=false]")).to_contain_text("hook")

    # A link to a rule, its drawer, and the search.
    page.goto(f"{alerting.server.url}/s/{SESSION}/alerts?item=QueueLong")
    expect(page.get_by_test_id("rule-drawer")).to_contain_text("my_queue > 40")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("rule-drawer")).to_have_count(0)
    page.goto(f"{alerting.server.url}/s/{SESSION}/alerts?q=queuelong")
    expect(page.get_by_test_id("alert-rule")).to_have_count(1)
    expect(page.get_by_test_id("alert-rule").get_by_test_id("alert-course")).to_be_visible()

    # It ends, and the page says so without being asked.
    alerting.length = 3
    expect(alert).to_have_count(0)
    expect(page.get_by_test_id("alerts-count")).to_contain_text("0 firing")
    expect(page.get_by_test_id("alert-badge")).to_have_count(0)
    page.goto(f"{alerting.server.url}/s/{SESSION}/alerts?tab=history&lang=zh")
    events = page.get_by_test_id("alert-event")
    expect(events.first).to_contain_text("已恢复")
    expect(events.first.locator("svg")).to_have_count(2)  # an arrow, and the series that led to it


def test_a_page_that_was_opened_before_its_session_began(tmp_path: Path, page: Page) -> None:
    alerting = Alerting(tmp_path / "data")
    with page.expect_websocket() as opened:
        page.goto(f"{alerting.server.url}/s/{SESSION}/alerts")
    opened.value.wait_for_event("framereceived", predicate=lambda text: '"error"' in str(text))
    alerting.start()
    expect(page.get_by_test_id("alert-badge")).to_have_text("1")
    alerting.stop()


def test_a_page_without_a_socket_is_updated_over_http(alerting: Alerting, page: Page) -> None:
    page.add_init_script(
        "window.WebSocket = class { static OPEN = 1; readyState = 3; close() {} "
        "constructor() { setTimeout(() => this.onclose()) } }"
    )
    page.goto(f"{alerting.server.url}/s/{SESSION}")
    expect(page.get_by_test_id("alert-badge")).to_have_text("1")
    expect(page.get_by_test_id("nav-tasks")).to_contain_text(re.compile(r"\d"))
    alerting.length = 3
    expect(page.get_by_test_id("alert-badge")).to_have_count(0)


def test_the_push_comes_back_after_the_server_was_away(alerting: Alerting, page: Page) -> None:
    settings = alerting.server.settings
    page.goto(f"{alerting.server.url}/s/{SESSION}/alerts")
    expect(page.get_by_test_id("alert-badge")).to_have_text("1")
    port = int(alerting.server.url.rpartition(":")[2])
    alerting.stop()
    state = page.get_by_test_id("connection-state")
    expect(state).to_have_attribute("data-state", re.compile("reconnecting|stale"))
    again = Server(settings.model_copy(update={"port": port}))
    again.start()
    try:
        expect(state).to_have_attribute("data-state", "connected")
        assert again.services is not None
        realtime = again.services.realtime
        wait_until(lambda: realtime.stats()["clients"] >= 1, "the page's connection")
    finally:
        again.stop()
