"""The Nodes pages of a recorded job in Chromium."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def node_of(recorded: Recorded, state: str | None = None) -> str:
    """The job's node, once it is on record (in a state)."""

    def look() -> list[str]:
        nodes = httpx.get(f"{recorded.url}/api/v1/nodes", params={"session": recorded.session}).json()[
            "items"
        ]
        return [str(node["node_id"]) for node in nodes if state in (None, node["state"])]

    return wait_until(look, "a node")[0]


def test_table_cards_machine_view_and_resources(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    node = node_of(recorded, "DEAD")
    page.goto(f"{recorded.url}/s/{recorded.session}/nodes?lang=en")
    row = page.get_by_test_id("nodes-row").first
    expect(row).to_contain_text("head")
    page.get_by_role("button", name=re.compile("^Memory")).first.click()
    expect(page).to_have_url(re.compile("sort=-?mem_percent"))
    page.get_by_test_id("nodes-mode").get_by_text("Cards").click()
    expect(page).to_have_url(re.compile("mode=cards"))
    card = page.get_by_test_id("node-card")
    expect(card).to_have_count(1)
    expect(card).to_contain_text(node[:8])
    # The cluster is gone, and its node with it.
    page.get_by_test_id("filter-add").click()
    page.get_by_role("option", name="State").click()
    page.get_by_role("option", name="Alive").click()
    expect(page).to_have_url(re.compile("state=ALIVE"))
    expect(page.get_by_test_id("node-card")).to_have_count(0)

    page.goto(f"{recorded.url}/s/{recorded.session}/nodes?mode=machine&color=memory&lang=en")
    expect(page.get_by_test_id("machine-count")).to_contain_text("1 node")
    canvas = page.get_by_test_id("machine-canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("machine-tip")).to_contain_text("Workers")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(f"item={node}"))
    expect(page.get_by_test_id("item-drawer")).to_contain_text(node[:8])
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("item-drawer")).to_have_count(0)
    # The picture has more than one colour.
    colours = canvas.locator("canvas").evaluate(
        "c => new Set(Array.from(new Uint32Array(c.getContext('2d')"
        ".getImageData(0, 0, c.width, c.height).data.buffer))).size"
    )
    assert colours > 3
    page.get_by_test_id("nodes-mode").get_by_text("Resources").click()
    expect(page.get_by_test_id("cluster-resources")).to_be_visible()


def test_one_node_in_full(recorded: Recorded, page: Page) -> None:
    node = node_of(recorded)
    base = f"{recorded.url}/s/{recorded.session}/nodes"
    page.goto(f"{base}?item={node}&lang=en")
    drawer = page.get_by_test_id("item-drawer")
    expect(drawer.get_by_test_id("node-top")).to_be_visible()
    expect(drawer.get_by_test_id("node-tab-workers")).to_have_attribute("aria-selected", "true")
    drawer.get_by_test_id("node-tab-resources").click()
    expect(page).to_have_url(re.compile("tab=resources"))
    expect(drawer).to_contain_text("Held by")
    drawer.get_by_test_id("node-tab-gpus").click()
    expect(drawer).to_contain_text("This node reports no GPUs")
    drawer.get_by_test_id("node-tab-charts").click()
    expect(drawer.get_by_test_id("node-charts")).to_contain_text("CPU by worker")
    page.goto(f"{base}?item={node}&tab=events&lang=en")
    expect(drawer.get_by_test_id("node-events").locator("li").first).to_be_visible()
    page.goto(f"{base}?item={node}&tab=about&lang=zh")
    expect(drawer).to_contain_text("资源")
    expect(drawer).to_contain_text(node)
    page.goto(f"{base}?item={'0' * 56}&lang=en")
    expect(page.get_by_test_id("error-panel")).to_contain_text("not found in this session")
    page.goto(f"{base}?item={'0' * 56}&lang=zh")
    expect(page.get_by_test_id("error-panel")).to_contain_text("此会话中没有节点")


def test_the_physical_view_says_that_use_is_measured_now_only(recorded: Recorded, page: Page) -> None:
    node_of(recorded)
    page.goto(f"{recorded.url}/s/{recorded.session}/physical?color=m:cpu&at=1760000000000000000&lang=en")
    page.get_by_test_id("physical-view").wait_for()
    recorded.finish() if recorded.job.poll() is None else None
    tasks = httpx.get(f"{recorded.url}/api/v1/tasks", params={"session": recorded.session}).json()["items"]
    at = next(task["start_ns"] for task in tasks if task["start_ns"])
    page.goto(f"{recorded.url}/s/{recorded.session}/physical?color=m:cpu&at={at}&lang=en")
    expect(page.get_by_test_id("physical-measured")).to_contain_text("only available for the present")
