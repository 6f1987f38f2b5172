"""The page that compares runs, in Chromium, and the ways to it."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, expect

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
    page.get_by_test_id("sessions-compare").click()
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
