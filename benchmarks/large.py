"""Query latencies and recording with ten million tasks in a record.

    python benchmarks/ingest.py --rate 32000 --data-dir /tmp/million
    python benchmarks/large.py /tmp/million --times 10

The record left by ingest.py is multiplied in place by SQL, each copy with other IDs and times, because
recording ten million tasks at this rate would take half an hour. Then the requests of ingest.py are made,
first without and then with new events arriving.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import duckdb

from common import HERE, RayscopeServer, Watched, header, ms, parse_arguments, quantile, table
from ingest import Viewer, count_tasks
from views import generated


def multiply(path: Path, times: int) -> None:
    """Copy all attempts and spans ``times`` - 1 times, each copy an hour later and with other IDs."""
    with duckdb.connect(str(path), config={"memory_limit": "4GB", "preserve_insertion_order": "false"}) as db:
        times_of = [
            name
            for (name,) in db.execute(
                "SELECT column_name FROM duckdb_columns() WHERE table_name = 'attempts' AND column_name LIKE '%_ns'"
            ).fetchall()
        ]
        for copy in range(1, times):
            shift = copy * 3600 * 10**9
            moved = ", ".join(f"{name} + {shift} AS {name}" for name in times_of)
            db.execute(
                f"INSERT INTO attempts SELECT * REPLACE (xor(task_hi, {copy * 7919}::UBIGINT) AS task_hi, {moved}) "
                "FROM (SELECT * FROM attempts LIMIT (SELECT count(*) / ? FROM attempts)) ",
                [copy],
            )
            db.execute(
                f"INSERT INTO span_rows SELECT * REPLACE (xor(task_hi, {copy * 7919}::UBIGINT) AS task_hi, "
                f"begin_ns + {shift} AS begin_ns, end_ns + {shift} AS end_ns) "
                "FROM (SELECT * FROM span_rows LIMIT (SELECT count(*) / ? FROM span_rows))",
                [copy],
            )
            print(f"{copy + 1} of {times}", file=sys.stderr, flush=True)
        db.execute("CHECKPOINT")


def main() -> int:
    """Multiply, serve, query, and record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path, nargs="?", help="default: a generated record")
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rate", type=float, default=20_000)
    args = parse_arguments(parser, times=2, seconds=2.0, rate=1000.0)
    data_dir = args.data_dir or generated(10_000)
    print(header("A large record", ["rayscope", "duckdb"]))
    path = max(data_dir.glob("sessions/*/record.duckdb"), key=lambda found: found.stat().st_size)
    multiply(path, args.times)
    session = path.parent.name
    began = time.monotonic()
    server = RayscopeServer(data_dir)
    tasks = count_tasks(server.url, session)
    opened = time.monotonic() - began
    quiet = Viewer(server.url, pause=0.05)
    quiet.ROUTES = tuple(
        (name, route and f"{route}{'&' if '?' in route else '?'}session={session}")
        for name, route in Viewer.ROUTES
    )
    quiet.start()
    time.sleep(args.seconds)
    quiet.stop()
    command = [sys.executable, str(HERE / "load.py"), server.ingest_url, "--nodes", "4", "--tasks", "0"]
    load = Watched(
        [
            *command,
            "--seconds",
            str(args.seconds),
            "--rate",
            str(args.rate),
            "--session",
            session,
            "--seed",
            str(tasks),  # a seed that differs from that of earlier runs
        ]
    )
    load.line()
    started = time.monotonic()
    busy = Viewer(server.url)
    busy.ROUTES = quiet.ROUTES
    busy.start()
    while (said := json.loads(load.line()))["kind"] != "end":
        pass
    merged = server.wait_until_merged()
    busy.stop()
    load.stop()
    # A record of this size is counted less often than it is written.
    deadline = merged + 60
    while (after := count_tasks(server.url, session)) < tasks + said["tasks"] and time.monotonic() < deadline:
        time.sleep(0.5)
    counted = time.monotonic() - merged
    print(
        table(
            ["Measure", "Value"],
            [
                ["tasks in one session", f"**{tasks:,}**"],
                ["record on disk", f"{path.stat().st_size / tasks:.0f} bytes a task"],
                ["start to first answer", f"{opened:.1f} s"],
                ["events/s to durable meanwhile", f"{said['acknowledged'] / said['elapsed']:,.0f}"],
                ["events/s merged, tail included", f"{said['events'] / (merged - started):,.0f}"],
                ["new tasks sent / found", f"{said['tasks']:,} / {after - tasks:,}"],
                ["counted after", f"{counted:.1f} s"],
                ["server RSS, peak", f"{server.peak_rss / 2**20:.0f} MiB"],
                ["queries that failed", len(quiet.errors) + len(busy.errors)],
            ],
        )
    )
    for what, viewer in (("alone", quiet), ("while recording", busy)):
        latencies = [latency for _, _, latency in viewer.latencies]
        print(f"{what}: p50 {ms(quantile(latencies, 0.5))}, p95 {ms(quantile(latencies, 0.95))}\n")
        print(table(["Question", "asked", "p50", "p95", "max"], viewer.rows(0, time.monotonic())))
    server.stop()
    return 0 if after - tasks == said["tasks"] and not quiet.errors and not busy.errors else 1


if __name__ == "__main__":
    sys.exit(main())
