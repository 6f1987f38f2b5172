"""Latencies of all lists and pages for a cluster of 1,000 nodes, 10,000 workers and 100,000 actors.

    python benchmarks/scale.py                                   # some 6 minutes
    python benchmarks/scale.py --nodes 100 --workers 1000 --actors 10000 --rounds 5 --no-pages

Events are posted to the ingest URL of a real server as by Ray's exporter. A simulated GCS, raylets and agents
(``simulated_services.py``) answer the server's requests to the cluster: tables, resources, autoscaler, usage
of each node and worker (every 5 s), object stores, log files and Prometheus texts. Tasks and actors keep
arriving during the measurement. Each list is requested with its first page, filtered, searched, sorted by
another column, and with its last page (or one that begins at row 30,000), all in turn and in rounds. The
goals are 200 ms and 1 MB.
"""

from __future__ import annotations

import argparse
import http.client
import json
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import rayscope
from common import HERE, RayscopeServer, Watched, header, parse_arguments, quantile, table
from simulated import Events, Plan, S, batches, node_id

#: Goal for the latency of a response, in seconds.
GOAL_S = 0.2
#: Goal for the size of a response, bytes.
GOAL_BYTES = 1_000_000
#: Page of the UI -> selector of an element that must be visible: its table's rows, its chart, or its first
#: figures.
PAGES = {
    "overview": '[data-testid="health"]',
    "tasks": '[id^="task-table-"]',
    "functions": '[id^="function-table-"]',
    "failures": '[id^="failure-table-"]',
    "logical": '[data-testid="logical-canvas"]',
    "physical": '[data-testid="physical-canvas"]',
    "gantt": '[data-testid="gantt-chart"] canvas[data-bars]:not([data-bars="0"])',
    "flame": '[data-testid="flame"][data-boxes]:not([data-boxes="0"])',
    "stack": '[data-testid="stack-count"]',
    "actors": '[id^="actors-table-"]',
    "workers": '[id^="workers-table-"]',
    "nodes": '[id^="nodes-table-"]',
    "nodes?mode=machine": '[data-testid="machine-canvas"]',
    "jobs": '[id^="jobs-table-"]',
    "placement-groups": '[id^="placement-groups-table-"]',
    "memory": '[data-testid="memory-group"], [data-testid="memory-store"]',
    "events": '[id^="events-table-"]',
    "logs": '[data-testid="logs-files"]',
    "metrics": '[data-testid="metrics-page"] canvas',
    "alerts": '[data-testid="alerts-count"]',
}


class Ingest:
    """Posts batches, retrying each until it is accepted, and counts events."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._path = parts.path

    def post(self, body: bytes) -> None:
        while True:
            self._connection.request("POST", self._path, body, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            response.read()
            if response.status == 204:
                return
            if response.status != 503:
                raise RuntimeError(f"a batch was answered {response.status}")
            time.sleep(0.2)


class Living(threading.Thread):
    """Posts ended tasks and new actors every second."""

    def __init__(self, plan: Plan, url: str) -> None:
        super().__init__(daemon=True)
        self._plan, self._url = plan, url
        self._done = threading.Event()
        self.error = ""

    def run(self) -> None:
        events, ingest, turn = Events(self._plan), Ingest(self._url), 0
        first_task, first_actor = self._plan.tasks * 10, self._plan.actors
        try:
            while not self._done.wait(1.0):
                posted: list[dict[str, Any]] = []
                for number in range(turn * 100, turn * 100 + 100):
                    state = "FAILED" if number % 100 == 3 else "FINISHED"
                    posted += events.task(first_task + number, time.time_ns() - S, state)
                for number in range(turn * 5, turn * 5 + 5):
                    posted += events.late_actor(first_actor + number, time.time_ns())
                for body in batches(iter(posted)):
                    ingest.post(body)
                turn += 1
        except (OSError, RuntimeError) as error:
            self.error = f"{type(error).__name__}: {error}"

    def stop(self) -> None:
        self._done.set()
        self.join()
        if self.error:
            raise RuntimeError(f"telling on failed: {self.error}")


def cases(plan: Plan) -> dict[str, dict[str, dict[str, Any]]]:
    """Endpoint -> variant -> parameters. ``last``: the last page, or one far down."""
    node = node_id(5).hex()
    job = "02000000"
    minutes = {"since_ns": plan.begun_ns - 60 * S, "until_ns": plan.begun_ns + 600 * S}
    return {
        "sessions": {"": {}},
        "summary": {"": {}},
        "tasks": {
            "": {}, "filter": {"state": "FAILED"}, "text": {"q": "merge_page"}, "sort": {"sort": "name"},
            "last": {}, "running": {"state": "RUNNING"}, "of a node": {"node_id": node},
        },
        "actors": {
            "": {}, "filter": {"state": "DEAD"}, "text": {"q": "ReplayBuffer"}, "sort": {"sort": "class_name"},
            "last": {}, "of a job": {"job_id": job},
        },
        "workers": {
            "": {}, "filter": {"state": "ALIVE"}, "text": {"q": "a"}, "sort": {"sort": "-cpu_percent"},
            "last": {}, "of a node": {"node_id": node},
        },
        "nodes": {
            "": {}, "filter": {"state": "DEAD"}, "text": {"q": "machine-07"}, "sort": {"sort": "-cpu_percent"},
            "last": {}, "busy": {"at_least": "cpu_percent:80"},
        },
        "jobs": {"": {}, "filter": {"state": "RUNNING"}, "text": {"q": "train"}, "sort": {"sort": "entrypoint"}},
        "placement-groups": {
            "": {}, "filter": {"state": "PENDING"}, "text": {"q": "group-4"}, "sort": {"sort": "name"}, "last": {},
        },
        "events": {
            "": {}, "filter": {"severity": "ERROR"}, "kind": {"kind": "actor"}, "text": {"q": "unexpectedly"},
            "of a node": {"node_id": node}, "last": {},
        },
        "nodes/cells": {"": {}},
        "cluster": {"": {}},
        "cluster/status": {"": {}},
        "recording": {"": {}},
        "scheduling": {"": {}},
        "metrics": {"": {}, "one name": {"name": "ray_node_cpu_utilization"}},
        "metrics/names": {"": {}, "text": {"q": "memory"}},
        "metrics/query": {
            "by node": {"expr": "ray_node_cpu_utilization", **minutes},
            "average": {"expr": "avg(ray_node_cpu_utilization)", **minutes},
            "rate by function": {"expr": "sum by (func_name) (rate(rayscope_function_finished_total[1m]))", **minutes},
        },
        "logs": {"": {}, "of a node": {"node_id": node}},
        "memory": {"": {}, "by node": {"by": "node"}},
        "alerts": {"": {}},
        "alerts/rules": {"": {}},
        "alerts/history": {"": {}},
        "flow/physical": {"": {}},
        "flow/stack": {"": {}},
        "flow/logical": {"": {}},
    }  # fmt: skip


class Asker:
    """Sends requests and records the time and size of each response."""

    def __init__(self, url: str, session: str) -> None:
        self._url, self._session = url, session
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=180)

    def path(self, endpoint: str, params: dict[str, Any]) -> str:
        session = {} if endpoint == "sessions" else {"session": self._session}
        return f"/api/v1/{endpoint}?" + urlencode(session | params)

    def ask(self, path: str) -> tuple[float, bytes]:
        began = time.perf_counter()
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        body = response.read()
        took = time.perf_counter() - began
        if response.status != 200:
            raise RuntimeError(f"{path}: {response.status} {body[:300]!r}")
        return took, body

    def last_page(self, endpoint: str) -> str:
        """The cursor of the last page, or of one that begins at row 30,000."""
        cursor = ""
        for _ in range(30):
            params = {"limit": 1000} | ({"cursor": cursor} if cursor else {})
            _, body = self.ask(self.path(endpoint, params))
            following = json.loads(body)["next"]
            if not following:
                break
            cursor = following
        return cursor


def measure(asker: Asker, plan: Plan, rounds: int, pause_s: float) -> list[dict[str, Any]]:
    """Measure every case ``rounds`` times, all in turn."""
    found = []
    for endpoint, variants in cases(plan).items():
        for variant, params in variants.items():
            if variant == "last":
                cursor = asker.last_page(endpoint)
                params = {"cursor": cursor} if cursor else {}
            path = asker.path(endpoint, params)
            found.append(
                {
                    "endpoint": endpoint,
                    "variant": variant or "first page",
                    "path": path,
                    "took": [],
                    "bytes": 0,
                }
            )
    for number in range(rounds):
        for case in found:
            took, body = asker.ask(case["path"])
            case["took"].append(took)
            case["bytes"] = max(case["bytes"], len(body))
            time.sleep(pause_s)
        print(f"  round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return found


def summarize(measured: list[dict[str, Any]]) -> str:
    """The table, and the cases that miss the goal."""
    rows, missed = [], []
    for case in measured:
        took = case["took"]
        p95 = quantile(took, 0.95)
        good = p95 <= GOAL_S and case["bytes"] <= GOAL_BYTES
        name = f"{case['endpoint']} ({case['variant']})"
        if not good:
            missed.append(f"{name}: {p95 * 1000:.0f} ms, {case['bytes'] / 1000:.0f} kB")
        milliseconds = [f"{value * 1000:.0f}" for value in (took[0], quantile(took, 0.5), p95)]
        rows.append(
            [
                case["endpoint"],
                case["variant"],
                *milliseconds,
                f"{case['bytes'] / 1000:.0f}",
                "" if good else "missed",
            ]
        )
    lines = table(["/api/", "asked for", "first, ms", "p50, ms", "p95, ms", "kB", ""], rows)
    return lines + f"\n{len(measured) - len(missed)} of {len(measured)} within 200 ms and 1 MB.\n" + "".join(
        f"- missed: {one}\n" for one in missed
    )  # fmt: skip


def pages(url: str, session: str, only: str) -> str:
    """First paint of each page, each in a new browser context (nothing cached)."""
    from playwright.sync_api import Error, sync_playwright

    rows = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium-headless-shell"))
        for name, selector in PAGES.items():
            if only and only not in name:
                continue
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            page = context.new_page()
            began = time.perf_counter()
            try:
                page.goto(f"{url}/s/{quote(session)}/{name}", wait_until="commit")
                page.locator(selector).first.wait_for(state="visible", timeout=60_000)
                there = f"{(time.perf_counter() - began) * 1000:,.0f}"
            except Error as error:
                there = f"not in 60 s ({str(error).splitlines()[0][:60]})"
            paint = page.evaluate(
                "() => performance.getEntriesByName('first-contentful-paint').map((entry) => entry.startTime)[0]"
            )
            rows.append([name, "-" if paint is None else f"{paint:,.0f}", there])
            print(f"  {name}: {rows[-1][1:]}", file=sys.stderr, flush=True)
            context.close()
        browser.close()
    return table(["Page", "first contentful paint, ms", "its main part is there, ms"], rows)


def wait_for_cluster(asker: Asker, plan: Plan, timeout_s: float = 300) -> None:
    """Wait until the GCS has been read, every node has reported its usage, and metrics have arrived."""
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline:
        _, body = asker.ask(asker.path("nodes", {"limit": 1000, "state": "ALIVE"}))
        page = json.loads(body)
        using = sum(
            1 for row in page["items"] if row.get("usage") and row["usage"]["cpu_percent"] is not None
        )
        _, body = asker.ask(asker.path("metrics", {"name": "ray_node_cpu_utilization"}))
        series = json.loads(body)["total"]
        ready = page["total"] >= plan.nodes and using >= min(plan.nodes, 1000) and series >= plan.nodes * 0.9
        print(f"  nodes {page['total']}, telling {using}, with metrics {series}", file=sys.stderr, flush=True)
        if ready:
            return
        time.sleep(3)
    print("  not all nodes were heard of; measuring nevertheless", file=sys.stderr, flush=True)


def parts(args: argparse.Namespace, data_dir: Path) -> Iterator[str]:
    """The sections of the report."""
    plan = Plan(args.nodes, args.workers, args.actors, args.tasks, begun_ns=time.time_ns())
    simulated = Watched([sys.executable, str(HERE / "simulated_services.py"), json.dumps(plan._asdict())])
    server = RayscopeServer(data_dir)
    about = json.loads(simulated.line())
    ingest, began, cpu = Ingest(server.ingest_url), time.monotonic(), server.cpu()
    posted = 0
    for body in batches(Events(plan).everything()):
        ingest.post(body)
        posted += 1
    server.wait_until_merged()
    took = time.monotonic() - began
    yield (
        f"{plan.nodes:,} nodes, {plan.workers:,} workers, {plan.actors:,} actors ({plan.busy:,} alive), "
        f"{plan.tasks + plan.actors:,} tasks and more that run; {posted:,} batches taken in and merged in {took:.0f} s "
        f"({server.cpu() - cpu:.0f} s of CPU)."
    )
    with rayscope.Client(server.url, folder=data_dir) as operator:
        operator.attach(about["address"])
    asker = Asker(server.url, plan.session)
    living = Living(plan, server.ingest_url)
    living.start()
    wait_for_cluster(
        asker, plan
    )  # some batch is always waiting from now on, as tasks and actors keep arriving
    before, began = server.cpu(), time.monotonic()
    time.sleep(args.quiet)
    alone = (server.cpu() - before) / (time.monotonic() - began)
    asker = Asker(server.url, plan.session)  # a new connection, because the server closes idle ones
    before, began = server.cpu(), time.monotonic()
    found = measure(asker, plan, args.rounds, args.pause)
    share = (server.cpu() - before) / (time.monotonic() - began)
    yield summarize(found)
    yield (
        f"Server: {alone * 100:.0f} % of a core while nobody asks (GCS, {plan.nodes:,} nodes' accounts and Prometheus "
        f"texts, logs, metrics, events), {share * 100:.0f} % while asked without a pause to speak of; "
        f"{server.rss() / 2**20:,.0f} MiB now, {server.peak_rss / 2**20:,.0f} MiB at most. "
        f"The simulated cluster took {simulated.cpu():.0f} s of CPU in all."
    )
    if not args.no_pages:
        yield pages(server.url, plan.session, args.page)
    living.stop()
    server.stop()
    simulated.stop()


def main() -> int:
    """Parse the arguments, measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=10_000)
    parser.add_argument("--actors", type=int, default=100_000)
    parser.add_argument("--tasks", type=int, default=20_000, help="beside those that create the actors")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--pause", type=float, default=0.02, help="between questions, s")
    parser.add_argument(
        "--quiet", type=float, default=30, help="how long it is looked at while nobody asks, s"
    )
    parser.add_argument("--no-pages", action="store_true", help="without the browser")
    parser.add_argument("--page", default="", help="only pages with this in their name")
    parser.add_argument(
        "--keep", type=Path, help="the data directory to use and keep; a temporary one otherwise"
    )
    args = parse_arguments(parser, nodes=10, workers=50, actors=100, tasks=200, rounds=1, quiet=2.0)
    if args.actors < args.workers:
        parser.error("fewer actors than workers")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that child processes are stopped, too
    print(header("A large cluster", ["rayscope", "duckdb", "ray", "playwright"]), flush=True)
    data_dir = args.keep or Path(tempfile.mkdtemp(prefix="rayscope-scale-"))
    try:
        for part in parts(args, data_dir):
            print(part + "\n", flush=True)
    finally:
        if args.keep is None:
            shutil.rmtree(data_dir, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
