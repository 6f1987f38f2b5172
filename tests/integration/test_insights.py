"""Findings about programs with and without problems, on a real Ray."""

from __future__ import annotations

from typing import Any

import pytest
from tests.detector_programs import BENCHMARKS, findings
from tests.waiting import wait_until

pytestmark = [pytest.mark.ray]

PROGRAMS = BENCHMARKS / "detector_programs.py"
#: The expected finding in the bad program of each pair, and its place.
EXPECTED_PLACES = {
    "get_in_loop": "work",
    "tiny_tasks": "double",
    "straggler": "load",
    "actor_bottleneck": "Board",
    "driver_bound": None,
    "retries": "read",
    "unschedulable": "never",
    "submission_order": "fetch",
}

LONG = sorted(set(EXPECTED_PLACES) - {"get_in_loop"})


@pytest.mark.parametrize(
    "kind",
    ["get_in_loop", *(pytest.param(kind, marks=pytest.mark.long) for kind in LONG)],
)
def test_a_detector_finds_the_bad_program_and_not_the_good_one(cluster: Any, kind: str) -> None:
    bad = findings(cluster, PROGRAMS, f"{kind}_bad", kind)
    where = bad[kind]["function"] or bad[kind]["actor_class"]
    assert where == EXPECTED_PLACES[kind] if EXPECTED_PLACES[kind] is None else EXPECTED_PLACES[kind] in where
    assert bad[kind]["severity"] in ("critical", "warning")
    # On a busy machine a few calls of any program take longer than the others, which is a finding.
    good = findings(cluster, PROGRAMS, f"{kind}_good")
    assert kind not in good or good[kind]["severity"] == "info"


LOOP = """
import sys, time

@ray.remote(num_cpus=0.5)
def crawl():
    time.sleep(0.2)

print("JOB", ray.get_runtime_context().get_job_id(), flush=True)
end = time.time() + 240
while time.time() < end:
    ray.get(crawl.remote())
"""
RULE = """
groups:
- name: live
  interval: 1s
  rules:
  - {alert: Looping, expr: 'rayscope_finding_share{kind="get_in_loop", function="crawl"} >= 0.15'}
"""


@pytest.mark.long
def test_a_finding_of_a_running_job_is_a_metric_that_a_rule_fires_on(cluster: Any) -> None:
    rules = cluster.services.settings.folder / "alerts" / "live.yml"
    rules.parent.mkdir(exist_ok=True)
    rules.write_text(RULE)
    driver = cluster.start_driver(LOOP)
    try:
        job = next(line.split()[1] for line in driver.stdout if line.startswith("JOB "))

        def shares() -> Any:
            found = cluster.get("/api/v1/metrics", name="rayscope_finding_share")["items"]
            return [one for one in found if one["labels"]["job_id"] == job and one["value"] >= 0.15]

        (share,) = wait_until(shares, "the metric")
        assert (share["labels"]["kind"], share["labels"]["function"]) == ("get_in_loop", "crawl")
        answer = cluster.get("/api/v1/insights", job_id=job)
        assert answer["so_far"]
        assert "get_in_loop" in {finding["kind"] for finding in answer["findings"]}

        def firing() -> Any:
            alerts = cluster.get("/api/v1/alerts")["items"]
            return [one for one in alerts if (one["rule"], one["state"]) == ("Looping", "firing")]

        (alert,) = wait_until(firing, "the alert")
        assert alert["labels"]["job_id"] == job
    finally:
        driver.kill()
        driver.wait()
        cluster.processes.remove(driver)
    try:
        wait_until(lambda: not shares(), "the end of the series")
    finally:
        rules.unlink()
