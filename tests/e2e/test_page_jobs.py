"""Jobs, events, and objects of a recorded job in Chromium."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_a_job_shows_the_progress_of_each_function(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    page.goto(f"{recorded.url}/s/{session}/jobs")
    page.get_by_test_id("jobs-row").first.click()
    expect(page).to_have_url(re.compile("/jobs/01000000$"))
    expect(page.get_by_test_id("job-timeline")).to_be_visible()
    expect(page.get_by_test_id("job-numbers")).to_contain_text(re.compile(r"Attempts\s*419\s*Failed\s*6"))
    expect(page.get_by_test_id("panel-failures")).to_contain_text("broken")
    rows = page.get_by_test_id("job-function")
    asked = httpx.get(f"{recorded.url}/api/v1/jobs/01000000/progress", params={"session": session}).json()
    expect(rows).to_have_count(len(asked["functions"]))
    attempts = {row["func_name"]: row["attempts"] for row in asked["functions"]}
    assert (attempts["leaf"], attempts["broken"]) == (390, 6)
    failed = rows.filter(has_text="broken")
    expect(failed).to_contain_text("6 failed")
    expect(page.get_by_test_id("job-stop")).to_have_count(0)  # a driver without a submission
    failed.get_by_role("link").click()
    expect(page.get_by_test_id("table-count")).to_have_attribute("data-total", "6")
    page.go_back()
    page.get_by_test_id("job-to-gantt").click()
    expect(page).to_have_url(re.compile(r"/gantt\?job_id=01000000"))


def test_events_lead_to_what_failed(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    page.goto(f"{recorded.url}/s/{session}/events")
    page.get_by_test_id("events-ERROR").click()
    expect(page).to_have_url(re.compile("severity=ERROR"))
    total = httpx.get(
        f"{recorded.url}/api/v1/events", params={"session": session, "severity": "ERROR"}
    ).json()["total"]
    expect(page.get_by_test_id("table-count")).to_have_attribute("data-total", str(total))
    page.get_by_test_id("events-row").filter(has_text="broken").first.click()
    expect(page.get_by_test_id("item-drawer")).to_contain_text("ValueError: page")
    page.get_by_test_id("event-open").click()
    expect(page).to_have_url(re.compile(r"/failures\?func_name=broken"))
    page.goto(f"{recorded.url}/s/{session}/events?kind=node&lang=zh")
    expect(page.get_by_test_id("events-row").filter(has_text="节点加入").first).to_be_visible()
    page.goto(f"{recorded.url}/s/{session}/events?q=nothing+like+it&lang=en")
    empty = page.get_by_test_id("events-table")
    expect(empty.get_by_role("button", name="Clear filters")).to_be_visible()


def test_the_memory_page_says_that_the_cluster_has_ended(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/memory")
    expect(page.get_by_text("This cluster has ended")).to_be_visible()
