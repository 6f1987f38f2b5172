"""Cost of looking for findings in a running job, as a share of one core.

    python benchmarks/insights_live.py                 # a job of 6,000 tasks, about two minutes
    python benchmarks/insights_live.py --tasks 20000

A real job runs in a recorded cluster, a few hundred tasks at a time, while the server looks for findings. The
share is the server's time spent on that (`rayscope_findings_seconds_total`, from the same record) divided by
the duration of the job. The aim: at most 2 %.
"""

from __future__ import annotations

import argparse
import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from common import Http, RayscopeServer, header, parse_arguments, save
from whatif import Cluster

AIM = 0.02
CPUS = 4
JOB = """
import sys, time
import ray

@ray.remote(num_cpus=0.25)
def work(number):
    time.sleep(0.02)
    return number

@ray.remote(num_cpus=0.25)
def step(number):
    time.sleep(0.02)
    return number

ray.init(log_to_driver=False)
job, tasks = ray.get_runtime_context().get_job_id(), int(sys.argv[1])
began = time.time()
for begin in range(0, tasks, 200):
    ray.get([work.remote(number) for number in range(180)])
    for number in range(20):
        ray.get(step.remote(number))
print(job, began, time.time())
"""


def samples(url: str, expr: str, begin: float, end: float) -> list[dict[str, Any]]:
    """The series of an expression in a period (s), of the newest session."""
    client = Http(url)
    try:
        session = client.get("/api/v1/sessions")["items"][0]["session"]
        times = {"since_ns": int(begin * 1e9), "until_ns": int(end * 1e9), "step_ns": 5 * 10**9}
        query = urlencode({"session": session, "expr": expr, **times})
        return list(client.get(f"/api/v1/metrics/query?{query}")["series"])
    finally:
        client.close()


def measure(tasks: int, folder: Path) -> dict[str, Any]:
    """Run the job and read the server's time spent meanwhile."""
    server = RayscopeServer(folder / "data")
    try:
        cluster = Cluster(CPUS, server.ingest_url, folder / "r")
        try:
            command = [sys.executable, "-c", JOB, str(tasks)]
            done = subprocess.run(command, env=cluster.env, stdout=subprocess.PIPE, text=True, timeout=1800)
            job, began, ended = done.stdout.split()[-3:]
            time.sleep(6)  # wait for the last step of the metrics
            begin, end = float(began), float(ended)
            spent = samples(server.url, "rayscope_findings_seconds_total", begin, end)
            shares = samples(server.url, f'rayscope_finding_share{{job_id="{job}"}}', begin, end)
        finally:
            cluster.stop()
    finally:
        server.stop()
    return {"tasks": tasks, "seconds": end - begin, "spent": spent, "shares": shares}


def judge(measured: dict[str, Any]) -> dict[str, Any]:
    """The share of a core, and the findings with their last share of the job."""
    values = [value for series in measured["spent"] for value in series["values"] if value is not None]
    spent_s = float(values[-1]) - float(values[0])
    looks = sum(after > before for before, after in itertools.pairwise(values))
    findings = {}
    for series in measured["shares"]:
        known = [value for value in series["values"] if value is not None]
        findings[f"{series['labels']['kind']} {series['labels']['function']}"] = known[-1]
    about = {name: measured[name] for name in ("tasks", "seconds")}
    return {
        **about,
        "spent_s": spent_s,
        "looks": looks,
        "share": spent_s / measured["seconds"],
        "findings": findings,
    }


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=6000)
    parser.add_argument("--save", type=Path)
    args = parse_arguments(parser, tasks=2000)
    print(header("Findings of a running job", ["rayscope", "ray"]))
    folder = Path(tempfile.mkdtemp(prefix="rsl-"))
    try:
        result = judge(measure(args.tasks, folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result, indent=1))
    print(f"\n{result['spent_s']:.2f} s of {result['seconds']:.0f} s: {result['share']:.2%} of one core.")
    if args.save is not None:
        save(args.save, ["rayscope", "ray"], result)
    return 0 if args.smallest or result["share"] <= AIM else 1


if __name__ == "__main__":
    sys.exit(main())
