"""The overview of a recorded job in Chromium: its state, its work, and links to the details."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_a_session_at_a_glance(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    states = httpx.get(f"{recorded.url}/api/v1/summary", params={"session": session}).json()["states"]
    tasks = httpx.get(f"{recorded.url}/api/v1/failures", params={"session": session}).json()["tasks"]
    page.goto(recorded.url)
    page.locator(f"[data-testid=session-row][data-key='{session}']").click()
    # Covers the last minutes while the job is still reported as running, the whole job afterwards.
    failed = re.compile(f"6 of|{tasks['final']} tasks? failed")
    expect(page.get_by_test_id("health")).to_contain_text(failed)
    expect(page.get_by_test_id("health")).to_have_attribute("data-tone", re.compile("bad|waiting"))

    failures = page.get_by_test_id("panel-failures")
    expect(failures).to_contain_text("ValueError: page")
    failures.get_by_role("link", name="broken").first.click()
    expect(page.get_by_test_id("task-drawer")).to_contain_text("ValueError")
    page.keyboard.press("Escape")
    events = page.get_by_test_id("panel-events")
    expect(events.get_by_role("listitem").first).to_be_visible()
    expect(page.get_by_test_id("panel-alerts")).to_be_visible()

    # The job is listed here while it is still reported as running; afterwards the session's jobs are.
    job = page.get_by_test_id("overview-job").first
    expect(job).to_contain_text(f"{states['FINISHED']}")
    expect(job).to_contain_text("6")
    # From the list of sessions to what decided the duration it is two clicks.
    job.get_by_test_id("why-path").click()
    expect(page).to_have_url(re.compile(r"/gantt\?job_id=.+path=1"))
    expect(page.get_by_test_id("gantt-path-toggle")).to_be_visible()

    page.goto(f"{recorded.url}/s/{session}/overview?lang=zh")
    expect(page.get_by_test_id("health")).to_contain_text("失败")
    page.get_by_test_id("panel-failures-all").click()
    expect(page).to_have_url(re.compile("/failures"))
