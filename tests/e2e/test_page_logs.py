"""The page of log files, and the logs of a task, in Chromium: of a job that has ended, from what was kept."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

STEP = "a slow step of 0.7 s"


def test_logs_are_found_read_and_linked(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session

    def find_lines() -> list[dict[str, str]]:
        answer = httpx.get(f"{recorded.url}/api/v1/logs/search", params={"session": session, "q": STEP})
        items: list[dict[str, str]] = answer.json().get("items") or []
        return items

    hits = wait_until(find_lines, "the kept lines")
    page.goto(f"{recorded.url}/s/{session}/logs")
    expect(page.get_by_test_id("logs-keeping")).to_contain_text("Keeping logs")
    files = page.get_by_test_id("logs-file")
    expect(files.first).to_be_visible()
    page.get_by_test_id("logs-filter").fill("no such file")
    expect(files).to_have_count(0)
    page.get_by_test_id("logs-filter").fill("")

    # Across files, to the line, and back.
    search = page.get_by_test_id("logs-search")
    search.fill("SLOW step")
    search.press("Enter")
    expect(page).to_have_url(re.compile(r"search=SLOW"))
    expect(page.get_by_test_id("logs-hit")).to_have_count(len(hits))
    page.get_by_test_id("logs-hit").first.click()
    expect(page).to_have_url(re.compile(r"file=worker-.*&line=\d+"))
    lines = page.get_by_test_id("log-lines")
    expect(lines.locator("[data-selected]")).to_contain_text(STEP)
    expect(page.get_by_test_id("logs-view")).to_contain_text("Kept copy")
    page.reload()
    expect(lines.locator("[data-selected]")).to_contain_text(STEP)
    page.get_by_test_id("logs-back").click()
    expect(page.get_by_test_id("logs-hit").first).to_be_visible()
    page.get_by_test_id("logs-hit").first.click()

    # Inside the file: what the text leaves, then nothing.
    within = page.get_by_test_id("logs-in-file")
    within.fill("slow")
    within.press("Enter")
    expect(lines.locator("mark").first).to_have_text("slow")
    within.fill("no such text at all")
    within.press("Enter")
    expect(page.get_by_test_id("logs-view")).to_contain_text("No lines match the filters")
    within.press("Escape")
    expect(lines).to_be_visible()
    with page.expect_download() as download:
        page.get_by_test_id("logs-download").click()
    assert STEP in Path(download.value.path()).read_text()

    page.goto(f"{recorded.url}/s/{session}/logs?node=0&file=..%2Fsecret")
    expect(page.get_by_test_id("error-panel")).to_contain_text("Not a valid log file name")


def test_a_task_shows_its_own_lines(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    asked = httpx.get(
        f"{recorded.url}/api/v1/tasks", params={"session": recorded.session, "func_name": "slow_step"}
    )
    task = asked.json()["items"][0]
    page.goto(f"{recorded.url}/s/{recorded.session}?task={task['task_id']}")
    panel = page.get_by_test_id("task-logs").get_by_test_id("log-panel-lines")
    expect(panel).to_have_attribute("data-count", "1")
    expect(panel).to_contain_text(STEP)
    page.get_by_test_id("log-open").first.click()
    expect(page.get_by_test_id("log-lines").locator("[data-selected]")).to_contain_text(STEP)
    page.goto(
        f"{recorded.url}/s/{recorded.session}/workers?item={task['worker_id']}&q={task['worker_id']}&lang=zh"
    )
    expect(page.get_by_test_id("item-logs")).to_contain_text("stdout")
