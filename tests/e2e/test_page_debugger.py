"""A task that waits for a debugger, on its page in Chromium."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.places import open_view
from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

PROGRAM = """
import ray

@ray.remote(num_cpus=0.5)
def inner(secret):
    doubled = [secret, secret * 2]
    breakpoint()
    return doubled[1] + 1

@ray.remote(num_cpus=0.5)
def outer(value):
    return ray.get(inner.remote(value))

print("RESULT", ray.get(outer.remote(20)), flush=True)
"""


#: The first pixel of the color of the pause sign, as x and y on a canvas.
SIGN = """canvas => {
    const {data, width} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)
    for (let at = 0; at < data.length; at += 4)
        if (data[at] === 217 && data[at + 1] === 147 && data[at + 2] === 13)
            return {x: (at / 4) % width, y: Math.floor(at / 4 / width)}
    return null
}"""


@pytest.fixture
def debugged(cluster: Recorded) -> Iterator[Recorded]:
    """The cluster, whose server lets debuggers in."""
    cluster.services.debuggees.limit_s = 900.0
    yield cluster
    cluster.services.debuggees.limit_s = None


def test_look_and_continue(debugged: Recorded, page: Page) -> None:
    driver = debugged.start_driver(PROGRAM)
    try:
        page.goto(f"{debugged.url}/s/{debugged.session}/debugger")
        row = page.get_by_test_id("paused-row")
        expect(row).to_contain_text("breakpoint")
        expect(row).to_contain_text("0.5 CPU")
        expect(page.get_by_test_id("tab-debugger")).to_contain_text("1")
        open_view(page, "stack")
        banner = page.get_by_test_id("banner-paused")
        expect(banner).to_contain_text("inner")
        banner.get_by_role("link").click()
        row.get_by_text("breakpoint").click()
        expect(page.get_by_test_id("caller")).to_have_count(2)
        expect(page.get_by_test_id("caller").last).to_contain_text("outer")
        row.get_by_test_id("paused-look").click()
        page.get_by_test_id("act-token").fill(debugged.services.secrets.operator_token)
        page.get_by_test_id("act-confirm").click()
        expect(page.locator("[data-testid=look-source] [aria-current]")).to_contain_text("breakpoint()")
        doubled = page.get_by_test_id("look-variable").filter(has_text="doubled")
        doubled.get_by_role("button").click()
        expect(doubled.get_by_test_id("look-variable").filter(has_text="40")).to_be_visible()
        expect(row).to_contain_text("Stopped")
        page.get_by_test_id("look-continue").click()
        expect(row).to_have_count(0)
        expect(page.get_by_text("No paused tasks")).to_be_visible()
        assert driver.stdout is not None
        assert any(line.startswith("RESULT 41") for line in driver.stdout)
    finally:
        driver.kill()
        driver.wait()
        debugged.processes.remove(driver)


def test_the_views_mark_a_paused_task_until_it_is_released(debugged: Recorded, page: Page) -> None:
    program = PROGRAM.replace("breakpoint()", "breakpoint()\n    import time\n    time.sleep(600)")
    driver = debugged.start_driver(program)
    try:
        items = wait_until(lambda: debugged.get("/api/v1/paused-tasks")["items"], "the pause")
        link = f"/s/{debugged.session}/debugger?item={items[0]['pause_id']}"
        graph, stack, gantt = pages = [page.context.new_page() for _ in range(3)]
        for view, tab in zip(("logical", "stack", "gantt"), pages, strict=True):
            tab.goto(f"{debugged.url}/s/{debugged.session}/{view}?job_id={items[0]['job_id']}")
        # Other jobs of the session have functions of this name, so it may have a prefix.
        node = graph.get_by_test_id(re.compile(r"^logical-node-f:(.+\.)?inner$"))
        expect(node.get_by_test_id("paused-mark")).to_have_text("1")
        expect(node.get_by_test_id("paused-mark")).to_have_attribute("href", link)
        expect(graph.get_by_test_id("paused-mark")).to_have_count(1)
        node.click(position={"x": 40, "y": 50})
        expect(graph.get_by_test_id("logical-panel").get_by_test_id("paused-mark")).to_contain_text(
            "1 paused"
        )
        line = stack.locator("[data-testid=stack-node][data-name$=inner]")
        expect(line.get_by_test_id("paused-mark")).to_have_attribute("href", link)
        expect(stack.get_by_test_id("paused-mark")).to_have_count(1)
        line.click(position={"x": 5, "y": 5})
        stack.get_by_test_id("stack-example").click()
        expect(stack.get_by_test_id("task-paused")).to_have_attribute("href", link)
        canvas = gantt.get_by_test_id("gantt-chart").locator("canvas")
        sign = wait_until(lambda: canvas.evaluate(SIGN), "the sign")
        expect(gantt.get_by_test_id("gantt-paused")).to_be_visible()
        canvas.click(position={"x": sign["x"] + 2, "y": sign["y"] + 5})
        expect(gantt.get_by_test_id("task-paused")).to_have_attribute("href", link)

        operator = {"X-Rayscope-Operator": debugged.services.secrets.operator_token}
        release = f"{debugged.url}/api/v1/paused-tasks/{items[0]['pause_id']}/release"
        assert httpx.post(release, headers=operator).status_code == 204
        # The task itself is still running.
        for tab in pages:
            expect(tab.locator("[data-testid$=paused-mark], [data-testid$=-paused]")).to_have_count(0)
        wait_until(lambda: canvas.evaluate(SIGN) is None, "the chart without the sign")
        expect(node).to_be_visible()
        expect(line).to_contain_text("Running")
    finally:
        driver.kill()
        driver.wait()
        debugged.processes.remove(driver)
