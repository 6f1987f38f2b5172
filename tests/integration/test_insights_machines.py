"""What the detectors say of programs that use data, resources and machines badly, and well; on a real Ray."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.cluster import wait_until

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "detector_programs_machines.py"
#: What is found in the bad one of each pair, and where.
FOUND = {
    "data_skew": "aggregate",
    "locality": "measure",
    "node_death": "load",
    "object_store_full": "produce",
    "oom_kill": "load",
    "over_asked_cpus": "download",
    "reconstruction": "load",
    "serialization": "count",
    "single_core_actor": "Cruncher",
    "slow_node": "train",
    "under_asked_cpus": "digest",
    "worker_startup": None,
}
SHORT = ("data_skew",)


def findings(cluster: Any, name: str) -> dict[str, dict[str, Any]]:
    """Run a program, and ask what slowed it down: by kind."""
    env = {**cluster.env, "RAY_ADDRESS": cluster.gcs}
    command = [sys.executable, str(PROGRAMS), name]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split() for line in done.stdout.splitlines() if line.startswith(("JOB ", "SESSION ")))

    def ended() -> Any:
        answer = cluster.ask("/api/insights", session=said["SESSION"], job_id=said["JOB"])
        return answer.status_code == 200 and not answer.json()["so_far"] and answer.json()

    answer = wait_until(ended, f"the end of {name}")
    return {finding["kind"]: finding for finding in answer["findings"]}


@pytest.mark.parametrize(
    "kind", [kind if kind in SHORT else pytest.param(kind, marks=pytest.mark.long) for kind in FOUND]
)
def test_a_detector_finds_the_bad_program_and_not_the_good_one(cluster: Any, kind: str) -> None:
    bad = findings(cluster, f"{kind}_bad")
    assert kind in bad, sorted(bad)
    where = bad[kind]["function"] or bad[kind]["actor_class"]
    assert where == FOUND[kind] if FOUND[kind] is None else FOUND[kind] in where
    assert bad[kind]["severity"] in ("critical", "warning")
    assert kind not in findings(cluster, f"{kind}_good")
