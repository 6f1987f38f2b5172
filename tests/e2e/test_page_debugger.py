"""A task that waits for a debugger, on its page in Chromium."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.recorded import Recorded

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
        expect(page.get_by_test_id("nav-debugger")).to_contain_text("1")
        page.get_by_test_id("nav-stack").click()
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
