"""Exports of a recorded job: saved in Chromium, and opened there in speedscope."""

from __future__ import annotations

import functools
import http.server
import re
import shutil
import threading
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Recorded
from tests.traces import Trace, read_perfetto

pytestmark = [pytest.mark.ray, pytest.mark.e2e]
SPEEDSCOPE = Path(__file__).parents[2] / "web" / "node_modules" / "speedscope" / "dist" / "release"


@pytest.fixture
def speedscope(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Where speedscope is served, and the folder that it is served from."""
    folder = tmp_path / "speedscope"
    shutil.copytree(SPEEDSCOPE, folder)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()
        thread.join()


def save(page: Page, name: str, to: Path) -> Path:
    """Choose an entry of the menu and return the downloaded file."""
    page.get_by_test_id("export-menu").click()
    with page.expect_download() as download:
        page.get_by_test_id(f"export-{name}").click()
    path = to / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_saved_files_open_in_other_tools(
    recorded: Recorded, page: Page, tmp_path: Path, speedscope: tuple[str, Path]
) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    session = recorded.session
    asked = httpx.get(f"{recorded.url}/api/v1/tasks", params={"session": session, "limit": 1000}).json()
    ran = {(one["task_id"], one["attempt"]) for one in asked["items"] if one["start_ns"] is not None}
    assert ran
    page.goto(f"{recorded.url}/s/{session}/gantt")
    expect(page.get_by_test_id("tab-gantt")).to_be_visible()

    traces: list[Trace] = [
        read_perfetto(save(page, "perfetto", tmp_path).read_bytes()),
    ]
    for trace in traces:
        shown = [
            (s.args["task_id"], s.args["attempt"]) for s in trace.slices if s.category in ("task", "failed")
        ]
        assert len(shown) == len(set(shown))
        assert set(shown) == ran
        # The driver's tasks ran while it did, and a branch got what its leaves had made.
        (driver,) = [s for s in trace.slices if s.category == "driver"]
        names_by_start = defaultdict(set)
        for one in trace.slices:
            names_by_start[one.track, one.begin].add(one.name)
        ends = [(names_by_start[a.track, a.begin], names_by_start[b.track, b.begin]) for a, b in trace.arrows]
        calls = [
            target for (a, _), (_, target) in zip(trace.arrows, ends, strict=True) if a.track == driver.track
        ]
        assert {"branch", "slow_step"} <= set().union(*calls)
        assert any("leaf" in source and "ray.get" in target for source, target in ends)
        names = {s.name for s in trace.slices}
        assert {"executing", "storing", "ray.get", "waiting_node", "Counter.__init__"} <= names

    path = save(page, "parquet", tmp_path)
    assert re.fullmatch(r"workload\.py_\d{4}-\d\d-\d\d_\d\d-\d\d-\d\d\.parquet\.zip", path.name)
    assert "tasks.parquet" in zipfile.ZipFile(path).namelist()

    address, folder = speedscope
    save(page, "speedscope", folder).rename(folder / "profile.json")
    page.goto(f"{address}/index.html#profileURL=/profile.json")
    expect(page.get_by_text("executing time by call path, all workers (1/")).to_be_visible()
    page.keyboard.press("3")  # its sandwich view is a table
    for name in ("slow_step", "branch", "Counter.add"):
        expect(page.get_by_text(name, exact=True).first).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_text("(2/")).to_be_visible()
    expect(page.get_by_text("executing", exact=True).first).to_be_visible()


@pytest.mark.parametrize("form", ["speedscope", "pprof", "collapsed"])
def test_samples_open_in_speedscope(
    recorded: Recorded, page: Page, speedscope: tuple[str, Path], form: str
) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    params = {"session": recorded.session, "type": "DRIVER_TASK"}
    lines = httpx.get(f"{recorded.url}/api/v1/lines", params=params).json()
    answer = httpx.get(f"{recorded.url}/api/v1/lines/export", params={**params, "format": form})
    address, folder = speedscope
    (folder / "profile").write_bytes(answer.content)
    page.goto(f"{address}/index.html#profileURL=/profile")
    page.get_by_text("Sandwich").click()  # a table of frames
    phase = lines["phases"][0]["phase"]
    expect(page.get_by_text(f"[{phase}]", exact=True).first).to_be_visible()
    hottest = next(line for line in lines["lines"] if line["self_samples"])
    expect(page.get_by_text(hottest["function"]).first).to_be_visible()


def test_the_filters_go_along(recorded: Recorded, page: Page, tmp_path: Path) -> None:
    recorded.finish() if recorded.job.poll() is None else None
    page.set_viewport_size({"width": 800, "height": 700})
    page.goto(f"{recorded.url}/s/{recorded.session}?func_name=slow_step&lang=zh")
    page.get_by_test_id("export-menu").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("export-formats")).to_contain_text("筛选后")
    page.keyboard.press("Escape")
    trace = read_perfetto(save(page, "perfetto", tmp_path).read_bytes())
    assert {s.name for s in trace.slices if s.category == "task"} == {"slow_step"}
