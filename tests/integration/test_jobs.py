"""Jobs of a real cluster through our API: submitted, watched, stopped and deleted as Ray's own API tells them."""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx
import pytest
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]

SCRIPT = (
    "import ray, sys; ray.init(log_to_driver=False)\n"
    "@ray.remote\ndef square(x): return x * x\n"
    "assert sum(ray.get([square.remote(n) for n in range(30)])) == 8555\n"
)


def act(cluster: Any, method: str, path: str, **body: Any) -> httpx.Response:
    return httpx.request(
        method,
        f"{cluster.url}{path}",
        params={"session": cluster.session},
        json=body or None,
        headers={"X-Rayscope-Operator": cluster.services.operator_token},
        timeout=60,
    )


def job(cluster: Any, submission_id: str) -> Any:
    rows = cluster.get("/api/jobs", q="", sort="-start_ns")["items"]
    return next((row for row in rows if row["submission_id"] == submission_id), None)


def ray_status(cluster: Any, submission_id: str) -> str:
    return str(httpx.get(f"{cluster.dashboard_url}/api/jobs/{submission_id}").json().get("status"))


def test_a_job_is_submitted_and_counted_in_full(cluster: Any) -> None:
    path = cluster.home / "squares.py"
    path.write_text(SCRIPT)
    given = act(
        cluster, "POST", "/api/jobs", entrypoint=f"{sys.executable} {path}", metadata={"team": "tests"}
    )
    assert given.status_code == 200, given.text
    submission_id = given.json()["submission_id"]
    row = wait_until(
        # The driver's end is told by an event, what came of the job by Ray's job API, a little later.
        lambda: (found := job(cluster, submission_id)) and found["exit_code"] is not None and found,
        "the job's end",
    )
    assert row["state"] == "SUCCEEDED", row["message"]
    assert ray_status(cluster, submission_id) == "SUCCEEDED"
    assert json.loads(row["metadata"])["team"] == "tests"
    progress = wait_until(
        lambda: (
            (found := cluster.get(f"/api/jobs/{row['job_id']}/progress"))["states"] == {"FINISHED": 30}
            and found
        ),
        "all of its tasks",
    )
    assert [(f["func_name"], f["attempts"]) for f in progress["functions"]] == [("square", 30)]
    events = cluster.get("/api/events", job_id=row["job_id"], kind="job")["items"]
    assert [event["event"] for event in events] == ["JOB_SUCCEEDED", "JOB_STARTED"]
    assert act(cluster, "DELETE", f"/api/jobs/{row['job_id']}").json() == {"deleted": True}
    assert httpx.get(f"{cluster.dashboard_url}/api/jobs/{submission_id}").status_code == 404
    assert job(cluster, submission_id)["state"] == "SUCCEEDED"  # the record keeps it


def test_a_job_is_stopped_and_a_running_one_is_not_deleted(cluster: Any) -> None:
    given = act(cluster, "POST", "/api/jobs", entrypoint="sleep 600", submission_id="a-long-one")
    assert given.json() == {"submission_id": "a-long-one"}
    wait_until(lambda: (row := job(cluster, "a-long-one")) and row["state"] == "RUNNING", "the job")
    again = act(cluster, "POST", "/api/jobs", entrypoint="true", submission_id="a-long-one")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "refused")
    job_id = job(cluster, "a-long-one")["job_id"]
    refused = act(cluster, "DELETE", f"/api/jobs/{job_id}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "refused")
    assert act(cluster, "POST", f"/api/jobs/{job_id}/stop").json() == {"stopped": True}
    wait_until(lambda: job(cluster, "a-long-one")["state"] == "STOPPED", "its end")
    assert ray_status(cluster, "a-long-one") == "STOPPED"
