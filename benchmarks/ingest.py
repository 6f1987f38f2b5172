"""Events per second that the server can receive, store and show, and the cost of that.

    python benchmarks/ingest.py                      # 60 s at full speed, until a million tasks are stored
    python benchmarks/ingest.py --rate 30000         # the same at a given rate
    python benchmarks/ingest.py --binary             # in the format of Rayscope's agents
    python benchmarks/ingest.py --tasks 10000000     # reports query latencies per million
    python benchmarks/ingest.py --smallest           # a few seconds, as a test of the benchmark

A separate load generator process (load.py) posts what Ray's exporter would post, over one connection per
simulated node. Meanwhile a client requests pages of tasks, the summary and single tasks. At the end the
record must hold exactly what was sent, or the exit status is 1. Then the same task calls go to the PyPI
package flow-insight through its own API (not with --no-flow-insight).
"""

from __future__ import annotations

import argparse
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import flow_insight_baseline as flow_insight
from common import HERE, Http, RayscopeServer, Watched, header, ms, parse_arguments, quantile, table

#: Timeout of a POST in Ray's exporter, in seconds.
EXPORTER_TIMEOUT_S = 3.0


class Viewer(threading.Thread):
    """Simulates a user who reads while events arrive. ``latencies``: (route, time, s)."""

    ROUTES = (
        ("tasks", "/api/v1/tasks?limit=100"),
        ("tasks, longest first", "/api/v1/tasks?limit=100&sort=-duration_ns"),
        ("tasks of a function", "/api/v1/tasks?limit=100&func_name=embed"),
        ("tasks that failed", "/api/v1/tasks?limit=100&state=FAILED"),
        ("tasks named", "/api/v1/tasks?limit=100&name=ount"),
        ("summary", "/api/v1/summary"),
        ("one task", ""),
    )

    def __init__(self, url: str, pause: float = 0.15) -> None:
        super().__init__(daemon=True)
        self._client = Http(url)
        self._pause = pause
        self._over = threading.Event()
        self._ids: list[str] = []
        self.latencies: list[tuple[str, float, float]] = []
        self.errors: list[str] = []

    def run(self) -> None:
        turn = 0
        while not self._over.wait(self._pause):
            route, path = self.ROUTES[turn % len(self.ROUTES)]
            turn += 1
            if route == "one task":
                if not self._ids:
                    continue
                path = f"/api/v1/tasks/{self._ids[turn % len(self._ids)]}"
            began = time.monotonic()
            try:
                found = self._client.get(path)
            except RuntimeError as error:
                if "404" not in str(error):  # there is no session before the first flush
                    self.errors.append(str(error))
                continue
            self.latencies.append((route, began, time.monotonic() - began))
            if route.startswith("tasks") and found["items"]:
                self._ids = [item["task_id"] for item in found["items"]]

    def stop(self) -> None:
        self._over.set()
        self.join()
        self._client.close()

    def between(self, begin: float, end: float) -> list[float]:
        """The latencies of the requests in a period."""
        return [latency for _, at, latency in self.latencies if begin <= at < end]

    def rows(self, begin: float, end: float) -> list[list[str]]:
        """A table of the requests in a period."""
        by: dict[str, list[float]] = defaultdict(list)
        for route, at, latency in self.latencies:
            if begin <= at < end:
                by[route].append(latency)
                by["**all**"].append(latency)
        order = [route for route, _ in self.ROUTES] + ["**all**"]
        return [
            [
                route,
                len(by[route]),
                ms(quantile(by[route], 0.5)),
                ms(quantile(by[route], 0.95)),
                ms(max(by[route])),
            ]
            for route in order
            if by[route]
        ]


def measure(args: argparse.Namespace, data_dir: Path) -> tuple[bool, dict[str, float]]:
    """Run the server under load and print the results. Returns whether the record is correct."""
    server = RayscopeServer(data_dir)
    print(
        f"HTTP: {server.parser}. Full speed.\n"
        if not args.rate
        else f"HTTP: {server.parser}. {args.rate:.0f} events/s offered.\n"
    )
    command = [sys.executable, str(HERE / "load.py"), server.ingest_url, "--nodes", str(args.connections)]
    command += ["--seconds", str(args.seconds), "--tasks", str(args.tasks), "--rate", str(args.rate)]
    # (Converting to protobuf takes too long to do it during the measurement.)
    prepared = int(args.tasks * 4.6) if args.binary else int(25_000 * args.seconds)
    command += ["--prepare", str(min(4_000_000, prepared)), *(["--binary"] if args.binary else [])]
    load = Watched(command)
    started = json.loads(load.line())
    began, cpu_began, cpu_window = time.monotonic(), server.cpu(), 0.0
    viewer = Viewer(server.url)
    if not args.unread:
        viewer.start()
    window: dict[str, Any] = {}
    backlog = 0
    health = Http(server.url)
    million, million_at = 1, began
    while True:
        said = json.loads(load.line())
        if said["kind"] == "end":
            break
        backlog = max(backlog, health.get("/api/health")["pending_batches"])
        if said["elapsed"] <= args.seconds or not window:
            window, cpu_window = said, server.cpu()
        stored = said["acknowledged"] / 4.46
        if args.tasks > 1_500_000 and stored >= million * 1_000_000:
            asked = viewer.between(million_at, time.monotonic())
            print(
                f"about {million} M tasks: {said['acknowledged'] / said['elapsed']:.0f} events/s so far, "
                f"{len(asked)} queries since, p50 {ms(quantile(asked, 0.5))}, p95 {ms(quantile(asked, 0.95))}, "
                f"max {ms(max(asked, default=0))}; RSS {server.rss() >> 20} MiB",
                flush=True,
            )
            million, million_at = million + 1, time.monotonic()
    ended = time.monotonic()
    merged_at = server.wait_until_merged()
    cpu_all = server.cpu() - cpu_began
    if not args.unread:
        viewer.stop()
    load.stop()
    right, problems = check(server.url, started["session"], said)
    after = Viewer(server.url, pause=0.02)
    after.start()
    time.sleep(3)
    after.stop()
    quiet = after.between(0, time.monotonic())
    rss, peak = server.rss(), server.peak_rss
    server.stop(signal.SIGKILL)
    server = RayscopeServer(data_dir)
    again, problems_again = check(server.url, started["session"], said, summary=False)
    right, problems = right and again, problems + [f"after kill -9: {problem}" for problem in problems_again]
    left = count_tasks(server.url, started["session"])
    stop_began = time.monotonic()
    server.stop()
    stop_took = time.monotonic() - stop_began
    files = [
        p for p in (data_dir / "sessions" / started["session"]).iterdir() if p.suffix in (".duckdb", ".wal")
    ]
    size = sum(path.stat().st_size for path in files)
    seconds = window["elapsed"]
    latency = said["latency"]
    events, tasks = said["events"], said["tasks"]
    rate = window["acknowledged"] / seconds
    asked = viewer.between(began, merged_at)
    print(
        table(
            ["Measure", "Value"],
            [
                [f"events/s to durable (204 answered), over the first {seconds:.0f} s", f"**{rate:,.0f}**"],
                ["events/s to durable, whole run", f"{said['acknowledged'] / said['elapsed']:,.0f}"],
                ["events/s merged into the store, tail included", f"**{events / (merged_at - began):,.0f}**"],
                ["tail: last answer to all merged", f"{merged_at - ended:.1f} s"],
                ["most batches that waited to be merged", backlog],
                [
                    "answer to a POST: p50 / p95 / max",
                    f"{ms(latency['p50'])} / {ms(latency['p95'])} / {ms(latency['max'])}",
                ],
                ["POSTs not taken at first (503)", said["retries"]],
                [
                    "query latency meanwhile: p50 / p95 / max",
                    f"{ms(quantile(asked, 0.5))} / **{ms(quantile(asked, 0.95))}** / {ms(max(asked, default=0))}",
                ],
                [
                    "query latency afterwards: p50 / p95 / max",
                    f"{ms(quantile(quiet, 0.5))} / {ms(quantile(quiet, 0.95))} / {ms(max(quiet, default=0))}",
                ],
                ["server CPU an event, all in", f"{cpu_all / events * 1e6:.1f} us"],
                [
                    "server CPU in the first stretch",
                    f"{(cpu_window - cpu_began) / seconds * 100:.0f} % of a core",
                ],
                [
                    "load generator's CPU in the first stretch",
                    f"{window['cpu'] / seconds * 100:.0f} % of a core",
                ],
                ["server RSS: peak / at the end", f"**{peak / 2**20:.0f} MiB** / {rss / 2**20:.0f} MiB"],
                ["stopping after that (checkpoint)", f"{stop_took:.1f} s"],
                ["tasks stored", f"{tasks:,} of {events:,} events, {said['spans']:,} spans"],
                ["record on disk", f"{size / 2**20:.0f} MiB, **{size / tasks:.0f} bytes a task**"],
                [
                    "the record holds what was sent, also after kill -9",
                    "yes" if right else "NO: " + "; ".join(problems),
                ],
            ],
        )
    )
    print(table(["Question", "asked", "p50", "p95", "max"], viewer.rows(began, merged_at)))
    if viewer.errors:
        print("Queries that failed:", viewer.errors[:3])
    if said["error"]:
        print("Load generator:", said["error"])
    if latency["max"] > EXPORTER_TIMEOUT_S:
        print(
            f"An answer took longer than the {EXPORTER_TIMEOUT_S:.0f} s after which Ray gives up: {latency['over_1s']}"
        )
    return right and not viewer.errors and not said["error"], {
        "tasks_s": tasks / (merged_at - began),
        "cpu_us_task": cpu_all / tasks * 1e6,
        "rss": peak,
        "tasks": tasks,
        "left": left,
    }


def count_tasks(url: str, session: str) -> int:
    """The total in the list of tasks."""
    client = Http(url)
    total = int(client.get(f"/api/v1/tasks?session={session}&limit=1")["total"])
    client.close()
    return total


def check(url: str, session: str, sent: dict[str, Any], *, summary: bool = True) -> tuple[bool, list[str]]:
    """Whether the record holds everything that was sent, once, with the right contents."""
    client = Http(url)

    def sql(text: str) -> list[list[Any]]:
        rows: list[list[Any]] = client.post("/api/v1/sql", {"sql": text, "session": session})["rows"]
        return rows

    problems = []

    def same(what: str, actual: Any, expected: Any) -> None:
        if actual != expected:
            problems.append(f"{what}: {str(actual)[:200]} instead of {str(expected)[:200]}")

    found = sql(
        "SELECT func_name, state, count(*) FROM tasks WHERE type <> 'DRIVER_TASK' GROUP BY 1, 2 ORDER BY 1, 2"
    )
    same("attempts by function and state", found, sent["functions"])
    totals = sql(
        "SELECT count(*), count(DISTINCT task_id), sum(start_ns % 1000003)::BIGINT, sum(end_ns % 1000003)::BIGINT, "
        "count(*) FILTER (path_id IS NULL), count(*) FILTER (node_id IS NULL OR worker_id IS NULL OR worker_pid IS NULL) "
        "FROM tasks WHERE type <> 'DRIVER_TASK'"
    )[0]
    same("attempts", totals[0], sent["tasks"])
    same("tasks", totals[1], sent["tasks"])
    same("sum of start times", totals[2], sent["sums"][0])
    same("sum of end times", totals[3], sent["sums"][1])
    same("tasks without a call path", totals[4], 0)
    same("tasks without node, worker or pid", totals[5], 0)
    same("spans", sql("SELECT count(*) FROM spans WHERE name NOT LIKE 'task:%'")[0][0], sent["spans"])
    if summary:
        said = client.get(f"/api/v1/summary?session={session}")
        same("attempts in the summary", said["attempts"], sent["tasks"])
        same("events in the summary", said["ingest"]["events"], sent["events"])
        same("unknown", said["ingest"]["unknown"], {})
    client.close()
    return not problems, problems


def main() -> int:
    """Parse the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="length of the stretch whose rate is told")
    parser.add_argument("--tasks", type=int, default=1_000_000, help="go on until so many are stored")
    parser.add_argument("--rate", type=float, default=0, help="events a second to offer; 0: full speed")
    parser.add_argument("--connections", type=int, default=4, help="simulated nodes, one connection each")
    parser.add_argument("--binary", action="store_true", help="protobuf, as Rayscope's agents send it")
    parser.add_argument("--unread", action="store_true", help="nobody asks meanwhile")
    parser.add_argument("--no-flow-insight", action="store_true")
    parser.add_argument(
        "--flow-insight-seconds", type=float, default=75, help="its first snapshot comes after 60 s"
    )
    parser.add_argument("--data-dir", type=Path, help="kept; a temporary one otherwise")
    args = parse_arguments(parser, seconds=5.0, tasks=20_000, no_flow_insight=True)
    print(header("Ingest", ["rayscope", "duckdb", "pyarrow", "msgspec", "uvicorn"]))
    data_dir = args.data_dir or Path(tempfile.mkdtemp(prefix="rayscope-bench-"))
    try:
        right, ours = measure(args, data_dir)
    finally:
        if args.data_dir is None:
            shutil.rmtree(data_dir, ignore_errors=True)
    if not args.no_flow_insight:
        flow_insight.compare(args.connections, args.flow_insight_seconds, ours)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
