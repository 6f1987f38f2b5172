"""The Gantt chart of a real Ray job in Chromium."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.e2e.dragging import drag
from tests.e2e.places import open_view

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


def test_the_chart_shows_every_attempt_and_what_decided_the_duration(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}")
    open_view(page, "gantt")
    # 10 branches with 3 leaves, 6 waves of 60 leaves, 6 adds, 6 steps, 6 failures, one actor.
    expect(page.get_by_test_id("gantt-count")).to_have_attribute("data-total", str(10 + 30 + 360 + 18 + 1))
    chart = page.get_by_test_id("gantt-chart")
    expect(chart.locator("canvas")).to_have_attribute("data-bars", re.compile(r"[1-9]"))

    page.get_by_test_id("gantt-path-toggle").click()
    expect(page).to_have_url(re.compile("path=1"))
    path = page.get_by_test_id("gantt-path")
    # Six of them one after the other take most of the job's time.
    expect(path.get_by_test_id("gantt-path-part").filter(has_text="slow_step").first).to_be_visible()
    expect(page.get_by_test_id("gantt-path-duration")).to_contain_text(re.compile(r"\d"))

    page.get_by_test_id("gantt-by").get_by_text("Functions").click()
    expect(page).to_have_url(re.compile("by=function"))
    expect(page.get_by_test_id("gantt-count")).to_contain_text(re.compile("lanes"))

    # Zoom by key; the link shows the same window, and all of it comes back.
    chart.focus()
    page.keyboard.press("w")
    expect(page).to_have_url(re.compile(r"from=\d{19}&to=\d{19}"))
    page.reload()
    expect(page.get_by_test_id("gantt-fit")).to_be_enabled()
    page.get_by_test_id("gantt-fit").click()
    expect(page).not_to_have_url(re.compile("from="))

    # By key to an attempt, and its panel docks beside the chart, which moves neither up nor down.
    chart.focus()
    before = chart.bounding_box()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_test_id("task-drawer")).to_be_visible()
    after = chart.bounding_box()
    drawer = page.get_by_test_id("task-drawer").bounding_box()
    assert before is not None
    assert after is not None
    assert drawer is not None
    assert (after["y"], after["height"]) == (before["y"], before["height"])
    assert after["x"] + after["width"] <= drawer["x"]
    expect(page).to_have_url(re.compile("task=[0-9a-f]{48}"))


def test_a_range_has_its_statistics_and_ways_on(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/gantt")
    chart = page.get_by_test_id("gantt-chart")
    expect(chart.locator("canvas")).to_have_attribute("data-bars", re.compile(r"[1-9]"))

    def draw(begin: float, end: float) -> None:
        page.keyboard.down("Shift")
        drag(page, chart, begin, end)
        page.keyboard.up("Shift")

    # All of it by key: every attempt is in it.
    chart.focus()
    page.keyboard.press("r")
    expect(page).to_have_url(re.compile(r"range=\d{19}-\d{19}"))
    expect(page.get_by_test_id("gantt-range-attempts")).to_contain_text("419")
    page.keyboard.press("Escape")
    expect(page.get_by_test_id("gantt-range")).to_be_hidden()

    # A part of it by mouse; the window stays, and a link shows the same.
    draw(0.4, 0.7)
    panel = page.get_by_test_id("gantt-range")
    expect(panel.get_by_test_id("gantt-range-running")).to_contain_text(re.compile(r"max \d"))
    expect(page).not_to_have_url(re.compile("from="))
    page.reload()
    functions = page.get_by_test_id("gantt-range-functions-row")
    expect(functions.first).to_contain_text("%")
    expect(panel.get_by_test_id("gantt-range-lane").first).to_contain_text("%")
    panel.get_by_test_id("gantt-range-zoom").click()
    expect(page).to_have_url(re.compile(r"from=\d{19}"))
    page.get_by_test_id("gantt-fit").click()

    # The difference to another range, and to the rest.
    panel.get_by_test_id("gantt-range-keep").click()
    expect(page).to_have_url(re.compile(r"vs=\d{19}-\d{19}"))
    draw(0.75, 0.95)
    panel.get_by_test_id("gantt-range-compare").click()
    expect(page.get_by_test_id("flame-vs")).to_contain_text("Compared with")
    expect(page.get_by_test_id("flame-panel")).to_contain_text("Baseline")
    before = page.url
    page.get_by_test_id("flame-vs-swap").click()
    expect(page).not_to_have_url(before)
    page.get_by_test_id("flame-vs-clear").click()
    expect(page.get_by_test_id("flame-vs")).to_be_hidden()
    page.go_back()
    page.go_back()
    page.go_back()
    panel.get_by_test_id("gantt-range-rest").click()
    expect(page.get_by_test_id("flame-vs")).to_contain_text("the rest")
    page.go_back()
    panel.get_by_test_id("gantt-range-stack").click()
    expect(page).to_have_url(re.compile(r"/stack\?.*at=\d{19}"))


def test_a_search_goes_along_to_the_other_views(recorded: Recorded, page: Page) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.goto(f"{recorded.url}/s/{recorded.session}/gantt")
    page.get_by_test_id("gantt-find").fill("leaf")
    expect(page).to_have_url(re.compile("find=leaf"))
    # The hits are listed; a click makes one the current one.
    second = page.get_by_test_id("gantt-hits-row").nth(1)
    second.click()
    expect(page.get_by_test_id("gantt-found")).to_contain_text(re.compile(r"^2 of \d+"))
    expect(second).to_have_attribute("aria-current", "true")
    page.get_by_test_id("tab-flame").click()
    expect(page.get_by_test_id("flame-find")).to_have_value("leaf")
    page.get_by_test_id("tab-stack").click()
    expect(page.get_by_test_id("stack-find")).to_have_value("leaf")
    # Back undoes a tab, and then the search.
    page.go_back()
    expect(page.get_by_test_id("flame-find")).to_have_value("leaf")
    page.go_back()
    expect(page.get_by_test_id("gantt-find")).to_have_value("leaf")
    page.go_back()
    expect(page.get_by_test_id("gantt-find")).to_have_value("")
