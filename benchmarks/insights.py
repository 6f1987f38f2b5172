"""Time to analyze a job with many attempts, and to replay it.

    python benchmarks/insights.py                                  # 100,000 and a million attempts
    python benchmarks/insights.py --attempts 10000 --keep /tmp/job  # keeps the recorded job for the next run

A real job of a few thousand tasks runs in a recorded cluster. Its record is multiplied by SQL, with each copy
later than the previous one and with other tasks, up to the requested number of attempts. Then it is read,
analyzed by all detectors, and replayed, each in this process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from common import HERE, RayscopeServer, header, parse_arguments, save, table
from rayscope.insights import detect, gains
from rayscope.insights.finding import Facts
from rayscope.insights.replay import read
from rayscope.storage.session_file import SessionFile
from rayscope.storage.sql.execution import DRIVER_HI
from whatif import Cluster

SIZES = (100_000, 1_000_000)
JOB = """
import ray, time, numpy

@ray.remote(num_cpus=0.25)
def load(number):
    time.sleep(0.01)
    return numpy.zeros(30_000)

@ray.remote(num_cpus=0.25)
def transform(part, factor):
    return part * factor

@ray.remote(num_cpus=0.25)
def tree(depth):
    return 1 if depth == 0 else sum(ray.get([tree.remote(depth - 1) for _ in range(3)]))

@ray.remote(num_cpus=0)
class Board:
    def offer(self, value):
        return value

ray.init(log_to_driver=False)
boards = [Board.remote() for _ in range(2)]
for stage in range(10):
    parts = [load.remote(number) for number in range(60)]
    refs = [transform.remote(part, 2) for part in parts]
    while refs:
        done, refs = ray.wait(refs, num_returns=min(10, len(refs)))
        ray.get([boards[at % 2].offer.remote(at) for at, _ in enumerate(done)])
    ray.get([tree.remote(2) for _ in range(10)])
    for number in range(10):
        ray.get(load.remote(number))
print("JOB", ray.get_runtime_context().get_job_id())
"""


def record(folder: Path) -> tuple[Path, str]:
    """Run the job in a recorded cluster. Returns the session's file, and the job's number."""
    server = RayscopeServer(folder / "data")
    try:
        cluster = Cluster(2, server.ingest_url, folder / "r")
        try:
            done = subprocess.run(
                [sys.executable, "-c", JOB], env=cluster.env, capture_output=True, text=True, timeout=300
            )
            job = next(
                (line.split()[1] for line in done.stdout.splitlines() if line.startswith("JOB ")), None
            )
            if job is None:
                raise RuntimeError(done.stderr[-2000:])
            server.wait_until_merged(quiet=5)
        finally:
            cluster.stop()
        server.wait_until_merged(quiet=5)
    finally:
        server.stop()
    return next((folder / "data" / "sessions").glob("*/record.duckdb")), job


def multiply(path: Path, job: str, attempts: int) -> None:
    """Copy the job's tasks, spans and edges until it has ``attempts``. The actors are not copied."""
    with duckdb.connect(str(path), config={"memory_limit": "4GB", "preserve_insertion_order": "false"}) as db:
        begin, end, count = db.execute(
            "SELECT min(created_at_ns), max(ended_at_ns), count(*) FROM attempts WHERE job_id = $job",
            {"job": job},
        ).fetchall()[0]
        times = attempts // count
        columns = db.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() "
            "WHERE table_name IN ('attempts', 'span_rows', 'edge_rows')"
        ).fetchall()
        copies = f"SELECT n, n * {end - begin + 10**9} AS shift, hash(n) AS mask FROM range(1, {times}) t(n)"
        for name in ("attempts", "span_rows", "edge_rows"):
            # Tasks of the job, except its driver and creations of actors.
            kept = (
                f"task_hi != {DRIVER_HI}"
                if name != "attempts"
                else "type NOT IN ('DRIVER_TASK', 'ACTOR_CREATION_TASK')"
            )
            moved = []
            for table_name, column, kind in columns:
                if table_name == name and column.endswith("_hi"):
                    moved.append(
                        f"CASE WHEN {column} = {DRIVER_HI} THEN {column} ELSE xor({column}, mask) END AS {column}"
                    )
                elif table_name == name and column.endswith("_ns") and kind == "BIGINT":
                    moved.append(f"{column} + shift AS {column}")
            where = f"ends_with(task_lo, '{job}')" + ("" if name != "attempts" else f" AND {kept}")
            db.execute(
                f"INSERT INTO {name} BY NAME SELECT b.* REPLACE ({', '.join(moved)}) "
                f"FROM (FROM {name} WHERE {where}) b, ({copies})"
            )
        last = (times - 1) * (end - begin + 10**9)
        db.execute(f"UPDATE job_rows SET end_ns = end_ns + {last} WHERE id = $job", {"job": job})
        ends = ", ".join(
            f"{column} = {column} + {last}"
            for column in ("finished_ns", "failed_ns", "ended_at_ns", "execute_end_ns")
        )
        db.execute(f"UPDATE attempts SET {ends} WHERE type = 'DRIVER_TASK' AND job_id = $job", {"job": job})
        db.execute("CHECKPOINT")


@contextlib.contextmanager
def timed(into: dict[str, float], name: str) -> Iterator[None]:
    """Record the duration of the block, s: wall time, and CPU time of this process."""
    wall, cpu = time.perf_counter(), time.process_time()
    yield
    into[name], into[f"{name}_cpu"] = time.perf_counter() - wall, time.process_time() - cpu


def measure(path: Path, job: str) -> dict[str, float]:
    """Read the job, run the detectors, and replay it unchanged."""
    found: dict[str, float] = {}
    file = SessionFile(path, read_only=True)
    try:
        with timed(found, "read"):
            recorded = read.read(file, job)
        found["attempts"] = len(recorded.attempts.task)
        by_detector: dict[str, float] = {}
        with timed(found, "detect"):
            facts = Facts(recorded)
            for one in detect.load():
                with timed(by_detector, one.kind):
                    findings, _ = detect.detect(facts, None, [one], lambda part: None)
                print(f"{one.kind}: {by_detector[one.kind]:.3f} s, {len(findings)}", file=sys.stderr)
        found["rss"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with timed(found, "replay"):
            base = gains.baseline(recorded, lambda part: None)
        found["error"] = base.calibration["error"]
        found["rss_replay"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    finally:
        file.close()
    return found


def main() -> None:
    """Record, multiply, and measure each size in a separate process."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--attempts", type=int, nargs="+", default=SIZES)
    parser.add_argument("--keep", type=Path, help="where the recorded job is kept, or taken from")
    parser.add_argument("--save", type=Path, help="write the results to this file, as JSON")
    parser.add_argument("--measure", nargs=2, metavar=("FILE", "JOB"), help=argparse.SUPPRESS)
    args = parse_arguments(parser, attempts=[2000])
    if args.measure:
        print(json.dumps(measure(Path(args.measure[0]), args.measure[1])))
        return
    print(header("Insights of large jobs", ("ray", "duckdb", "numpy")))
    with tempfile.TemporaryDirectory(prefix="rsi", ignore_cleanup_errors=True) as scratch:
        folder = args.keep or Path(scratch)
        if not (folder / "job").exists():
            path, job = record(folder)
            (folder / "job").write_text(f"{path}\n{job}")
        path, job = (folder / "job").read_text().split()
        results = []
        for attempts in args.attempts:
            large = folder / f"large-{attempts}.duckdb"
            if not large.exists():
                shutil.copy(path, large)
                multiply(large, job, attempts)
            done = subprocess.run(
                [sys.executable, str(HERE / "insights.py"), "--measure", str(large), job],
                stdout=subprocess.PIPE, text=True, check=True,
            )  # fmt: skip
            results.append(json.loads(done.stdout))
    rows = [
        (
            f"{one['attempts']:,.0f}",
            *(f"{one[part]:.2f} s ({one[f'{part}_cpu']:.2f} s)" for part in ("read", "detect", "replay")),
            f"{one['error']:+.1%}" if one["error"] is not None else "stuck",
            f"{one['rss']:.0f} / {one['rss_replay']:.0f} MiB",
        )
        for one in results
    ]
    print(
        table(
            (
                "attempts",
                "read (CPU)",
                "all detectors (CPU)",
                "replay (CPU)",
                "replay is off by",
                "peak memory: findings / replay",
            ),
            rows,
        )
    )
    if args.save:
        save(args.save, ("ray", "duckdb", "numpy"), results)


if __name__ == "__main__":
    main()
