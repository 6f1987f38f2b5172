"""A session in the output of a notebook, which a real kernel ran, in Chromium."""

from __future__ import annotations

import re
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Page, expect

from rayscope.client.http import Client
from rayscope.server.runner import Server
from rayscope.settings import Settings
from tests.e2e.places import open_view
from tests.story import JOB, SESSION, Story

pytestmark = [pytest.mark.e2e]


@pytest.mark.long
def test_the_output_of_a_notebook_is_the_page(page: Page, tmp_path: Path) -> None:
    story = Story()
    story.task("load", 0, 5, 105, job=JOB)
    server = Server(Settings(data_dir=tmp_path / "data", port=0))
    server.start()
    try:
        assert server.services is not None
        server.services.writer.submit_records(story.batch, "events")
        server.services.writer.end_session(SESSION, time.time_ns())
        assert server.services.writer.flush()
        Client(server.url).export_session(tmp_path / "kept.rayscope")
        cells = [
            f"import rayscope\nrayscope.show({SESSION!r}, 'gantt', url={server.url!r})",
            f"rayscope.Client({server.url!r}).report('kept.html')\nrayscope.show('kept.html', height=500)",
            "rayscope.show('kept.rayscope', 'functions')",
        ]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}).execute()
    finally:
        server.stop()
    # The notebook is opened without the server.
    for number, (cell, seen) in enumerate(
        zip(notebook.cells, ("gantt-count", "nav-overview", "functions-weight"), strict=True)
    ):
        output = tmp_path / f"{number}.html"
        output.write_text(f"<!doctype html><body>{cell.outputs[-1].data['text/html']}</body>")
        page.goto(output.as_uri())
        frame = page.frame_locator("iframe")
        expect(frame.get_by_test_id(seen)).to_be_visible()
        open_view(frame, "functions")
        expect(frame.locator("main")).to_contain_text(re.compile("load"))
