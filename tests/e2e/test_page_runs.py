"""The page of runs, in Chromium, and the ways to it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from rayscope.model import Entity, RecordBatch
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.story import MS, ORIGIN_NS, SESSION, Story
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e]

#: Durations of the runs in ms: slower from the tenth on.
DURATIONS = (100, 101, 99, 100, 102, 98, 100, 101, 99, 130, 131, 129, 130)
DAY = 86_400_000


def session(number: int, took: float) -> RecordBatch:
    """A session with one job, some days after the first one."""
    story = Story(RecordBatch(SESSION.replace("_1", f"_{number + 1}")))
    since = number * DAY
    story.task("load", since, since, since + took)
    begin_ns, end_ns = (ORIGIN_NS + round(ms * MS) for ms in (since, since + took))
    job = Entity(
        "job",
        "01000000",
        {
            "entrypoint": "python train.py",
            "start_ns": begin_ns,
            "end_ns": end_ns,
            "versions": '{"git_commit": "c0ffee12ab34"}',
        },
    )
    job.transitions = {(begin_ns, "RUNNING"): {}, (end_ns, "SUCCEEDED"): {}}
    story.batch.entities.append(job)
    return story.batch


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It has a session for each duration."""
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
    server.start()
    assert server.services is not None
    for number, took in enumerate(DURATIONS):
        server.services.writer.submit_records(session(number, took), "events")
    assert server.services.writer.flush()
    total = lambda: httpx.get(f"{server.url}/api/v1/runs").json()["total"]  # noqa: E731
    wait_until(lambda: total() == len(DURATIONS), "runs")
    yield server
    server.stop()


def test_a_slow_run_leads_from_the_sessions_to_its_trend(server: Server, page: Page) -> None:
    page.goto(server.url)
    mark = page.get_by_test_id("slower-mark").first
    expect(mark).to_have_text("+30%")
    mark.click()
    expect(page.get_by_test_id("trend-point")).to_have_count(len(DURATIONS))
    change = page.get_by_test_id("trend-change")
    expect(change).to_contain_text("30% slower since")
    expect(change).to_contain_text("c0ffee12")
    expect(page.get_by_test_id("trend-step")).to_have_count(1)


def test_a_point_opens_its_run(server: Server, page: Page) -> None:
    page.goto(f"{server.url}/runs?script=train.py")
    page.get_by_test_id("trend-point").nth(9).click()
    expect(page.get_by_test_id("job-page")).to_be_visible()
    expect(page.get_by_test_id("slower-mark")).to_be_visible()


def test_runs_are_filtered_and_compared(server: Server, page: Page) -> None:
    page.goto(server.url)
    page.get_by_test_id("to-runs").click()
    expect(page.get_by_test_id("run-row")).to_have_count(len(DURATIONS))
    page.get_by_test_id("filter-q").fill("nothing like this")
    expect(page.get_by_text("No run matches.")).to_be_visible()
    page.get_by_test_id("filter-q").fill("train")
    for row in range(2):
        page.get_by_test_id("run-tick").nth(row).check()
    page.get_by_test_id("compare-ticked").click()
    expect(page.get_by_test_id("compare-verdict")).to_be_visible()
