"""Overhead of recording for a Ray program: throughput compared with plain Ray, and CPU time by process.

    python benchmarks/overhead.py               # 5 rounds of 4 variants, about 20 minutes
    python benchmarks/overhead.py --smallest    # one small round

Variants take turns, each in a fresh local cluster (2 CPUs) started by a separate process:

- ``plain``: Ray without Rayscope;
- ``json``: ``rayscope run --no-fast-lane``: Ray's own JSON exporter, and the real server as a separate
  process;
- ``fast``: ``rayscope run --no-trace``: the fast lane;
- ``trace``: ``rayscope run``: the fast lane and the tracer;
- with ``--variants``: ``json-discard`` and ``fast-discard``, the same with a server that discards everything
  (the cost in Ray's processes alone), and ``fast-no-profile`` (without spans of ray.get).

With ``--apart`` the cluster has one core and the server another, to simulate a server on another machine. CPU
time is that of all of the cluster's processes from the first task until the agent has nothing left to send,
minus their idle usage.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil

from common import HERE, Http, RayscopeServer, Sink, Watched, environment, header, parse_arguments, table
from overhead_driver import GROUPS
from rayscope.cli import recording

VARIANTS = ("plain", "json", "fast", "trace")


def _clean_environment() -> dict[str, str]:
    return {k: v for k, v in environment().items() if not k.startswith(("RAY_", "RAYSCOPE_"))}


def run(variant: str, args: argparse.Namespace) -> dict[str, Any]:
    """Run one cluster of one variant."""
    folder = Path(tempfile.mkdtemp(prefix="rso-"))
    receiver: Watched | None = None
    env = _clean_environment()
    try:
        lane, _, kind = variant.partition("-")
        parts = recording.Parts(
            fast_lane=lane != "json", profile="no-profile" not in variant, trace=lane == "trace"
        )
        server: RayscopeServer | None = None
        if kind.startswith("discard"):
            receiver = sink = Sink()
            env.update(recording.node_env(sink.ingest_url, parts))
        elif variant != "plain":
            server = receiver = RayscopeServer(folder / "data")
            env = recording.child_env(server.ingest_url, parts, environ=env)
        command = [sys.executable, str(HERE / "overhead_driver.py"), "--temp", str(folder / "ray")]
        command += ["--waves", str(args.waves), "--wave", str(args.wave), "--busy", str(args.busy)]
        command += ["--only", args.only]
        command += ["--ours", str(receiver.popen.pid if receiver else 0)]
        if args.apart:
            command.append("--one-core")
            if receiver is not None:
                for thread in psutil.Process(receiver.popen.pid).threads():
                    os.sched_setaffinity(thread.id, {1})
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=900
        )
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            raise RuntimeError(f"{variant}: no result (status {done.returncode}): {done.stderr[-2000:]}")
        result: dict[str, Any] = json.loads(lines[0].removeprefix("RESULT "))
        if server is not None:
            result["recorded"], result["lanes"] = _recorded(server)
        return result
    finally:
        if receiver is not None:
            receiver.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _recorded(server: RayscopeServer) -> tuple[int, dict[str, Any]]:
    server.wait_until_merged()
    client = Http(server.url)
    summary = client.get("/api/v1/summary")
    client.close()
    return int(summary["tasks"]), summary["lanes"]


def report(results: dict[str, list[dict[str, Any]]]) -> None:
    """Print the medians over all rounds."""
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    costs: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    workloads: list[str] = []
    for variant, runs in results.items():
        for one in runs:
            for item in one["results"]:
                name = item["workload"]
                if name not in workloads:
                    workloads.append(name)
                rates[name, variant].append(item["tasks"] / item["seconds"])
                for group, value in item["cpu_us"].items():
                    costs[name, variant, group].append(value)
    rows, cpu_rows = [], []
    for name in workloads:
        for variant in results:
            found = rates[name, variant]
            shares = [a / b for a, b in zip(found, rates[name, "plain"], strict=False)]
            traced = variant == "trace" and "fast" in results
            beside = [a / b for a, b in zip(found, rates[name, "fast"], strict=False)] if traced else []
            rate = statistics.median(found)
            rows.append(
                [
                    *(name, variant, f"{rate:,.0f}", f"{min(found):,.0f} to {max(found):,.0f}"),
                    f"**{statistics.median(shares):.2f}**",
                    f"{min(shares):.2f} to {max(shares):.2f}",
                    f"{statistics.median(beside):.2f}" if beside else "",
                ]
            )
            medians = {group: statistics.median(costs[name, variant, group]) for group in GROUPS}
            cpu_rows.append(
                [
                    name,
                    variant,
                    *(f"{medians[group]:,.0f}" for group in GROUPS),
                    f"{sum(medians.values()):,.0f}",
                ]
            )
    print("Throughput, and the share of plain Ray's in the same round (medians; then the extremes):\n")
    print(table(["Workload", "Variant", "tasks/s", "from to", "share", "from to", "of fast"], rows))
    print("CPU in microseconds a task (medians, idle use taken off):\n")
    print(table(["Workload", "Variant", *GROUPS, "all"], cpu_rows))


def main() -> int:
    """Parse the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--waves", type=int, default=5, help="waves of tasks in a round")
    parser.add_argument("--wave", type=int, default=1000, help="tasks in a wave")
    parser.add_argument("--busy", type=int, default=500, help="tasks of 10 ms in a round")
    parser.add_argument("--only", default="", help="workloads whose name has this")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--apart", action="store_true", help="the cluster on core 0, the server on core 1")
    args = parse_arguments(parser, rounds=1, waves=1, wave=300, busy=50)
    variants = args.variants.split(",")
    print(header("Overhead", ["ray", "rayscope", "uvicorn"]))
    results: dict[str, list[dict[str, Any]]] = {variant: [] for variant in variants}
    wanted = 0
    for number in range(args.rounds):
        # Rotate the order, so that no variant is always first.
        order = variants[number % len(variants) :] + variants[: number % len(variants)]
        for variant in order:
            load = os.getloadavg()[0]
            result = run(variant, args)
            results[variant].append(result)
            rates = ", ".join(
                f"{r['workload']} {r['tasks'] / r['seconds']:,.0f}/s" for r in result["results"]
            )
            print(f"round {number + 1}, {variant}: {rates} (load average before: {load:.1f})", flush=True)
            if "recorded" in result:
                wanted = sum(r["tasks"] for r in result["results"]) + 300 + 200 + 20 + 20 + 2
                print(f"  recorded {result['recorded']:,} of {wanted:,} tasks", flush=True)
                if result["lanes"]["json" if variant.startswith("json") else "fast"] != 1:
                    raise RuntimeError(f"{variant}: the node took another lane: {result['lanes']}")
    print()
    report(results)
    recorded = [run["recorded"] for runs in results.values() for run in runs if "recorded" in run]
    return 0 if all(count == wanted for count in recorded) else 1


if __name__ == "__main__":
    sys.exit(main())
