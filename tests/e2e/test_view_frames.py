"""The Python frames of a live job's workers, in the call stack in Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.live import Live

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_page_shows_them_below_their_task(live: Live, page: Page) -> None:
    page.goto(f"{live.server.url}/s/{live.session}/stack")
    page.get_by_test_id("frames-take").click()
    tree = page.get_by_test_id("stack-tree")
    inner = tree.locator("[data-frame=inner][aria-level='5']").first
    expect(inner).to_contain_text(re.compile(r"inner\s*×2\s*job\.py:\d+"))
    expect(tree.locator("[data-frame=sleeper]")).to_contain_text("×2")
    expect(page.get_by_test_id("frames-panel")).to_contain_text("Python stacks")
    inner.click()
    expect(page.get_by_test_id("frame-detail")).to_contain_text("job.py")
    page.get_by_test_id("frames-clear").click()
    expect(tree.locator("[data-frame]")).to_have_count(0)
    page.goto(f"{live.server.url}/s/{live.session}/stack?at=1")
    expect(page.get_by_test_id("frames-take")).to_be_disabled()
