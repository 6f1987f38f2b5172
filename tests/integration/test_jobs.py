"""Jobs of a real cluster through our API: submitted, watched, stopped and deleted as in Ray's own API."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import httpx
import psutil
import pytest
from tests.waiting import TIMEOUT_S, wait_until

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
        headers={"X-Rayscope-Operator": cluster.services.secrets.operator_token},
        timeout=60,
    )


def job(cluster: Any, submission_id: str) -> Any:
    rows = cluster.get("/api/v1/jobs", q="", sort="-start_ns")["items"]
    return next((row for row in rows if row["submission_id"] == submission_id), None)


def ray_status(cluster: Any, submission_id: str) -> str:
    return str(httpx.get(f"{cluster.dashboard_url}/api/jobs/{submission_id}").json().get("status"))


def test_a_job_is_submitted_and_counted_in_full(cluster: Any) -> None:
    path = cluster.home / "squares.py"
    path.write_text(SCRIPT)
    given = act(
        cluster, "POST", "/api/v1/jobs", entrypoint=f"{sys.executable} {path}", metadata={"team": "tests"}
    )
    assert given.status_code == 200, given.text
    submission_id = given.json()["submission_id"]
    row = wait_until(
        # An event reports the driver's end; Ray's job API reports the job's result a little later.
        lambda: (found := job(cluster, submission_id)) and found["exit_code"] is not None and found,
        "the job's end",
    )
    assert row["state"] == "SUCCEEDED", row["message"]
    assert ray_status(cluster, submission_id) == "SUCCEEDED"
    assert json.loads(row["metadata"])["team"] == "tests"
    progress = wait_until(
        lambda: (
            (found := cluster.get(f"/api/v1/jobs/{row['job_id']}/progress"))["states"] == {"FINISHED": 30}
            and found
        ),
        "all of its tasks",
    )
    assert [(f["func_name"], f["attempts"]) for f in progress["functions"]] == [("square", 30)]
    events = cluster.get("/api/v1/events", job_id=row["job_id"], kind="job")["items"]
    assert [event["event"] for event in events] == ["JOB_SUCCEEDED", "JOB_STARTED"]
    assert act(cluster, "DELETE", f"/api/v1/jobs/{row['job_id']}").json() == {"deleted": True}
    assert httpx.get(f"{cluster.dashboard_url}/api/jobs/{submission_id}").status_code == 404
    assert job(cluster, submission_id)["state"] == "SUCCEEDED"  # the record keeps it


def test_a_job_is_stopped_and_a_running_one_is_not_deleted(cluster: Any) -> None:
    given = act(cluster, "POST", "/api/v1/jobs", entrypoint="sleep 600", submission_id="a-long-one")
    assert given.json() == {"submission_id": "a-long-one"}
    wait_until(lambda: (row := job(cluster, "a-long-one")) and row["state"] == "RUNNING", "the job")
    again = act(cluster, "POST", "/api/v1/jobs", entrypoint="true", submission_id="a-long-one")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "refused")
    job_id = job(cluster, "a-long-one")["job_id"]
    refused = act(cluster, "DELETE", f"/api/v1/jobs/{job_id}")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "refused")
    assert act(cluster, "POST", f"/api/v1/jobs/{job_id}/stop").json() == {"stopped": True}
    wait_until(lambda: job(cluster, "a-long-one")["state"] == "STOPPED", "its end")
    assert ray_status(cluster, "a-long-one") == "STOPPED"


GRIND = (
    "import ray, sys, time; ray.init(log_to_driver=False)\n"
    "@ray.remote(num_cpus=0.5)\ndef prepare(): time.sleep(2)\n"
    "@ray.remote(num_cpus=0.5)\ndef grind(): time.sleep(600)\n"
    "ray.get([prepare.remote() for _ in range(2)])\n"
    "ray.get([grind.remote() for _ in range(2)])\n"
)


@pytest.mark.parametrize("how", ["job-stop", pytest.param("sigint", marks=pytest.mark.long)])
def test_the_verdict_about_a_job_is_the_same_before_and_after_it_is_stopped(cluster: Any, how: str) -> None:
    path = cluster.home / "grind.py"
    path.write_text(GRIND)
    given = act(
        cluster, "POST", "/api/v1/jobs", entrypoint=f"{sys.executable} {path}", submission_id=f"by-{how}"
    )
    assert given.status_code == 200, given.text

    def insights() -> Any:
        row = job(cluster, f"by-{how}")
        answer = cluster.request("/api/v1/insights", job_id=row["job_id"]) if row and row["job_id"] else None
        return answer.json() if answer is not None and answer.status_code == 200 else None

    def seconds(answer: Any) -> dict[str, float]:
        return {f"{one['phase']} {one['name']}": one["total_ns"] / 1e9 for one in answer["causes"]}

    def bound(answer: Any) -> tuple[str, str]:
        return answer["verdict"]["code"], answer["verdict"]["name"]

    wait_until(lambda: (found := insights()) and seconds(found).get("executing grind", 0) > 20, "some work")
    before = insights()
    assert before["so_far"]
    row = job(cluster, f"by-{how}")
    if how == "job-stop":
        assert act(cluster, "POST", f"/api/v1/jobs/{row['job_id']}/stop").json() == {"stopped": True}
    else:
        [pid] = [one.pid for one in psutil.process_iter(["cmdline"]) if is_driver(one, str(path))]
        os.kill(pid, signal.SIGINT)
    after = wait_until(lambda: (found := insights()) and not found["so_far"] and found, "its end")
    assert bound(after) == bound(before)
    assert [one["kind"] for one in after["findings"]] == [one["kind"] for one in before["findings"]]
    # The tasks work until the stop, and then the driver leaves.
    then, now = seconds(before), seconds(after)
    most = 0.01 * sum(now.values())
    for cause in now.keys() - {"executing grind"}:
        grown = now[cause] - then.get(cause, 0.0)
        assert abs(grown) < most or cause.startswith("finishing"), (cause, then, now)


def is_driver(process: psutil.Process, script: str) -> bool:
    """Whether a process runs a script itself, and is not the shell around it."""
    command = process.info["cmdline"] or [""]
    return command[-1] == script and "python" in command[0]


@pytest.mark.parametrize(
    ("end", "state", "events"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", "FINISHED", [("JOB_FINISHED", "WARNING")]),
        ("sys.exit(1)", "SUCCEEDED", [("JOB_SUCCEEDED", "INFO")]),
    ],
)
def test_a_killed_driver_is_no_success(
    cluster: Any, end: str, state: str, events: list[tuple[str, str]]
) -> None:
    """Ray calls both jobs successful. Only the driver's worker shows that one never disconnected."""
    driver = cluster.start_driver(f"import os, signal, sys\n{end}\n")
    driver.wait(TIMEOUT_S)
    cluster.processes.remove(driver)

    def row(path: str, field: str) -> Any:
        rows = cluster.get(path, sort="-start_ns")["items"]
        return next((row for row in rows if row[field] == driver.pid), None)

    wait_until(
        lambda: (row("/api/v1/workers", "pid") or {}).get("exit_type"), "the end of the driver's worker"
    )
    job = wait_until(
        lambda: (found := row("/api/v1/jobs", "driver_pid")) and found["end_ns"] and found, "the job's end"
    )
    assert (job["state"], job["exit_code"]) == (state, None)
    assert (job["message"] or "").startswith("Exit status unknown") == (state == "FINISHED")
    history = cluster.get("/api/v1/events", job_id=job["job_id"], kind="job")["items"]
    assert [(event["event"], event["severity"]) for event in history[:-1]] == events
