"""Counts workers that crash at exit on a busy machine: with plain Ray, recorded, and traced.

    python benchmarks/aborts.py            # 6 rounds of 3 variants, about 20 minutes

Each run has its own Ray cluster (4 CPUs, mostly workers of actors that end early) next to two busy loops per
core. Variants take turns:

- ``plain``: Ray alone;
- ``recorded``: ``rayscope run --no-trace``;
- ``traced``: ``rayscope run``.

Ray writes a crash report into the worker's log, so the crashes are counted in the logs, in the same way for
all variants. Ray 2.60 crashes some of its workers without Rayscope, too: docs/reference/faults.md explains
why.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from common import HERE, busy_loops, environment, header, parse_arguments, table

VARIANTS = {"plain": [], "recorded": ["run", "--exit", "--no-trace"], "traced": ["run", "--exit"]}
_PROGRAM = HERE.parent / "examples" / "quickstart.py"
_CRASH = re.compile(rb"^.*\*\*\* (SIG[A-Z]+) received at time=", re.MULTILINE)
_RACE = b"Mutex corrupt: both reader and writer lock held"


def run(variant: str, program: Path, loops: int) -> Counter[str]:
    """Run one cluster. Counts its ``workers``, those that ``crashed``, and those that hit Ray's ``race``."""
    folder = Path(tempfile.mkdtemp(prefix="rsa-"))
    env = {k: v for k, v in environment().items() if not k.startswith(("RAY_", "RAYSCOPE_"))}
    env |= {"RAY_TMPDIR": str(folder / "ray"), "RAYSCOPE_DATA_DIR": str(folder / "data")}
    (folder / "ray").mkdir()
    rayscope = [sys.executable, "-m", "rayscope.cli", *VARIANTS[variant]] if VARIANTS[variant] else []
    command = [*rayscope, *([] if rayscope else [sys.executable]), str(program)]
    try:
        with busy_loops(loops):
            done = subprocess.run(
                command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600
            )
        if done.returncode:
            raise RuntimeError(f"{variant}: status {done.returncode}: {done.stdout[-2000:]}")
        return count(folder / "ray")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def count(ray_dir: Path) -> Counter[str]:
    """Count in the logs below Ray's folder. Same keys as :func:`run`."""
    found: Counter[str] = Counter(workers=0, crashed=0, race=0)
    for file in ray_dir.rglob("session_2*/logs/worker-*.err"):
        text = file.read_bytes()
        found["workers"] += 1
        found["crashed"] += _CRASH.search(text) is not None
        found["race"] += _RACE in text
    return found


def main() -> int:
    """Parse the arguments, count, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--loops", type=int, default=2 * (os.cpu_count() or 1), help="busy loops beside Ray")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--program", type=Path, default=_PROGRAM, help="a program that calls ray.init()")
    args = parse_arguments(parser, rounds=1, loops=1)
    print(header("Workers that crash", ["ray", "rayscope"]))
    print(f"Busy loops beside it: {args.loops}\n")
    total: dict[str, Counter[str]] = {variant: Counter() for variant in args.variants.split(",")}
    for number in range(args.rounds):
        for variant in total:
            found = run(variant, args.program, args.loops)
            total[variant] += found
            load = os.getloadavg()[0]
            print(
                f"round {number + 1}, {variant}: {found['crashed']} of {found['workers']} workers crashed, "
                f"{found['race']} of them in Ray's race (load average: {load:.1f})",
                flush=True,
            )
    rows = [
        [
            variant,
            found["workers"],
            found["crashed"],
            found["race"],
            f"{found['crashed'] / found['workers']:.1%}",
        ]
        for variant, found in total.items()
    ]
    print("\n" + table(["Variant", "workers", "crashed", "in Ray's race", "share"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
