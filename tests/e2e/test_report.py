"""A report of a real job in Chromium, opened as a file without any server or network."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.e2e.places import open_view
from tests.report_file import data_of

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_every_page_opens_from_the_file_alone(
    recorded: Recorded, page: Page, offline: Page, tmp_path: Path
) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/overview")
    page.get_by_test_id("share").click()
    with page.expect_download() as download:
        page.get_by_test_id("share-report").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    data = data_of(file.read_bytes())

    missing = offline.get_by_test_id("error-panel").filter(has_text="Not in this report")
    offline.goto(file.as_uri())
    for view in data["views"]:
        open_view(offline, view)
        expect(offline.locator("main .mantine-Loader-root")).to_have_count(0)
        # The cluster is gone, which is an answer too.
        expect(missing).to_have_count(0)

    # Zoom, search, and another moment.
    summary = httpx.get(f"{recorded.url}/api/v1/summary", params={"session": recorded.session}).json()
    open_view(offline, "gantt")
    expect(offline.get_by_test_id("gantt-count")).to_have_attribute("data-total", str(summary["attempts"]))
    offline.locator("main canvas").last.focus()
    offline.keyboard.press("w")
    expect(offline).to_have_url(re.compile("from="))
    open_view(offline, "stack")
    offline.get_by_test_id("stack-before").click()
    expect(offline).to_have_url(re.compile("at="))
    expect(missing).to_have_count(0)

    # A failure with its traceback, and what is left out.
    open_view(offline, "failures")
    offline.get_by_text("broken").first.click()
    offline.get_by_text(re.compile("^Attempt 1")).first.click()
    expect(offline.get_by_test_id("task-drawer")).to_contain_text("raise ValueError")
    offline.keyboard.press("Escape")
    offline.get_by_test_id("report-note").get_by_role("button").click()
    for part in data["parts"]:
        expect(offline.get_by_test_id("report-note")).to_contain_text(
            f"{part['shown']:,} of {part['total']:,}"
        )
    open_view(offline, "nodes")
    offline.go_back()
    expect(offline).to_have_url(re.compile("/failures"))
