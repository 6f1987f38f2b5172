"""The page that compares runs, in Chromium, and the ways to it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from rayscope.model import RecordBatch
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.story import JOB, SESSION, Story

pytestmark = [pytest.mark.e2e]

LATER = SESSION.replace("2025-10-09", "2025-10-10")
SECOND = "02000000"


def job(story: Story, job: str, begin: float, load_ms: float) -> None:
    """A job that loads twice, one after the other, and then takes 40 ms to sum."""
    driver = "f" * 40 + job
    reached = begin + 10
    for name, took in (("load", load_ms), ("load", load_ms), ("sum", 40)):
        task = story.task(name, reached, reached + 5, reached + 5 + took, parent=driver, job=job)
        story.get(driver, task, reached, reached + 6 + took)
        reached += 6 + took
    story.entity("job", job, begin, reached + 10, entrypoint=f"python train.py {load_ms}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It has a session with one job, and a later session with two jobs of the same script."""
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
    server.start()
    assert server.services is not None
    first, later = Story(), Story(RecordBatch(LATER))
    job(first, JOB, 0, 100)
    job(later, JOB, 10_000, 150)
    job(later, SECOND, 20_000, 120)
    for story in (first, later):
        server.services.writer.submit_records(story.batch, "events")
    assert server.services.writer.flush()
    yield server
    server.stop()


def compared(page: Page) -> dict[str, str]:
    """The two sides in the address of the page."""
    return {side: runs[0] for side, runs in parse_qs(urlsplit(page.url).query).items()}


def test_two_sessions_are_compared_from_their_list(server: Server, page: Page) -> None:
    page.goto(server.url)
    for row in range(2):
        page.get_by_test_id("session-tick").nth(row).check()
    page.get_by_test_id("compare-ticked").click()
    verdict = page.get_by_test_id("compare-verdict")
    expect(verdict).to_contain_text("Cannot tell whether B is slower than A: +")
    assert compared(page) == {"a": SESSION, "b": LATER}

    answer = httpx.get(f"{server.url}/api/v1/compare", params=compared(page)).json()
    expect(verdict).to_contain_text(f"{answer['duration']['ratio'] - 1:+.1%}")
    a, b = (answer[side]["shown"]["duration_ns"] for side in "ab")
    parts = page.get_by_test_id("waterfall-part")
    bars = [int(str(part.get_attribute("data-ns"))) for part in parts.all()]
    assert sum(bars) == b - a > 0

    page.get_by_test_id("compare-swap").click()
    expect(verdict).to_contain_text("−")
    assert compared(page) == {"a": LATER, "b": SESSION}
    parts.first.get_by_role("link", name="load").click()
    expect(page.get_by_test_id("task-row")).to_have_count(2)


def open_picture(page: Page, name: str) -> Locator:
    page.get_by_test_id(f"compare-picture-{name}").click()
    return page.get_by_test_id(f"compared-{name}")


def see_flame_graph(page: Page) -> None:
    """It has the time of B, or of A, by call path."""
    picture = open_picture(page, "flame")
    status = picture.get_by_test_id("compared-flame-status")
    expect(status).to_have_text("A 240 ms → B 340 ms")
    expect(picture.get_by_test_id("flame")).to_have_attribute("data-boxes", "3")
    expect(picture.get_by_test_id("compared-flame-legend")).to_contain_text("+29%")
    picture.get_by_test_id("flame").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    tip = picture.get_by_test_id("flame-tip")
    expect(tip).to_contain_text("load")
    expect(tip).to_contain_text("+100 ms · +29% of B")
    expect(tip).to_contain_text("2 → 2")
    page.keyboard.press("Enter")
    expect(picture.get_by_test_id("flame-crumbs")).to_have_text("Driver›load")
    page.keyboard.press("Escape")
    picture.get_by_test_id("flame-export").click()
    with page.expect_download() as saved:
        page.get_by_test_id("flame-json").click()
    frames = json.loads(Path(saved.value.path()).read_text())["frames"]
    assert [[frame[side]["value"] for side in "ab"] for frame in frames if frame["name"] == "load"] == [
        [200_000_000, 300_000_000]
    ]
    picture.get_by_test_id("compared-flame-width").get_by_text("Time of A").click()
    expect(picture.get_by_test_id("compared-flame-legend")).to_contain_text("+42%")
    picture.get_by_test_id("compared-flame-find").fill("sum")
    expect(status).to_have_text("1 frame found: 17%")


def see_logical_graph(page: Page) -> None:
    """It has the functions and the calls of both sides, with their changes."""
    picture = open_picture(page, "logical")
    load = picture.get_by_test_id("logical-node-f:load")
    expect(load).to_have_attribute("data-change", "grew")
    expect(load).to_contain_text("+50%")
    expect(load).to_contain_text("200 ms → 300 ms")
    expect(picture.get_by_test_id("logical-node-f:sum")).to_have_attribute("data-change", "same")
    expect(picture.get_by_test_id("logical-node-driver")).to_have_count(1)


def see_gantt_charts(page: Page) -> None:
    """They have one cursor and one window."""
    picture = open_picture(page, "gantt")
    first, second = (picture.get_by_test_id(f"compared-gantt-{side}") for side in "ab")
    for side in (first, second):
        expect(side.locator("canvas")).to_have_attribute("data-bars", "3")
    first.get_by_test_id("gantt-chart").hover()
    expect(second.get_by_test_id("gantt-chart")).to_have_attribute("data-cursor", re.compile(r"^\d"))
    fit = picture.get_by_test_id("compared-gantt-fit")
    expect(fit).to_be_disabled()
    # Ranges belong to the page of one session.
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Zoom in")
    expect(page.get_by_role("dialog")).not_to_contain_text("visible range")
    page.keyboard.press("Escape")
    page.keyboard.press("w")
    expect(fit).to_be_enabled()
    fit.click()
    expect(fit).to_be_disabled()


def see_call_paths(page: Page) -> None:
    table = page.get_by_test_id("compare-functions")
    table.get_by_test_id("compare-functions-by").get_by_text("Call path").click()
    expect(table.get_by_test_id("compare-function")).to_have_count(2)
    expect(table).to_contain_text("load")


def see_pictures(page: Page) -> None:
    see_flame_graph(page)
    see_logical_graph(page)
    see_gantt_charts(page)
    see_call_paths(page)


def test_the_pictures_of_two_runs_open_on_the_page_and_in_a_report(
    server: Server, page: Page, browser: Browser, tmp_path: Path
) -> None:
    page.goto(f"{server.url}/compare?a={SESSION}&b={LATER}/{JOB}&lang=en")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    expect(page.get_by_test_id("compare-findings")).to_be_visible()
    assert not any("/flow/" in url for url in asked), "a picture is loaded when it is opened"
    see_pictures(page)

    with page.expect_download() as download:
        page.get_by_test_id("compare-report").click()
    file = tmp_path / "report.html"
    download.value.save_as(file)
    offline = browser.new_context(offline=True).new_page()
    missing: list[str] = []
    offline.on(
        "console", lambda line: missing.append(line.text) if "Not in the report" in line.text else None
    )
    offline.goto(f"{file.as_uri()}")
    see_pictures(offline)
    assert not missing
    offline.context.close()


def test_a_job_is_compared_with_the_previous_run(server: Server, page: Page) -> None:
    for opened, earlier in ((SECOND, 2), (JOB, 1)):
        page.goto(f"{server.url}/s/{LATER}/jobs/{opened}")
        page.get_by_test_id("job-compare").click()
        expect(page.get_by_test_id("compare-verdict")).to_be_visible()
        assert compared(page) == {"b": f"{LATER}/{opened}"}
        runs = page.get_by_test_id("compare-side-a").get_by_test_id("compared-run")
        expect(runs).to_have_count(earlier)
    page.goto(f"{server.url}/s/{SESSION}/jobs/{JOB}")
    page.get_by_test_id("job-compare").click()
    expect(page.get_by_role("main")).to_contain_text("No run of the same script is on record before")
