"""The code of a real program apart from that of a library that it uses, in the answers and in Chromium."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.places import open_view
from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

SCRIPT = """
import json
from ray.util.multiprocessing import Pool

def square(number):
    return number * number

@ray.remote(num_cpus=0.1)
def clean(number):
    return number

@ray.remote(num_cpus=0.1)
class Counter:
    def add(self, number):
        return number

with Pool(2) as pool:
    pool.map(square, range(20))
ray.get([clean.remote(number) for number in range(3)])
ray.get(Counter.remote().add.remote(1))
print(json.dumps(ray.get_runtime_context().get_job_id()))
"""
MINE = {"clean": 3, "Counter.__init__": 1, "Counter.add": 1}


@pytest.fixture(scope="module")
def job(cluster: Recorded) -> str:
    """A job that uses a library's pool of actors, when all of it is on record."""
    job: str = json.loads(cluster.run(SCRIPT).splitlines()[-1])

    def is_whole() -> bool:
        items = _functions(cluster, job)
        ended = all(row["finished"] + row["failed"] == row["attempts"] for row in items)
        return ended and {"Counter.add", "PoolActor.__ray_terminate__"} <= {row["func_name"] for row in items}

    wait_until(is_whole, "the end of the job")
    return job


def _functions(cluster: Recorded, job: str, **params: Any) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = cluster.get("/api/v1/functions", job_id=job, **params)["items"]
    return items


def test_each_answer_accounts_for_all_attempts(cluster: Recorded, job: str) -> None:
    whole = _functions(cluster, job)
    total = sum(row["attempts"] for row in whole)
    pool = [row for row in whole if row["func_name"].startswith("PoolActor.")]
    assert {row["origin"] for row in pool} == {"ray.util"}
    assert {row["func_name"] for row in whole if row["origin"] == "user"} == MINE.keys()
    hidden = [{"library": "ray.util", "functions": len(pool), "attempts": total - sum(MINE.values())}]

    mine = cluster.get("/api/v1/functions", job_id=job, only="mine")
    assert {row["func_name"]: row["attempts"] for row in mine["items"]} == MINE
    assert mine["hidden"] == hidden
    gantt = cluster.get("/api/v1/flow/gantt", job_id=job, only="mine")
    assert (gantt["attempts"], gantt["hidden"]) == (sum(MINE.values()), hidden)
    flame = cluster.get("/api/v1/flow/flame", job_id=job, only="mine", weight="count")
    assert flame["total"] == total
    frames = {frame["name"]: (frame["kind"], frame["value"]) for frame in flame["frames"][1:]}
    assert frames == {
        "ray.util": ("library", hidden[0]["attempts"]),
        **{name: ("call", attempts) for name, attempts in MINE.items()},
    }
    logical = cluster.get("/api/v1/flow/logical", job_id=job, only="mine")
    assert logical["attempts"] == total
    assert {node["name"]: node["attempts"] for node in logical["nodes"] if node["library"]} == {
        "ray.util": hidden[0]["attempts"]
    }


def test_one_switch_for_all_views(cluster: Recorded, job: str, page: Page) -> None:
    functions = len(_functions(cluster, job)) - len(MINE)
    hidden_or_collapsed = re.compile(rf"{functions} functions of ray\.util (hidden|collapsed)")
    only = re.compile("only=mine")
    switch = page.get_by_test_id("only-mine")
    libraries = page.get_by_test_id("libraries")
    url = f"{cluster.url}/s/{cluster.session}"

    page.goto(f"{url}/gantt?job_id={job}&by=function")
    shown = page.get_by_test_id("gantt-count")
    expect(shown).to_have_attribute("data-total", re.compile(r"\d+"))
    expect(libraries).to_have_count(0)
    switch.click(force=True)
    expect(shown).to_have_attribute("data-total", str(sum(MINE.values())))
    expect(libraries).to_contain_text(hidden_or_collapsed)

    page.get_by_test_id("tab-flame").click()
    expect(page).to_have_url(only)
    page.goto(f"{url}/flame?job_id={job}&weight=count")
    expect(libraries).to_contain_text(hidden_or_collapsed)
    page.get_by_test_id("flame-functions").get_by_text("ray.util", exact=True).click()
    expect(page.get_by_test_id("flame-panel")).to_contain_text("Calls of this library")
    expect(page).to_have_url(re.compile("frame="))
    # The frame is none of the graph by functions.
    switch.click(force=True)
    expect(page).to_have_url(re.compile("only=all"))
    expect(page).not_to_have_url(re.compile("frame="))
    expect(page.get_by_test_id("flame-functions").get_by_text("PoolActor.run_batch")).to_be_visible()

    page.goto(f"{url}/logical?job_id={job}&only=mine&minor=1")
    expect(libraries).to_contain_text(hidden_or_collapsed)
    page.get_by_test_id("logical-node-l:ray.util").wait_for()
    page.get_by_test_id("logical-library-ray.util").click()
    expect(page).to_have_url(re.compile(r"unfold=ray\.util"))
    page.get_by_test_id("logical-node-m:PoolActor.run_batch").wait_for()
    expect(page.get_by_test_id("logical-node-l:ray.util")).to_have_count(0)
    page.get_by_test_id("logical-library-ray.util").click()
    page.get_by_test_id("logical-node-l:ray.util").wait_for()

    open_view(page, "functions")
    expect(page).to_have_url(only)
    expect(libraries).to_contain_text("of ray.util hidden")
    page.goto(f"{url}/functions?only=mine&lang=zh")
    expect(libraries).to_contain_text("已隐藏 ray.util 的")
