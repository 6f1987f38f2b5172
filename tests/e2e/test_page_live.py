"""A cluster's actors, placement groups, objects and jobs while it runs, in Chromium."""

from __future__ import annotations

import io
import subprocess
import zipfile
from collections.abc import Iterator

import pytest
from playwright.sync_api import FilePayload, Page, expect

from tests.recorded import Recorded
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.e2e]

SCRIPT = """
import os, sys, time
import numpy as np
from ray.util.placement_group import placement_group

@ray.remote
def make_table(rows):
    return np.zeros(rows, dtype=np.uint8)

@ray.remote(max_restarts=2, num_cpus=0.1)
class Shelf:
    def pid(self):
        return os.getpid()
    def fall(self):
        os._exit(1)
    def keep(self, refs):
        self.refs = refs

shelf = Shelf.options(name="shelf").remote()
first = ray.get(shelf.pid.remote())
shelf.fall.remote()
while True:
    try:
        if ray.get(shelf.pid.remote()) != first:
            break
    except ray.exceptions.RayActorError:
        time.sleep(0.1)
tables = [make_table.remote(2_000_000) for _ in range(4)]
ray.get(shelf.keep.remote([ray.put(np.zeros(3_000_000, dtype=np.uint8))]))
ray.wait(tables, num_returns=4)
group = placement_group([{"CPU": 1}, {"moonstone": 2}], name="never")
nobody = Shelf.options(name="nobody", resources={"moonstone": 1}).remote()
@ray.remote(num_cpus=0, resources={"moonstone": 1})
def polish():
    pass

polished = polish.remote()
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def driver(cluster: Recorded) -> Iterator[subprocess.Popen[str]]:
    process = cluster.start_driver(SCRIPT)
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if line.strip() == "ready":
                break
        else:
            raise AssertionError("".join(said))
        yield process
    finally:
        process.kill()
        process.wait()
        cluster.processes.remove(process)


def test_an_actor_shows_its_restart_and_why_another_waits(
    cluster: Recorded, driver: subprocess.Popen[str], page: Page
) -> None:
    def restart_is_shown() -> bool:
        rows = cluster.get("/api/v1/actors", q="shelf")["items"]
        return any(row["name"] == "shelf" and row["state"] == "ALIVE" and row["num_restarts"] for row in rows)

    wait_until(restart_is_shown, "the restart")
    page.goto(f"{cluster.url}/s/{cluster.session}/actors?q=shelf")
    page.get_by_test_id("actors-row").filter(has_text="shelf").first.click(position={"x": 40, "y": 12})
    drawer = page.get_by_test_id("item-drawer")
    history = drawer.get_by_test_id("item-history").locator("li")
    states = ["Pending creation", "Alive", "Restarting", "Alive"]
    for state in set(states):
        expect(history.filter(has_text=state)).to_have_count(states.count(state))
    expect(drawer.get_by_test_id("job-function").filter(has_text="fall")).to_contain_text("failed")
    page.goto(f"{cluster.url}/s/{cluster.session}/actors?q=nobody")
    page.get_by_test_id("actors-row").first.click()
    expect(drawer.get_by_test_id("item-pending")).to_contain_text("moonstone")


def test_a_task_that_no_node_can_run_shows_why(
    cluster: Recorded, driver: subprocess.Popen[str], page: Page
) -> None:
    def explained() -> bool:
        return any(one["name"] == "polish" for one in cluster.get("/api/v1/cluster/status")["pending"])

    wait_until(explained, "why the task waits")
    page.goto(f"{cluster.url}/s/{cluster.session}?func_name=polish")
    page.get_by_test_id("task-row").first.click()
    pending = page.get_by_test_id("task-drawer").get_by_test_id("item-pending")
    expect(pending).to_contain_text("No node has any moonstone")
    pending.get_by_role("link").click()
    expect(page.get_by_test_id("pending-item").filter(has_text="polish")).to_contain_text("moonstone")


def test_a_placement_group_shows_which_bundle_has_no_place(
    cluster: Recorded, driver: subprocess.Popen[str], page: Page
) -> None:
    page.goto(f"{cluster.url}/s/{cluster.session}/placement-groups?q=never")
    page.get_by_test_id("placement-groups-row").first.click()
    drawer = page.get_by_test_id("item-drawer")
    rows = drawer.get_by_test_id("bundles").locator("tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(1)).to_contain_text("moonstone")
    expect(rows.nth(1)).to_contain_text("not placed")
    expect(drawer.get_by_test_id("item-pending")).to_contain_text("moonstone")


def test_objects_are_shown_by_who_made_them(
    cluster: Recorded, driver: subprocess.Popen[str], page: Page
) -> None:
    page.goto(f"{cluster.url}/s/{cluster.session}/memory")
    groups = page.get_by_test_id("memory-group")
    expect(groups.filter(has_text="make_table")).to_contain_text("4")
    expect(groups.filter(has_text="make_table")).to_contain_text("7.63 MiB")
    page.get_by_test_id("memory-by").get_by_text("Reference type").click()
    asked = cluster.get("/api/v1/memory", by="type")
    expect(groups).to_have_count(len(asked["groups"]))
    page.get_by_test_id("memory-by").get_by_text("Function").click()
    groups.get_by_role("link", name="make_table").click()
    expect(page.get_by_test_id("table-count")).to_have_attribute("data-total", "4")


def test_a_job_is_submitted_and_stopped_by_an_operator_alone(
    cluster: Recorded, driver: subprocess.Popen[str], page: Page
) -> None:
    page.goto(f"{cluster.url}/s/{cluster.session}/jobs")
    page.get_by_test_id("job-submit").click()
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr("wait.sh", "sleep 600")
    page.get_by_test_id("job-source").get_by_text("ZIP file").click()
    page.get_by_test_id("job-zip").set_input_files(
        FilePayload(name="job.zip", mimeType="application/zip", buffer=package.getvalue())
    )
    page.get_by_test_id("job-entrypoint").fill("sh wait.sh")
    page.get_by_test_id("job-submission-id").fill("from-the-page")
    page.get_by_test_id("act-token").fill("not the token")
    page.get_by_test_id("act-confirm").click()
    act = page.get_by_test_id("act")
    expect(act).to_contain_text("Wrong operator token")
    assert not any(
        row["submission_id"] == "from-the-page" for row in cluster.get("/api/v1/jobs", limit=1000)["items"]
    )
    page.get_by_test_id("act-token").fill(cluster.services.secrets.operator_token)
    page.get_by_test_id("act-confirm").click()
    job = page.get_by_test_id("job-page")
    expect(page.get_by_test_id("job-name")).to_have_text("sh wait.sh")
    expect(job).to_contain_text("Running")
    page.get_by_test_id("job-stop").click()
    expect(act).to_contain_text("sh wait.sh")
    page.get_by_test_id("act-confirm").click()  # the token is known in this tab
    expect(job).to_contain_text("Stopped")
