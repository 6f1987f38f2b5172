"""Overhead of recording for Ray's libraries: rows per second of Data, requests per second of Serve.

    python benchmarks/libraries.py               # 4 rounds, about 15 minutes
    python benchmarks/libraries.py --smallest    # one small round

Three variants take turns, each in a fresh local cluster started by a separate process: plain Ray; the setup
of ``rayscope run`` (fast lane, tracer, and the real server as a separate process on the same cores); and the
same with a sink instead of the server, which shows the cost in Ray's own processes, as with a server on
another machine. Besides the throughput, it reports the CPU time of Ray's processes per unit, which depends
less on other load. Outputs must be equal with and without Rayscope.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from common import HERE, RayscopeServer, Sink, environment, header, parse_arguments, table
from rayscope.cli import recording

VARIANTS = ("plain", "rayscope", "sink")


def run(variant: str, args: argparse.Namespace) -> dict[str, dict[str, Any]]:
    """Workload -> ``rate`` (per second) and ``output``, from one cluster of one variant."""
    folder = Path(tempfile.mkdtemp(prefix="rsl-"))
    env = {k: v for k, v in environment().items() if not k.startswith(("RAY_", "RAYSCOPE_"))}
    receiver: RayscopeServer | Sink | None = None
    try:
        if variant != "plain":
            receiver = RayscopeServer(folder / "data") if variant == "rayscope" else Sink()
            env = recording.child_env(receiver.ingest_url, environ=env)
        command = [sys.executable, str(HERE / "libraries_driver.py"), str(folder / "ray")]
        command += ["--rows", str(args.rows), "--requests", str(args.requests)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=900)
        lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
        if not lines:
            raise RuntimeError(f"{variant}: no result (status {done.returncode}): {done.stderr[-2000:]}")
        result: dict[str, dict[str, Any]] = json.loads(lines[0].removeprefix("RESULT "))
        return result
    finally:
        if receiver is not None:
            receiver.stop()
        shutil.rmtree(folder, ignore_errors=True)


def ratio(rates: list[float], plain: list[float]) -> str:
    """The median of the ratios of each round, with the extremes."""
    shares = [a / b for a, b in zip(rates, plain, strict=True)]
    return f"**{statistics.median(shares):.2f}** ({min(shares):.2f} to {max(shares):.2f})"


def main() -> int:
    """Measure in turns and print. Returns 1 if an output differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--requests", type=int, default=2_000)
    args = parse_arguments(parser, rounds=1, rows=40_000, requests=300)
    print(header("Ray's libraries under Rayscope", ["rayscope", "ray"]))
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    cpu: dict[tuple[str, str], list[float]] = defaultdict(list)
    outputs: dict[str, set[str]] = defaultdict(set)
    for number in range(args.rounds):
        for variant in VARIANTS if number % 2 == 0 else VARIANTS[::-1]:
            for workload, one in run(variant, args).items():
                rates[workload, variant].append(one["rate"])
                cpu[workload, variant].append(one["cpu_us"])
                outputs[workload].add(json.dumps(one["output"]))
            print(f"round {number + 1} of {args.rounds}: {variant}", file=sys.stderr, flush=True)
    rows = []
    for workload, found in outputs.items():
        rows.append(
            [
                *(workload, f"{statistics.median(rates[workload, 'plain']):,.0f}"),
                *(ratio(rates[workload, one], rates[workload, "plain"]) for one in VARIANTS[1:]),
                *(ratio(cpu[workload, one], cpu[workload, "plain"]) for one in VARIANTS[1:]),
                "yes" if len(found) == 1 else "NO",
            ]
        )
    columns = [
        "Workload",
        "plain, a second",
        "Rayscope",
        "with a sink",
        "Ray's CPU, Rayscope",
        "Ray's CPU, sink",
    ]
    print(table([*columns, "equal outputs"], rows))
    return int(any(len(found) > 1 for found in outputs.values()))


if __name__ == "__main__":
    sys.exit(main())
