"""Runs the benchmark programs with known problems and requests their insights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.recorded import Recorded
from tests.waiting import TIMEOUT_S, wait_until

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def findings(cluster: Recorded, programs: Path, name: str) -> dict[str, dict[str, Any]]:
    """Run a program, and ask what slowed it down: by kind.

    It prints its job, and its session if that may be another than the cluster's.
    """
    env = {**cluster.env, "RAY_ADDRESS": cluster.gcs}
    command = [sys.executable, str(programs), name]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S)
    assert done.returncode == 0, done.stderr[-2000:]
    said = dict(line.split() for line in done.stdout.splitlines() if line.startswith(("JOB ", "SESSION ")))

    def final_answer() -> Any:
        answer = cluster.request(
            "/api/v1/insights", session=said.get("SESSION", cluster.session), job_id=said["JOB"]
        )
        return answer.status_code == 200 and not answer.json()["so_far"] and answer.json()

    answer = wait_until(final_answer, f"the end of {name}")
    return {finding["kind"]: finding for finding in answer["findings"]}
