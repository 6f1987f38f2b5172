"""Datasets of a real program as Ray Data itself tells them, in the answers and in Chromium, live and afterwards."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from rayscope.cli.recording import child_env
from rayscope.server.runner import Server
from rayscope.server.settings import Settings
from tests.cluster import turn_to_start, wait_until
from tests.e2e.conftest import Recorded

pytestmark = [pytest.mark.ray, pytest.mark.e2e, pytest.mark.timeout(400)]

PROGRAM = Path(__file__).parent / "data_program.py"
OPERATORS = ["Input", "ReadRange", "MapBatches(parse)", "MapBatches(crunch)", "MapBatches(Embed)"]
#: ``Operator 1 ReadRange: 12 tasks executed, 12 blocks produced in 0.5s``, and the rows of all its blocks.
_STATS = re.compile(
    r"Operator \d+ (?P<name>[^\n]+): (?P<tasks>\d+) tasks executed.*?\* Output num rows per block: .*?(?P<rows>\d+) total",
    re.DOTALL,
)


class Program(Recorded):
    """The program, and what Ray Data said of its datasets."""

    told: dict[str, Any]

    def get(self, path: str) -> Any:
        """The server's answer about the session of the program."""
        answer = httpx.get(f"{self.url}{path}", params={"session": self.session}, timeout=60)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    server = Server(Settings(data_dir=tmp_path_factory.mktemp("data"), port=0))
    server.start()
    ray_dir = tempfile.mkdtemp(prefix="rs-")  # Ray's sockets need a short path
    job = None
    try:
        with turn_to_start():
            job = subprocess.Popen(
                [sys.executable, str(PROGRAM), ray_dir],
                env=child_env(server.ingest_url),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        program = Program(server, job)
        assert job.stdout is not None
        lines = []
        for line in job.stdout:
            lines.append(line)
            if line.startswith("stats "):
                program.told = json.loads(line.removeprefix("stats "))
                break
        else:
            raise AssertionError("".join(lines))
        yield program
    finally:
        if job is not None and job.poll() is None:
            job.terminate()
            job.wait(30)
        server.stop()
        shutil.rmtree(ray_dir, ignore_errors=True)


def _datasets(program: Program) -> list[dict[str, Any]]:
    """The two last datasets, the first of them first, with the tasks of their operators."""
    items = program.get("/api/data")["items"][:2]
    return [program.get(f"/api/data/{one['dataset_id']}") for one in reversed(items)]


def _check(datasets: list[dict[str, Any]], told: dict[str, Any]) -> None:
    """What is on record is what Ray Data said."""
    piped, shuffled = datasets
    assert [one["total_rows"] for one in datasets] == told["rows"]
    assert [one["name"] for one in piped["operators"]] == OPERATORS
    by_name = {one["name"]: one for one in piped["operators"]}
    said = {match["name"]: match for match in _STATS.finditer(told["stats"][0])}
    assert said.keys() == set(OPERATORS[1:])
    for name, match in said.items():
        assert by_name[name]["tasks"]["states"] == {"FINISHED": int(match["tasks"])}, name
        assert by_name[name]["total_rows"] == int(match["rows"]), name
    assert piped["bottleneck"] == "MapBatches(crunch)"
    assert sum(by_name["MapBatches(crunch)"]["running"]) > sum(by_name["MapBatches(parse)"]["running"])
    with_tasks = [one for one in shuffled["operators"] if one["tasks"] is not None]
    assert any("RandomShuffle" in one["name"] for one in with_tasks), shuffled


def test_live(program: Program, page: Page) -> None:
    def is_whole() -> bool:
        datasets = _datasets(program)
        ran = sum(_tasks(one) for one in datasets)
        return (
            program.get("/api/data")["total"] == 3
            and ran >= 4 * 12 + 8
            and all(one["state"] == "FINISHED" for one in datasets)
        )

    wait_until(is_whole, "both datasets", timeout_s=120)
    _check(_datasets(program), program.told)
    assert program.get("/api/data")["problem"] is None

    page.goto(f"{program.url}/s/{program.session}/overview?lang=en")
    page.get_by_test_id("nav-data").click()
    expect(page.get_by_test_id("dataset")).to_have_count(3)
    page.get_by_test_id("dataset").nth(1).get_by_role("link").first.click()
    expect(page.get_by_test_id("bottleneck")).to_contain_text("MapBatches(crunch) sets the pace")
    expect(page.get_by_test_id("operator")).to_have_count(len(OPERATORS))
    expect(page.get_by_test_id("operator-lane")).to_have_count(len(OPERATORS) - 1)
    page.get_by_test_id("operator-row").filter(has_text="MapBatches(crunch)").get_by_role(
        "link"
    ).first.click()
    expect(page.get_by_test_id("task-row").first).to_contain_text("MapBatches(crunch)")


def test_afterwards(program: Program, page: Page) -> None:
    program.finish()
    wait_until(lambda: program.get("/api/sessions")["items"][0]["state"] == "ended", "the end", timeout_s=150)
    _check(_datasets(program), program.told)
    page.goto(f"{program.url}/s/{program.session}/data?lang=zh")
    expect(page.get_by_test_id("dataset")).to_have_count(3)
    page.get_by_test_id("dataset").nth(1).get_by_role("link").first.click()
    expect(page.get_by_test_id("bottleneck")).to_contain_text("MapBatches(crunch) 是瓶颈")
    charts = page.get_by_test_id("dataset-charts")
    charts.scroll_into_view_if_needed()
    expect(charts.locator("canvas").first).to_be_visible()


def _tasks(dataset: dict[str, Any]) -> int:
    """How many tasks have finished."""
    return sum(one["tasks"]["states"].get("FINISHED", 0) for one in dataset["operators"] if one["tasks"])
