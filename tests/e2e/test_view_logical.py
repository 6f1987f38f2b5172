"""The logical graph of the recorded job, in Chromium."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_logical_graph_tells_who_calls_whom(recorded: Recorded, page: Page) -> None:
    if recorded.job.poll() is None:
        recorded.finish()
    session = recorded.session
    page.goto(f"{recorded.url}/s/{session}")
    page.get_by_test_id("nav-logical").click()
    branch = page.get_by_test_id("logical-node-f:branch")
    expect(branch).to_contain_text("10×")
    expect(page.get_by_test_id("logical-node-f:broken")).to_contain_text("6 failed")
    expect(page.get_by_test_id("logical-node-m:Counter.add")).to_contain_text("6×")
    # 10 branches with 3 leaves, 6 waves of 60 leaves, 6 adds, 6 steps, 6 failures, one actor.
    attempts = 10 + 30 + 360 + 6 + 6 + 6 + 1
    expect(page.get_by_test_id("logical-count")).to_have_attribute("data-attempts", str(attempts))
    found = httpx.get(f"{recorded.url}/api/flow/logical", params={"session": session}).json()
    calls = {(edge["source"], edge["target"]): edge["attempts"] for edge in found["calls"]}
    assert calls[("f:branch", "f:leaf")] == 30

    branch.click()
    panel = page.get_by_test_id("logical-panel")
    expect(panel.get_by_test_id("logical-callees")).to_contain_text("leaf30×")
    expect(page).to_have_url(re.compile("node=f%3Abranch"))
    panel.get_by_test_id("logical-callees").get_by_role("button").first.click()
    expect(panel.get_by_role("heading").first).to_have_text("leaf")
    page.get_by_test_id("logical-panel-close").click()
    expect(panel).to_have_count(0)

    page.get_by_test_id("logical-unfold-Counter").click()
    expect(page.locator("[data-testid^='logical-node-i:Counter@']")).to_have_count(1)
    expect(page).to_have_url(re.compile("expand=Counter"))
    page.get_by_test_id("logical-find").fill("slow")
    expect(page.get_by_test_id("logical-found")).to_contain_text("1")

    # A function unfolds into its calls, each of which leads to its task.
    page.get_by_test_id("logical-find").fill("")
    page.get_by_test_id("logical-unfold-branch").click()
    calls_of = page.locator("[data-testid^='logical-node-f:branch@']")
    expect(calls_of).to_have_count(10)
    calls_of.first.click()
    expect(panel.get_by_test_id("logical-callees")).to_contain_text("leaf3×")
    panel.get_by_test_id("logical-task").click()
    expect(page.get_by_test_id("task-drawer")).to_contain_text("branch")
    page.keyboard.press("Escape")
    page.get_by_test_id("logical-unfold-branch").click()
    expect(calls_of).to_have_count(0)

    page.locator(".react-flow__node[data-id='f:branch']").focus()
    page.keyboard.press("Enter")
    page.get_by_test_id("logical-slowest").click()
    expect(page).to_have_url(re.compile("func_name=branch.*sort=-duration_ns"))
    page.get_by_test_id("task-row").first.wait_for()
    expect(page.get_by_test_id("table-count").first).to_contain_text("10")
