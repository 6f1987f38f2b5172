"""What Ray Data and Ray Serve run, by operator: in the answers and in Chromium, with their internals folded."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.long, pytest.mark.ray, pytest.mark.e2e]

DATA = """
import tempfile, ray.data
ray.data.DataContext.get_current().enable_progress_bars = False

def parse(batch):
    return batch

class Embed:
    def __call__(self, batch):
        return batch

folder = tempfile.mkdtemp()
numbers = ray.data.range(200, override_num_blocks=4).map_batches(parse, num_cpus=0.5)
numbers.map_batches(Embed, concurrency=1, num_cpus=0.4).write_parquet(folder)
ray.data.read_parquet(folder).random_shuffle().sort("id").materialize()
print(ray.get_runtime_context().get_job_id())
"""
SERVE = """
from ray import serve

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Model:
    def __call__(self, number):
        return number * 2

@serve.deployment(ray_actor_options={"num_cpus": 0.1})
class Front:
    def __init__(self, model):
        self.model = model

    async def ask(self, number):
        return await self.model.remote(number)

serve.start(http_options={"port": 0, "host": "127.0.0.1"})
handle = serve.run(Front.bind(Model.bind()), name="shop", route_prefix="/shop")
print([handle.ask.remote(number).result() for number in range(5)])
serve.shutdown()
print(ray.get_runtime_context().get_job_id())
"""
MAX_NODES = 30


def _run(cluster: Recorded, script: str) -> str:
    """The job that ran a script, when all of it is on record."""
    # (Ray may print after the script's last line why it ended an actor.)
    job = re.findall(r"^[0-9a-f]{8}$", cluster.run(script), re.MULTILINE)[-1]

    def is_whole() -> bool:
        states = cluster.get(f"/api/v1/jobs/{job}")["state"]
        open_attempts = [
            row for row in cluster.get("/api/v1/functions", job_id=job, limit=200)["items"] if row["running"]
        ]
        return states not in ("PENDING", "RUNNING") and not open_attempts

    wait_until(is_whole, "the end of the job")
    return job


@pytest.fixture(scope="module")
def data_job(cluster: Recorded) -> str:
    return _run(cluster, DATA)


@pytest.fixture(scope="module")
def serve_job(cluster: Recorded) -> str:
    return _run(cluster, SERVE)


def _nodes(cluster: Recorded, job: str) -> dict[str, dict[str, Any]]:
    graph = cluster.get("/api/v1/flow/logical", job_id=job, only="mine")
    assert len(graph["nodes"]) <= MAX_NODES
    assert graph["attempts"] == cluster.get("/api/v1/flow/logical", job_id=job)["attempts"]
    return {node["name"]: node for node in graph["nodes"] if node["kind"] in ("library", "function")}


def _failures(cluster: Recorded, job: str, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = cluster.get("/api/v1/failures", job_id=job, **params)
    return found


def test_ray_data_is_shown_by_operator(cluster: Recorded, data_job: str) -> None:
    nodes = _nodes(cluster, data_job)
    pool = next(name for name in nodes if "MapBatches(Embed)" in name)
    assert {"Data: internals", "Data: Write", "Data: shuffle"} <= nodes.keys()
    assert pool.startswith("Data: MapBatches")
    assert all(name.startswith("Data: ") for name in nodes)
    functions = cluster.get("/api/v1/functions", job_id=data_job, only="mine", limit=200)
    assert {row["origin"] for row in functions["items"]} == {"ray.data"}
    assert "Data: internals" not in {row["operator"] for row in functions["items"]}
    assert [one["library"] for one in functions["hidden"]] == ["Data: internals"]
    # A function's or operator's name finds its attempts.
    for name in ("Data: Write", pool):
        assert (
            cluster.get("/api/v1/tasks", job_id=data_job, func_name=name)["total"] == nodes[name]["attempts"]
        )
    frames = cluster.get("/api/v1/flow/flame", job_id=data_job, only="mine", weight="count")["frames"]
    assert {frame["name"] for frame in frames if frame["kind"] == "library"} >= {"Data: internals", pool}
    path = cluster.get("/api/v1/flow/critical-path", job_id=data_job)
    assert "_map_task" not in {link["name"] for link in path["links"]}


def test_tasks_that_ray_data_stops_are_no_failures(cluster: Recorded, data_job: str) -> None:
    wait_until(lambda: _failures(cluster, data_job)["items"] == [], "the ends of the actors")
    asked = _failures(cluster, data_job, stopped=True)
    assert sum(group["attempts"] for group in asked["items"]) == asked["stopped_by_libraries"]
    assert {group["operator"] for group in asked["items"]} <= {"Data: internals"}


def test_a_clean_shutdown_of_ray_serve_leaves_no_failures(cluster: Recorded, serve_job: str) -> None:
    nodes = _nodes(cluster, serve_job)
    # Ray may lose the definition of a task that a process which is killed has submitted.
    assert nodes.keys() - {None} == {"Serve: shop/Front", "Serve: shop/Model", "Serve: internals"}

    # 15 s after a job's end, Ray marks its remaining tasks as failed. The numbers of the functions and of
    # the job show how many of them are not real failures.
    def ends_are_reported() -> bool:
        failures = _failures(cluster, serve_job)
        states = cluster.get("/api/v1/tasks", job_id=serve_job, state="FAILED")["total"]
        functions = cluster.get("/api/v1/functions", job_id=serve_job, limit=200)["items"]
        job = cluster.get(f"/api/v1/jobs/{serve_job}")
        progress = cluster.get(f"/api/v1/jobs/{serve_job}/progress")
        failed = (
            sum(row["failed"] for row in functions),
            job["tasks"]["FAILED"],
            progress["states"]["FAILED"],
        )
        stopped = (
            *(failures["stopped_by_libraries"], sum(row["stopped_by_libraries"] for row in functions)),
            *(job["stopped_by_libraries"], progress["stopped_by_libraries"]),
        )
        return failures["items"] == [] and states > 0 and {*failed, *stopped} == {states}

    wait_until(ends_are_reported, "the ends of the actors")


def test_the_pages_show_operators(cluster: Recorded, data_job: str, serve_job: str, page: Page) -> None:
    url = f"{cluster.url}/s/{cluster.session}"
    page.goto(f"{url}/logical?job_id={serve_job}&only=mine")
    node = page.get_by_test_id("logical-node-l:Serve: shop/Model")
    node.wait_for()
    page.get_by_test_id("logical-library-Serve: internals").click()
    page.get_by_test_id("logical-node-c:ServeController").wait_for()
    page.goto(f"{url}/functions?job_id={data_job}&only=mine")
    expect(page.get_by_role("row").filter(has_text="Data: Write")).to_be_visible()
    expect(page.get_by_test_id("libraries")).to_contain_text("of Data: internals hidden")
    # Calls that were stopped on purpose have ended, but not failed.
    page.goto(f"{url}/functions?job_id={serve_job}")
    controller = page.get_by_role("row").filter(has_text="ServeController.__init__")
    expect(controller).to_be_visible()
    expect(page.get_by_role("row").locator("[data-bad]")).to_have_count(0)
    page.goto(f"{url}/jobs/{serve_job}")
    expect(page.get_by_test_id("job-function").first).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d failed"))).to_have_count(0)
    expect(page.get_by_text(re.compile(r"Stopped by libraries: \d")).first).to_be_visible()
    page.goto(f"{url}/jobs?q={serve_job}")
    expect(page.get_by_role("row").filter(has_text=serve_job)).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d failed"))).to_have_count(0)
    page.goto(f"{url}/failures?job_id={serve_job}")
    expect(page.get_by_test_id("table-count")).to_have_attribute("data-total", "0")
    page.get_by_test_id("failures-stopped").click(force=True)
    expect(page.get_by_test_id("failure-row").first).to_contain_text("Serve: internals")
