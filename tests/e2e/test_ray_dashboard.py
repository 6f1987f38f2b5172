"""Ray's own dashboard, served by us over sessions that have ended, shows what the record says."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import httpx
import pytest
from playwright.sync_api import Page, Response, expect

from rayscope.server.runner import Server
from tests.e2e.conftest import Recorded
from tests.story import JOB, SESSION, Story
from tests.waiting import wait_until

pytestmark = [pytest.mark.e2e]


@pytest.fixture
def failures(page: Page) -> list[str]:
    """Requests of the page that failed or went elsewhere, each of which is an error in its console."""
    failures: list[str] = []

    def check(response: Response) -> None:
        if response.status >= 400 or "/ray/" not in response.url:
            failures.append(f"{response.status} {response.url}")

    page.on("response", check)
    return failures


def test_its_pages_show_an_ended_session(recorded: Recorded, page: Page, failures: list[str]) -> None:
    recorded.finish()
    session = recorded.session

    base = f"{recorded.url}/ray/{session}"

    def dead_node() -> str | None:
        (node,) = httpx.get(f"{base}/nodes?view=summary").json()["data"]["summary"]
        return str(node["raylet"]["nodeId"]) if node["raylet"]["state"] == "DEAD" else None

    node_id = wait_until(dead_node, "the end of the node")
    (job,) = httpx.get(f"{base}/api/jobs/").json()
    actors = httpx.get(f"{base}/logical/actors").json()["data"]["actors"]
    job_id = job["job_id"]
    query = f"session={session}&job_id={job_id}&limit=1"
    tasks = httpx.get(f"{recorded.url}/api/v1/tasks?{query}").json()
    (task,) = tasks["items"]
    (actor_id,) = actors
    for path, text in (
        ("overview", job_id),
        ("jobs", "SUCCEEDED"),
        (f"jobs/{job_id}", f"Total: {tasks['total']}"),
        (f"jobs/{job_id}/tasks/{task['task_id']}", str(task["name"])),
        ("actors", rf"TOTAL\s*x {len(actors)}"),
        (f"actors/{actor_id}", "Counter"),
        ("cluster", r"DEAD\s*x 1"),
        (f"cluster/nodes/{node_id}", "Node details fetched."),
        ("cluster/info", session),
        ("logs", "Select a node to view logs"),
        (f"logs/?nodeId={node_id}", "worker-"),
        ("serve", "Serve not started"),
        ("metrics", "Set up Prometheus and Grafana"),
        ("platform-events", "No platform events found."),
    ):
        page.goto(f"{base}/#/{path}")
        expect(page.get_by_role("main")).to_contain_text(re.compile(text))
    page.goto(f"{base}/#/jobs/{job_id}")
    with page.expect_download() as download:
        page.get_by_text("Download trace file").click()
    assert "task:execute" in download.value.path().read_text()
    assert failures == []


def test_progress_counts_all_tasks(serve: Callable[..., Server], page: Page, failures: list[str]) -> None:
    server = serve()
    assert server.services is not None
    story = Story()
    story.entity("job", JOB, 0, 60_002)
    for number in range(60_000):
        story.task("work", number, number + 1, number + 2, failed=number % 100 == 0)
    writer = server.services.writer
    writer.submit_records(story.batch, "events")
    assert writer.flush()
    writer.end_session(SESSION, time.time_ns())
    assert writer.flush()
    page.goto(f"{server.url}/ray/{SESSION}/#/jobs/{JOB}")
    for text in ("Total: 60000", "Finished: 59400", "Failed: 600"):
        expect(page.get_by_text(text).first).to_be_visible()
    assert failures == []


def test_it_opens_from_the_session(recorded: Recorded, page: Page) -> None:
    page.goto(f"{recorded.url}/s/{recorded.session}/overview")
    page.get_by_test_id("export-menu").click()
    with page.expect_popup() as popup:
        page.get_by_test_id("ray-dashboard").click()
    expect(popup.value.get_by_text("Recent jobs")).to_be_visible()
