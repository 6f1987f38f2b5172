"""Peak memory of attempts, compared with known allocations, and what reading it costs.

    python benchmarks/memory.py                  # 200 attempts of each kind, about 5 minutes
    python benchmarks/memory.py --attempts 20

Each attempt reads its resident size, allocates a known amount of memory, and lasts for at least 200 ms. Its
true peak is the sum of both. A recorded peak is right if it is within 5 % or 10 MB of that. Kinds:

- ``task``: workers are reused, so a small allocation often follows a large one in the same process;
- ``numpy``: the same with an array;
- ``spike``: the memory is freed after 5 ms;
- ``method``: calls of an actor that runs one at a time;
- ``growth``: calls of an actor that keeps what it allocates;
- ``threads``: calls of an actor that runs four at a time. They share the memory of the process, so their
  peaks can be larger than the sum. Only whether the record says so, and is not below the sum, is compared.

The exit status is 1 if fewer than 95 % are right.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from common import RayscopeServer, header, parse_arguments, table
from whatif import Cluster

KINDS = ("task", "numpy", "spike", "method", "growth", "threads")
#: Largest allocation, MiB, and that of an actor that keeps everything.
MAX_MIB, MAX_GROWTH_MIB = 800, 8
#: How long an attempt lasts at least, s.
HOLD_S = 0.22
GOAL = 0.95
_MIB = 2**20
_QUERY = "SELECT task_id, peak_memory, memory_scope FROM tasks WHERE peak_memory IS NOT NULL"


def program(kind: str, attempts: int) -> None:
    """Run attempts of a kind. Prints the task and the true peak of each, in bytes."""
    import numpy as np
    import ray

    ray.init(log_to_driver=False)

    def resident() -> int:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def known(peak: int) -> tuple[str, int]:
        return ray.get_runtime_context().get_task_id() or "", peak

    def use(mib: int, how: str) -> tuple[str, int]:
        before = resident()
        data: Any = np.ones(mib * _MIB, np.uint8) if how == "numpy" else b"x" * (mib * _MIB)
        time.sleep(0.005 if how == "spike" else HOLD_S)
        del data
        time.sleep(HOLD_S if how == "spike" else 0)
        return known(before + mib * _MIB)

    class Actor:
        """Uses memory in its calls."""

        def __init__(self) -> None:
            self.kept: list[bytes] = []

        def use(self, mib: int) -> tuple[str, int]:
            """Use memory, and free it."""
            return use(mib, "task")

        def keep(self, mib: int) -> tuple[str, int]:
            """Use memory, and keep it."""
            before = resident()
            self.kept.append(b"x" * (mib * _MIB))
            time.sleep(HOLD_S)
            return known(before + mib * _MIB)

    rng = random.Random(kind)
    most = MAX_GROWTH_MIB if kind == "growth" else 100 if kind == "threads" else MAX_MIB
    sizes = [rng.randint(1, most) for _ in range(attempts)]
    if kind in ("method", "growth", "threads"):
        actor = ray.remote(Actor).options(num_cpus=1, max_concurrency=4 if kind == "threads" else 1).remote()
        call = actor.keep if kind == "growth" else actor.use
        made = [call.remote(mib) for mib in sizes]
    else:
        task = ray.remote(num_cpus=1)(use)
        made = [task.remote(mib, kind) for mib in sizes]
    print("PEAKS", json.dumps(ray.get(made)), flush=True)
    time.sleep(2)  # A driver that leaves at once can lose the last second of its workers.


def compare(
    kind: str, peaks: list[tuple[str, int]], rows: dict[str, tuple[int, str]]
) -> tuple[int, list[Any]]:
    """How many peaks are right, and a row of the table."""
    found = [(peak, *rows[task]) for task, peak in peaks if task in rows]
    errors = [abs(recorded - peak) / _MIB for peak, recorded, _ in found]
    if kind == "threads":
        right = sum(scope == "shared" and recorded >= 0.95 * peak for peak, recorded, scope in found)
    else:
        right = sum(
            scope == "own" and abs(recorded - peak) <= max(10e6, 0.05 * peak)
            for peak, recorded, scope in found
        )
    return right, [
        kind,
        len(peaks),
        len(found),
        f"{right} ({right / len(peaks):.1%})",
        f"{statistics.median(errors):.1f}" if errors else "",
        f"{max(errors):.1f}" if errors else "",
        ", ".join(sorted({scope for *_, scope in found})),
    ]


def main() -> int:
    """Run all kinds in a recorded cluster, compare, and print."""
    if sys.argv[1:2] == ["--program"]:
        program(sys.argv[2], int(sys.argv[3]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--attempts", type=int, default=200, help="of each kind")
    parser.add_argument("--only", nargs="*", default=KINDS, choices=KINDS)
    args = parse_arguments(parser, attempts=3)
    print(header("Peak memory of attempts", ["ray", "rayscope"]))
    said: dict[str, list[tuple[str, int]]] = {}
    with tempfile.TemporaryDirectory(prefix="rsm-", ignore_cleanup_errors=True) as folder:
        server = RayscopeServer(Path(folder) / "data")
        cluster = Cluster(2, server.ingest_url, Path(folder) / "ray")
        try:
            for kind in args.only:
                command = [sys.executable, __file__, "--program", kind, str(args.attempts)]
                done = subprocess.run(command, env=cluster.env, capture_output=True, text=True, timeout=900)
                lines = [line for line in done.stdout.splitlines() if line.startswith("PEAKS ")]
                if not lines:
                    raise RuntimeError(f"{kind}: {done.stderr[-2000:]}")
                said[kind] = json.loads(lines[0].removeprefix("PEAKS "))
            server.wait_until_merged()
            answer = httpx.post(f"{server.url}/api/v1/sql", json={"sql": _QUERY, "limit": 10_000}, timeout=60)
            rows = {task: (peak, scope) for task, peak, scope in answer.json()["rows"]}
        finally:
            cluster.stop()
            server.stop()
    compared = [compare(kind, peaks, rows) for kind, peaks in said.items()]
    heads = ["kind", "attempts", "measured", "right", "error, MiB: median", "largest", "scope"]
    print("\n" + table(heads, [row for _, row in compared]))
    right, number = sum(count for count, _ in compared), sum(map(len, said.values()))
    print(f"\n{right} of {number} are right ({right / number:.1%}; the goal is {GOAL:.0%}).")
    return 0 if right >= GOAL * number else 1


if __name__ == "__main__":
    sys.exit(main())
