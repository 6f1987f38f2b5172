"""The insights of a job with known numbers, in Chromium: the sentence, the bar, the findings, what-if."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, Route, expect

from rayscope.insights import gains
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.story import DRIVER, JOB, SESSION, Story

pytestmark = [pytest.mark.e2e]


def loop() -> Story:
    """Eight calls of 200 ms, each submitted once the one before has been waited for; 100 ms before and after."""
    story = Story()
    for begin in range(100, 1700, 200):
        step = story.task("step", begin, begin, begin + 200, resources='{"CPU":1.0}')
        story.get(DRIVER, step, begin, begin + 200)
    story.entity("node", "a" * 56, -1000, resources_total=json.dumps({"CPU": 4.0}), is_head=True)
    story.entity("job", JOB, 0, 1800)
    return story


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It has the session."""
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
    server.start()
    assert server.services is not None
    server.services.writer.submit_records(loop().batch, "events")
    assert server.services.writer.flush()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def base(server: Server) -> str:
    """The address of the session."""
    return f"{server.url}/s/{SESSION}"


#: The texts of figures and of table cells that do not fit into their box.
CUT = """
elements => elements.filter(one => one.scrollWidth > one.clientWidth).map(one => one.textContent)
"""


@pytest.mark.parametrize("width", [1500, 1310, 1000, 420])
def test_the_figures_of_a_long_job_are_not_cut(base: str, page: Page, width: int) -> None:
    def lengthen(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["so_far"] = True
        body["calibration"]["recorded_ns"] = 198 * 10**9
        for row in (*body["functions"], *body["options"]):
            row.update(saving_ns=98 * 10**9, saving_low_ns=78 * 10**9, saving_high_ns=118 * 10**9)
            row.update(own_ns=637 * 10**9, attempts=1_234_567)
        route.fulfill(response=answer, json=body)

    page.route(re.compile("/api/v1/insights"), lengthen)
    page.set_viewport_size({"width": width, "height": 900})
    for language in ("en", "zh"):
        page.goto(f"{base}/insights?lang={language}")
        expect(page.get_by_test_id("gain").first).to_contain_text("1m 18s")
        assert page.get_by_test_id("verdict").locator("dd > span").evaluate_all(CUT) == []
        assert page.get_by_test_id("gains").locator("th, td").evaluate_all(CUT) == []
        outside = page.get_by_test_id("gains").evaluate("panel => panel.scrollWidth - panel.clientWidth")
        assert outside <= 0


def test_the_verdict_about_a_job_and_its_findings(base: str, page: Page) -> None:
    page.goto(f"{base}/overview?lang=en")
    panel = page.get_by_test_id("panel-insights")
    expect(panel).to_contain_text("Bound by one function: step ran for 1.60 s of 1.80 s.")
    panel.get_by_test_id("panel-insights-all").click()
    expect(page.get_by_test_id("verdict-remedy")).to_have_text(
        "Fixing “ray.get in a loop” (step) would save about 1.20 s, 67% (9 of 10: 960 ms to 1.44 s)."
    )
    # The parts of the bar are all of the time.
    parts = page.get_by_test_id("cause-part")
    expect(parts).to_have_count(3)
    widths = parts.evaluate_all("links => links.map(link => link.getBoundingClientRect().width)")
    bar = parts.first.evaluate("link => link.parentElement.parentElement.getBoundingClientRect().width")
    assert sum(widths) == pytest.approx(bar, abs=2 * len(widths))
    assert widths[0] == pytest.approx(bar * 16 / 18, rel=0.01)

    # From a mark to its finding, and on to the tasks.
    page.goto(f"{base}/functions?lang=zh")
    page.get_by_test_id("function-row").filter(has_text="step").get_by_test_id("finding-badge").click()
    expect(page).to_have_url(re.compile("/insights.*finding=get_in_loop"))
    wanted = page.locator("[data-testid=finding][data-wanted]")
    expect(wanted).to_contain_text("循环中调用 ray.get")
    expect(wanted).to_contain_text("可节省约 1.20 s，67%（90% 把握：960 ms 至 1.44 s）")
    wanted.get_by_test_id("finding-tasks").click()
    expect(page.get_by_test_id("table-count").first).to_have_attribute("data-total", "8")


def test_what_if(base: str, page: Page) -> None:
    page.goto(f"{base}/insights?lang=en")
    page.get_by_test_id("gain").filter(has_text="step").get_by_role("button").click()
    expect(page).to_have_url(re.compile("changes=speed%3A2%3Astep"))
    result = page.get_by_test_id("whatif-result")
    expect(result).to_contain_text("1.80× as fast: would save about 800 ms, 44% (9 of 10: 640 to 960 ms)")
    speed = page.get_by_test_id("whatif-speed").get_by_role("slider")
    speed.focus()
    page.keyboard.press("End")
    page.get_by_test_id("whatif-cpus").fill("2")
    expect(page.get_by_test_id("whatif-change")).to_have_text(["step 10× as fast", "2 more CPUs"])
    expect(result).to_contain_text("would save about 1.44 s, 80% (9 of 10: 1.15 to 1.73 s)")
    expect(page.get_by_test_id("whatif-path")).to_contain_text("step")

    # A link has the changes; each can be taken back.
    page.reload()
    expect(result).to_contain_text("would save about 1.44 s, 80% (9 of 10: 1.15 to 1.73 s)")
    page.get_by_test_id("whatif-change").first.click()
    expect(page).to_have_url(re.compile(r"changes=cpus%3A2(&|$)"))
    expect(result).to_contain_text("No difference")

    page.goto(f"{base}/insights?changes=speed:2:nobody&lang=en")
    expect(page.get_by_test_id("whatif")).to_contain_text("no function 'nobody'")


def test_a_large_job_is_replayed_while_its_findings_are_shown(
    server: Server, base: str, page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gains, "MAX_ATTEMPTS", 5)
    assert server.services is not None
    server.services.records.forget(SESSION)
    with server.services.replays.waiting_turn(SESSION, "another", 1, lambda part: None):
        page.goto(f"{base}/insights?lang=en")
        expect(page.get_by_test_id("withheld")).to_contain_text("Nothing is predicted yet.")
        expect(page.get_by_test_id("replaying")).to_have_text("Replaying: 0%")
        expect(page.get_by_test_id("finding")).to_contain_text("costs up to 1.20 s (67%)")
    expect(page.get_by_test_id("finding")).to_contain_text(
        "would save about 1.20 s, 67% (9 of 10: 960 ms to 1.44 s)"
    )
    expect(page.get_by_test_id("withheld")).to_have_count(0)
    server.services.records.forget(SESSION)
