"""The flame graph of a real Ray job in Chromium."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rayscope.views.flame import sql
from tests.e2e.conftest import Recorded
from tests.e2e.places import open_view
from tests.endless import Endless
from tests.waiting import TIMEOUT_S

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_flame_graph_shows_who_called_whom(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}")
    open_view(page, "flame")
    graph = page.get_by_test_id("flame")
    graph.wait_for()
    page.get_by_test_id("flame-weight").get_by_text("Attempts").click()
    expect(page).to_have_url(re.compile("weight=count"))
    expect(page.get_by_test_id("flame-status")).to_contain_text("419 attempts")
    page.get_by_test_id("flame-weight").get_by_text("Memory × time").click()
    expect(page.get_by_test_id("flame-status")).to_contain_text(re.compile(r"iB·s in 419 attempts"))
    expect(page.get_by_test_id("flame-measured")).to_contain_text(re.compile(r"known for \d+ of 419"))
    page.get_by_test_id("flame-weight").get_by_text("Attempts").click()
    below = page.get_by_test_id("flame-functions")
    for name in ("branch", "leaf", "slow_step", "broken"):
        expect(below.get_by_text(name, exact=True)).to_be_visible()

    # Pointing at the top shows its numbers; a search marks the leaves of both callers.
    graph.hover(position={"x": 40, "y": 10})
    expect(page.get_by_test_id("flame-tip")).to_contain_text("419")
    page.get_by_test_id("flame-find").fill("leaf")
    expect(page.get_by_test_id("flame-status")).to_contain_text("2 frames found: 93%")
    page.get_by_test_id("flame-find").fill("")

    below.get_by_text("branch", exact=True).click()
    expect(page).to_have_url(re.compile(r"frame=\d+"))
    expect(page.get_by_test_id("flame-crumbs")).to_contain_text(re.compile("Driver.*branch"))
    expect(page.get_by_test_id("flame-callers")).to_contain_text(re.compile(r"Driver\s*40\s*100%"))
    expect(page.get_by_test_id("flame-callees")).to_contain_text(re.compile(r"leaf\s*30\s*75%"))
    # The link alone shows the same; Escape leads back up.
    page.goto(page.url)
    expect(page.get_by_test_id("flame-panel")).to_contain_text("branch")
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("frame="))
    # By keys: down into the largest, and in.
    graph.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_test_id("flame-tip")).to_contain_text("leaf")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"frame=\d+"))
    page.get_by_test_id("flame-attempts").click()
    expect(page).to_have_url(re.compile("func_name=leaf"))
    page.get_by_test_id("task-row").first.wait_for()


def test_the_numbers_of_the_flame_graph_can_be_saved(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/flame?lang=zh")
    page.get_by_test_id("flame").wait_for()
    expect(page.get_by_test_id("flame-panel")).to_contain_text("Driver")
    page.get_by_test_id("flame-export").click()
    with page.expect_download() as saved:
        page.get_by_test_id("flame-json").click()
    exported = json.loads(Path(saved.value.path()).read_text())
    assert exported["attempts"] == 419
    assert exported["total"] == sum(frame["own"] for frame in exported["frames"]) > 0
    page.get_by_test_id("flame-export").click()
    with page.expect_download() as drawn:
        page.get_by_test_id("flame-png").click()
    assert Path(drawn.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_long_first_answer_can_be_cancelled(
    recorded: Recorded, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Endless(sql.path_sums)
    with monkeypatch.context() as patch:
        patch.setattr(sql, "path_sums", slow)
        page.goto(f"{recorded.url}/s/{recorded.session}/flame?func_name=leaf&weight=count")
        notice = page.get_by_test_id("slow-answer")
        expect(notice).to_contain_text("Waiting for the server")
        notice.get_by_role("button", name="Cancel").click()
        assert slow.interrupted.wait(TIMEOUT_S)
    expect(notice).to_contain_text("Canceled")
    notice.get_by_role("button", name="Try again").click()
    expect(page.get_by_test_id("flame-status")).to_contain_text("attempts")
    expect(notice).to_have_count(0)
