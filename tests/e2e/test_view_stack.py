"""The distributed call stack of a recorded job in Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_stack_at_a_time_shows_who_waits_for_whom(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    asked = httpx.get(f"{recorded.url}/api/v1/tasks", params={"session": session, "func_name": "slow_step"})
    steps = asked.json()["items"]
    # In the middle of one that sleeps, while the driver waits for it.
    middle = (steps[0]["start_ns"] + steps[0]["end_ns"]) // 2
    page.goto(f"{recorded.url}/s/{session}/stack?at={middle}")
    tree = page.get_by_test_id("stack-tree")
    step = tree.locator("[data-name=slow_step]")
    expect(step).to_contain_text("Blocking the job")
    expect(step).to_have_attribute("data-situation", "running")
    expect(tree.locator("[data-name^='workload.py']")).to_contain_text("waiting for slow_step")
    expect(page.get_by_test_id("stack-chains")).to_contain_text(re.compile(r"Driver.*slow_step"))

    step.click()
    expect(page).to_have_url(re.compile("node=[0-9a-f]{16}"))
    page.get_by_test_id("stack-example").first.click()
    expect(page.get_by_test_id("task-drawer")).to_contain_text("slow_step")
    page.keyboard.press("Escape")
    tree.focus()
    page.keyboard.press("ArrowUp")
    expect(tree.locator("[aria-selected=true]")).to_have_count(1)
    page.get_by_test_id("stack-export").click()
    with page.expect_download() as download:
        page.get_by_test_id("stack-json").click()
    exported = json.loads(Path(download.value.path()).read_text())
    assert "slow_step" in {node["name"] for node in exported["nodes"]}

    page.get_by_test_id("stack-before").click()
    expect(page).not_to_have_url(re.compile(f"at={middle}"))
    page.get_by_test_id("stack-find").fill("no such function")
    expect(page.get_by_test_id("stack-view").locator("mark")).to_have_count(0)
    page.goto(f"{recorded.url}/s/{session}/stack?at=1&lang=zh")
    expect(page.get_by_test_id("stack-view")).to_contain_text("此刻没有进行中的任务")
