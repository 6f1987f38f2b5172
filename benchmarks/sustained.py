"""Completeness and correctness of the record after ten minutes of tasks at full speed.

    python benchmarks/sustained.py                 # 10 minutes
    python benchmarks/sustained.py --minutes 1

A driver keeps 2,000 no-op tasks in flight on a local cluster (2 CPUs) with the fast lane; the server uses the
same cores. At the end the record must have every submitted task with all its states. The newest 100,000,
which are those that Ray's GCS keeps, are compared field by field with Ray's own task table. The exit status
is 1 if anything differs, or was lost without being reported.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from common import HERE, Http, RayscopeServer, environment, header, parse_arguments, quantile, table
from rayscope.cli import recording

FIELDS = (
    "name",
    "func_name",
    "type",
    "state",
    "job_id",
    "node_id",
    "worker_id",
    "worker_pid",
    "parent_task_id",
)
TIMES = {"creation_time_ms": "pending_args_avail_ns", "start_time_ms": "start_ns", "end_time_ms": "end_ns"}


def drive(temp: str, seconds: float, out: str) -> None:
    """Run the driver: submit tasks, count them, and at the end write Ray's task table."""
    import ray
    from ray._raylet import GcsClientOptions, GlobalStateAccessor
    from ray.core.generated import gcs_pb2
    from ray.util.state.common import protobuf_to_task_state_dict

    @ray.remote
    def noop() -> None:
        """Do nothing."""

    context = ray.init(num_cpus=2, _temp_dir=temp, log_to_driver=False, logging_level="ERROR")
    ray.get([noop.remote() for _ in range(300)])
    submitted, began = 300, time.monotonic()
    waves = [[noop.remote() for _ in range(1000)] for _ in range(2)]
    submitted += 2000
    reported = began
    while time.monotonic() - began < seconds:
        ray.get(waves.pop(0))
        waves.append([noop.remote() for _ in range(1000)])
        submitted += 1000
        if time.monotonic() - reported > 30:
            reported = time.monotonic()
            print(f"  {reported - began:.0f} s: {submitted:,} tasks", file=sys.stderr, flush=True)
    for wave in waves:
        ray.get(wave)
    took = time.monotonic() - began
    time.sleep(5)  # workers and driver report every second
    accessor = GlobalStateAccessor(
        GcsClientOptions.create(
            context.address_info["gcs_address"],
            None,
            allow_cluster_id_nil=True,
            fetch_cluster_id_if_nil=False,
        )
    )
    accessor.connect()
    rows = [
        protobuf_to_task_state_dict(gcs_pb2.TaskEvents.FromString(one)) for one in accessor.get_task_events()
    ]
    keep = ["task_id", "attempt_number", "func_or_class_name", *TIMES, *FIELDS]
    kept = [{name: row.get(name) for name in keep} for row in rows if row["type"] != "DRIVER_TASK"]
    Path(out).write_text(json.dumps({"submitted": submitted, "seconds": took, "tasks": kept}))
    sys.stdin.read()
    ray.shutdown()


def compare(client: Http, session: str, ray_tasks: list[dict[str, Any]]) -> tuple[int, list[str]]:
    """Number of Ray's attempts that were compared, and the differences."""
    columns = ["task_id", "attempt", *FIELDS, *TIMES.values()]
    ours: dict[tuple[str, int], dict[str, Any]] = {}
    since = min(int(row["creation_time_ms"]) for row in ray_tasks) * 10**6
    step, wrong = 100_000, []
    while True:
        sql = (
            f"SELECT {', '.join(columns)} FROM tasks WHERE pending_args_avail_ns >= {since} "
            f"ORDER BY task_id, attempt LIMIT {step} OFFSET {len(ours)}"
        )
        rows = client.post("/api/v1/sql", {"sql": sql, "session": session, "limit": step})["rows"]
        ours.update({(row[0], row[1]): dict(zip(columns, row, strict=True)) for row in rows})
        if len(rows) < step:
            break
    for row in ray_tasks:
        mine = ours.get((row["task_id"], row["attempt_number"]))
        if mine is None:
            wrong.append(f"{row['task_id']} is missing")
            continue
        theirs = {**{name: row[name] for name in FIELDS}, "func_name": row["func_or_class_name"]}
        wrong += [
            f"{name}: {mine[name]!r}, Ray: {theirs[name]!r}" for name in FIELDS if mine[name] != theirs[name]
        ]
        wrong += [
            f"{name}: {mine[column]}, Ray: {row[name]} ms"
            for name, column in TIMES.items()
            # A float represents such a time to 256 ns, so one in 4,000 is rounded up.
            if mine[column] is None or abs(mine[column] // 10**6 - int(row[name])) > 1
        ]
    return len(ray_tasks), wrong


def main() -> int:
    """Parse the arguments, run, compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--driver", nargs=3, help=argparse.SUPPRESS)
    args = parse_arguments(parser, minutes=0.2)
    if args.driver:
        drive(args.driver[0], float(args.driver[1]), args.driver[2])
        return 0
    print(header("Sustained", ["ray", "rayscope", "duckdb"]), flush=True)
    folder = Path(tempfile.mkdtemp(prefix="rss-"))
    server = RayscopeServer(folder / "data")
    latencies: list[float] = []
    behind: list[float] = []
    ended = threading.Event()
    try:
        env = {k: v for k, v in environment().items() if not k.startswith(("RAY_", "RAYSCOPE_"))}
        env = recording.child_env(server.ingest_url, environ=env)
        out = folder / "ray.json"
        command = [sys.executable, str(HERE / "sustained.py"), "--driver", str(folder / "ray")]
        driver = subprocess.Popen(
            [*command, str(args.minutes * 60), str(out)], env=env, stdin=subprocess.PIPE, text=True
        )

        def look() -> None:
            viewer = Http(server.url)
            while not ended.wait(2):
                try:
                    began = time.monotonic()
                    seen = viewer.get("/api/v1/summary")
                    latencies.append(time.monotonic() - began)
                    behind.append((seen["ingest"]["behind_ns"] or 0) / 1e9)
                except (OSError, RuntimeError):
                    viewer = Http(server.url)

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        while not out.exists():
            if driver.poll() is not None:
                raise RuntimeError(f"the driver ended with {driver.returncode}")
            time.sleep(1)
        time.sleep(1)
        ended.set()
        watcher.join()
        server.wait_until_merged(quiet=3)
        used = server.cpu()
        said = json.loads(out.read_text())
        client = Http(server.url)
        summary = client.get("/api/v1/summary")
        how = client.get("/api/v1/recording")
        whole = client.post(
            "/api/v1/sql",
            {
                "sql": "SELECT count(*) FROM tasks WHERE state = 'FINISHED' AND name = 'noop' AND node_id IS NOT NULL "
                "AND worker_id IS NOT NULL AND parent_task_id IS NOT NULL AND pending_args_avail_ns IS NOT NULL "
                "AND running_ns IS NOT NULL AND total_end_ns IS NOT NULL"
            },
        )["rows"][0][0]
        compared, wrong = compare(client, summary["session"], said["tasks"])
        driver.communicate(timeout=60)
        agent = how["nodes"][0]["agent"] or {}
        rows = [
            ["tasks submitted and awaited", f"{said['submitted']:,}"],
            ["tasks/s", f"{said['submitted'] / said['seconds']:,.0f}"],
            ["on record, whole (every state, node, worker, parent, phases)", f"{whole:,}"],
            ["lane", f"{summary['lanes']['fast']} of 1 fast"],
            [
                "events received by the agent / sent",
                f"{agent.get('received', 0):,} / {agent.get('sent', 0):,}",
            ],
            [
                "CPU of our code in the agent, µs a task",
                f"{agent.get('busy_s', 0) / said['submitted'] * 1e6:.1f}",
            ],
            ["CPU of the whole agent, µs a task", f"{agent.get('cpu_s', 0) / said['submitted'] * 1e6:.1f}"],
            ["dropped, told", f"{summary['dropped']['total']:,} {summary['dropped']['by']}"],
            ["compared with Ray's table, attempts", f"{compared:,}"],
            ["fields that differ", f"{len(wrong):,} {wrong[:5]}"],
            [
                "/api/v1/summary meanwhile, p50 / p95",
                f"{quantile(latencies, 0.5) * 1e3:.0f} / {quantile(latencies, 0.95) * 1e3:.0f} ms",
            ],
            ["record behind, p95 / most", f"{quantile(behind, 0.95):.1f} / {max(behind, default=0):.1f} s"],
            ["server: most memory", f"{server.peak_rss / 2**20:,.0f} MiB"],
            ["server: CPU, µs a task", f"{used / said['submitted'] * 1e6:.0f}"],
        ]
        print(table(["What", "Figure"], rows))
        lost = said["submitted"] - whole
        ok = not wrong and (lost == 0 or summary["dropped"]["total"] > 0)
        return 0 if ok else 1
    finally:
        ended.set()
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
