"""What slowed a recorded job down, in Chromium: the sentence, the bar, the findings, and what if."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.conftest import wait_for
from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e]


@pytest.fixture
def insights(recorded: Recorded) -> dict[str, Any]:
    """What the server says of the job once it has ended."""
    recorded.finish() if recorded.job.poll() is None else None

    about = {"session": recorded.session}

    def ended() -> bool:
        jobs = httpx.get(f"{recorded.url}/api/jobs", params=about).json()["items"]
        return all(job["end_ns"] is not None for job in jobs)

    wait_for(ended, "the end of the job")
    return dict(httpx.get(f"{recorded.url}/api/insights", params=about, timeout=60).json())


def test_what_bound_the_job_and_what_was_found(
    recorded: Recorded, page: Page, insights: dict[str, Any]
) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}/overview?lang=en")
    panel = page.get_by_test_id("panel-insights")
    expect(panel).to_contain_text(insights["verdict"]["text"].split(":")[0])
    panel.get_by_test_id("panel-insights-all").click()
    expect(page.get_by_test_id("verdict-bound")).to_contain_text(insights["verdict"]["text"].split(":")[0])

    # The parts of the bar are all of the time.
    parts = page.get_by_test_id("cause-part")
    expect(parts).to_have_count(page.get_by_test_id("cause").count())
    widths = parts.evaluate_all("links => links.map(link => link.getBoundingClientRect().width)")
    bar = parts.first.evaluate("link => link.parentElement.parentElement.getBoundingClientRect().width")
    assert sum(widths) == pytest.approx(bar, abs=2 * len(widths))

    # slow_step is submitted and waited for, one call after the other.
    loop = page.get_by_test_id("finding").and_(page.locator("[data-kind=get_in_loop]"))
    expect(loop.filter(has_text="slow_step")).to_be_visible()
    page.goto(f"{recorded.url}/s/{recorded.session}/functions?lang=zh")
    page.get_by_test_id("function-row").filter(has_text="slow_step").get_by_test_id("finding-badge").click()
    expect(page).to_have_url(re.compile("/insights.*finding=get_in_loop"))
    wanted = page.locator("[data-testid=finding][data-wanted]")
    expect(wanted).to_contain_text("循环中调用 ray.get")
    wanted.get_by_test_id("finding-tasks").click()
    expect(page).to_have_url(re.compile(r"/s/[^/]+\?func_name=slow_step"))


def test_what_if(recorded: Recorded, page: Page, insights: dict[str, Any]) -> None:
    base = f"{recorded.url}/s/{recorded.session}/insights"
    page.goto(f"{base}?lang=en")
    page.get_by_test_id("gain").filter(has_text="slow_step").get_by_role("button").click()
    expect(page).to_have_url(re.compile("changes=speed%3A2%3Aslow_step"))
    result = page.get_by_test_id("whatif-result")
    expect(result).to_contain_text(re.compile("as fast: saves"))
    speed = page.get_by_test_id("whatif-speed").get_by_role("slider")
    speed.focus()
    page.keyboard.press("End")
    page.get_by_test_id("whatif-cpus").fill("2")
    expect(page.get_by_test_id("whatif-change")).to_have_text(["slow_step 10× as fast", "2 more CPUs"])
    expect(page.get_by_test_id("whatif-path")).to_contain_text("slow_step")

    # A link has the changes.
    page.reload()
    expect(page.get_by_test_id("whatif-change")).to_have_count(2)
    expect(result).to_contain_text("With these changes")
    page.get_by_test_id("whatif-change").first.click()
    expect(page).to_have_url(re.compile(r"changes=cpus%3A2(&|$)"))

    page.goto(f"{base}?changes=speed:2:nobody&lang=en")
    expect(page.get_by_test_id("whatif")).to_contain_text("no function 'nobody'")
