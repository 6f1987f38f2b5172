"""The logical graph of the recorded job, in Chromium."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.e2e.places import open_view
from tests.flow_tree import Tree

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_logical_graph_shows_who_calls_whom(recorded: Recorded, page: Page) -> None:
    if recorded.job.poll() is None:
        recorded.finish()
    session = recorded.session
    page.goto(f"{recorded.url}/s/{session}")
    open_view(page, "logical")
    branch = page.get_by_test_id("logical-node-f:branch")
    expect(branch).to_contain_text("10×")
    expect(page.get_by_test_id("logical-node-f:broken")).to_contain_text("6 failed")
    expect(page.get_by_test_id("logical-node-m:Counter.add")).to_contain_text("6×")
    # 10 branches with 3 leaves, 6 waves of 60 leaves, 6 adds, 6 steps, 6 failures, one actor.
    attempts = 10 + 30 + 360 + 6 + 6 + 6 + 1
    expect(page.get_by_test_id("logical-count")).to_have_attribute("data-attempts", str(attempts))
    found = httpx.get(f"{recorded.url}/api/v1/flow/logical", params={"session": session}).json()
    calls = {(edge["source"], edge["target"]): edge["attempts"] for edge in found["calls"]}
    assert calls[("f:branch", "f:leaf")] == 30

    # Nodes show what their function has of the critical path.
    page.get_by_test_id("logical-weight").get_by_text("Critical path").click()
    expect(page).to_have_url(re.compile("weight=critical_path"))
    expect(page.get_by_test_id("logical-node-f:slow_step")).to_contain_text(re.compile(r"\d%"))
    page.get_by_test_id("logical-weight").get_by_text("States").click()

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


def _overlaps(page: Page) -> list[list[str]]:
    """The pairs of boxes, nodes, titles and labels of edges that cover each other, but for what holds another."""
    found: list[list[str]] = page.evaluate(
        """() => {
            const parts = [...document.querySelectorAll(
                '[data-testid="logical-label"], [data-testid^="logical-node-"], [data-testid="logical-title"]'
            )].map((one) => ({ one, rect: one.getBoundingClientRect() }));
            const about = ({ one }) => `${one.dataset.testid} ${one.textContent}`;
            const holds = (a, b) => a.one.contains(b.one) || (a.one.dataset.box !== undefined &&
                a.rect.left <= b.rect.left && a.rect.right >= b.rect.right &&
                a.rect.top <= b.rect.top && a.rect.bottom >= b.rect.bottom);
            const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 &&
                a.top < b.bottom - 1 && b.top < a.bottom - 1;
            return parts.flatMap((a, at) => parts.slice(at + 1).flatMap((b) =>
                meet(a.rect, b.rect) && !holds(a, b) && !holds(b, a) &&
                    !(a.one.dataset.box !== undefined && b.one.dataset.testid === 'logical-label') &&
                    !(b.one.dataset.box !== undefined && a.one.dataset.testid === 'logical-label')
                    ? [[about(a), about(b)]] : []));
        }"""
    )
    return found


def test_a_tree_of_actors_opens_as_a_tree_on_which_nothing_overlaps(tree: Tree, page: Page) -> None:
    session = tree.get("/api/v1/sessions")["items"][0]["session"]
    for width in (1440, 800, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(f"{tree.client.base_url}/s/{session}/logical")
        instances = page.locator("[data-testid^='logical-node-i:Worker@']")
        expect(instances).to_have_count(tree.printed["workers"])
        called = page.get_by_test_id("logical-label").filter(has_text=re.compile("^10×$"))
        expect(called).to_have_count(tree.printed["workers"] - 1)
        assert _overlaps(page) == []
    # Small as they are, the objects that workers get from each other are there.
    expect(page.locator(".react-flow__edge[data-id^='data:']")).not_to_have_count(0)
    page.get_by_test_id("logical-unfold-Worker").click()
    expect(instances).to_have_count(0)
    expect(page).to_have_url(re.compile("fold=Worker"))
    page.reload()
    expect(page.get_by_test_id("logical-node-m:Worker.run")).to_be_visible()
    expect(page.get_by_test_id("logical-label").first).to_be_visible()
    assert _overlaps(page) == []
    page.get_by_test_id("logical-unfold-Worker").click()
    expect(instances).to_have_count(tree.printed["workers"])
    expect(page).not_to_have_url(re.compile("fold="))
