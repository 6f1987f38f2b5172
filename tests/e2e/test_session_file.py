"""A session file is saved from one server's page, and opened on another's."""

from __future__ import annotations

import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from rayscope.server.runner import Server
from tests.story import SESSION, Story
from tests.unit.compare.test_api import job

pytestmark = [pytest.mark.e2e]


@pytest.fixture
def ended(serve: Callable[..., Server], tmp_path: Path) -> Server:
    """A server with an ended session."""
    server = serve(tmp_path / "first")
    assert server.services is not None
    story = Story()
    job(story, "01000000", 400)
    writer = server.services.writer
    writer.submit_records(story.batch, "events")
    assert writer.flush()
    writer.end_session(SESSION, time.time_ns())
    assert writer.flush()
    return server


def choose(page: Page, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_test_id("sessions-open-file").click()
    chooser.value.set_files(path)


def test_a_session_file_is_saved_and_opened(
    ended: Server, serve: Callable[..., Server], page: Page, tmp_path: Path
) -> None:
    page.goto(f"{ended.url}/s/{SESSION}/overview")
    page.get_by_test_id("export-menu").click()
    with page.expect_download() as download:
        page.get_by_test_id("export-session").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.suffix == ".rayscope"

    # Without names: the page lists what is replaced before the file is saved.
    page.get_by_test_id("export-menu").click()
    page.get_by_test_id("export-anonymous").click()
    expect(page.get_by_test_id("anonymous-replaced")).to_contain_text("attempts.func_name")
    with page.expect_download() as download:
        page.get_by_test_id("anonymous-save").click()
    assert download.value.suggested_filename == f"{SESSION}.rayscope"
    assert zipfile.is_zipfile(download.value.path())
    assert download.value.path().read_bytes() != path.read_bytes()
    damaged = tmp_path / "damaged.rayscope"
    damaged.write_bytes(path.read_bytes()[:-1])

    other = serve(tmp_path / "second")
    assert other.services is not None
    page.goto(other.url)
    choose(page, damaged)
    page.get_by_test_id("act-token").fill(other.services.secrets.operator_token)
    page.get_by_test_id("act-confirm").click()
    problem = page.get_by_test_id("act-problem")
    expect(problem).to_contain_text("The session file cannot be opened: it is cut off")
    expect(problem).to_contain_text("Export the session again")
    page.get_by_test_id("act-cancel").click()
    expect(page.get_by_test_id("sessions-empty")).to_be_visible()

    choose(page, path)
    page.get_by_test_id("act-confirm").click()
    page.wait_for_url(f"**/s/{SESSION}/overview*")
    expect(page.get_by_test_id("nav-tasks")).to_be_visible()
    page.goto(f"{other.url}/s/{SESSION}/tasks")
    expect(page.get_by_test_id("task-row").first).to_be_visible()
