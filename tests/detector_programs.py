"""Runs the benchmark programs with known problems and requests their insights."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.recorded import Recorded
from tests.waiting import TIMEOUT_S, wait_until

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def findings(
    cluster: Recorded, programs: Path, name: str, expected: str | None = None
) -> dict[str, dict[str, Any]]:
    """Run a program, and ask what slowed it down: by kind, once the ``expected`` one is among them.

    It prints its job, and its session if that may be another than the cluster's. On a busy node the job's end
    is known before the events of its last tasks arrive.
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
        if answer.status_code != 200 or answer.json()["so_far"]:
            return None
        found = {finding["kind"]: finding for finding in answer.json()["findings"]}
        return (found,) if expected is None or expected in found else None

    (found,) = wait_until(final_answer, f"the end of {name} with {expected or 'its findings'}")
    return dict(found)
