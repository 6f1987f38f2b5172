"""Datasets of a real program equal Ray Data's own report, over HTTP and in Chromium, live and afterwards."""

from __future__ import annotations

import contextlib
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
from rayscope.settings import Settings
from tests.cluster import turn_to_start
from tests.e2e.conftest import Recorded
from tests.waiting import TIMEOUT_S, wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

PROGRAM = Path(__file__).parent / "data_program.py"
#: The datasets that the program runs after the first one.
DATASETS = ("union", "hanging", "piped", "shuffled")
HANGS = "ReadRange->MapBatches(look_up)"
OPERATORS = ["Input", "ReadRange", "MapBatches(parse)", "MapBatches(crunch)", "MapBatches(Embed)"]
#: ``Operator 1 ReadRange: 12 tasks executed, 12 blocks produced in 0.5s``, and the rows of all its blocks.
_STATS = re.compile(
    r"Operator \d+ (?P<name>[^\n]+): (?P<tasks>\d+) tasks executed.*?\* Output num rows per block: .*?(?P<rows>\d+) total",
    re.DOTALL,
)


class Program(Recorded):
    """The program, and what Ray Data said of its datasets."""

    results: dict[str, Any]

    def get(self, path: str, **params: Any) -> Any:
        """The server's answer about the session of the program."""
        answer = httpx.get(f"{self.url}{path}", params={"session": self.session, **params})
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
                program.results = json.loads(line.removeprefix("stats "))
                break
        else:
            raise AssertionError("".join(lines))
        yield program
    finally:
        if job is not None and job.poll() is None:
            job.terminate()
            job.wait(TIMEOUT_S)
        server.stop()
        shutil.rmtree(ray_dir, ignore_errors=True)


def _datasets(program: Program) -> list[dict[str, Any]]:
    """All datasets but the first, in their order, with the tasks of their operators."""
    items = program.get("/api/v1/data")["items"][: len(DATASETS)]
    return [program.get(f"/api/v1/data/{one['dataset_id']}") for one in reversed(items)]


def _edges(plan: str) -> list[tuple[str, str]]:
    """The edges between operators in a plan as ``Dataset.explain`` draws it.

    Each ``+- Kind[name]`` passes its blocks to the operator above it.
    """
    above: list[str] = []
    edges = []
    for line in plan.rpartition("Physical Plan (Optimized) --------")[2].strip().splitlines():
        indent, _, name = line.rpartition("+- ")
        depth = len(indent) // 3 + 1 if "+- " in line else 0
        above[depth:] = [name.partition("[")[2].removesuffix("]")]
        if depth:
            edges.append((above[depth], above[depth - 1]))
    return edges


def _check_union(dataset: dict[str, Any], results: dict[str, Any]) -> None:
    """The edges between operators equal the plan of Ray Data."""
    operators = dataset["operators"]
    names = {one["operator_id"]: one["name"] for one in operators}
    edges = [(names[given], one["name"]) for one in operators for given in one["inputs"]]
    assert sorted(edges) == sorted(_edges(results["plan"]))
    both = ["ReadRange->MapBatches(left)", "ReadRange->MapBatches(right)"]
    assert sorted(one for one, to in edges if to.startswith("Union")) == both
    for one in operators:
        if one["name"] in both:
            assert one["tasks"]["states"] == {"FINISHED": 12}


def _check_warning(program: Program, dataset: dict[str, Any]) -> None:
    """What Ray Data warned of first is on record, and among the events."""
    (warning,) = dataset["warnings"]
    assert (warning["operator"], warning["issue"]) == (HANGS, "hanging")
    message = " ".join(program.results["warned"][0].split())
    assert warning["message"].startswith("A task ")
    assert message.startswith(warning["message"])
    events = program.get("/api/v1/events", kind="dataset")["items"]
    assert [(one["event"], one["id"]) for one in events] == [("DATA_ISSUE", dataset["dataset_id"])]
    assert warning["message"] in events[0]["message"]


def _check(program: Program) -> None:
    """The record equals what Ray Data reported."""
    results = program.results
    union, hanging, piped, shuffled = _datasets(program)
    _check_union(union, results)
    _check_warning(program, hanging)
    assert [one["total_rows"] for one in (piped, shuffled)] == results["rows"]
    assert [one["name"] for one in piped["operators"]] == OPERATORS
    by_name = {one["name"]: one for one in piped["operators"]}
    said = {match["name"]: match for match in _STATS.finditer(results["stats"][0])}
    assert said.keys() == set(OPERATORS[1:])
    for name, match in said.items():
        assert by_name[name]["tasks"]["states"] == {"FINISHED": int(match["tasks"])}, name
        assert by_name[name]["total_rows"] == int(match["rows"]), name
    assert piped["bottleneck"] == "MapBatches(crunch)"
    assert sum(by_name["MapBatches(crunch)"]["running"]) > sum(by_name["MapBatches(parse)"]["running"])
    assert [one["name"] for one in piped["operators"] if one["actors"]] == ["MapBatches(Embed)"]
    assert by_name["MapBatches(Embed)"]["actor_start_ns"] > 0
    with_tasks = [one for one in shuffled["operators"] if one["tasks"] is not None]
    assert any("RandomShuffle" in one["name"] for one in with_tasks), shuffled
    # With its internals folded the graph can be read.
    nodes = program.get("/api/v1/flow/logical", only="mine")["nodes"]
    names = {one["name"] for one in nodes if one["kind"] in ("library", "function")}
    assert len(nodes) <= 30
    assert names >= {"Data: internals", "Data: shuffle", "Data: MapBatches(crunch)"}, names
    # A call whose definition Ray dropped when the driver ended has no name.
    assert all(name is None or name.startswith("Data: ") for name in names)


def _agrees(program: Program) -> bool:
    try:
        _check(program)
    except AssertionError:
        return False
    return True


def test_live(program: Program, page: Page) -> None:
    def is_whole() -> bool:
        datasets = _datasets(program)
        ran = sum(_tasks(one) for one in datasets)
        return (
            program.get("/api/v1/data")["total"] == len(DATASETS) + 1
            and ran >= 7 * 12 + 8
            and all(one["state"] == "FINISHED" for one in datasets)
            # Ray may say that a dataset has finished before it says how many rows it has.
            and [one["total_rows"] for one in datasets[2:]] == program.results["rows"]
        )

    wait_until(is_whole, "all datasets")
    # What Ray says of a dataset that has just finished may change once more. It is compared again at the end.
    with contextlib.suppress(AssertionError):
        wait_until(lambda: _agrees(program), "Ray and the record agree")
    _check(program)
    assert program.get("/api/v1/data")["problem"] is None

    page.goto(f"{program.url}/s/{program.session}/overview?lang=en")
    page.get_by_test_id("nav-data").click()
    expect(page.get_by_test_id("dataset")).to_have_count(len(DATASETS) + 1)
    page.get_by_test_id("dataset").nth(1).get_by_role("link").first.click()
    expect(page.get_by_test_id("bottleneck")).to_contain_text("MapBatches(crunch) sets the pace")
    expect(page.get_by_test_id("operator")).to_have_count(len(OPERATORS))
    expect(page.get_by_test_id("operator-lane")).to_have_count(len(OPERATORS) - 1)
    page.get_by_test_id("operator-row").filter(has_text="MapBatches(crunch)").get_by_role(
        "link"
    ).first.click()
    expect(page.get_by_test_id("task-row").first).to_contain_text("MapBatches(crunch)")


def test_a_union_and_a_task_that_hangs(program: Program, page: Page) -> None:
    page.goto(f"{program.url}/s/{program.session}/data?lang=en")
    page.get_by_test_id("dataset").nth(DATASETS[::-1].index("union")).get_by_role("link").first.click()
    graph = page.get_by_test_id("operator-graph")
    expect(graph.get_by_test_id("operator").filter(has_text="Union")).to_have_count(1)
    expect(graph.get_by_test_id("card-link")).to_have_count(len(_edges(program.results["plan"])))
    page.goto(f"{program.url}/s/{program.session}/data?lang=en")
    page.get_by_test_id("dataset").nth(DATASETS[::-1].index("hanging")).get_by_role("link").first.click()
    warning = page.get_by_test_id("dataset-warning")
    expect(warning).to_have_count(1)
    expect(warning).to_contain_text("hanging")
    expect(warning).to_contain_text("A task (task_id=")
    page.goto(f"{program.url}/s/{program.session}/events?kind=dataset&lang=en")
    expect(page.get_by_text("A task (task_id=").first).to_be_visible()


def test_afterwards(program: Program, page: Page) -> None:
    program.finish()
    wait_until(
        lambda: httpx.get(f"{program.url}/api/v1/sessions").json()["items"][0]["state"] == "ended", "the end"
    )
    _check(program)
    page.goto(f"{program.url}/s/{program.session}/data?lang=zh")
    expect(page.get_by_test_id("dataset")).to_have_count(len(DATASETS) + 1)
    page.get_by_test_id("dataset").nth(1).get_by_role("link").first.click()
    expect(page.get_by_test_id("bottleneck")).to_contain_text("MapBatches(crunch) 是瓶颈")
    charts = page.get_by_test_id("dataset-charts")
    charts.scroll_into_view_if_needed()
    expect(charts.locator("canvas").first).to_be_visible()


def test_a_report_has_the_page(program: Program, offline: Page, tmp_path: Path) -> None:
    program.finish() if program.job.poll() is None else None
    params = {"session": program.session, "view": "data"}
    file = tmp_path / "report.html"
    file.write_bytes(httpx.get(f"{program.url}/api/v1/report", params=params, timeout=TIMEOUT_S).content)
    offline.goto(file.as_uri())
    expect(offline.get_by_test_id("dataset")).to_have_count(len(DATASETS) + 1)
    offline.get_by_test_id("dataset").nth(1).get_by_role("link").first.click()
    expect(offline.get_by_test_id("bottleneck")).to_contain_text("MapBatches(crunch)")
    expect(offline.get_by_test_id("dataset-charts")).to_contain_text("no charts of the metrics")
    expect(offline.get_by_text("Not in this report")).to_have_count(0)
    expect(offline.get_by_test_id("nav-train")).to_have_count(0)


def _tasks(dataset: dict[str, Any]) -> int:
    """How many tasks have finished."""
    return sum(one["tasks"]["states"].get("FINISHED", 0) for one in dataset["operators"] if one["tasks"])
