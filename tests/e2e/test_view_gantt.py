"""The Gantt chart of a real Ray job in Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_chart_shows_every_attempt_and_what_decided_the_duration(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}")
    page.get_by_test_id("nav-gantt").click()
    # 10 branches with 3 leaves, 6 waves of 60 leaves, 6 adds, 6 steps, 6 failures, one actor.
    expect(page.get_by_test_id("gantt-count")).to_have_attribute("data-total", str(10 + 30 + 360 + 18 + 1))
    chart = page.get_by_test_id("gantt-chart")
    expect(chart.locator("canvas")).to_have_attribute("data-bars", re.compile(r"[1-9]"))

    page.get_by_test_id("gantt-path-toggle").click()
    expect(page).to_have_url(re.compile("path=1"))
    path = page.get_by_test_id("gantt-path")
    # Six of them one after the other are most of what the job took.
    expect(path.get_by_test_id("gantt-path-part").filter(has_text="slow_step").first).to_be_visible()
    expect(page.get_by_test_id("gantt-path-duration")).to_contain_text(re.compile(r"\d"))

    page.get_by_test_id("gantt-by").get_by_text("Functions").click()
    expect(page).to_have_url(re.compile("by=function"))
    expect(page.get_by_test_id("gantt-count")).to_contain_text(re.compile("lanes"))

    # Zoom by key; the link shows the same window, and all of it comes back.
    chart.focus()
    page.keyboard.press("w")
    expect(page).to_have_url(re.compile(r"from=\d{19}&to=\d{19}"))
    page.reload()
    expect(page.get_by_test_id("gantt-fit")).to_be_enabled()
    page.get_by_test_id("gantt-fit").click()
    expect(page).not_to_have_url(re.compile("from="))

    # By key to an attempt, and its panel opens.
    page.get_by_test_id("gantt-chart").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("task-drawer")).to_be_visible()
    expect(page).to_have_url(re.compile("task=[0-9a-f]{48}"))
