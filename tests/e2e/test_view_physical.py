"""Where the tasks and actors of a recorded job were, in Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_node_shows_what_ran_on_it_at_a_time(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    asked = httpx.get(f"{recorded.url}/api/v1/tasks", params={"session": session, "func_name": "slow_step"})
    step = asked.json()["items"][0]
    middle = (step["start_ns"] + step["end_ns"]) // 2
    page.goto(f"{recorded.url}/s/{session}/physical?at={middle}")
    expect(page.get_by_test_id("physical-count")).to_contain_text("1 node,")
    expect(page.get_by_test_id("physical-legend")).to_contain_text("slow_step")
    expect(page.get_by_test_id("physical-usage")).to_contain_text(re.compile(r"CPU\s*1 / 2"))

    canvas = page.get_by_test_id("physical-canvas")
    canvas.focus()
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(f"node={step['node_id']}"))
    panel = page.get_by_test_id("physical-panel")
    panel.get_by_test_id("physical-worker").filter(has_text="slow_step").click()
    expect(page).to_have_url(re.compile(f"worker={step['worker_id'][:16]}"))
    expect(panel).to_contain_text("1 CPU")
    panel.get_by_test_id("running-task").click()
    expect(page.get_by_test_id("task-drawer")).to_contain_text("slow_step")
    page.keyboard.press("Escape")

    panel.get_by_test_id("physical-to-node").click()
    panel.get_by_test_id("physical-worker").filter(has_text="Counter").click()
    expect(panel.get_by_test_id("physical-to-actor")).to_contain_text("Counter")
    canvas.focus()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("node="))

    page.get_by_test_id("physical-find").fill("slow_step")
    expect(page.get_by_test_id("physical-found")).to_have_text("1")
    page.get_by_test_id("physical-color").click()
    page.get_by_role("option", name="Color: CPU reserved").click()
    expect(page).to_have_url(re.compile("color=r%3ACPU"))
    expect(page.get_by_test_id("physical-legend")).to_contain_text("100%")

    page.get_by_test_id("physical-export").click()
    with page.expect_download() as download:
        page.get_by_test_id("physical-json").click()
    exported = json.loads(Path(download.value.path()).read_text())
    assert exported["physical"]["functions"] == ["slow_step"]
    page.get_by_test_id("physical-export").click()
    with page.expect_download() as download:
        page.get_by_test_id("physical-png").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")

    page.goto(f"{recorded.url}/s/{session}/physical?at=1&lang=zh")
    expect(page.get_by_test_id("physical-view")).to_contain_text("此刻没有节点")


def test_a_click_selects_a_worker_and_double_click_looks_closer(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    asked = httpx.get(f"{recorded.url}/api/v1/tasks", params={"session": session, "func_name": "slow_step"})
    start_ns = asked.json()["items"][0]["start_ns"]
    page.goto(f"{recorded.url}/s/{session}/physical?at={start_ns + 10**8}")
    canvas = page.get_by_test_id("physical-canvas")
    expect(page.get_by_test_id("physical-usage")).to_be_visible()
    # The head of the only node's cell, and then its first worker: the driver.
    canvas.click(position={"x": 40, "y": 22})
    expect(page).to_have_url(re.compile("node="))
    expect(page.get_by_test_id("physical-panel")).to_be_visible()
    canvas.click(position={"x": 60, "y": 90})
    expect(page).to_have_url(re.compile("worker="))
    page.mouse.move(0, 0)
    before = canvas.screenshot()
    canvas.dblclick(position={"x": 40, "y": 22})
    page.mouse.move(0, 0)
    wait_until(lambda: canvas.screenshot() != before, "another picture")
    page.get_by_test_id("physical-close").click()
    expect(page).not_to_have_url(re.compile("node="))
